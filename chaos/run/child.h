// This program, started again with another environment.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::chaos {

struct ChildOptions {
  std::vector<std::string> arguments;    // without the program's name
  std::vector<std::string> environment;  // NAME=value, on top of the own
};

// Runs /proc/self/exe, calls `line` for each line of its standard output, and returns its exit
// status (128 + signal where it died of one). Its standard error is ours. When interrupted() it is
// killed.
int run_self(const ChildOptions& options, const std::function<void(std::string_view)>& line);

}  // namespace elastic::chaos
