// Whatever the links and the ranks do: who is done has the exact result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "core/math/digest.h"
#include "core/math/random.h"
#include "core/worker/ring.h"
#include "tests/support/property.h"
#include "tests/support/ring_net.h"

namespace elastic {
namespace {

using test::check;
using test::Numbers;
using test::result_of;
using test::RingNet;

constexpr RoundId kRound{JournalLife{1}, 4};
constexpr RoundId kNext{JournalLife{1}, 5};

// Choices by a drawn seed: an interleaving has too many of them for generators of their own.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : seed_(math::mix(seed)) {}
  std::uint64_t below(std::uint64_t bound) {
    return math::below(math::draw(math::Seed{seed_}, math::Stream{1}, ++taken_), bound);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t taken_ = 0;
};

std::uint32_t any_world() { return *rc::gen::element<std::uint32_t>(1, 2, 3, 4, 5, 6, 7, 8, 9); }

std::vector<Numbers> any_buffers(std::uint32_t world, std::uint64_t elements, Choices& choices) {
  std::vector<Numbers> buffers(world, Numbers(elements));
  for (Numbers& buffer : buffers) {
    for (std::uint64_t& value : buffer) value = choices.below(UINT64_MAX);
  }
  return buffers;
}

// A few collectives in the order of their ids, with the buffers that the ranks bring.
struct Job {
  Collective collective;
  std::vector<Numbers> buffers;
};
std::vector<Job> any_jobs(std::uint32_t world, RoundId round, Choices& choices) {
  std::vector<Job> jobs;
  const int count = *rc::gen::element(1, 2, 3, 4);
  std::uint32_t bucket = 0;
  for (int i = 0; i < count; ++i) {
    bucket += 1 + static_cast<std::uint32_t>(choices.below(2));
    Collective collective;
    collective.kind = *rc::gen::element(CollectiveKind::kAllReduce, CollectiveKind::kAllReduce,
                                        CollectiveKind::kBroadcast, CollectiveKind::kAllGather);
    collective.id = {round, Step{7}, bucket};
    collective.elements = *rc::gen::element<std::uint64_t>(0, 1, 2, 3, 8, 13, 40, 64);
    collective.chunk_elements = *rc::gen::element<std::uint64_t>(1, 2, 3, 7, 1000);
    collective.root = static_cast<std::uint32_t>(choices.below(world));
    jobs.push_back({collective, any_buffers(world, collective.elements, choices)});
  }
  return jobs;
}

// A network that runs jobs, one action after the other.
class Traffic {
 public:
  Traffic(std::uint32_t world, RoundId round, const std::vector<Job>& jobs, Choices& choices,
          bool late_reads = false)
      : net(world, round, late_reads), jobs_(jobs), choices_(choices), started_(world) {
    slow_ = static_cast<std::uint32_t>(choices_.below(2 * world));  // often none
  }

  // One rank starts its next collective, or one chunk arrives; who is done with it is judged. False
  // if nothing is left to do.
  bool move() {
    std::vector<std::uint32_t> starts, arrivals;
    for (std::uint32_t rank = 0; rank < net.world(); ++rank) {
      if (may_start(rank)) starts.push_back(rank);
      if (net.can_deliver(rank)) arrivals.push_back(rank);
    }
    // A slow rank starts only when nothing else can happen, so that others run ahead of it.
    if (starts.size() + arrivals.size() > 1) std::erase(starts, slow_);
    if (starts.empty() && arrivals.empty()) return false;
    const std::uint64_t choice = choices_.below(starts.size() + arrivals.size());
    if (choice < starts.size()) {
      const std::uint32_t rank = starts[choice];
      const Job& job = jobs_[started_[rank]++];
      net.start(rank, job.collective, job.buffers[rank]);
    } else {
      const std::uint32_t rank = arrivals[choice - starts.size()];
      const ChunkHeader header = net.deliver(rank);
      delivered.push_back({rank, header});
    }
    if (all_done() != judged_) judge();
    return true;
  }

  bool may_start(std::uint32_t rank) const {
    return started_[rank] < jobs_.size() && !left.contains(rank) && !net[rank].ring.running();
  }
  void leave(std::uint32_t rank, std::size_t still_sent) {
    net.cancel(rank, still_sent);
    left.insert(rank);
  }
  std::size_t started(std::uint32_t rank) const { return started_[rank]; }

  // Who is done with a collective holds its exact result, and every rank has started it.
  void judge() {
    judged_ = all_done();
    for (std::uint32_t rank = 0; rank < net.world(); ++rank) {
      for (std::size_t i = 0; i < jobs_.size(); ++i) {
        const CollectiveId id = jobs_[i].collective.id;
        if (!net[rank].done.contains(id)) continue;
        RC_ASSERT(net[rank].buffers.at(id) == result_of(jobs_[i].collective, jobs_[i].buffers));
        for (const std::size_t started : started_) RC_ASSERT(started > i);
      }
    }
  }
  void expect_all_done() const {
    for (std::uint32_t rank = 0; rank < net.world(); ++rank) {
      RC_ASSERT(net[rank].done.size() == jobs_.size());
      RC_ASSERT(net[rank].kept.empty());
    }
  }
  std::size_t all_done() const {
    std::size_t done = 0;
    for (std::uint32_t rank = 0; rank < net.world(); ++rank) done += net[rank].done.size();
    return done;
  }
  std::uint64_t kept() const {
    std::uint64_t chunks = 0;
    for (std::uint32_t r = 0; r < net.world(); ++r) {
      chunks += net[r].ring.count(ChunkFate::kKept);
    }
    return chunks;
  }
  std::uint64_t refused() const {
    std::uint64_t chunks = 0;
    for (std::uint32_t rank = 0; rank < net.world(); ++rank) chunks += net[rank].refused;
    return chunks;
  }

  RingNet net;
  std::set<std::uint32_t> left;
  std::vector<std::pair<std::uint32_t, ChunkHeader>> delivered;

 private:
  const std::vector<Job>& jobs_;
  Choices& choices_;
  std::vector<std::size_t> started_;
  std::uint32_t slow_;
  std::size_t judged_ = 0;
};

TEST(RingProperty, every_rank_ends_with_the_exact_result_in_any_interleaving) {
  check(
      "every rank ends with the exact result in any interleaving",
      {"one rank", "nine ranks", "all-reduce", "broadcast", "all-gather", "no elements",
       "fewer elements than ranks", "does not divide", "chunks were kept", "sent from the buffer"},
      [] {
        const std::uint32_t world = any_world();
        Choices choices(*rc::gen::arbitrary<std::uint64_t>());
        const std::vector<Job> jobs = any_jobs(world, kRound, choices);
        const bool late_reads = *rc::gen::arbitrary<bool>();
        Traffic run(world, kRound, jobs, choices, late_reads);
        while (run.move()) continue;
        run.judge();
        run.expect_all_done();
        RC_ASSERT(run.refused() == 0U);  // so no rank was ever more than one collective ahead

        RC_CLASSIFY(world == 1, "one rank");
        RC_CLASSIFY(world == 9, "nine ranks");
        RC_CLASSIFY(run.kept() > 0, "chunks were kept");
        RC_CLASSIFY(late_reads, "sent from the buffer");
        const auto classify = [world](const Collective& c) {
          RC_CLASSIFY(c.kind == CollectiveKind::kAllReduce, "all-reduce");
          RC_CLASSIFY(c.kind == CollectiveKind::kBroadcast, "broadcast");
          RC_CLASSIFY(c.kind == CollectiveKind::kAllGather, "all-gather");
          RC_CLASSIFY(c.elements == 0, "no elements");
          RC_CLASSIFY(c.elements > 0 && c.elements < world, "fewer elements than ranks");
          RC_CLASSIFY(c.elements % world != 0, "does not divide");
        };
        for (const Job& job : jobs) classify(job.collective);
      },
      {.max_success = 400});
}

TEST(RingProperty, chunks_that_overtake_each_other_change_nothing) {
  check("chunks that overtake each other on a link change nothing", {"overtaken"},
        [] {
          const std::uint32_t world = any_world();
          Choices choices(*rc::gen::arbitrary<std::uint64_t>());
          std::vector<Job> jobs = any_jobs(world, kRound, choices);
          jobs.resize(1);  // across collectives the links keep their order: see promise 2
          Traffic run(world, kRound, jobs, choices);
          bool overtaken = false;
          for (bool moved = true; moved; moved = run.move()) {
            auto& sent = run.net[static_cast<std::uint32_t>(choices.below(world))].sent;
            if (sent.size() < 2) continue;
            overtaken = true;
            std::swap(sent.front(), sent[choices.below(sent.size())]);
          }
          run.judge();
          run.expect_all_done();
          RC_ASSERT(run.refused() == 0U);
          RC_CLASSIFY(overtaken, "overtaken");
        },
        {.max_success = 200});
}

// A header that is wrong in one field, or old.
ChunkHeader spoilt(ChunkHeader header, Choices& choices) {
  const std::uint64_t by = 1 + choices.below(4);
  switch (choices.below(8)) {
    case 0:
      header.hop += static_cast<std::uint32_t>(by);
      break;
    case 1:
      header.offset += by;
      break;
    case 2:
      header.offset -= by;
      break;
    case 3:
      header.length += by;
      break;
    case 4:
      header.phase = static_cast<ChunkPhase>((static_cast<std::uint64_t>(header.phase) + by) % 5);
      break;
    case 5:
      header.id.round.number -= by;
      break;
    case 6:
      header.id.step.value += by;  // far ahead
      break;
    default:
      break;  // as it was: a duplicate
  }
  return header;
}

TEST(RingProperty, chunks_that_are_wrong_old_or_repeated_have_no_effect) {
  check("chunks that are wrong, old or repeated have no effect",
        {"refused at once", "kept and dropped later", "duplicates"},
        [] {
          const std::uint32_t world = any_world();
          const auto seed = *rc::gen::arbitrary<std::uint64_t>();
          Choices choices(seed);
          const std::vector<Job> jobs = any_jobs(world, kRound, choices);
          // What each rank gets in an undisturbed run, so that no chunk is right by accident.
          std::vector<std::set<ChunkHeader>> right(world);
          Traffic calm(world, kRound, jobs, choices);
          while (calm.move()) continue;
          for (const auto& [rank, header] : calm.delivered) right[rank].insert(header);

          Traffic run(world, kRound, jobs, choices);
          std::uint64_t refused = 0, kept = 0;
          for (bool moved = true; moved; moved = run.move()) {
            if (run.delivered.empty() || choices.below(3) != 0) continue;
            const auto& old = run.delivered[choices.below(run.delivered.size())];
            const auto rank = static_cast<std::uint32_t>(choices.below(world));
            const ChunkHeader header = spoilt(old.second, choices);
            RingNet::Rank& to = run.net[rank];
            if (right[rank].contains(header) && !to.heard.contains(header)) continue;
            const Numbers before =
                to.buffers.contains(header.id) ? to.buffers[header.id] : Numbers{};
            const std::size_t sent = to.sent.size(), done = to.done.size();
            const Numbers nonsense(std::min<std::uint64_t>(header.length, 100), 666);
            const ChunkFate fate = run.net.hand(rank, header, nonsense);
            RC_ASSERT(fate != ChunkFate::kUsed);
            RC_ASSERT(to.sent.size() == sent);
            RC_ASSERT(to.done.size() == done);
            if (to.buffers.contains(header.id)) RC_ASSERT(to.buffers[header.id] == before);
            refused += fate == ChunkFate::kKept ? 0 : 1;
            kept += fate == ChunkFate::kKept ? 1 : 0;
          }
          run.judge();
          for (std::uint32_t rank = 0; rank < world; ++rank) {
            RC_ASSERT(run.net[rank].done.size() == jobs.size());
          }
          std::uint64_t duplicates = 0;
          for (std::uint32_t rank = 0; rank < world; ++rank) {
            duplicates += run.net[rank].ring.count(ChunkFate::kDuplicate);
          }
          RC_CLASSIFY(refused > 0, "refused at once");
          RC_CLASSIFY(kept > 0 && run.refused() > refused, "kept and dropped later");
          RC_CLASSIFY(duplicates > 0, "duplicates");
        },
        {.max_success = 400});
}

TEST(RingProperty, when_ranks_leave_nobody_finishes_wrongly_and_the_next_round_is_exact) {
  check(
      "when ranks leave at any moment, nobody finishes wrongly, and the next round is exact",
      {"a rank finished after another had left", "left after being done", "left while running",
       "nobody finished", "several left", "old chunks reached the next round"},
      [] {
        const auto world = *rc::gen::element<std::uint32_t>(2, 3, 4, 5, 6, 7, 8, 9);
        Choices choices(*rc::gen::arbitrary<std::uint64_t>());
        const std::vector<Job> jobs = any_jobs(world, kRound, choices);
        Traffic calm(world, kRound, jobs, choices);
        std::uint64_t moves = 1;
        while (calm.move()) ++moves;

        Traffic run(world, kRound, jobs, choices);
        const std::uint64_t leavers = 1 + choices.below(2);
        std::size_t finished_after = 0;
        for (std::uint64_t leaver = 0; leaver < leavers; ++leaver) {
          for (std::uint64_t left = choices.below(moves); left > 0 && run.move(); --left) continue;
          const auto rank = static_cast<std::uint32_t>(choices.below(world));
          RC_CLASSIFY(run.net[rank].ring.done(), "left after being done");
          RC_CLASSIFY(run.net[rank].ring.running(), "left while running");
          const std::size_t still_sent = choices.below(run.net[rank].sent.size() + 1);
          run.leave(rank, still_sent);
        }
        std::vector<std::size_t> done_before;
        for (std::uint32_t r = 0; r < world; ++r) done_before.push_back(run.net[r].done.size());
        // Chunks on their way still arrive, or some of them.
        for (std::uint64_t left = choices.below(moves); left > 0 && run.move(); --left) continue;
        std::size_t finished = 0;
        for (std::uint32_t r = 0; r < world; ++r) {
          if (run.left.contains(r)) RC_ASSERT(run.net[r].done.size() == done_before[r]);
          finished_after += run.net[r].done.size() - done_before[r];
          finished += run.net[r].done.size();
          // Ranks differ by at most one collective: what a round can still finish once one has
          // left.
          for (std::uint32_t other = 0; other < world; ++other) {
            RC_ASSERT(run.started(r) <= run.started(other) + 1);
          }
        }
        run.judge();

        // The next round of those that stayed; chunks of the old one still come in.
        const auto survivors = static_cast<std::uint32_t>(world - run.left.size());
        RC_PRE(survivors > 0);
        const std::vector<Job> again = any_jobs(survivors, kNext, choices);
        Traffic after(survivors, kNext, again, choices);
        std::uint64_t old_chunks = 0;
        for (bool moved = true; moved; moved = after.move()) {
          if (run.delivered.empty() || choices.below(4) != 0) continue;
          const ChunkHeader& header = run.delivered[choices.below(run.delivered.size())].second;
          const auto rank = static_cast<std::uint32_t>(choices.below(survivors));
          RC_ASSERT(after.net.hand(rank, header, Numbers(header.length, 666)) == ChunkFate::kStale);
          ++old_chunks;
        }
        after.judge();
        after.expect_all_done();
        RC_CLASSIFY(finished_after > 0, "a rank finished after another had left");
        RC_CLASSIFY(finished == 0, "nobody finished");
        RC_CLASSIFY(run.left.size() > 1, "several left");
        RC_CLASSIFY(old_chunks > 0, "old chunks reached the next round");
      },
      {.max_success = 400});
}

}  // namespace
}  // namespace elastic
