// Event lists and polled counts: one observation per line.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "chaos/availability/dirt.h"

namespace elastic::chaos {
namespace {

constexpr std::int64_t kGapSeconds = 3'600;  // polls further apart are worth a word
constexpr std::size_t kMaxName = 200;

// Says what is wrong with a field, unless the file was cut off within its last line.
class Complaints {
 public:
  Complaints(const std::string& file, Repairs& repairs) : file_(file), repairs_(repairs) {}

  void add(const Line& line, std::size_t field, std::string message) {
    if (line.last_and_open && line.number > 1) {
      repairs_.note("the last line is cut off: ignored", line.number);
      return;
    }
    const std::size_t index = std::min(field, line.fields.size() - 1);
    errors.add({file_, line.number, line.fields[index].column}, std::move(message));
  }

  Errors errors;

 private:
  const std::string& file_;
  Repairs& repairs_;
};

std::string shown(const Line& line, std::size_t field) {
  return printable(field < line.fields.size() ? line.fields[field].text : std::string_view());
}

bool read_change(const Line& line, RawChange& change, NodeNames& names, Complaints& complaints) {
  if (line.fields.size() != 3) {
    complaints.add(line, 0,
                   fmt::format("{} fields; expected ms,add|remove,node", line.fields.size()));
    return false;
  }
  std::uint64_t ms = 0;
  constexpr auto kMax = static_cast<std::uint64_t>(kMaxTraceSpan / std::chrono::milliseconds(1));
  if (!read_number(line.fields[0].text, kMax, ms)) {
    complaints.add(line, 0,
                   fmt::format("\"{}\" is no time; expected whole milliseconds from 0, within ten "
                               "years",
                               shown(line, 0)));
    return false;
  }
  const std::string_view what = line.fields[1].text;
  if (what != "add" && what != "remove") {
    complaints.add(line, 1,
                   fmt::format("\"{}\" is no event{}", shown(line, 1),
                               nearest(what, {"add", "remove"}).empty()
                                   ? "; expected add or remove"
                                   : did_you_mean(what, {"add", "remove"})));
    return false;
  }
  const std::string_view node = line.fields[2].text;
  if (node.empty() || node.size() > kMaxName) {
    complaints.add(line, 2, "expected the name of a node");
    return false;
  }
  change.at = std::chrono::milliseconds(ms);
  change.add = what == "add";
  change.node = names.number(node);
  change.line = line.number;
  return true;
}

bool read_digits(std::string_view text, std::string_view pattern, std::vector<unsigned>& numbers) {
  if (text.size() != pattern.size()) return false;
  numbers.assign(1, 0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (pattern[i] == '0' ? !digit : text[i] != pattern[i]) return false;
    if (digit) {
      numbers.back() = numbers.back() * 10 + static_cast<unsigned>(text[i] - '0');
    } else {
      numbers.push_back(0);
    }
  }
  return true;
}

// Seconds since 1970 as if the zone were UTC; false when there is no such day or time.
bool read_instant(std::string_view day, std::string_view clock, std::int64_t& seconds) {
  std::vector<unsigned> ymd;
  std::vector<unsigned> hms;
  if (!read_digits(day, "0000-00-00", ymd) || !read_digits(clock, "00:00:00", hms)) return false;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(ymd[0])),
                                         std::chrono::month(ymd[1]), std::chrono::day(ymd[2])};
  if (!date.ok() || hms[0] > 23 || hms[1] > 59 || hms[2] > 60) return false;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  seconds = std::int64_t{days} * 86'400 + hms[0] * 3'600 + hms[1] * 60 + hms[2];
  return true;
}

struct Poll {
  std::int64_t second = 0;
  std::uint32_t alive = 0;
  std::uint32_t line = 0;
};

bool read_poll(const Line& line, Poll& poll, Complaints& complaints) {
  if (line.fields.size() != 3) {
    complaints.add(
        line, 0,
        fmt::format("{} fields; expected YYYY-MM-DD, HH:MM:SS, count", line.fields.size()));
    return false;
  }
  if (!read_instant(line.fields[0].text, line.fields[1].text, poll.second)) {
    complaints.add(line, 0,
                   fmt::format("\"{}, {}\" is no date and time; expected YYYY-MM-DD, HH:MM:SS",
                               shown(line, 0), shown(line, 1)));
    return false;
  }
  std::uint64_t alive = 0;
  if (!read_number(line.fields[2].text, kMaxTraceNodes, alive)) {
    complaints.add(line, 2,
                   fmt::format("\"{}\" is no count; expected a whole number up to {}",
                               shown(line, 2), kMaxTraceNodes));
    return false;
  }
  poll.alive = static_cast<std::uint32_t>(alive);
  poll.line = line.number;
  return true;
}

// Sorted, one per second. Polls that several pollers wrote interleave, so time may run backwards.
void sort_polls(std::vector<Poll>& polls, Repairs& repairs) {
  std::int64_t latest = polls.front().second;
  for (const Poll& poll : polls) {
    if (poll.second < latest) repairs.note("time runs backwards: sorted", poll.line);
    latest = std::max(latest, poll.second);
  }
  std::stable_sort(polls.begin(), polls.end(),
                   [](const Poll& a, const Poll& b) { return a.second < b.second; });
  std::vector<Poll> kept;
  for (const Poll& poll : polls) {
    if (!kept.empty() && kept.back().second == poll.second) {
      repairs.note("two counts at one instant: the later one holds", poll.line);
      kept.back() = poll;
      continue;
    }
    if (!kept.empty() && poll.second - kept.back().second > kGapSeconds) {
      repairs.note("gap of more than an hour: the last count holds", poll.line);
    }
    kept.push_back(poll);
  }
  polls = std::move(kept);
}

}  // namespace

tl::expected<Availability, Errors> read_event_list(std::string_view text, const std::string& file,
                                                   Repairs& repairs) {
  Availability trace;
  trace.format = TraceFormat::kEvents;
  Complaints complaints(file, repairs);
  NodeNames names;
  std::vector<RawChange> raw;
  Line line;
  for (Lines lines(text, repairs); lines.next(line);) {
    RawChange change;
    if (!read_change(line, change, names, complaints)) continue;
    raw.push_back(change);
    trace.span = std::max(trace.span, change.at);
  }
  if (!complaints.errors.empty()) return tl::unexpected(complaints.errors);
  trace.events = settle(std::move(raw), names.size(),
                        {.added_twice = "a node is added that is there: ignored",
                         .removed_twice = "a node is removed that is not there: ignored",
                         .zero_length = "a node is added and removed at one instant: ignored"},
                        repairs);
  trace.nodes = names.take();
  return trace;
}

tl::expected<Availability, Errors> read_polled_counts(std::string_view text,
                                                      const std::string& file, Repairs& repairs) {
  Availability trace;
  trace.format = TraceFormat::kCounts;
  Complaints complaints(file, repairs);
  std::vector<Poll> polls;
  Line line;
  for (Lines lines(text, repairs); lines.next(line);) {
    Poll poll;
    if (read_poll(line, poll, complaints)) polls.push_back(poll);
  }
  if (complaints.errors.empty() && polls.empty()) complaints.errors.add({file, 1, 1}, "no counts");
  if (!complaints.errors.empty()) return tl::unexpected(complaints.errors);
  sort_polls(polls, repairs);
  std::uint64_t changes = 0;
  std::uint32_t alive = 0;
  for (const Poll& poll : polls) {
    const std::int64_t since = poll.second - polls.front().second;
    changes += poll.alive > alive ? poll.alive - alive : alive - poll.alive;
    alive = poll.alive;
    if (since > kMaxTraceSpan / std::chrono::seconds(1) || changes > kMaxTraceChanges) {
      complaints.errors.add(
          {file, poll.line, 1},
          since > kMaxTraceSpan / std::chrono::seconds(1)
              ? "more than ten years after the first line"
              : fmt::format("more than {} arrivals and departures", kMaxTraceChanges));
      return tl::unexpected(complaints.errors);
    }
    trace.counts.push_back({std::chrono::seconds(since), poll.alive});
  }
  trace.span = trace.counts.back().at;
  return trace;
}

}  // namespace elastic::chaos
