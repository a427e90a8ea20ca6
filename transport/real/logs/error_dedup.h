// One error of many ranks is shown once: which errors are the same.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/membership/records.h"

namespace elastic::real {

// How one worker ended, and the last lines that it wrote, oldest first.
struct RankError {
  int rank = 0;
  ExitStatus status;
  std::vector<std::string> lines;
};

// What an error says, without what differs from rank to rank: from the last Python traceback on, or
// else the last three lines that are not blank; numbers, addresses and ids become "#", except line
// numbers of a traceback.
std::string essence(const std::vector<std::string>& lines);

struct ErrorGroup {
  RankError example;       // of the lowest rank
  std::vector<int> ranks;  // ascending; a rank that was added twice is in it twice
  bool literally = true;   // the errors are the same with their numbers, too
};

// Groups errors that have the same status and the same essence. The groups do not depend on the
// order in which errors were added.
class ErrorGroups {
 public:
  void add(RankError error);
  // Ordered by their lowest rank.
  std::vector<ErrorGroup> groups() const;

 private:
  std::vector<RankError> errors_;
};

// "0-10, 12, 14-23": ascending, each rank once.
std::string rank_list(std::vector<int> ranks);

}  // namespace elastic::real
