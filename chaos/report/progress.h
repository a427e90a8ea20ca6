// How far a long piece of work is, on stderr: one line that is written over on a terminal, a line
// about every ten seconds elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace elastic::chaos {

class Progress {
 public:
  Progress();
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& line);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  std::string last_;
  std::chrono::steady_clock::time_point next_;
};

// "12m 10s" for what is left when `done` of `total` took `elapsed_ms`; empty when that cannot be
// said.
std::string time_left(std::uint64_t done, std::uint64_t total, std::int64_t elapsed_ms);

}  // namespace elastic::chaos
