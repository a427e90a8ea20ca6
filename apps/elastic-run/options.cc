#include "apps/elastic-run/options.h"

#include <fmt/format.h>

#include "apps/elastic-run/completion.h"
#include "apps/elastic-run/help.h"
#include "apps/elastic-run/settle.h"
#include "apps/elastic-run/values.h"
#include "apps/elastic-run/words.h"

namespace elastic::launch {
namespace {

Ended mistake(const std::string& clause) {
  return {.status = 2, .text = fmt::format("elastic-run: {}\n", clause), .to_stderr = true};
}

Ended print_completion(const Setting& setting) {
  const auto shell = parse_choice(setting.value, spec_of(OptionId::kPrintCompletion).choices);
  if (!shell) return mistake(fmt::format("{}: {}", setting.by, shell.error()));
  return {.status = 0, .text = *shell == 0 ? bash_completion() : zsh_completion()};
}

}  // namespace

bool Options::same(const Options& other) const {
  const auto fields = [](const Options& o) {
    return std::tie(
        o.action, o.control, o.min_nodes, o.max_nodes, o.spares, o.nodes_on_this_machine,
        o.workers_per_node, o.role, o.node_rank, o.virtual_local_rank, o.numa_binding, o.backend,
        o.endpoint, o.workers_at, o.job_id, o.is_host, o.local_addr, o.token_file, o.tuning,
        o.detection_target, o.max_restarts, o.restart_policy, o.growth, o.min_healthy,
        o.shutdown_timeout, o.stop_signals, o.forwarded_signals, o.exit_code, o.program, o.log_dir,
        o.redirects, o.tee, o.local_ranks_filter, o.ranks_filter, o.duplicate_stdout_filters,
        o.duplicate_stderr_filters, o.log_line_prefix_template, o.record, o.events);
  };
  return fields(*this) == fields(other);
}

tl::expected<Options, Ended> parse(const std::vector<std::string>& argv, const Environment& env,
                                   const Machine& machine) {
  const auto words = read_words(argv, env);
  if (!words) return tl::unexpected(mistake(words.error()));
  if (words->help) return tl::unexpected(Ended{.status = 0, .text = help_text(words->action)});
  if (words->version) return tl::unexpected(Ended{.status = 0, .text = version_text()});
  if (const auto& shell = words->of(OptionId::kPrintCompletion)) {
    return tl::unexpected(print_completion(*shell));
  }
  auto options =
      words->action == Action::kRun ? settle_run(*words, env, machine) : settle_control(*words);
  if (!options) return tl::unexpected(mistake(options.error()));
  return *std::move(options);
}

}  // namespace elastic::launch
