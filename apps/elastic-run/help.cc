#include "apps/elastic-run/help.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "apps/elastic-run/exit_codes.h"
#include "apps/elastic-run/option_table.h"
#include "apps/elastic-run/rdzv_conf.h"

namespace elastic::launch {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kColumn = 26;  // where descriptions begin

constexpr std::string_view kHead =
    R"(usage: elastic-run [options] PROGRAM [arguments of the program]
       elastic-run status|leave|stop|preempt ENDPOINT [options]

Runs PROGRAM once per worker on each machine of a job, and keeps the job going
while machines come and go. Options, variables and the workers' environment are
those of torchrun; docs/from-torchrun.md lists what differs.

  elastic-run train.py --lr 0.1
        one worker here; all after the program's name belongs to the program
  elastic-run --standalone --nproc-per-node 2 train.py
        two workers here
  elastic-run --nnodes 2:8 --nproc-per-node gpu --max-restarts 3 \
      --rdzv-endpoint gpu-0:29400 --rdzv-id llama-a train.py
        the same command on 2 to 8 machines, in any order; whoever comes later
        joins, and whoever is lost is missed within --detection-target
  elastic-run --nodes-on-this-machine 4 train.py
        four agents here, as if there were four machines: kill some
  elastic-run -m package.train
  elastic-run ./run.sh --steps 100
        a module; an executable file, which is run as it is
  elastic-run --log-dir runs -r 3 -t 0:3 train.py
        output to files, and that of local rank 0 to the console as well
  elastic-run status gpu-0:29400
        rounds, nodes and ranks, who is waited for, and why

Options come before PROGRAM, and are not shortened. --nproc_per_node is
--nproc-per-node. A subcommand is one only as the first word: a program of that
name is run by ./status, or by -- status.
)";

// `text` in lines that begin at `column`; the first one is begun already, at `at`.
std::string wrapped(std::string_view text, std::size_t column, std::size_t at) {
  std::string out;
  const auto new_line = [&] {
    out += '\n';
    out.append(column, ' ');
    at = column;
  };
  if (at > column) {
    new_line();
  } else {
    out.append(column - at, ' ');
    at = column;
  }
  bool first = true;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
    if (!first && at + 1 + word.size() > kWidth) {
      new_line();
    } else if (!first) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
    first = false;
  }
  return out + "\n";
}

std::string entry(std::string head, std::string_view help) {
  head.insert(0, "  ");
  // Two blanks at least between a name and its description.
  const std::size_t at = head.size() + 2 > kColumn ? kWidth : head.size();
  return head + wrapped(help, kColumn, at);
}

std::string entry(const OptionSpec& spec) {
  std::string head = spec.letter == 0 ? "" : fmt::format("-{}, ", spec.letter);
  head += spec.name;
  if (!spec.is_flag()) head += fmt::format(" {}", spec.argument);
  return entry(std::move(head), spec.help);
}

std::string options_of(Action action) {
  std::string text;
  for (int i = 0; i <= static_cast<int>(Group::kOther); ++i) {
    const auto group = static_cast<Group>(i);
    std::string entries;
    for (const OptionSpec& spec : option_table()) {
      if (spec.group == group && spec.for_action(action)) entries += entry(spec);
    }
    if (!entries.empty()) text += fmt::format("\n{}\n{}", title_of(group), entries);
  }
  return text;
}

std::string conf_keys_text() {
  std::string text =
      "\nKeys of --rdzv-conf (a TIME is 300ms, 90s or 2h; a bare number is seconds)\n";
  std::string ignored;
  for (const ConfKey& key : conf_keys()) {
    if (key.ignored) {
      ignored += fmt::format("{}{}", ignored.empty() ? "" : ", ", key.name);
    } else {
      text += entry(fmt::format("{}={}", key.name, key.argument), key.help);
    }
  }
  return text + "  Accepted, and without meaning here:\n    " + wrapped(ignored, 4, 4);
}

std::string environment_text() {
  std::string text =
      "\nEnvironment\n"
      "  PET_NNODES stands for --nnodes, and so on for torchrun's options;\n"
      "  ELASTIC_RUN_SPARES for --spares, and so on for ours. The command line goes\n"
      "  before them. Flags take 1, 0, true or false. An empty one counts as not set.\n"
      "  Without such a variable:";
  std::string none;
  std::string other;
  for (const OptionSpec& spec : option_table()) {
    if (!spec.for_action(Action::kRun)) continue;
    const bool rule = spec.env.starts_with("PET_") || spec.env.starts_with("ELASTIC_RUN_");
    if (spec.env.empty()) none += fmt::format("{}{}", none.empty() ? "" : ", ", spec.name);
    const std::string_view more = rule ? spec.other_env : spec.env;
    if (!more.empty()) other += fmt::format("  {}\n      for {}\n", more, spec.name);
  }
  text += "\n    " + wrapped(none, 4, 4);
  return text + "  Read as well:\n" + other +
         "  PYTHON_EXEC\n      the interpreter; else python3\n";
}

std::string exits_text() {
  std::string text = "\nExit status\n";
  for (const ExitLine& line : exit_table()) {
    text += fmt::format("  {:>3}  {}\n", line.status, line.meaning);
  }
  return text;
}

std::string run_help() {
  std::string text(kHead);
  text += "\nSubcommands (each with --help)\n";
  for (const ActionSpec& action : action_table()) {
    if (!action.name.empty()) text += entry(std::string(action.name), action.help);
  }
  return text + options_of(Action::kRun) + conf_keys_text() + environment_text() + exits_text();
}

std::string_view example_of(Action action) {
  switch (action) {
    case Action::kStatus:
      return "  elastic-run status gpu-0:29400 --json";
    case Action::kLeave:
      return "  elastic-run leave gpu-0:29400 --node gpu-3";
    case Action::kStop:
      return "  elastic-run stop gpu-0:29400 --token-file token";
    case Action::kPreempt:
      return "  elastic-run preempt gpu-0:29400 --deadline 90s";
    case Action::kRun:
      break;
  }
  return {};
}

std::string control_help(Action action) {
  std::string text;
  for (const ActionSpec& one : action_table()) {
    if (one.action != action) continue;
    text = fmt::format("usage: elastic-run {} ENDPOINT [options]\n\n", one.name);
    text += wrapped(fmt::format("{}: {}", one.name, one.help), 0, 0);
    text += fmt::format("\n{}\n\n", example_of(action));
  }
  text +=
      "ENDPOINT is the HOST[:PORT] of the job's --rdzv-endpoint (port 29400 unless\n"
      "given), or --rdzv-endpoint, or PET_RDZV_ENDPOINT.\n";
  return text + options_of(action) +
         "\nExit status: 0 done, 2 usage, 10 the job was not reached or refused\n";
}

}  // namespace

std::string help_text(Action action) {
  return action == Action::kRun ? run_help() : control_help(action);
}

std::string version_text() { return "elastic-run 0.1.0\n"; }

}  // namespace elastic::launch
