// For the tests of elastic-run's command line.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "apps/elastic-run/options.h"

namespace elastic::launch {

// For the printing of counterexamples.
inline std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + ("<" + word + ">");
  return all;
}

inline Machine some_machine() {
  return {.cpus = 12, .gpus = 4, .hostname = "gpu-3", .nonce = 0xabcdef, .file = {}};
}

// Options, or a failed test.
inline Options parsed(const std::vector<std::string>& argv, const Environment& env = {},
                      const Machine& machine = some_machine()) {
  const auto options = parse(argv, env, machine);
  if (options) return *options;
  ADD_FAILURE() << joined(argv) << ": " << options.error().text;
  return {};
}

// The mistake, without the name of the command and the end of the line; or a failed test.
inline std::string refused(const std::vector<std::string>& argv, const Environment& env = {},
                           const Machine& machine = some_machine()) {
  const auto options = parse(argv, env, machine);
  if (options) {
    ADD_FAILURE() << joined(argv) << " was taken";
    return {};
  }
  const Ended& ended = options.error();
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(ended.to_stderr);
  const std::string head = "elastic-run: ";
  EXPECT_TRUE(ended.text.starts_with(head)) << ended.text;
  EXPECT_EQ(ended.text.find('\n'), ended.text.size() - 1) << ended.text;
  if (ended.text.size() <= head.size()) return ended.text;
  return ended.text.substr(head.size(), ended.text.size() - head.size() - 1);
}

inline std::string lines(const std::vector<std::string>& notices) {
  std::string all;
  for (const std::string& line : notices) all += line + "\n";
  return all;
}

}  // namespace elastic::launch
