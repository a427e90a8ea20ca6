// Facts of this machine, and what a job keeps on it.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "apps/elastic-run/options.h"
#include "transport/real/process/slot.h"

namespace elastic::launch {

Machine this_machine();
Environment this_environment();

// An address of one of its interfaces. `names` are resolved; a name that is not known is not ours.
bool is_this_machine(const std::string& host);
// Whether nobody listens at this port yet.
bool port_is_free(std::uint16_t port);

// Another process of this user finds it (in the job's folder, mode 0600).
tl::expected<std::string, std::string> stored_token(const std::string& job_id);
tl::expected<void, std::string> store_token(const std::string& job_id, const std::string& token);
// The content of --token-file without white space around it.
tl::expected<std::string, std::string> read_token(const std::string& file);

// The slot of whoever hosts the rendezvous stays the same from life to life, so that others know it
// again; others take another one.
tl::expected<real::Slot, std::string> slot_for(const std::string& job_id, bool host);

}  // namespace elastic::launch
