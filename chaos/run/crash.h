// What happens when an assertion fails, or the program itself, in the middle of a simulated run:
// the seed at hand is reported as crashed, with the place in the run, instead of a bare abort.
//
// Rejected: throwing from the assertion handler. An exception would unwind through core/, which
// promises never to throw and may be noexcept anywhere.
#pragma once

#include <functional>
#include <string>

namespace elastic::chaos {

struct Crash {
  std::string what;   // the condition that failed, or the text of the exception or signal
  std::string where;  // "core/agent/agent.cc:210"; empty when not known
  bool operator==(const Crash&) const = default;
};

constexpr int kCrashStatus = 3;

// For a process whose crash its parent will look into: from here on a failed assertion or a fatal
// signal ends it, and tells nobody.
void crash_without_a_word();

// While it lives, a failed assertion of core/ calls `tell` (which may print, or write to a pipe,
// and need not return) and then ends the process with kCrashStatus; a fatal signal prints
// `last_words` to stderr and ends it likewise. One at a time; a nested one is inert.
class CrashGuard {
 public:
  CrashGuard(std::function<void(const Crash&)> tell, const std::string& last_words);
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

 private:
  bool outermost_;
};

}  // namespace elastic::chaos
