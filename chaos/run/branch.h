// A process that begins as a copy of this one: what a run comes to if it goes on in another way,
// without what came before being run again.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace elastic::chaos {

// Rejected: copying a World with everything that watches it. Each part would need a copy of its own
// that points at the other copies, and every new member could forget to; fork() forgets nothing.
//
// The copy prints nothing and does not outlive this process. REQUIRES: one thread.
class Branch {
 public:
  // `work` runs in the copy and gives a text for result(). An assertion or exception in it ends the
  // copy without a word: the caller finds no result, and does the same work itself to see why.
  explicit Branch(const std::function<std::string()>& work);
  // Ends the copy if it still runs.
  ~Branch();
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;

  // Waits for the text. Nothing: there is none, because the copy could not be made or has crashed,
  // or because this process was interrupted (interrupted() says so). To be called once.
  std::optional<std::string> result();

 private:
  void end();

  pid_t pid_ = -1;
  int from_ = -1;
};

}  // namespace elastic::chaos
