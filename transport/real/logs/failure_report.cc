#include "transport/real/logs/failure_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "transport/real/logs/error_dedup.h"

namespace elastic::real {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 17;

std::string signal_name(int signal) {
  if (signal >= SIGRTMIN && signal <= SIGRTMAX)
    return fmt::format("SIGRTMIN+{}", signal - SIGRTMIN);
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "unknown" : fmt::format("SIG{}", name);
}

// Text of ours, parted at spaces so that it fits.
void put_wrapped(std::string& out, std::string_view head, std::string_view text) {
  std::string line = fmt::format("{:<{}}", fmt::format("  {}", head), kIndent);
  bool fresh = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (!fresh && line.size() + 1 + end > kColumns) {
      out += line + '\n';
      line.assign(kIndent, ' ');
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += text.substr(0, end);
    fresh = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out += line + '\n';
}

// Text of a program as it may stand on a terminal: no escape sequences, no control characters.
std::string plain(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c == 0x1B && at + 1 < text.size() && text[at + 1] == '[') {
      at += 2;
      while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
    } else if (c == '\t' || (c >= 0x20 && c != 0x7F)) {
      out += text[at];
    }
  }
  if (out.size() <= most) return out;
  while (most > 0 && (static_cast<unsigned char>(out[most]) & 0xC0U) == 0x80U) --most;
  return out.substr(0, most) + " ...";
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// What the worker said last: its lines, or its error file if it wrote none.
std::vector<std::string> words_of(const FailedWorker& worker) {
  if (!worker.tail.empty() || !worker.error) return worker.tail;
  return lines_of(worker.error->call_stack.empty() ? worker.error->message
                                                   : worker.error->call_stack);
}

bool perhaps_out_of_memory(const FailedWorker& worker) {
  return !worker.stopped_by_agent &&
         (worker.status.signal == SIGKILL || worker.status.code == 128 + SIGKILL);
}

void put_words(std::string& out, const FailedWorker& worker, const ReportOptions& options) {
  const std::string indent(kIndent, ' ');
  const auto words = words_of(worker);
  const std::size_t skip = words.size() - std::min(words.size(), options.tail_lines);
  for (std::size_t at = skip; at < words.size(); ++at) {
    const std::string line = plain(words[at], options.line_bytes);
    out += line.empty() ? "\n" : indent + line + '\n';
  }
  if (!worker.error || worker.error->message.empty()) return;
  const std::string first = lines_of(worker.error->message).front();
  const auto has_it = [&](const std::string& line) {
    return line.find(first) != std::string::npos;
  };
  if (std::none_of(words.begin(), words.end(), has_it)) {
    out += indent + "error file: " + plain(first, options.line_bytes) + '\n';
  }
}

std::string status_of(const FailedWorker& worker) {
  return describe(worker.status) + (worker.stopped_by_agent ? ", sent by the agent" : "");
}

void put_log_path(std::string& out, const FailedWorker& worker, const ReportOptions& options) {
  if (worker.log_path.empty()) return;
  std::string_view path = worker.log_path;
  const std::string below = options.folder + "/";
  if (!options.folder.empty() && path.substr(0, below.size()) == below) {
    path.remove_prefix(below.size());
  }
  out += std::string(kIndent, ' ') + "log: " + std::string(path) + '\n';  // whole, to be copied
}

void put_first(std::string& out, const FailedWorker& first, const ReportOptions& options) {
  std::string where = first.node.empty() ? "" : first.node + ", ";
  where += fmt::format("rank {} (local {})", first.rank, first.local_rank);
  if (first.at) where += fmt::format(", {:%H:%M:%S}", fmt::localtime(*first.at));
  where += fmt::format(", round {}, {}", first.round.number, status_of(first));
  put_wrapped(out, "first failure", where);
  if (perhaps_out_of_memory(first)) {
    const std::string on = first.node.empty() ? "" : " on " + first.node;
    put_wrapped(out, "",
                "killed by SIGKILL: perhaps the kernel's out-of-memory killer; see dmesg" + on);
  }
  put_words(out, first, options);
  put_log_path(out, first, options);
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", rank_list(ranks));
}

std::string consequence_text(const Consequence& consequence) {
  const std::string on = consequence.node.empty() ? "" : " " + consequence.node;
  const auto what = [&]() -> std::string {
    switch (consequence.kind) {
      case Consequence::Kind::kStoppedByRoundChange:
        return "stopped by round change";
      case Consequence::Kind::kKilled:
        return "killed, still running after the grace";
      case Consequence::Kind::kNodeLost:
        return "lost with node" + on;
      case Consequence::Kind::kUnkillable:
        return fmt::format("still there after SIGKILL{}{}", on.empty() ? "" : ", on", on);
    }
    return {};
  };
  return fmt::format("{}: {}", ranks_text(consequence.ranks), what());
}

struct Later {
  ErrorGroup group;
  const FailedWorker* example;
};

// The failures after the first, the same ones together: those that are like the first one, and the
// others in the order of their first occurrence.
struct Grouped {
  std::vector<int> same_as_first;
  bool literally = true;
  std::vector<Later> others;
};

Grouped group_later(const EndReport& report) {
  ErrorGroups all;
  const auto add = [&](const FailedWorker& worker) {
    all.add({worker.rank, worker.status, words_of(worker)});
  };
  if (report.first) add(*report.first);
  for (const FailedWorker& worker : report.later) add(worker);
  const auto key = [](const ExitStatus& status, const std::vector<std::string>& lines) {
    return fmt::format("{} {} {}", status.code, status.signal, essence(lines));
  };
  Grouped grouped;
  const std::string first = report.first ? key(report.first->status, words_of(*report.first)) : "";
  for (const ErrorGroup& group : all.groups()) {
    const std::string mine = key(group.example.status, group.example.lines);
    if (report.first && mine == first) {
      grouped.same_as_first = group.ranks;
      grouped.literally = group.literally;
      const auto own =
          std::find(grouped.same_as_first.begin(), grouped.same_as_first.end(), report.first->rank);
      grouped.same_as_first.erase(own);
      continue;
    }
    const auto example = std::find_if(
        report.later.begin(), report.later.end(),
        [&](const FailedWorker& worker) { return key(worker.status, words_of(worker)) == mine; });
    grouped.others.push_back({group, &*example});
  }
  std::sort(grouped.others.begin(), grouped.others.end(),
            [](const Later& a, const Later& b) { return a.example < b.example; });
  return grouped;
}

void put_other(std::string& out, std::string_view head, const Later& other,
               const ReportOptions& options) {
  const FailedWorker& example = *other.example;
  std::string text = fmt::format("{}: {}", ranks_text(other.group.ranks), status_of(example));
  if (other.group.ranks.size() > 1) {
    text += fmt::format(", the same error{}", other.group.literally ? "" : " (numbers aside)");
  }
  put_wrapped(out, head, text);
  const auto words = words_of(example);
  if (!words.empty()) {
    out += std::string(kIndent, ' ') + plain(words.back(), options.line_bytes) + '\n';
  }
  put_log_path(out, example, options);
}

nlohmann::ordered_json json_of(const FailedWorker& worker) {
  nlohmann::ordered_json json{{"node", worker.node},
                              {"rank", worker.rank},
                              {"local_rank", worker.local_rank},
                              {"round", worker.round.number},
                              {"at", nullptr},
                              {"exit_code", nullptr},
                              {"signal", nullptr},
                              {"stopped_by_agent", worker.stopped_by_agent},
                              {"last_lines", words_of(worker)},
                              {"log", worker.log_path}};
  if (worker.at) json["at"] = *worker.at;
  if (worker.status.signal == 0) {
    json["exit_code"] = worker.status.code;
  } else {
    json["signal"] = signal_name(worker.status.signal);
  }
  if (worker.error) json["error"] = worker.error->message;
  return json;
}

}  // namespace

std::string describe(const ExitStatus& status) {
  if (status.signal != 0) {
    return fmt::format("signal {} ({})", status.signal, signal_name(status.signal));
  }
  const int wrapped = status.code - 128;  // how shells report the signal of what they ran
  if (wrapped > 0 && wrapped <= SIGRTMAX && ::sigabbrev_np(wrapped) != nullptr) {
    return fmt::format("exit code {} (128 + signal {}, {})", status.code, wrapped,
                       signal_name(wrapped));
  }
  return fmt::format("exit code {}", status.code);
}

std::string format_report(const EndReport& report, const ReportOptions& options) {
  std::string out = fmt::format("[elastic] {}\n", report.verdict);
  const Grouped grouped = group_later(report);
  if (report.first) put_first(out, *report.first, options);
  if (!grouped.same_as_first.empty()) {
    put_wrapped(out, "the same",
                fmt::format("on {} more: {}{}", grouped.same_as_first.size(),
                            ranks_text(grouped.same_as_first),
                            grouped.literally ? "" : " (numbers aside)"));
  }
  std::string_view head = "consequences";
  for (const Later& other : grouped.others) {
    put_other(out, std::exchange(head, ""), other, options);
  }
  for (const Consequence& consequence : report.consequences) {
    if (consequence.ranks.empty()) continue;
    put_wrapped(out, std::exchange(head, ""), consequence_text(consequence));
  }
  out += fmt::format("  exit {}\n", report.exit_code);
  return out;
}

std::string format_report_json(const EndReport& report) {
  nlohmann::ordered_json json{{"verdict", report.verdict}, {"first_failure", nullptr}};
  if (report.first) json["first_failure"] = json_of(*report.first);
  json["later_failures"] = nlohmann::ordered_json::array();
  for (const FailedWorker& worker : report.later) json["later_failures"].push_back(json_of(worker));
  json["consequences"] = nlohmann::ordered_json::array();
  for (const Consequence& consequence : report.consequences) {
    json["consequences"].push_back(
        {{"ranks", consequence.ranks}, {"what", consequence_text(consequence)}});
  }
  json["exit_code"] = report.exit_code;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ProgramError own_error(const FailedWorker& first) {
  ProgramError error = first.error.value_or(ProgramError{});
  error.code = first.status.signal != 0 ? -first.status.signal : first.status.code;
  if (error.message.empty()) {
    if (first.status.signal != 0) {
      error.message = fmt::format("Signal {} ({}) received by PID {}", first.status.signal,
                                  signal_name(first.status.signal), first.pid.value_or(-1));
    } else {
      error.message =
          first.tail.empty() ? describe(first.status) : plain(first.tail.back(), kLongestErrorFile);
    }
  }
  if (error.call_stack.empty()) error.call_stack = fmt::format("{}", fmt::join(first.tail, "\n"));
  if (!error.timestamp && first.at) error.timestamp = *first.at;
  return error;
}

}  // namespace elastic::real
