#pragma once

#include <gtest/gtest.h>

#include <cstdint>

namespace elastic::test {

// EXPECT_TRUE(within(found, expected, slack)): |found - expected| <= slack, for integers that a
// double cannot hold exactly (EXPECT_NEAR compares doubles).
inline testing::AssertionResult within(int64_t found, int64_t expected, int64_t slack) {
  const int64_t apart = found > expected ? found - expected : expected - found;
  if (apart <= slack) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "found " << found << ", expected " << expected << " give or take " << slack;
}

}  // namespace elastic::test
