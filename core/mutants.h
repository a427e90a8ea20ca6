// Planted bugs. In the build that is deployed every ELASTIC_MUTANT is the constant false and
// nothing of them remains; the second build of core/ (core_mutants) can switch on one at a time,
// and the oracle named beforehand must find it with the standard scenarios.
#pragma once

#if defined(ELASTIC_MUTANTS)
#include <span>
#include <string_view>

namespace elastic::mutants {

struct Mutant {
  std::string_view name;
  std::string_view what;    // the bug, in one sentence
  std::string_view oracle;  // that must find it
  // Rare: the scenario of the standard batch and the seed that show it. Empty: the first few do.
  std::string_view seen = {};
};

// Found by the oracles of chaos/ in the standard scenarios.
std::span<const Mutant> all();
// Found by the judges of tests/support/disk_stage.h, on a disk of their own.
std::span<const Mutant> on_disk();
// False when no mutant has that name. An empty name switches off.
bool activate(std::string_view name);
bool active(std::string_view name);

}  // namespace elastic::mutants

#define ELASTIC_MUTANT(name) (::elastic::mutants::active(name))
#else
#define ELASTIC_MUTANT(name) false
#endif
