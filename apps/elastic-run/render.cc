#include <fmt/format.h>

#include "apps/elastic-run/option_table.h"
#include "apps/elastic-run/options.h"
#include "apps/elastic-run/rdzv_conf.h"
#include "apps/elastic-run/values.h"
#include "transport/real/logs/prefix.h"

namespace elastic::launch {
namespace {

class Line {
 public:
  void add(OptionId id, std::string value) {
    // In one word, so that a value may look like an option.
    words.push_back(fmt::format("{}={}", spec_of(id).name, value));
  }
  void text(OptionId id, const std::string& value, std::string_view usual = {}) {
    if (value != usual) add(id, value);
  }
  void number(OptionId id, std::uint32_t value, std::uint32_t usual) {
    if (value != usual) add(id, number_text(value));
  }
  void flag(OptionId id, bool on) {
    if (on) words.emplace_back(spec_of(id).name);
  }

  std::vector<std::string> words;
};

using Id = OptionId;

void render_nodes(const Options& o, Line& line) {
  line.add(Id::kNnodes, fmt::format("{}:{}", o.min_nodes, o.max_nodes));
  line.number(Id::kNprocPerNode, o.workers_per_node, 1);
  line.number(Id::kNodesOnThisMachine, o.nodes_on_this_machine, 1);
  line.number(Id::kSpares, o.spares, 0);
  if (o.node_rank) line.add(Id::kNodeRank, number_text(*o.node_rank));
  line.text(Id::kRole, o.role, "default");
  line.flag(Id::kVirtualLocalRank, o.virtual_local_rank);
  if (o.numa_binding) {
    const auto place = static_cast<std::size_t>(*o.numa_binding);
    line.add(Id::kNumaBinding, std::string(spec_of(Id::kNumaBinding).choices[place]));
  }
}

void render_rendezvous(const Options& o, Line& line) {
  line.add(Id::kRdzvBackend, o.backend == Backend::kStatic ? "static" : "c10d");
  if (o.endpoint) line.add(Id::kRdzvEndpoint, to_text(*o.endpoint));
  if (o.workers_at) {
    line.add(Id::kMasterAddr, o.workers_at->host);
    line.add(Id::kMasterPort, number_text(o.workers_at->port));
  }
  line.add(Id::kRdzvId, o.job_id);
  line.text(Id::kLocalAddr, o.local_addr);
  line.text(Id::kTokenFile, o.token_file);
  Tuning tuning = o.tuning;
  std::string conf = conf_text(tuning, o.is_host);
  // Where there are spares the default is another one.
  if (o.spares > 0 && tuning.join_timeout == Tuning{}.join_timeout && tuning.join_timeout) {
    conf +=
        fmt::format("{}join_timeout={}", conf.empty() ? "" : ",", time_text(*tuning.join_timeout));
  }
  // A cap that is not the default may follow from last_call.
  if (tuning.last_call_cap == Tuning{}.last_call_cap && tuning.last_call > tuning.last_call_cap) {
    conf += fmt::format(",last_call_cap={}", time_text(tuning.last_call_cap));
  }
  line.text(Id::kRdzvConf, conf);
}

void render_failures(const Options& o, Line& line) {
  line.number(Id::kMaxRestarts, o.max_restarts, 0);
  line.add(Id::kDetectionTarget, time_text(o.detection_target));
  line.add(Id::kShutdownTimeout, time_text(o.shutdown_timeout));
  line.number(Id::kMinHealthy, o.min_healthy, 0);
  if (o.restart_policy == RestartPolicy::kExitCode) line.add(Id::kRestartPolicy, "exit-code");
  if (o.exit_code == ExitCodes::kProgram) line.add(Id::kExitCode, "program");
  if (o.growth == Growth::kNever) line.add(Id::kGrow, "never");
  line.add(Id::kSignalsToHandle, signals_text(o.stop_signals, o.forwarded_signals));
}

void render_logs(const Options& o, Line& line) {
  line.text(Id::kLogDir, o.log_dir);
  line.text(Id::kRedirects, streams_text(o.redirects), "0");
  line.text(Id::kTee, streams_text(o.tee), "0");
  line.text(Id::kLocalRanksFilter, ranks_text(o.local_ranks_filter));
  line.text(Id::kRanksFilter, ranks_text(o.ranks_filter));
  line.text(Id::kDuplicateStdoutFilters, texts_text(o.duplicate_stdout_filters));
  line.text(Id::kDuplicateStderrFilters, texts_text(o.duplicate_stderr_filters));
  line.text(Id::kLogLinePrefixTemplate, o.log_line_prefix_template, real::kDefaultPrefix);
  line.text(Id::kRecord, o.record);
  line.text(Id::kEvents, o.events);
}

std::vector<std::string> render_control(const Options& o) {
  Line line;
  for (const ActionSpec& action : action_table()) {
    if (action.action == o.action) line.words.emplace_back(action.name);
  }
  line.words.push_back(to_text(o.control.endpoint));
  line.text(Id::kRdzvId, o.job_id);
  line.text(Id::kTokenFile, o.token_file);
  line.text(Id::kNode, o.control.node);
  if (o.control.deadline) line.add(Id::kDeadline, time_text(*o.control.deadline));
  line.flag(Id::kJson, o.control.json);
  return line.words;
}

}  // namespace

std::vector<std::string> render(const Options& options) {
  if (options.action != Action::kRun) return render_control(options);
  Line line;
  render_nodes(options, line);
  render_rendezvous(options, line);
  render_failures(options, line);
  render_logs(options, line);
  const Program& program = options.program;
  line.flag(Id::kModule, program.kind == ProgramKind::kModule);
  line.flag(Id::kNoPython, program.kind == ProgramKind::kExecutable);
  line.flag(Id::kRunPath, program.kind == ProgramKind::kRunPath);
  line.words.emplace_back("--");
  line.words.push_back(program.name);
  line.words.insert(line.words.end(), program.args.begin(), program.args.end());
  return line.words;
}

}  // namespace elastic::launch
