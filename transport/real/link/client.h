// One question to an agent of a job, and its answer: what `elastic-run status` and its kin do.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "transport/real/link/links.h"

namespace elastic::real {

struct ClientOptions {
  Endpoint endpoint;
  std::string job;
  Key key{};
  Duration within{std::chrono::seconds(5)};
};

// Blocks. The error says what was tried, and why it failed.
tl::expected<wire::Session, std::string> ask_agent(const ClientOptions& options,
                                                   const wire::Session& question);

}  // namespace elastic::real
