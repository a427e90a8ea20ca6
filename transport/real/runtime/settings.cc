#include "transport/real/runtime/settings.h"

#include <fmt/format.h>

#include "transport/wire/codec.h"

namespace elastic::real {
namespace {

std::string bytes_of(JobConfig job, const Timeouts& timeouts) {
  job.journal_host = {};
  job.workers_per_node = 1;
  return wire::encode(wire::RecordingHeader{.job = job, .timeouts = timeouts, .agent = {}});
}

}  // namespace

std::optional<std::string> difference(const JobConfig& own, const Timeouts& own_timeouts,
                                      const JobConfig& job, const Timeouts& timeouts) {
  if (bytes_of(own, own_timeouts) == bytes_of(job, timeouts)) return std::nullopt;
  std::string found;
  const auto compare = [&](const char* what, const std::string& mine, const std::string& theirs) {
    if (mine == theirs) return;
    found +=
        fmt::format("{}{} {} here and {} there", found.empty() ? "" : ", ", what, mine, theirs);
  };
  const auto ms = [](Duration d) {
    return fmt::format("{} ms", std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
  };
  compare("--nnodes is", fmt::format("{}:{}", own.min_nodes, own.max_nodes),
          fmt::format("{}:{}", job.min_nodes, job.max_nodes));
  compare("--max-restarts is", std::to_string(own.max_restarts), std::to_string(job.max_restarts));
  compare("the detection target is", ms(own.detection_target), ms(job.detection_target));
  compare("the last call is", ms(own.last_call), ms(job.last_call));
  compare("--shutdown-timeout is", ms(own.stop_grace), ms(job.stop_grace));
  compare("the join timeout is", own.join_timeout ? ms(*own.join_timeout) : "none",
          job.join_timeout ? ms(*job.join_timeout) : "none");
  compare("--min-healthy is", std::to_string(own.health.min_healthy),
          std::to_string(job.health.min_healthy));
  if (found.empty()) found = "a policy or a declared bound is another one";
  return fmt::format(
      "this node was started with other settings than the job ({}); start every node with the same",
      found);
}

}  // namespace elastic::real
