#include "apps/elastic-run/rdzv_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "chaos/scenario/problem.h"

namespace elastic::launch {
namespace {

using Place = std::variant<Duration Tuning::*, std::optional<Duration> Tuning::*,
                           std::uint32_t Tuning::*, std::optional<std::uint32_t> Tuning::*>;

struct Setting {
  std::string_view name;
  Place place;
};

// The keys that are a member of Tuning.
constexpr std::array<Setting, 17> kSettings{{
    {"last_call_timeout", &Tuning::last_call},
    {"last_call_cap", &Tuning::last_call_cap},
    {"join_timeout", &Tuning::join_timeout},
    {"round_trip", &Tuning::round_trip},
    {"journal", &Tuning::journal},
    {"pause", &Tuning::pause},
    {"start_up", &Tuning::start_up},
    {"orphan_bound", &Tuning::orphan_bound},
    {"journal_lost_after", &Tuning::journal_lost_after},
    {"cool_down", &Tuning::cool_down},
    {"resize_deadline", &Tuning::resize_deadline},
    {"budget_reset", &Tuning::budget_reset},
    {"restart_back_off", &Tuning::restart_back_off},
    {"restart_back_off_cap", &Tuning::restart_back_off_cap},
    {"min_healthy_grace", &Tuning::min_healthy_grace},
    {"max_churn", &Tuning::max_churn},
    {"node_unit", &Tuning::node_unit},
}};

constexpr std::string_view kHeartbeats = "heartbeats follow from --detection-target";
constexpr std::string_view kEtcd = "it belongs to etcd backends";
constexpr std::string_view kDialling = "agents go on dialling until join_timeout";

constexpr std::array<ConfKey, 37> kKeys{{
    {"join_timeout", "TIME|never",
     "a node without a place in a round gives up after this (default 10min; never with --spares)",
     true},
    {"last_call_timeout", "TIME",
     "at MIN nodes and more, wait so long after the last joiner for others (default 3s; torchrun: "
     "30s after the MIN-th); not waited for when all nodes known to be alive are in",
     true},
    {"last_call_cap", "TIME", "and never longer than this from the first (default 1min)"},
    {"is_host", "true|false",
     "this node keeps the journal (default: whoever can listen at the endpoint)", true},
    {"rank", "N", "as --node-rank", true},
    {"timeout", "TIME", "with static: as join_timeout; else without meaning", true},
    {"detection_target", "TIME", "as --detection-target"},
    {"round_trip", "TIME", "a message there and back takes at most this (default 20ms, or less)"},
    {"journal", "TIME", "the journal's disk syncs within this (default 100ms, or less)"},
    {"pause", "TIME", "the agent is not stopped for longer than this (default 100ms, or less)"},
    {"start_up", "TIME", "the program starts within this (default 5min)"},
    {"orphan_bound", "TIME", "workers without a word from the coordinator are killed after this"},
    {"journal_lost_after", "TIME",
     "an agent that hears nothing of its job's journal ends (exit 13) after this (default 10min)"},
    {"cool_down", "TIME",
     "a node that could not reach the others sits out this long (default 1min)"},
    {"resize_deadline", "TIME",
     "an announced change becomes a forced one after this (default 1min)"},
    {"budget_reset", "TIME", "a round that ran so long clears the restarts used (default 1h)"},
    {"restart_back_off", "TIME",
     "delay from the second failure in a row on, doubling (default 1s)"},
    {"restart_back_off_cap", "TIME", "and never longer than this (default 10s)"},
    {"min_healthy_grace", "TIME", "see --min-healthy (default 10min)"},
    {"max_churn", "N", "rounds that may end because nodes were lost (default: any number)"},
    {"node_unit", "N", "a round has a multiple of so many nodes (default 1)"},
    {"store_type", "tcp", "tcp; file is not there yet", true},
    {"close_timeout", "", "leaving never closes a job", true, true},
    {"heartbeat_timeout", "", kHeartbeats, true, true},
    {"heartbeat", "", kHeartbeats, true, true},
    {"keep_alive_interval", "", kHeartbeats, true, true},
    {"keep_alive_max_attempt", "", kHeartbeats, true, true},
    {"read_timeout", "", kDialling, true, true},
    {"use_libuv", "", "there is no such store", true, true},
    {"etcd_prefix", "", kEtcd, true, true},
    {"protocol", "", kEtcd, true, true},
    {"ssl_cert", "", kEtcd, true, true},
    {"ssl_cert_key", "", kEtcd, true, true},
    {"ca_cert", "", kEtcd, true, true},
    {"cert", "", kEtcd, true, true},
    {"key", "", kEtcd, true, true},
    {"cacert", "", kEtcd, true, true},
}};

std::string quoted(std::string_view text) { return "\"" + chaos::printable(text) + "\""; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

using Done = tl::expected<void, std::string>;

template <class T>
Done put(const Value<T>& value, auto& place) {
  if (!value) return tl::unexpected(value.error());
  place = *value;
  return {};
}

Done set(Tuning& tuning, const Setting& setting, std::string_view text) {
  if (setting.name == "join_timeout" && text == "never") {
    tuning.join_timeout.reset();
    return {};
  }
  return std::visit(
      [&](auto place) -> Done {
        auto& there = tuning.*place;
        if constexpr (std::is_assignable_v<decltype(there), Duration>) {
          return put(parse_time(text), there);
        } else {
          return put(parse_number(text, 0, kMaxNodes), there);
        }
      },
      setting.place);
}

Value<bool> parse_truth(std::string_view text) {
  for (const std::string_view yes : {"1", "true", "True", "yes"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "false", "False", "no"}) {
    if (text == no) return false;
  }
  return tl::unexpected(fmt::format("{} is neither true nor false", quoted(text)));
}

Done set(Conf& conf, std::string_view name, std::string_view text) {
  for (const Setting& setting : kSettings) {
    if (setting.name != name) continue;
    if (name == "join_timeout") conf.join_timeout_given = true;
    return set(conf.tuning, setting, text);
  }
  if (name == "is_host") return put(parse_truth(text), conf.is_host);
  if (name == "rank") return put(parse_number(text, 0, kMaxNodes), conf.rank);
  if (name == "timeout") return put(parse_time(text), conf.timeout);
  if (name == "detection_target") return put(parse_time(text), conf.detection_target);
  // store_type
  if (text == "tcp") return {};
  if (text == "file") {
    return tl::unexpected(
        std::string("\"file\" is not there yet: a journal in a shared folder comes later; leave "
                    "it out, and name the first machine with --rdzv-endpoint"));
  }
  return tl::unexpected(fmt::format("{} is not tcp", quoted(text)));
}

const ConfKey* find(std::string_view name) {
  const auto* const found = std::find_if(kKeys.begin(), kKeys.end(),
                                         [&](const ConfKey& key) { return key.name == name; });
  return found == kKeys.end() ? nullptr : found;
}

std::string unknown(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ConfKey& key : kKeys) names.push_back(key.name);
  const std::string near = chaos::did_you_mean(name, names);
  return fmt::format("unknown key {}{}", quoted(name),
                     near.empty() ? std::string("; elastic-run --help lists them") : near);
}

}  // namespace

std::span<const ConfKey> conf_keys() { return kKeys; }

Value<Conf> parse_conf(std::string_view text) {
  Conf conf;
  std::vector<std::string_view> seen;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = trimmed(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string_view name = trimmed(part.substr(0, equals));
    const ConfKey* const key = find(name);
    if (key == nullptr) return tl::unexpected(unknown(name));
    if (equals == std::string_view::npos) {
      return tl::unexpected(fmt::format("{} has no value; write {}=VALUE", name, name));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return tl::unexpected(fmt::format("{} is given twice", name));
    }
    seen.push_back(name);
    if (key->ignored) {
      conf.notices.push_back(
          fmt::format("--rdzv-conf {} has no meaning here: {}", name, key->help));
      continue;
    }
    const auto done = set(conf, name, trimmed(part.substr(equals + 1)));
    if (!done) return tl::unexpected(fmt::format("{}: {}", name, done.error()));
  }
  Tuning& tuning = conf.tuning;
  const bool capped = std::find(seen.begin(), seen.end(), "last_call_cap") != seen.end();
  if (!capped) tuning.last_call_cap = std::max(tuning.last_call_cap, tuning.last_call);
  return conf;
}

std::string conf_text(const Tuning& tuning, std::optional<bool> is_host) {
  const Tuning usual;
  std::vector<std::string> parts;
  for (const Setting& setting : kSettings) {
    std::visit(
        [&](auto place) {
          const auto& there = tuning.*place;
          if (there == usual.*place) return;
          using There = std::remove_cvref_t<decltype(there)>;
          std::string value = "never";
          if constexpr (std::is_same_v<There, Duration>) {
            value = time_text(there);
          } else if constexpr (std::is_same_v<There, std::optional<Duration>>) {
            if (there) value = time_text(*there);
          } else if constexpr (std::is_same_v<There, std::uint32_t>) {
            value = number_text(there);
          } else {
            value = number_text(*there);
          }
          parts.push_back(fmt::format("{}={}", setting.name, value));
        },
        setting.place);
  }
  if (is_host) parts.push_back(fmt::format("is_host={}", *is_host));
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace elastic::launch
