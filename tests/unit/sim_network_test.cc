#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "transport/sim/network.h"

namespace elastic::sim {
namespace {

using namespace std::chrono_literals;
constexpr NodeId kA{1}, kB{2}, kC{3}, kD{4};

class NetworkTest : public testing::Test {
 protected:
  Network make(NetworkModel model = {}) { return Network(model, Chance(7), 4); }
  static Fault fault(FaultKind kind, std::vector<NodeId> targets, std::vector<NodeId> others = {},
                     std::int64_t value = 0) {
    Fault made;
    made.kind = kind;
    made.targets = std::move(targets);
    made.others = std::move(others);
    made.value = value;
    return made;
  }
  static int arrived(Network& network, NodeId from, NodeId to, int messages) {
    int copies = 0;
    for (int i = 0; i < messages; ++i)
      copies += static_cast<int>(network.send(from, to, Time(Duration(i))).copies);
    return copies;
  }
};

TEST_F(NetworkTest, without_faults_every_message_arrives_once_within_latency_and_jitter) {
  Network network = make();
  const NetworkModel model;
  for (int i = 0; i < 1000; ++i) {
    const Network::Delivery delivery = network.send(kA, kB, Time{});
    ASSERT_EQ(delivery.copies, 1U);
    ASSERT_GE(delivery.after[0], model.latency);
    ASSERT_LE(delivery.after[0], model.latency + model.jitter);
  }
}

TEST_F(NetworkTest, a_message_to_oneself_is_never_lost) {
  NetworkModel model;
  model.loss_ppm = 1'000'000;
  Network network = make(model);
  network.begin(1, fault(FaultKind::kPartition, {kA}));
  EXPECT_EQ(arrived(network, kA, kA, 100), 100);
  EXPECT_EQ(arrived(network, kB, kC, 100), 0);
}

TEST_F(NetworkTest, a_partition_blocks_both_ways_and_ends) {
  Network network = make();
  network.begin(1, fault(FaultKind::kPartition, {kA, kB}));
  EXPECT_TRUE(network.blocked(kA, kC));
  EXPECT_TRUE(network.blocked(kC, kB));
  EXPECT_FALSE(network.blocked(kA, kB));
  EXPECT_FALSE(network.blocked(kC, kD));
  network.end(1);
  EXPECT_FALSE(network.blocked(kA, kC));
}

TEST_F(NetworkTest, a_one_way_partition_lets_the_other_way_pass) {
  Network network = make();
  network.begin(1, fault(FaultKind::kOneWay, {kA}, {kB}));
  EXPECT_TRUE(network.blocked(kA, kB));
  EXPECT_FALSE(network.blocked(kB, kA));
  EXPECT_FALSE(network.blocked(kA, kC));
}

TEST_F(NetworkTest, a_partial_partition_separates_only_the_named_pairs) {
  Network network = make();
  network.begin(1, fault(FaultKind::kPartition, {kA}, {kC}));
  EXPECT_TRUE(network.blocked(kA, kC));
  EXPECT_TRUE(network.blocked(kC, kA));
  EXPECT_FALSE(network.blocked(kA, kB));
  EXPECT_FALSE(network.blocked(kB, kC));
}

TEST_F(NetworkTest, overlapping_partitions_end_one_by_one) {
  Network network = make();
  network.begin(1, fault(FaultKind::kPartition, {kA}));
  network.begin(2, fault(FaultKind::kPartition, {kB}));
  network.end(1);
  EXPECT_TRUE(network.blocked(kA, kB));
  EXPECT_FALSE(network.blocked(kA, kC));
  network.end(2);
  EXPECT_FALSE(network.blocked(kA, kB));
}

TEST_F(NetworkTest, loss_and_duplication_come_about_as_often_as_asked) {
  Network network = make();
  network.begin(1, fault(FaultKind::kLoss, {kA}, {}, 300'000));
  EXPECT_NEAR(arrived(network, kA, kB, 10'000), 7'000, 200);
  EXPECT_NEAR(arrived(network, kB, kA, 10'000), 7'000, 200);
  EXPECT_EQ(arrived(network, kB, kC, 1'000), 1'000);
  network.end(1);
  network.begin(2, fault(FaultKind::kDuplicate, {}, {}, 100'000));
  EXPECT_NEAR(arrived(network, kC, kD, 10'000), 11'000, 200);
}

TEST_F(NetworkTest, reordering_lets_later_messages_overtake) {
  Network network = make();
  network.begin(1, fault(FaultKind::kReorder, {}, {}, 200'000));
  int overtaken = 0;
  Time before{};
  for (int i = 0; i < 1000; ++i) {
    const Time sent = Time(200us * i);
    const Time arrives = sent + network.send(kA, kB, sent).after[0];
    if (arrives < before) ++overtaken;
    before = arrives;
  }
  EXPECT_GT(overtaken, 50);
}

TEST_F(NetworkTest, what_one_link_carries_never_changes_what_another_draws) {
  Network alone = make();
  Network busy = make();
  for (int i = 0; i < 100; ++i) {
    busy.send(kC, kB, Time{});
    busy.send(kB, kA, Time{});
    ASSERT_EQ(alone.send(kA, kB, Time{}).after[0], busy.send(kA, kB, Time{}).after[0]);
  }
}

TEST_F(NetworkTest, peers_are_those_who_talked_lately) {
  Network network = make();
  network.send(kA, kB, Time(1s));
  network.send(kC, kA, Time(100s));
  EXPECT_EQ(network.peers(kA, Time(50s)), std::vector<NodeId>{kC});
  EXPECT_EQ(network.peers(kA, Time{}), (std::vector<NodeId>{kB, kC}));
}

TEST_F(NetworkTest, a_cut_leaves_only_the_core_connected) {
  Network network = make();
  network.cut_off_all_but({kA, kB});
  EXPECT_FALSE(network.blocked(kA, kB));
  EXPECT_TRUE(network.blocked(kA, kC));
  EXPECT_TRUE(network.blocked(kC, kD));
}

}  // namespace
}  // namespace elastic::sim
