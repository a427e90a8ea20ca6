#pragma once

#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

namespace elastic::test {

// How hard a property is tried. RC_PARAMS (for instance "max_success=10000 seed=7") goes before it.
struct PropertyOptions {
  int max_success = 100;       // cases that must hold
  int max_size = 100;          // how large generated values get
  int max_discard_ratio = 10;  // cases that RC_PRE may discard, for each one that counts
};

// The part of `check` that does not depend on the type of the property.
void check_property(const std::string& sentence, const std::vector<std::string>& classes,
                    const rc::detail::Property& property, const PropertyOptions& options);

// Checks a property inside a GoogleTest test, and fails that test
//  - if the property does not hold: the smallest counterexample is printed;
//  - if RapidCheck gives up because too many cases were discarded;
//  - if one of `classes` was given to no case by RC_CLASSIFY(condition, "class") or
//  RC_TAG("class"):
//    a property whose interesting inputs never come up has shown nothing.
// The seed follows from `sentence`, so that a run repeats; RC_PARAMS="seed=..." tries others.
// Inside, use RC_ASSERT and its kin: a GoogleTest EXPECT_ would not shrink.
template <class Testable>
void check(const std::string& sentence, const std::vector<std::string>& classes,
           Testable&& testable, const PropertyOptions& options = {}) {
  check_property(sentence, classes, rc::detail::toProperty(std::forward<Testable>(testable)),
                 options);
}

}  // namespace elastic::test
