#include "apps/elastic-run/settle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <variant>

#include "apps/elastic-run/job.h"
#include "apps/elastic-run/rdzv_conf.h"
#include "apps/elastic-run/values.h"
#include "chaos/scenario/problem.h"
#include "transport/real/logs/folder.h"
#include "transport/real/logs/prefix.h"

namespace elastic::launch {
namespace {

using Id = OptionId;

std::string quoted(std::string_view text) { return "\"" + chaos::printable(text) + "\""; }

// Reads settings into options; keeps the first mistake, after which nothing matters any more.
class Settler {
 public:
  Settler(const Words& words, const Environment& env, const Machine& machine)
      : words_(words), env_(env), machine_(machine) {
    options_.notices = words.notices;
  }

  tl::expected<Options, std::string> run() {
    nodes();
    conf();
    failures();
    logs();
    ignored();
    program();
    rendezvous();
    together();
    if (problem_) return tl::unexpected(*problem_);
    return options_;
  }

 private:
  void fail(std::string clause) {
    if (!problem_) problem_ = std::move(clause);
  }
  void fail(const Setting& setting, const std::string& clause) {
    fail(fmt::format("{}: {}", setting.by, clause));
  }
  void notice(std::string line) { options_.notices.push_back(std::move(line)); }

  // read(id, place, parse): where the option is given, what it says.
  template <class Place, class Parse>
  void read(Id id, Place& place, Parse parse) {
    const auto& setting = words_.of(id);
    if (!setting) return;
    const auto value = parse(std::string_view(setting->value));
    if (value) {
      place = *value;
    } else {
      fail(*setting, value.error());
    }
  }
  template <class Place>
  void read_number(Id id, Place& place, std::uint32_t low, std::uint32_t high) {
    read(id, place, [=](std::string_view text) { return parse_number(text, low, high); });
  }
  template <class Place>
  void read_time(Id id, Place& place) {
    read(id, place, parse_time);
  }
  void read_text(Id id, std::string& place) {
    if (const auto& setting = words_.of(id)) place = setting->value;
  }
  // The place of the argument among the option's choices.
  std::optional<std::size_t> choice(Id id) {
    std::optional<std::size_t> index;
    read(id, index,
         [id](std::string_view text) { return parse_choice(text, spec_of(id).choices); });
    return index;
  }

  void program();
  void look_at_file();
  void nodes();
  void workers();
  void conf();
  void failures();
  void rendezvous();
  std::optional<Endpoint> given_endpoint();
  bool is_static();
  void meet_hosted();
  void meet_static();
  void identity();
  void refuse_unreachable();
  void logs();
  void ignored();
  void together();

  [[nodiscard]] bool several() const {
    return options_.max_nodes + options_.spares > options_.nodes_on_this_machine;
  }

  const Words& words_;
  const Environment& env_;
  const Machine& machine_;
  Options options_;
  bool join_timeout_given_ = false;
  std::optional<Duration> static_timeout_;
  std::optional<std::string> problem_;
};

void Settler::program() {
  if (words_.rest.empty()) {
    return fail("no program is given; write elastic-run [options] train.py, or elastic-run --help");
  }
  Program& program = options_.program;
  program.name = words_.rest.front();
  program.args.assign(words_.rest.begin() + 1, words_.rest.end());
  if (program.name.empty()) return fail("the name of the program is empty");
  const bool module = words_.flag(Id::kModule);
  const bool run_path = words_.flag(Id::kRunPath);
  const bool no_python = words_.flag(Id::kNoPython);
  if (module && (run_path || no_python)) {
    return fail(fmt::format("{} and {} contradict each other; leave out one",
                            words_.of(Id::kModule)->by,
                            words_.of(run_path ? Id::kRunPath : Id::kNoPython)->by));
  }
  if (module) program.kind = ProgramKind::kModule;
  if (no_python) program.kind = ProgramKind::kExecutable;
  if (run_path) program.kind = ProgramKind::kRunPath;
  if (!module && !(no_python && !run_path)) look_at_file();
}

void Settler::look_at_file() {
  Program& program = options_.program;
  const FileKind kind = machine_.file ? machine_.file(program.name) : FileKind::kUnknown;
  if (kind == FileKind::kAbsent) {
    std::string more;
    for (const ActionSpec& action : action_table()) {
      const std::vector<std::string_view> name{action.name};
      if (!action.name.empty() && !chaos::nearest(program.name, name).empty()) {
        more = fmt::format("; did you mean the subcommand {}?", action.name);
      }
    }
    if (more.empty() && program.name.find('/') == std::string::npos &&
        program.name.find('.') == std::string::npos) {
      more = "; for a program in PATH write --no-python, for a Python module -m";
    }
    return fail(fmt::format("there is no file {}{}", quoted(program.name), more));
  }
  if (kind == FileKind::kExecutable && program.kind == ProgramKind::kScript &&
      !program.name.ends_with(".py")) {
    program.kind = ProgramKind::kExecutable;
    // As a file of this folder, and not of PATH.
    if (program.name.find('/') == std::string::npos)
      program.name = fmt::format("./{}", program.name);
  }
}

void Settler::nodes() {
  read_number(Id::kNodesOnThisMachine, options_.nodes_on_this_machine, 1, kMaxAgentsHere);
  read_number(Id::kSpares, options_.spares, 0, kMaxNodes);
  std::pair<std::uint32_t, std::uint32_t> range{1, options_.nodes_on_this_machine};
  read(Id::kNnodes, range, parse_nnodes);
  std::tie(options_.min_nodes, options_.max_nodes) = range;
  if (options_.nodes_on_this_machine > options_.max_nodes + options_.spares) {
    fail(*words_.of(Id::kNodesOnThisMachine),
         fmt::format("{} agents are more than the job has nodes ({}); raise --nnodes, or say "
                     "--spares {}",
                     options_.nodes_on_this_machine, options_.max_nodes,
                     options_.nodes_on_this_machine - options_.max_nodes));
  }
  read_number(Id::kNodeRank, options_.node_rank, 0, kMaxNodes);
  read_text(Id::kRole, options_.role);
  options_.virtual_local_rank = words_.flag(Id::kVirtualLocalRank);
  if (const auto index = choice(Id::kNumaBinding)) {
    options_.numa_binding = static_cast<NumaBinding>(*index);
  }
  workers();
}

void Settler::workers() {
  const auto& setting = words_.of(Id::kNprocPerNode);
  if (setting) {
    const std::string& text = setting->value;
    if (text == "auto" || text == "cpu" || text == "gpu") {
      const bool gpus = text == "gpu" || (text == "auto" && machine_.gpus > 0);
      options_.workers_per_node = gpus ? machine_.gpus : machine_.cpus;
      if (gpus && machine_.gpus == 0) {
        fail(*setting, "there is no GPU on this machine; write a number, or cpu");
      }
      if (text == "auto" && !gpus) {
        notice(fmt::format("{} auto: there is no GPU, so {} worker{}, one for each CPU",
                           setting->by, machine_.cpus, machine_.cpus == 1 ? "" : "s"));
      }
    } else if (const auto number = parse_number(text, 1, kMaxWorkersPerNode)) {
      options_.workers_per_node = *number;
    } else {
      fail(*setting, fmt::format("{} is neither a number from 1 to {} nor auto, gpu or cpu",
                                 quoted(text), kMaxWorkersPerNode));
    }
  }
  const auto visible = env_.find("CUDA_VISIBLE_DEVICES");
  if (!options_.virtual_local_rank || visible == env_.end()) return;
  const auto devices = parse_texts(visible->second).size();
  if (devices < options_.workers_per_node) {
    fail(
        fmt::format("--virtual-local-rank gives each worker a GPU, but CUDA_VISIBLE_DEVICES has "
                    "{} for {} workers",
                    devices, options_.workers_per_node));
  }
}

void Settler::conf() {
  Conf conf;
  read(Id::kRdzvConf, conf, parse_conf);
  options_.tuning = conf.tuning;
  options_.is_host = conf.is_host;
  if (!options_.node_rank) options_.node_rank = conf.rank;
  if (conf.detection_target) options_.detection_target = *conf.detection_target;
  join_timeout_given_ = conf.join_timeout_given;
  static_timeout_ = conf.timeout;
  for (std::string& line : conf.notices) notice(std::move(line));
}

void Settler::failures() {
  read_number(Id::kMaxRestarts, options_.max_restarts, 0, 1'000'000'000);
  read_time(Id::kDetectionTarget, options_.detection_target);
  read_time(Id::kShutdownTimeout, options_.shutdown_timeout);
  read_number(Id::kMinHealthy, options_.min_healthy, 0, kMaxNodes);
  if (const auto index = choice(Id::kRestartPolicy)) {
    options_.restart_policy = *index == 0 ? RestartPolicy::kAnyFailure : RestartPolicy::kExitCode;
  }
  if (const auto index = choice(Id::kExitCode)) {
    options_.exit_code = *index == 0 ? ExitCodes::kOwn : ExitCodes::kProgram;
  }
  const auto& grow = words_.of(Id::kGrow);
  if (grow && grow->value == "pays") {
    fail(*grow,
         "\"pays\" is for native workers: the steps of other programs are not known; write "
         "always or never");
  }
  if (const auto index = choice(Id::kGrow)) {
    options_.growth = *index == 0 ? Growth::kAlways : Growth::kNever;
  }
  Signals signals = *parse_signals("SIGTERM,SIGINT,SIGHUP,SIGQUIT");
  read(Id::kSignalsToHandle, signals, parse_signals);
  options_.stop_signals = signals.stop;
  options_.forwarded_signals = signals.forward;
  if (options_.spares > 0 && !join_timeout_given_) options_.tuning.join_timeout.reset();
}

std::optional<Endpoint> Settler::given_endpoint() {
  std::optional<Endpoint> endpoint;
  const auto& setting = words_.of(Id::kRdzvEndpoint);
  if (!setting) return endpoint;
  if (words_.flag(Id::kStandalone)) {
    notice(fmt::format("{} has no meaning with --standalone", setting->by));
    return endpoint;
  }
  read(Id::kRdzvEndpoint, endpoint,
       [](std::string_view text) { return parse_endpoint(text, kDefaultPort); });
  return endpoint;
}

bool Settler::is_static() {
  const auto& setting = words_.of(Id::kRdzvBackend);
  const bool master = words_.of(Id::kMasterAddr) || words_.of(Id::kMasterPort);
  const bool standalone = words_.flag(Id::kStandalone);
  if (!setting) return master && !standalone && !words_.of(Id::kRdzvEndpoint);
  const std::string& name = setting->value;
  if (name == "etcd" || name == "etcd-v2" || name == "file") {
    fail(*setting, fmt::format("\"{}\" is not there yet: a journal outside the agents comes later; "
                               "write c10d, and name the first machine with --rdzv-endpoint",
                               name));
  }
  const auto index = choice(Id::kRdzvBackend);
  if (!index || *index != 2) return false;
  if (standalone) notice(fmt::format("{} static has no meaning with --standalone", setting->by));
  return !standalone;
}

void Settler::meet_hosted() {
  options_.backend = Backend::kHosted;
  options_.endpoint = given_endpoint();
  for (const Id id : {Id::kMasterAddr, Id::kMasterPort}) {
    if (const auto& setting = words_.of(id)) {
      notice(
          fmt::format("{} has no meaning without --rdzv-backend static: workers get an address "
                      "and a fresh port in every round",
                      setting->by));
    }
  }
}

// torchrun's agents meet where the workers do, which takes the port from the workers or has them
// share its store. Ours meet at the port after it, which every node works out alike.
void Settler::meet_static() {
  options_.backend = Backend::kStatic;
  const std::optional<Endpoint> endpoint = given_endpoint();
  const auto& named = words_.of(Id::kRdzvEndpoint);
  const bool with_port = endpoint && named && names_port(named->value);
  Endpoint workers{.host = "127.0.0.1", .port = kDefaultMasterPort};
  if (endpoint) workers.host = endpoint->host;
  if (with_port) workers.port = endpoint->port;
  read(Id::kMasterAddr, workers.host, parse_host);
  read(Id::kMasterPort, workers.port, parse_port);
  if (workers.port == 0) {
    fail(
        fmt::format("{}: static needs a port that all workers know; write one, or leave out "
                    "--rdzv-backend static",
                    words_.of(Id::kMasterPort) ? words_.of(Id::kMasterPort)->by : named->by));
  }
  options_.workers_at = workers;
  if (options_.min_nodes != options_.max_nodes && words_.of(Id::kNnodes)) {
    const auto& backend = words_.of(Id::kRdzvBackend);
    const auto& master = words_.of(Id::kMasterAddr);
    const std::string by = backend  ? backend->by + " static"
                           : master ? master->by
                                    : words_.of(Id::kMasterPort)->by;
    fail(fmt::format(
        "{} is for a fixed number of nodes; write --nnodes {}, or for a range --rdzv-backend c10d "
        "--rdzv-endpoint {}",
        by, options_.max_nodes, to_text({workers.host, kDefaultPort})));
  }
  if (!several() && !endpoint) return;
  Endpoint meet{.host = endpoint ? endpoint->host : workers.host, .port = workers.port};
  if (with_port && endpoint->port != workers.port) {
    meet.port = endpoint->port;
  } else {
    meet.port = static_cast<std::uint16_t>(workers.port == 65535 ? 65534 : workers.port + 1);
  }
  options_.endpoint = meet;
  if (options_.node_rank && !options_.is_host) options_.is_host = *options_.node_rank == 0;
}

// The id of a job that was given none. Where all agents are in this process, any will do that no
// other job has. Else all nodes must come to the same one by themselves: they start the same
// program, whatever its arguments.
std::string derived_id(const Program& program, std::optional<std::uint64_t> nonce) {
  std::string name = program.name.substr(program.name.find_last_of('/') + 1);
  if (name.ends_with(".py")) name.resize(name.size() - 3);
  if (name.empty()) name = "job";
  name = real::safe_name(name);
  return nonce ? fmt::format("{}-{:08x}", name, static_cast<std::uint32_t>(*nonce)) : name;
}

void Settler::identity() {
  read_text(Id::kTokenFile, options_.token_file);
  const bool alone = !options_.endpoint;
  const auto& id = words_.of(Id::kRdzvId);
  if (!id) {
    options_.job_id =
        derived_id(options_.program, alone ? std::optional(machine_.nonce) : std::nullopt);
    return;
  }
  options_.job_id = id->value;
  const bool printable = std::all_of(id->value.begin(), id->value.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (id->value.empty() || id->value.size() > 255 || !printable) {
    fail(*id, fmt::format("{} is no id; write 1 to 255 printable characters", quoted(id->value)));
  }
  if (id->value == "none" && several()) {
    fail(*id,
         "\"none\" is what torchrun calls a job whose id was forgotten, and two such jobs "
         "would merge; choose a name");
  }
}

void Settler::rendezvous() {
  if (is_static()) {
    meet_static();
  } else {
    meet_hosted();
  }
  // A free port of this machine is what an endpoint-less job has anyway.
  if (options_.endpoint && options_.endpoint->port == 0 && !several() &&
      is_loopback(options_.endpoint->host)) {
    options_.endpoint.reset();
  }
  if (static_timeout_ && options_.backend == Backend::kStatic) {
    if (!join_timeout_given_) options_.tuning.join_timeout = static_timeout_;
  } else if (static_timeout_) {
    notice("--rdzv-conf timeout has no meaning with c10d: write join_timeout");
  }
  read(Id::kLocalAddr, options_.local_addr, parse_host);
  identity();
  refuse_unreachable();
}

void Settler::refuse_unreachable() {
  if (problem_ || !several()) return;
  const std::uint32_t nodes = options_.max_nodes + options_.spares;
  if (words_.flag(Id::kStandalone)) {
    return fail(
        fmt::format("--standalone is for this machine alone, but the job has {} nodes; "
                    "write --nodes-on-this-machine {} to try them out here, or name a "
                    "--rdzv-endpoint instead",
                    nodes, nodes));
  }
  if (!options_.endpoint) {
    return fail(
        fmt::format("a job of {} nodes needs --rdzv-endpoint HOST[:PORT], the same on all "
                    "of them: the address of one that is always there",
                    nodes));
  }
  if (options_.endpoint->port == 0) {
    return fail(fmt::format("{}: port 0 is another one on each start; name one that all nodes know",
                            to_text(*options_.endpoint)));
  }
  if (is_loopback(options_.local_addr)) return;
  const bool workers = options_.workers_at && is_loopback(options_.workers_at->host);
  const std::string& host = workers ? options_.workers_at->host : options_.endpoint->host;
  if (!is_loopback(host)) return;
  fail(
      fmt::format("{} is another machine on each of the {} nodes; write an address that all can "
                  "reach (or, if all run on this machine, --nodes-on-this-machine {}, or "
                  "--local-addr 127.0.0.1)",
                  host, nodes, nodes));
}

void Settler::logs() {
  read_text(Id::kLogDir, options_.log_dir);
  read(Id::kRedirects, options_.redirects, parse_streams);
  read(Id::kTee, options_.tee, parse_streams);
  read(Id::kLocalRanksFilter, options_.local_ranks_filter, parse_ranks);
  read(Id::kRanksFilter, options_.ranks_filter, parse_ranks);
  const auto texts = [](std::string_view text) {
    return Value<std::vector<std::string>>(parse_texts(text));
  };
  read(Id::kDuplicateStdoutFilters, options_.duplicate_stdout_filters, texts);
  read(Id::kDuplicateStderrFilters, options_.duplicate_stderr_filters, texts);
  options_.log_line_prefix_template = real::kDefaultPrefix;
  read(Id::kLogLinePrefixTemplate, options_.log_line_prefix_template, parse_prefix);
  read_text(Id::kRecord, options_.record);
  read_text(Id::kEvents, options_.events);
  for (const Id id : {Id::kRedirects, Id::kTee}) {
    const real::StreamModes& modes = id == Id::kTee ? options_.tee : options_.redirects;
    if (modes.highest() >= static_cast<int>(options_.workers_per_node)) {
      notice(fmt::format("{} names local rank {}, but there are {} workers here", words_.of(id)->by,
                         modes.highest(), options_.workers_per_node));
    }
    if (modes != real::StreamModes{} && options_.log_dir == kNoLogFiles) {
      notice(fmt::format("{} has no meaning with --log-dir {}", words_.of(id)->by, kNoLogFiles));
    }
  }
}

// Options that are accepted because torchrun has them.
void Settler::ignored() {
  for (const OptionSpec& spec : option_table()) {
    const auto& setting = words_.of(spec.id);
    if (spec.group != Group::kAccepted || !setting) continue;
    // What torchrun does without them.
    if (setting->value == "spawn" || setting->value == "null") continue;
    std::string why(spec.help.substr(0, spec.help.size() - 1));
    why.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(why.front())));
    notice(fmt::format("{} has no meaning here: {}", setting->by, why));
  }
  if (options_.numa_binding) {
    notice(fmt::format("{} is not carried out yet: workers run on all CPUs",
                       words_.of(Id::kNumaBinding)->by));
  }
}

// What core/ refuses, before anything waits.
void Settler::together() {
  if (problem_) return;
  const auto derived = derive_timeouts(job_config(options_, NodeId{1}));
  if (const auto* refusal = std::get_if<Refusal>(&derived)) fail(refusal->message);
}

}  // namespace

tl::expected<Options, std::string> settle_run(const Words& words, const Environment& env,
                                              const Machine& machine) {
  return Settler(words, env, machine).run();
}

tl::expected<Options, std::string> settle_control(const Words& words) {
  Options options;
  options.action = words.action;
  Control& control = options.control;
  std::string text;
  if (const auto& setting = words.of(OptionId::kRdzvEndpoint)) text = setting->value;
  if (words.rest.size() > 1) {
    return tl::unexpected(
        fmt::format("unexpected {}: one ENDPOINT is enough", quoted(words.rest[1])));
  }
  if (!words.rest.empty()) text = words.rest.front();
  if (text.empty()) {
    return tl::unexpected(std::string(
        "no ENDPOINT is given; write the host:port that the job's --rdzv-endpoint names"));
  }
  auto endpoint = parse_endpoint(text, kDefaultPort);
  if (!endpoint) return tl::unexpected(fmt::format("ENDPOINT: {}", endpoint.error()));
  if (endpoint->port == 0) return tl::unexpected(std::string("ENDPOINT: port 0 names no job"));
  control.endpoint = *std::move(endpoint);
  if (const auto& id = words.of(OptionId::kRdzvId)) options.job_id = id->value;
  if (const auto& token = words.of(OptionId::kTokenFile)) options.token_file = token->value;
  if (const auto& node = words.of(OptionId::kNode)) control.node = node->value;
  control.json = words.flag(OptionId::kJson);
  if (const auto& deadline = words.of(OptionId::kDeadline)) {
    const auto time = parse_time(deadline->value);
    if (!time) return tl::unexpected(fmt::format("{}: {}", deadline->by, time.error()));
    control.deadline = *time;
  }
  if (options.action == Action::kPreempt && !control.deadline) {
    return tl::unexpected(
        std::string("preempt needs --deadline TIME: when the machine is taken back, such as 90s"));
  }
  return options;
}

}  // namespace elastic::launch
