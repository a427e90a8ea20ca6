// Reads and writes the list under `faults`.
#pragma once

#include <string>
#include <vector>

#include "chaos/scenario/faults.h"
#include "chaos/scenario/section.h"

namespace elastic::chaos {

// What a fault line may refer to.
struct FaultWorld {
  std::function<bool(std::string_view selector)> exists;  // "a3", "zone a", "coordinator"
  std::vector<std::string_view> names;                    // of machines and zones, for hints
  Duration horizon{};
  std::uint32_t workers_per_node = 1;
  bool hosted_journal = false;
  bool native = true;
};

std::vector<FaultEntry> read_faults(const Tree& list, const FaultWorld& world, Errors& errors);
Tree write_faults(const std::vector<FaultEntry>& entries);

}  // namespace elastic::chaos
