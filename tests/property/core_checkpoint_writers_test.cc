// Whatever a disk answers, a file is reported durable only when it is, and nothing of others is
// removed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/checkpoint/manifest_writer.h"
#include "core/checkpoint/save_verifier.h"
#include "core/checkpoint/share_writer.h"
#include "tests/support/property.h"

namespace elastic::checkpoint {
namespace {

const SaveId kSave{Step{40}, {JournalLife{9}, 3}};
const ShareId kShare{kSave, 1, 4};
const AgentId kWriter{NodeId{6}, AgentLife{77}};
const FileFact kContent{1000, 0xABCD};

DiskOutcome any_outcome(int one_in) {
  if (*rc::gen::inRange(0, one_in) != 0) return DiskOutcome::kOk;
  return *rc::gen::element(DiskOutcome::kFull, DiskOutcome::kUnavailable, DiskOutcome::kIoError,
                           DiskOutcome::kStale, DiskOutcome::kMissing);
}

// What a share writer asked, checked as it asks.
struct Watched {
  ShareWriter writer;
  std::optional<OpId> asked;
  std::string asked_path;                 // of a write, sync or rename
  std::size_t kind = 0;                   // of the operation in flight
  std::set<std::string> written;          // successfully, by temporary name
  std::set<std::string> synced, renamed;  // successfully, by temporary name
  std::optional<std::string> placed;      // temporary name whose rename is followed by a sync
  std::size_t durable = 0, over = 0, removed_final = 0;
  bool armed = false;
  Duration last_pause{};

  void give(const ShareInput& input) {
    ShareEffects effects;
    writer.step(Time{}, input, effects);
    writer.check();
    for (const ShareEffect& effect : effects) take(effect);
  }

  std::string final_path() const { return directory_of(kSave) + "/" + shard_name(kShare); }
  bool temporary(const std::string& path) const {
    return path.starts_with(directory_of(kSave) + "/.shard-00001") && path.ends_with(".tmp");
  }

  void ask(OpId op, std::size_t index, const std::string& path) {
    RC_ASSERT(!asked.has_value());  // one operation at a time
    asked = op;
    kind = index;
    asked_path = path;
  }

  void take(const ShareEffect& effect) {
    RC_ASSERT(over == 0U);
    if (const auto* write = std::get_if<DiskWrite>(&effect)) {
      RC_ASSERT(temporary(write->path));  // never in place
      RC_ASSERT(write->content == kContent);
      RC_ASSERT(!written.contains(write->path));
      ask(write->op, effect.index(), write->path);
    } else if (const auto* sync = std::get_if<DiskSync>(&effect)) {
      RC_ASSERT(written.contains(sync->path));
      ask(sync->op, effect.index(), sync->path);
    } else if (const auto* rename = std::get_if<DiskRename>(&effect)) {
      RC_ASSERT(synced.contains(rename->from));  // invariant 1
      RC_ASSERT(rename->to == final_path());
      ask(rename->op, effect.index(), rename->from);
    } else if (const auto* sync_dir = std::get_if<DiskSyncDir>(&effect)) {
      ask(sync_dir->op, effect.index(), sync_dir->path);
    } else if (const auto* make = std::get_if<DiskMakeDir>(&effect)) {
      RC_ASSERT(make->path == directory_of(kSave));
      ask(make->op, effect.index(), make->path);
    } else if (const auto* remove = std::get_if<DiskRemove>(&effect)) {
      const bool is_final = remove->path == final_path();
      RC_ASSERT(is_final || temporary(remove->path));
      removed_final += is_final ? 1 : 0;
      ask(remove->op, effect.index(), remove->path);
    } else if (const auto* retry = std::get_if<ArmRetry>(&effect)) {
      RC_ASSERT(!armed);
      RC_ASSERT(retry->after >= kFirstRetry && retry->after <= kLastRetry);
      armed = true;
      last_pause = retry->after;
    } else if (const auto* done = std::get_if<ShareDurable>(&effect)) {
      RC_ASSERT(placed.has_value());  // invariant 2
      RC_ASSERT(done->share == kShare && done->content == kContent);
      ++durable;
    } else {
      ++over;
    }
  }

  void answer(DiskOutcome outcome) {
    const DiskAnswer reply{*asked, outcome, {}};
    asked.reset();
    if (outcome == DiskOutcome::kOk) {
      const bool syncs_directory = kind == ShareEffect(DiskSyncDir{}).index();
      if (kind == ShareEffect(DiskWrite{}).index()) written.insert(asked_path);
      if (kind == ShareEffect(DiskSync{}).index()) synced.insert(asked_path);
      if (kind == ShareEffect(DiskRename{}).index()) renamed.insert(asked_path);
      if (syncs_directory && asked_path != "." && !renamed.empty()) placed = *renamed.rbegin();
    }
    give(reply);
  }

  void retry() {
    armed = false;
    give(RetryTimer{});
  }
};

TEST(ShareWriterProperty, a_share_is_durable_only_after_an_undisturbed_attempt) {
  test::check(
      "a share is reported durable only after write, sync, rename and directory sync of one "
      "attempt",
      {"at once", "after failures", "abandoned before", "abandoned after", "never committed",
       "a late answer"},
      [] {
        Watched watched;
        const int one_in = *rc::gen::element(1, 2, 5, 50);
        bool abandoned = false, before = false;
        watched.give(ShareTask{kShare, kWriter, kContent});
        AbandonPlacing abandon;
        const int steps = *rc::gen::inRange(1, 60);
        for (int i = 0; i < steps; ++i) {
          const int what = *rc::gen::inRange(0, 30);
          if (what == 0 && !abandoned) {
            abandoned = true;
            before = watched.durable == 0;
            abandon.never_committed = *rc::gen::arbitrary<bool>();
            watched.give(abandon);
          } else if (what == 1) {
            RC_TAG("a late answer");  // of an operation that was given up
            watched.give(DiskAnswer{
                OpId{watched.asked ? watched.asked->value - 1 : 999}, DiskOutcome::kOk, {}});
          } else if (watched.asked) {
            watched.answer(any_outcome(one_in));
          } else if (watched.armed) {
            watched.retry();
          }
        }
        // The disk heals.
        for (int i = 0; i < 100 && (watched.asked || watched.armed); ++i) {
          if (watched.asked) {
            watched.answer(DiskOutcome::kOk);
          } else {
            watched.retry();
          }
        }
        RC_ASSERT(!watched.asked);
        RC_ASSERT(watched.durable == (before ? 0U : 1U));
        RC_ASSERT(watched.over == (abandoned ? 1U : 0U));
        // What somebody may have committed is never removed.
        if (!abandon.never_committed) RC_ASSERT(watched.removed_final == 0U);
        if (abandon.never_committed && watched.durable > 0) RC_ASSERT(watched.removed_final == 1U);
        RC_CLASSIFY(watched.durable == 1 && watched.writer.placing().attempts() == 1, "at once");
        RC_CLASSIFY(watched.durable == 1 && watched.writer.placing().attempts() > 1,
                    "after failures");
        RC_CLASSIFY(abandoned && before, "abandoned before");
        RC_CLASSIFY(abandoned && !before, "abandoned after");
        RC_CLASSIFY(abandoned && abandon.never_committed, "never committed");
      },
      {.max_success = 1000});
}

TEST(ManifestWriterProperty, nothing_is_written_before_every_share_is_known_durable) {
  test::check("no manifest is written before every share is known durable",
              {"complete", "incomplete", "text first", "text last"},
              [] {
                const std::uint32_t writers = *rc::gen::inRange(1U, 6U);
                ManifestWriter writer;
                std::set<std::uint32_t> known;
                bool task = false, text = false, asked = false;
                std::size_t texts_before = 0;
                const int steps = *rc::gen::inRange(1, 30);
                for (int i = 0; i < steps; ++i) {
                  ManifestEffects effects;
                  const int what = *rc::gen::inRange(0, 6);
                  if (what == 0) {
                    task = true;
                    writer.step(Time{}, ManifestTask{kSave, writers, kWriter}, effects);
                  } else if (what == 1) {
                    if (!text) texts_before = known.size();
                    text = true;
                    writer.step(Time{}, ManifestText{{300, 5}, 0xD16E57}, effects);
                  } else {
                    const std::uint32_t rank = *rc::gen::inRange(0U, writers + 1);
                    if (task && rank < writers) known.insert(rank);
                    writer.step(Time{}, ShareKnown{rank}, effects);
                  }
                  writer.check();
                  const bool ready = task && text && known.size() == writers;
                  if (!effects.empty()) {
                    RC_ASSERT(ready && !asked);
                    asked = true;
                  }
                  RC_ASSERT(ready == asked);
                }
                RC_CLASSIFY(asked, "complete");
                RC_CLASSIFY(!asked, "incomplete");
                RC_CLASSIFY(asked && texts_before == 0, "text first");
                RC_CLASSIFY(asked && texts_before == writers, "text last");
              },
              {.max_success = 500});
}

// A save of two files, as a verifier finds it: at most one thing is wrong with it.
struct Found {
  Manifest manifest;
  std::vector<DiskAnswer> files;
  ManifestAnswer answer;
};

Found found_save(int wrong) {
  Found found;
  found.manifest.round = kSave.round;
  found.manifest.step = kSave.step;
  found.manifest.world_size = 2;
  found.manifest.files = {{"a", {10, 1}}, {"b", {20, 2}}};
  for (const FileEntry& file : found.manifest.files) {
    found.files.push_back({{}, DiskOutcome::kOk, file.content});
  }
  found.answer.manifest = found.manifest;
  switch (wrong) {
    case 1:
      found.answer.outcome = DiskOutcome::kMissing;
      break;
    case 2:
      found.answer.manifest.reset();
      break;
    case 3:
      ++found.answer.manifest->seed;
      break;
    case 4:
      found.files[1].outcome = DiskOutcome::kMissing;
      break;
    case 5:
      --found.files[0].found.bytes;
      break;
    case 6:
      found.files[1].found.digest ^= 1ULL << *rc::gen::inRange(0, 64);
      break;
    default:
      break;
  }
  return found;
}

TEST(SaveVerifierProperty, a_save_is_intact_exactly_if_all_of_it_was_read_as_committed) {
  test::check(
      "a save is judged intact exactly if manifest and files are as committed, and never for an "
      "error of the disk",
      {"intact", "broken", "asked again"},
      [] {
        const int wrong = *rc::gen::element(0, 0, 1, 2, 3, 4, 5, 6);
        const Found found = found_save(wrong);
        SaveVerifier verifier;
        VerifyEffects effects;
        verifier.step(Time{}, VerifyTask{kSave, found.manifest.digest()}, effects);
        std::optional<SaveJudged> judged;
        const int one_in = *rc::gen::element(2, 3, 20);
        bool again = false;
        std::size_t file = 0;
        for (int i = 0; i < 200 && !judged; ++i) {
          RC_ASSERT(effects.size() == 1U);
          const VerifyEffect effect = effects.front();
          effects.clear();
          const DiskOutcome trouble =
              i < 100 && *rc::gen::inRange(0, one_in) == 0
                  ? *rc::gen::element(DiskOutcome::kUnavailable, DiskOutcome::kIoError,
                                      DiskOutcome::kStale)
                  : DiskOutcome::kOk;
          if (const auto* manifest = std::get_if<DiskReadManifest>(&effect)) {
            ManifestAnswer answer = found.answer;
            answer.op = manifest->op;
            if (trouble != DiskOutcome::kOk) answer.outcome = trouble;
            verifier.step(Time{}, answer, effects);
          } else if (const auto* read = std::get_if<DiskRead>(&effect)) {
            DiskAnswer answer = found.files.at(file);
            RC_ASSERT(read->path == directory_of(kSave) + "/" + found.manifest.files[file].name);
            answer.op = read->op;
            if (trouble != DiskOutcome::kOk) {
              answer.outcome = trouble;
            } else {
              ++file;
            }
            verifier.step(Time{}, answer, effects);
          } else if (std::holds_alternative<ArmRetry>(effect)) {
            again = true;
            verifier.step(Time{}, RetryTimer{}, effects);
          } else {
            judged = std::get<SaveJudged>(effect);
          }
          verifier.check();
        }
        RC_ASSERT(judged.has_value());
        RC_ASSERT(judged->intact() == (wrong == 0));
        RC_CLASSIFY(wrong == 0, "intact");
        RC_CLASSIFY(wrong != 0, "broken");
        RC_CLASSIFY(again, "asked again");
      },
      {.max_success = 500});
}

}  // namespace
}  // namespace elastic::checkpoint
