// Documents, judged by the JSON Schema of scenarios and by the checker.
#pragma once

#include <string>
#include <vector>

#include "chaos/scenario/tree.h"

namespace elastic::test {

// What the schema says of each document: "yes", or "no" and why. Empty, and the test fails, when it
// could not be asked. Starts Python once.
std::vector<std::string> judged(const std::vector<std::string>& documents);

// What the checker says: good, refused for rules alone that a schema cannot state, or bad.
enum class Said { kGood, kBeyond, kBad };
Said checked(const std::string& document);

// Fails the test for documents that one accepts and the other refuses.
void expect_agreement(const std::vector<std::string>& documents);

// In one line of YAML. Scalars stand as they were written: in quotes, or plain.
std::string written(const chaos::Tree& tree);

// Values of all kinds, right and wrong, many just inside and just outside of some bound.
const std::vector<std::string>& scalars();

}  // namespace elastic::test
