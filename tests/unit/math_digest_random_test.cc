#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <set>
#include <string_view>

#include "core/math/digest.h"
#include "core/math/random.h"
#include "tests/support/within.h"

namespace elastic::math {
namespace {

using test::within;

Digest of(std::initializer_list<uint64_t> words) {
  Digest digest;
  for (const uint64_t word : words) digest.add(word);
  return digest;
}

TEST(Digest, order_and_count_of_words_matter) {
  EXPECT_NE(of({1, 2}).value(), of({2, 1}).value());
  EXPECT_NE(of({}).value(), of({0}).value());
  EXPECT_NE(of({0}).value(), of({0, 0}).value());
}

TEST(Digest, a_text_never_reads_like_its_parts) {
  Digest whole;
  whole.add(std::string_view("ab"));
  Digest parts;
  parts.add(std::string_view("a"));
  parts.add(std::string_view("b"));
  EXPECT_NE(whole, parts);
  Digest padded;
  padded.add(std::string_view("ab\0", 3));
  EXPECT_NE(whole, padded);
}

// Frozen: golden hashes of whole runs are made of these. A change here changes them all.
TEST(Digest, values_are_the_same_in_every_build) {
  Digest digest = of({1, 2, 3});
  digest.add(std::string_view("rendezvous"));
  EXPECT_EQ(digest.value(), 16602480215241508765ULL);
  EXPECT_EQ(draw(Seed{1}, Stream{2}, 3), 1865035645330603926ULL);
}

TEST(Digest, one_flipped_bit_flips_about_half_of_the_value) {
  int flipped = 0;
  const uint64_t before = of({42, 7}).value();
  for (int bit = 0; bit < 64; ++bit) {
    flipped += std::popcount(before ^ of({42 ^ (uint64_t{1} << bit), 7}).value());
  }
  EXPECT_GT(flipped, 64 * 28);
  EXPECT_LT(flipped, 64 * 36);
}

TEST(Random, draws_of_different_seeds_streams_and_indices_differ) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (uint64_t stream = 0; stream < 8; ++stream) {
      for (uint64_t index = 0; index < 64; ++index) {
        seen.insert(draw(Seed{seed}, Stream{stream}, index));
      }
    }
  }
  EXPECT_EQ(seen.size(), 8U * 8U * 64U);
}

TEST(Random, substreams_of_one_family_are_not_shifted_copies) {
  const Stream one = substream(Stream{5}, 1);
  const Stream two = substream(Stream{5}, 2);
  std::set<uint64_t> seen;
  for (uint64_t index = 0; index < 10'000; ++index) {
    seen.insert(draw(Seed{9}, one, index));
    seen.insert(draw(Seed{9}, two, index));
  }
  EXPECT_EQ(seen.size(), 20'000U);
}

TEST(Random, every_residue_comes_up_about_equally_often) {
  std::array<int, 7> counts{};
  for (uint64_t index = 0; index < 70'000; ++index) {
    ++counts[below(draw(Seed{3}, Stream{4}, index), counts.size())];
  }
  for (const int count : counts) EXPECT_TRUE(within(count, 10'000, 400));
}

TEST(Random, bounds_are_kept_at_the_ends) {
  EXPECT_EQ(below(UINT64_MAX, 10), 9U);
  EXPECT_EQ(below(UINT64_MAX, 0), 0U);
  EXPECT_EQ(between(0, -3, 3), -3);
  EXPECT_EQ(between(UINT64_MAX, -3, 3), 3);
  EXPECT_EQ(between(UINT64_MAX, 5, 4), 5);
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(between(0, kMin, kMax), kMin);
  EXPECT_EQ(between(UINT64_MAX, kMin, kMax), kMax);
  EXPECT_FALSE(chance_ppm(0, 0));
  EXPECT_TRUE(chance_ppm(UINT64_MAX, 1'000'000));
}

}  // namespace
}  // namespace elastic::math
