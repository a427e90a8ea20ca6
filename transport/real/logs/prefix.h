// What stands before a worker's line on the console.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace elastic::real {

// Names the node and the global rank, so that lines of many nodes can be told apart.
constexpr std::string_view kDefaultPrefix = "[${hostname} ${rank}]: ";

struct PrefixValues {
  std::string role_name = "default";
  std::string hostname;
  int local_rank = 0;
  int rank = 0;
  RoundId round;
};

// `text` with ${role_name}, ${local_rank}, ${rank}, ${hostname} and ${round} replaced; also without
// braces, as in Python's string.Template, which torchrun uses: $$ is a dollar sign, and what is no
// macro stays as it is.
std::string expand_prefix(std::string_view text, const PrefixValues& values);

// Macros of `text` that do not exist, in order, so that the caller can say so before a job starts.
std::vector<std::string> unknown_macros(std::string_view text);

}  // namespace elastic::real
