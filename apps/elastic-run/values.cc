#include "apps/elastic-run/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

#include "chaos/scenario/problem.h"
#include "chaos/scenario/units.h"
#include "transport/real/logs/prefix.h"

namespace elastic::launch {
namespace {

std::string quoted(std::string_view text) { return "\"" + chaos::printable(text) + "\""; }

std::optional<std::uint32_t> digits(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

struct SignalName {
  int number;
  std::string_view name;
  bool stops;
};
constexpr std::array<SignalName, 8> kSignals{{
    {SIGTERM, "SIGTERM", true},
    {SIGINT, "SIGINT", true},
    {SIGHUP, "SIGHUP", true},
    {SIGQUIT, "SIGQUIT", true},
    {SIGUSR1, "SIGUSR1", false},
    {SIGUSR2, "SIGUSR2", false},
    {SIGALRM, "SIGALRM", false},
    {SIGWINCH, "SIGWINCH", false},
}};

void insert_sorted(std::vector<int>& numbers, int number) {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), number);
  if (at == numbers.end() || *at != number) numbers.insert(at, number);
}

}  // namespace

Value<std::uint32_t> parse_number(std::string_view text, std::uint32_t low, std::uint32_t high) {
  const std::optional<std::uint32_t> value = digits(text);
  if (!value || *value < low || *value > high) {
    return tl::unexpected(fmt::format("{} is not a number from {} to {}", quoted(text), low, high));
  }
  return *value;
}

std::string number_text(std::uint32_t value) { return std::to_string(value); }

Value<std::pair<std::uint32_t, std::uint32_t>> parse_nnodes(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  const std::optional<std::uint32_t> least = digits(parts.front());
  const std::optional<std::uint32_t> most = digits(parts.back());
  if (parts.size() > 2 || !least || !most) {
    return tl::unexpected(fmt::format(
        "{} is neither a number of nodes nor a range; write one such as 4 or 2:8", quoted(text)));
  }
  if (*least == 0)
    return tl::unexpected(fmt::format("{}: at least 1 node is needed", quoted(text)));
  if (*least > *most) {
    return tl::unexpected(fmt::format("{} has its ends the wrong way round; write {}:{}",
                                      quoted(text), *most == 0 ? 1 : *most, *least));
  }
  if (*most > kMaxNodes) {
    return tl::unexpected(fmt::format("{}: at most {} nodes", quoted(text), kMaxNodes));
  }
  return std::pair{*least, *most};
}

Value<Duration> parse_time(std::string_view text) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
  const auto value = chaos::parse_duration(plain ? std::string(text) + "s" : std::string(text));
  if (!value) {
    return tl::unexpected(fmt::format(
        "{} is not a length of time; write one such as 300ms, 90s or 2h (a bare number is seconds)",
        quoted(text)));
  }
  if (*value < Duration::zero() || text.front() == '-') {
    return tl::unexpected(fmt::format("{} is below zero", quoted(text)));
  }
  return *value;
}

std::string time_text(Duration value) { return chaos::duration_text(value); }

Value<real::StreamModes> parse_streams(std::string_view text) {
  auto modes = real::parse_stream_modes(text);
  // It quotes the text as it is.
  if (!modes) return tl::unexpected(chaos::printable(modes.error(), 200));
  return *std::move(modes);
}

std::string streams_text(const real::StreamModes& modes) {
  const auto number = [](real::StreamMode mode) { return (mode.out ? 1 : 0) + (mode.err ? 2 : 0); };
  if (modes.by_rank.empty()) return std::to_string(number(modes.every));
  std::vector<std::string> parts;
  for (const auto& [rank, mode] : modes.by_rank) {
    parts.push_back(fmt::format("{}:{}", rank, number(mode)));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

Value<std::set<int>> parse_ranks(std::string_view text) {
  std::set<int> ranks;
  if (text.empty()) return ranks;
  for (const std::string_view part : split(text, ',')) {
    const std::optional<std::uint32_t> rank = digits(part);
    if (!rank || *rank >= kMaxNodes * kMaxWorkersPerNode) {
      return tl::unexpected(
          fmt::format("{} is not a list of ranks; write one such as 0,1,12", quoted(text)));
    }
    ranks.insert(static_cast<int>(*rank));
  }
  return ranks;
}

std::string ranks_text(const std::set<int>& ranks) {
  return fmt::format("{}", fmt::join(ranks, ","));
}

std::vector<std::string> parse_texts(std::string_view text) {
  std::vector<std::string> texts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ',') {
      texts.back() += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == ',') {
      texts.back() += ',';
      ++i;
    } else {
      texts.emplace_back();
    }
  }
  // An empty text would be in every line.
  texts.erase(std::remove(texts.begin(), texts.end(), std::string()), texts.end());
  return texts;
}

std::string texts_text(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    if (!all.empty()) all += ',';
    for (const char c : text) all += c == ',' ? std::string(",,") : std::string(1, c);
  }
  return all;
}

Value<Signals> parse_signals(std::string_view text) {
  Signals signals;
  for (const std::string_view part : split(text, ',')) {
    std::string name(part);
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    if (!name.starts_with("SIG")) name.insert(0, "SIG");
    const auto* const found = std::find_if(kSignals.begin(), kSignals.end(),
                                           [&](const SignalName& s) { return s.name == name; });
    if (found == kSignals.end()) {
      std::vector<std::string_view> names;
      for (const SignalName& signal : kSignals) names.push_back(signal.name);
      return tl::unexpected(fmt::format("{} is not a signal that can be handled; choose among {}",
                                        quoted(part), fmt::join(names, ", ")));
    }
    insert_sorted(found->stops ? signals.stop : signals.forward, found->number);
  }
  return signals;
}

std::string signals_text(const std::vector<int>& stop, const std::vector<int>& forward) {
  std::vector<std::string> names;
  for (const std::vector<int>* list : {&stop, &forward}) {
    for (const int signal : *list) names.push_back(signal_name(signal));
  }
  return fmt::format("{}", fmt::join(names, ","));
}

std::string signal_name(int signal) {
  for (const SignalName& one : kSignals) {
    if (one.number == signal) return std::string(one.name);
  }
  const char* const name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

Value<std::string> parse_prefix(std::string_view text) {
  if (text.find_first_of("\n\r") != std::string_view::npos) {
    return tl::unexpected(std::string("a prefix is one line"));
  }
  const std::vector<std::string> unknown = real::unknown_macros(text);
  if (unknown.empty()) return std::string(text);
  const std::vector<std::string_view> known{"hostname", "rank", "local_rank", "role_name", "round"};
  return tl::unexpected(fmt::format("${{{}}} is no macro of a prefix; there are {}{}",
                                    chaos::printable(unknown.front()), fmt::join(known, ", "),
                                    chaos::did_you_mean(unknown.front(), known)));
}

Value<std::size_t> parse_choice(std::string_view text,
                                const std::vector<std::string_view>& choices) {
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  return tl::unexpected(fmt::format("{} is not {}{}", quoted(text), chaos::either(choices),
                                    chaos::did_you_mean(text, choices)));
}

}  // namespace elastic::launch
