// What holds for every command line.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <csignal>

#include "apps/elastic-run/job.h"
#include "apps/elastic-run/option_table.h"
#include "apps/elastic-run/values.h"
#include "tests/real/run_options_support.h"
#include "tests/support/property.h"
#include "transport/real/logs/prefix.h"

namespace elastic::launch {
namespace {

using Words = std::vector<std::string>;

std::uint32_t number(std::uint32_t low, std::uint32_t high) {
  return *rc::gen::inRange<std::uint32_t>(low, high + 1);
}
bool maybe() { return *rc::gen::arbitrary<bool>(); }

template <class T>
T one_of(const std::vector<T>& list) {
  return *rc::gen::elementOf(list);
}

// Words with what makes trouble on command lines.
std::string some_text() {
  std::string text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab-=, :/$'\"{}[]\\.\t7")));
  return text;
}
std::string some_name() {
  return *rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcXYZ019-_./ =,"))));
}

Duration some_time(Duration least) {
  return least + std::chrono::milliseconds(*rc::gen::inRange(0, 100'000'000));
}

Endpoint some_endpoint() {
  const std::string host =
      one_of<std::string>({"gpu-0", "10.0.0.7", "fd00::7", "fe80::1%eth0", "a.b_c"});
  return {host, static_cast<std::uint16_t>(number(1, 65535))};
}

real::StreamModes some_streams() {
  real::StreamModes modes;
  if (maybe()) {
    modes.every.out = maybe();
    modes.every.err = maybe();
    return modes;
  }
  const std::uint32_t ranks = number(0, 4);
  for (std::uint32_t i = 0; i < ranks; ++i) {
    real::StreamMode& mode = modes.by_rank[static_cast<int>(number(0, 40))];
    mode.out = maybe();
    mode.err = maybe();
  }
  return modes;
}

std::set<int> some_ranks() { return *rc::gen::container<std::set<int>>(rc::gen::inRange(0, 3000)); }

// A comma in front of a text cannot be told from one before it.
Words some_filters() {
  Words texts;
  const std::uint32_t count = number(0, 3);
  for (std::uint32_t i = 0; i < count; ++i) texts.push_back("x" + some_text());
  return texts;
}

Tuning some_tuning() {
  const Duration second = std::chrono::seconds(1);
  Tuning tuning;
  if (maybe()) tuning.last_call = some_time(Duration::zero());
  if (maybe()) tuning.last_call_cap = some_time(second);
  tuning.last_call_cap = std::max(tuning.last_call_cap, tuning.last_call);
  if (maybe()) tuning.join_timeout.reset();
  if (tuning.join_timeout && maybe()) tuning.join_timeout = some_time(second);
  if (maybe()) tuning.round_trip = std::chrono::milliseconds(number(1, 50));
  if (maybe()) tuning.journal = std::chrono::milliseconds(number(1, 50));
  if (maybe()) tuning.pause = std::chrono::milliseconds(number(0, 50));
  if (maybe()) tuning.start_up = some_time(second);
  if (maybe()) tuning.orphan_bound = some_time(std::chrono::hours(1));
  if (maybe()) tuning.journal_lost_after = some_time(second);
  if (maybe()) tuning.cool_down = some_time(second);
  if (maybe()) tuning.resize_deadline = some_time(second);
  if (maybe()) tuning.budget_reset = some_time(second);
  if (maybe()) tuning.restart_back_off = std::chrono::milliseconds(number(0, 10'000));
  if (maybe()) tuning.restart_back_off_cap = some_time(std::chrono::seconds(10));
  if (maybe()) tuning.min_healthy_grace = some_time(second);
  if (maybe()) tuning.max_churn = number(0, 1000);
  return tuning;
}

void fill_nodes(Options& o) {
  o.min_nodes = number(1, 20);
  o.max_nodes = o.min_nodes + number(0, 20);
  o.spares = number(0, 3);
  o.nodes_on_this_machine = maybe() ? 1 : number(1, o.max_nodes + o.spares);
  o.workers_per_node = number(1, 64);
  o.role = maybe() ? "default" : some_text();
  if (maybe()) o.node_rank = number(0, 100);
  o.virtual_local_rank = maybe();
  if (maybe()) o.numa_binding = static_cast<NumaBinding>(number(0, 3));
}

void fill_rendezvous(Options& o) {
  if (maybe()) {
    o.backend = Backend::kStatic;
    o.workers_at = some_endpoint();
    o.max_nodes = o.min_nodes;
    o.nodes_on_this_machine = std::min(o.nodes_on_this_machine, o.max_nodes + o.spares);
  }
  const bool alone = o.max_nodes + o.spares <= o.nodes_on_this_machine;
  if (!alone || maybe()) o.endpoint = some_endpoint();
  // static: agents and workers need a port each.
  if (o.workers_at && o.endpoint && o.endpoint->port == o.workers_at->port) {
    o.endpoint->port = o.workers_at->port == 1 ? 2 : 1;
  }
  o.job_id = some_name();
  if (o.job_id == "none") o.job_id = "some";
  if (maybe()) o.is_host = maybe();
  // What follows from the rank of the node.
  if (o.workers_at && o.endpoint && o.node_rank && !o.is_host) o.is_host = *o.node_rank == 0;
  if (maybe()) o.local_addr = some_endpoint().host;
  if (maybe()) o.token_file = some_text();
  o.tuning = some_tuning();
}

void fill_others(Options& o) {
  o.detection_target = std::chrono::milliseconds(number(300, 5000));
  o.max_restarts = number(0, 9);
  o.restart_policy = maybe() ? RestartPolicy::kAnyFailure : RestartPolicy::kExitCode;
  o.growth = maybe() ? Growth::kAlways : Growth::kNever;
  o.min_healthy = number(0, o.max_nodes);
  o.shutdown_timeout = some_time(Duration::zero());
  o.stop_signals = maybe() ? std::vector{SIGHUP, SIGINT, SIGQUIT, SIGTERM} : std::vector{SIGTERM};
  if (maybe()) o.forwarded_signals = {SIGUSR1, SIGUSR2};
  o.exit_code = maybe() ? ExitCodes::kOwn : ExitCodes::kProgram;
  o.program.kind = static_cast<ProgramKind>(number(0, 3));
  o.program.name = some_name();
  o.program.args = *rc::gen::container<Words>(rc::gen::exec(some_text));
  o.log_dir = maybe() ? "" : some_text();
  o.redirects = some_streams();
  o.tee = some_streams();
  o.local_ranks_filter = some_ranks();
  o.ranks_filter = some_ranks();
  o.duplicate_stdout_filters = some_filters();
  o.duplicate_stderr_filters = some_filters();
  o.log_line_prefix_template = maybe() ? std::string(real::kDefaultPrefix)
                                       : one_of<std::string>({"", "${rank}> ", "--x=${round}"});
  o.record = maybe() ? "" : some_text();
  o.events = maybe() ? "" : some_text();
}

Options some_run() {
  Options o;
  fill_nodes(o);
  fill_rendezvous(o);
  fill_others(o);
  return o;
}

Options some_control() {
  Options o;
  o.action = static_cast<Action>(number(1, 4));
  o.control.endpoint = some_endpoint();
  if (maybe()) o.job_id = some_name();
  if (maybe()) o.token_file = some_name();
  const bool named = o.action == Action::kLeave || o.action == Action::kPreempt;
  if (named && maybe()) o.control.node = some_text();
  if (o.action == Action::kPreempt) o.control.deadline = some_time(Duration::zero());
  o.control.json = o.action == Action::kStatus && maybe();
  return o;
}

TEST(RunOptions, what_is_rendered_reads_back_as_the_same_options) {
  test::check("parse(render(options)) is options",
              {"hosted", "static", "one process", "spares", "subcommand"},
              [] {
                const Options options = maybe() || maybe() ? some_run() : some_control();
                // Not for what core/ refuses.
                if (options.action == Action::kRun) {
                  const auto derived = derive_timeouts(job_config(options, NodeId{1}));
                  if (const auto* refusal = std::get_if<Refusal>(&derived)) {
                    RC_DISCARD(refusal->message);
                  }
                }
                const Words words = render(options);
                const auto again = parse(words, {}, some_machine());
                if (!again) RC_FAIL(joined(words) + ": " + again.error().text);
                if (!again->same(options)) RC_FAIL(joined(words) + " -> " + joined(render(*again)));
                const bool run = options.action == Action::kRun;
                RC_CLASSIFY(run && options.backend == Backend::kHosted, "hosted");
                RC_CLASSIFY(run && options.backend == Backend::kStatic, "static");
                RC_CLASSIFY(run && !options.endpoint, "one process");
                RC_CLASSIFY(run && options.spares > 0, "spares");
                RC_CLASSIFY(!run, "subcommand");
              },
              {.max_success = 400});
}

// A word as people mistype them: options whole, cut, doubled, joined with values; values; noise.
std::string some_word() {
  const auto table = option_table();
  const OptionSpec& spec = table[*rc::gen::inRange<std::size_t>(0, table.size())];
  const std::string name = maybe() ? std::string(spec.name) : underscored(spec.name);
  static const Words kValues{"1",     "2:4",     "auto",      "c10d", "static",
                             "h:1",   "[::1]:2", "a=b",       "7s",   "0:3",
                             "never", "SIGTERM", "-",         "--",   "t.py",
                             "",      "status",  "pause=1ms", "1:",   "99999999999999999999"};
  switch (number(0, 6)) {
    case 0:
      return name;
    case 1:
      return name + "=" + one_of(kValues);
    case 2:
      return name.substr(0, number(0, static_cast<std::uint32_t>(name.size())));
    case 3:
      return spec.letter == 0 ? "-q" : std::string{'-', spec.letter} + one_of(kValues);
    case 4:
      return *rc::gen::arbitrary<std::string>();
    case 5:
      return some_text();
    default:
      return one_of(kValues);
  }
}

TEST(RunOptions, any_words_are_taken_or_refused_with_one_line_and_status_2) {
  test::check("a command line is taken, or answered, or refused in one line of printable text",
              {"taken", "refused", "answered", "by environment"},
              [] {
                const Words argv = *rc::gen::container<Words>(rc::gen::exec(some_word));
                Environment env;
                const std::uint32_t variables = number(0, 2);
                for (std::uint32_t i = 0; i < variables; ++i) {
                  const auto table = option_table();
                  const OptionSpec& spec = table[*rc::gen::inRange<std::size_t>(0, table.size())];
                  env[std::string(maybe() ? spec.env : spec.other_env)] = some_word();
                }
                const auto options = parse(argv, env, some_machine());
                RC_CLASSIFY(options.has_value(), "taken");
                RC_CLASSIFY(!options && options.error().status == 2, "refused");
                RC_CLASSIFY(!options && options.error().status == 0, "answered");
                if (options) {
                  // Whatever is taken can be said again.
                  const auto again = parse(render(*options), {}, some_machine());
                  if (!again) RC_FAIL(joined(render(*options)) + ": " + again.error().text);
                  if (!again->same(*options)) RC_FAIL(joined(render(*options)));
                  RC_ASSERT(options->action != Action::kRun || !options->job_id.empty());
                  return;
                }
                const Ended& ended = options.error();
                if (ended.status == 0) {
                  RC_ASSERT(!ended.to_stderr);
                  return;
                }
                RC_ASSERT(ended.status == 2);
                RC_ASSERT(ended.to_stderr);
                RC_ASSERT(std::count(ended.text.begin(), ended.text.end(), '\n') == 1);
                RC_ASSERT(ended.text.ends_with('\n'));
                RC_ASSERT(ended.text.starts_with("elastic-run: "));
                const bool clean = std::all_of(
                    ended.text.begin(), ended.text.end() - 1,
                    [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
                if (!clean) RC_FAIL("not printable: " + ended.text);
                RC_CLASSIFY(ended.text.find("PET_") != std::string::npos ||
                                ended.text.find("ELASTIC_RUN_") != std::string::npos,
                            "by environment");
              },
              {.max_success = 3000});
}

TEST(RunJob, default_bounds_fit_every_detection_target) {
  test::check("a detection target from 4 ms on is never refused for bounds that nobody declared",
              {"below 300 ms", "above"}, [] {
                const auto target = std::chrono::microseconds(*rc::gen::inRange(4'000, 3'000'000));
                Options options;
                options.detection_target = target;
                options.program.name = "t.py";
                const auto derived = derive_timeouts(job_config(options, NodeId{1}));
                if (const auto* no = std::get_if<Refusal>(&derived)) RC_FAIL(no->message);
                RC_CLASSIFY(target < std::chrono::milliseconds(300), "below 300 ms");
                RC_CLASSIFY(target >= std::chrono::milliseconds(300), "above");
              });
}

}  // namespace
}  // namespace elastic::launch
