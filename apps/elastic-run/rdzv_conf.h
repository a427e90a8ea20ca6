// --rdzv-conf: torchrun's keys and ours, `key=value,key=value`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/elastic-run/options.h"
#include "apps/elastic-run/values.h"

namespace elastic::launch {

struct ConfKey {
  std::string_view name;
  std::string_view argument;  // TIME, N, true|false; of ignored keys empty
  std::string_view help;      // of ignored keys: why
  bool torchruns = false;
  bool ignored = false;
};
std::span<const ConfKey> conf_keys();

// What the keys say. Options that can be given elsewhere as well are here as what was said.
struct Conf {
  Tuning tuning;
  bool join_timeout_given = false;
  std::optional<Duration> timeout;  // torchrun's static: how long to wait for the others
  std::optional<Duration> detection_target;
  std::optional<std::uint32_t> rank;
  std::optional<bool> is_host;
  std::vector<std::string> notices;
};

// The error is a clause without the name of the option.
Value<Conf> parse_conf(std::string_view text);

// What makes `tuning` and `is_host` of the default; empty if they are the default. `join_timeout`
// and `last_call_cap` are always written where they differ from the default.
std::string conf_text(const Tuning& tuning, std::optional<bool> is_host);

}  // namespace elastic::launch
