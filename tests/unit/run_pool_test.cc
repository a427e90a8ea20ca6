#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <map>
#include <string>

#include "chaos/run/pool.h"

namespace elastic::chaos {
namespace {

std::map<std::size_t, PoolResult> collect(const PoolOptions& options, const PoolWork& work,
                                          bool* all = nullptr) {
  std::map<std::size_t, PoolResult> results;
  const bool complete = run_pool(options, work, [&](const PoolResult& result) {
    EXPECT_TRUE(results.emplace(result.item, result).second) << "told twice: " << result.item;
    return true;
  });
  if (all != nullptr) *all = complete;
  return results;
}

TEST(Pool, does_each_item_once_whatever_the_number_of_processes) {
  for (const unsigned jobs : {1U, 2U, 7U}) {
    bool all = false;
    const auto results = collect(
        {.items = 20, .jobs = jobs},
        [](std::size_t item, const PoolEmit& emit) { emit(std::to_string(item * item), false); },
        &all);
    EXPECT_TRUE(all);
    ASSERT_EQ(results.size(), 20U);
    for (const auto& [item, result] : results) {
      EXPECT_FALSE(result.crashed);
      EXPECT_EQ(result.payload, std::to_string(item * item));
    }
  }
}

TEST(Pool, loses_only_the_item_whose_process_dies) {
  const auto results =
      collect({.items = 12, .jobs = 3}, [](std::size_t item, const PoolEmit& emit) {
        if (item == 4) kill(getpid(), SIGKILL);
        if (item == 7) _exit(3);
        emit("done", false);
      });
  ASSERT_EQ(results.size(), 12U);
  for (const auto& [item, result] : results) {
    EXPECT_EQ(result.crashed, item == 4 || item == 7) << item;
  }
  EXPECT_EQ(results.at(4).status, 128 + SIGKILL);
  EXPECT_EQ(results.at(7).status, 3);
}

TEST(Pool, keeps_last_words_with_the_item_that_said_them) {
  const auto results = collect({.items = 9, .jobs = 2}, [](std::size_t item, const PoolEmit& emit) {
    if (item % 3 == 1) {
      emit("last words of " + std::to_string(item), true);
      _exit(3);
    }
    emit("fine", false);
  });
  ASSERT_EQ(results.size(), 9U);
  for (const auto& [item, result] : results) {
    EXPECT_EQ(result.crashed, item % 3 == 1);
    EXPECT_EQ(result.payload,
              item % 3 == 1 ? "last words of " + std::to_string(item) : std::string("fine"));
  }
}

TEST(Pool, carries_payloads_larger_than_a_pipe) {
  const std::string large(3'000'000, 'x');
  const auto results = collect({.items = 3, .jobs = 2},
                               [&](std::size_t, const PoolEmit& emit) { emit(large, false); });
  for (const auto& [item, result] : results) EXPECT_EQ(result.payload.size(), large.size());
}

TEST(Pool, ends_early_when_the_caller_has_seen_enough) {
  std::size_t seen = 0;
  const bool all = run_pool(
      {.items = 1000, .jobs = 2}, [](std::size_t, const PoolEmit& emit) { emit("x", false); },
      [&](const PoolResult&) { return ++seen < 5; });
  EXPECT_FALSE(all);
  EXPECT_EQ(seen, 5U);
}

}  // namespace
}  // namespace elastic::chaos
