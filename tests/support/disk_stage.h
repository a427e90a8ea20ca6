// Saves on a disk that loses, tears, reorders and rots: core's writers against
// transport/sim/disk.h, with a crash at any moment. Shared by the property tests and by the tests
// of planted bugs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/checkpoint/manifest_writer.h"
#include "core/checkpoint/restore.h"
#include "core/checkpoint/retention.h"
#include "core/checkpoint/save_verifier.h"
#include "core/checkpoint/share_writer.h"
#include "core/membership/records.h"
#include "transport/sim/disk.h"

namespace elastic::test {

// One attempt at a save: its members' machines, as far as they live.
struct StageSave {
  checkpoint::SaveId save;
  std::vector<AgentId> writers;  // by rank; the first also writes the manifest
  std::vector<sim::DiskContent> shares;
  checkpoint::Manifest manifest;
  sim::DiskContent manifest_text;
  std::vector<checkpoint::ShareWriter> share_writers;
  std::vector<bool> alive;
  checkpoint::ManifestWriter manifest_writer;
  std::uint32_t shares_durable = 0;
  bool told_committed = false;
};

class DiskStage {
 public:
  DiskStage(std::uint64_t seed, const sim::DiskModel& model)
      : seed_(seed), chance_(seed), disk_(chance_, 1, model) {}

  // Moments: before each event, and after it but before anybody has heard of it.
  static constexpr std::uint64_t kToTheEnd = UINT64_MAX;

  sim::Disk& disk() { return disk_; }
  std::uint64_t moment() const { return moment_; }
  const std::vector<CommittedSave>& records() const { return records_; }  // newest first
  StageSave& save(std::size_t index) { return saves_[index]; }
  std::size_t saves() const { return saves_.size(); }
  const std::string& broken_promise() const { return broken_promise_; }

  std::uint64_t draw(std::uint64_t purpose, std::uint64_t index) const {
    return math::draw(math::Seed{seed_}, math::Stream{purpose}, index);
  }

  void begin(checkpoint::SaveId id, const std::vector<AgentId>& writers) {
    const std::size_t index = saves_.size();
    StageSave save;
    save.save = id;
    save.writers = writers;
    save.manifest.round = id.round;
    save.manifest.step = id.step;
    save.manifest.world_size = static_cast<std::uint32_t>(writers.size());
    save.alive.assign(writers.size(), true);
    save.share_writers.resize(writers.size());
    for (std::uint32_t rank = 0; rank < writers.size(); ++rank) {
      sim::DiskContent content;
      for (std::uint64_t word = 0; word < 4; ++word) {
        content.words.push_back(
            draw(100 + id.round.number, id.step.value * 1000 + rank * 8 + word));
      }
      content.bytes = 1'000'000 + rank;
      const checkpoint::ShareId share{id, rank, save.manifest.world_size};
      save.manifest.files.push_back({checkpoint::shard_name(share), content.fact()});
      save.shares.push_back(content);
    }
    save.manifest_text.bytes = 2000;
    save.manifest_text.words = {save.manifest.digest(), 1, 2, 3};
    texts_[save.manifest_text.fact().digest] = save.manifest;
    saves_.push_back(std::move(save));
    for (std::uint32_t rank = 0; rank < writers.size(); ++rank) {
      const checkpoint::ShareId share{id, rank, static_cast<std::uint32_t>(writers.size())};
      give_share(index, rank,
                 checkpoint::ShareTask{share, writers[rank], saves_[index].shares[rank].fact()});
    }
    give_manifest(index, checkpoint::ManifestTask{id, static_cast<std::uint32_t>(writers.size()),
                                                  writers.front()});
  }

  // A fault of the disk that begins or ends after so many further events.
  enum class DiskFault : std::uint8_t { kUnavailable, kAvailable, kFull, kNotFull };
  void fault_after(std::uint64_t events, DiskFault what) {
    faults_.emplace(events_ + events, what);
  }
  void heal() {
    faults_.clear();
    disk_.set_available(true);
    disk_.set_full(false);
  }

  // Until nothing is due, or until that moment. True: it came to the moment.
  bool run(std::uint64_t stop_at = kToTheEnd) {
    if (heard_) {
      const auto [due, reply] = *heard_;
      heard_.reset();
      deliver(due, reply);
    }
    while (!due_.empty()) {
      if (moment_++ == stop_at) return true;
      const auto next = due_.begin();
      now_ = next->first.first;
      const Due due = next->second;
      due_.erase(next);
      apply_faults();
      ++events_;
      std::optional<sim::DiskReply> reply;
      if (const auto* io = std::get_if<Io>(&due)) {
        sim::Disk::Completed completed = disk_.complete(io->ticket);
        if (completed.lands_later) {
          schedule(completed.lands_later->after, Io{io->ticket, io->client, kNobody, 0, {}});
        }
        reply = completed.reply;
        disk_.check();
      } else if (const auto* append = std::get_if<Append>(&due)) {
        record(append->save);
      }
      if (moment_++ == stop_at) {
        heard_ = std::pair(due, reply);  // by whoever lives
        return true;
      }
      deliver(due, reply);
    }
    return false;
  }

  // All machines lose power. What still lands does; nobody of before acts any more.
  void crash_all() {
    for (std::size_t i = 0; i < saves_.size(); ++i) {
      for (std::size_t rank = 0; rank < saves_[i].writers.size(); ++rank) {
        crash(saves_[i].writers[rank].node);
      }
    }
  }

  void crash(NodeId node) {
    if (std::find(dead_.begin(), dead_.end(), node) != dead_.end()) return;
    dead_.push_back(node);
    for (StageSave& save : saves_) {
      for (std::size_t rank = 0; rank < save.writers.size(); ++rank) {
        if (save.writers[rank].node == node) save.alive[rank] = false;
      }
    }
    std::vector<sim::Disk::Submitted> landing = disk_.crash(node);
    for (auto at = due_.begin(); at != due_.end();) {
      const auto* io = std::get_if<Io>(&at->second);
      const bool mine = io != nullptr && io->client == node && io->save != kNobody;
      at = mine ? due_.erase(at) : std::next(at);
    }
    for (const sim::Disk::Submitted& one : landing) {
      schedule(one.after, Io{one.ticket, node, kNobody, 0, {}});
    }
    disk_.check();
  }
  // The node is back, as another machine that knows nothing.
  void revive(NodeId node) { std::erase(dead_, node); }

  // The next World is in the journal: no record of an older round follows any more.
  void round_over(std::size_t index) {
    for (auto at = due_.begin(); at != due_.end();) {
      const auto* append = std::get_if<Append>(&at->second);
      at = append != nullptr && append->save == index ? due_.erase(at) : std::next(at);
    }
    StageSave& save = saves_[index];
    const bool never = !committed(save.save);
    for (std::uint32_t rank = 0; rank < save.writers.size(); ++rank) {
      if (save.alive[rank]) give_share(index, rank, checkpoint::AbandonPlacing{never});
    }
    if (save.alive[0]) give_manifest(index, checkpoint::AbandonPlacing{never});
  }

  bool committed(const checkpoint::SaveId& id) const {
    return std::any_of(records_.begin(), records_.end(), [&](const CommittedSave& save) {
      return save.checkpoint.step == id.step && save.checkpoint.round == id.round;
    });
  }

  // Reads it back now, by a machine that takes no part otherwise.
  checkpoint::SaveJudged read_back(const Checkpoint& saved) {
    checkpoint::SaveVerifier verifier;
    checkpoint::VerifyEffects effects;
    verifier.step(now_, checkpoint::VerifyTask{{saved.step, saved.round}, saved.manifest_digest},
                  effects);
    while (true) {
      const checkpoint::VerifyEffect effect = effects.back();
      effects.clear();
      if (const auto* manifest = std::get_if<checkpoint::DiskReadManifest>(&effect)) {
        const sim::DiskReply reply = read(manifest->path);
        checkpoint::ManifestAnswer answer{manifest->op, reply.outcome, {}};
        const auto text = texts_.find(reply.found.fact().digest);
        if (text != texts_.end()) answer.manifest = text->second;
        verifier.step(now_, answer, effects);
      } else if (const auto* file = std::get_if<checkpoint::DiskRead>(&effect)) {
        const sim::DiskReply reply = read(file->path);
        verifier.step(now_, checkpoint::DiskAnswer{file->op, reply.outcome, reply.found.fact()},
                      effects);
      } else if (std::holds_alternative<checkpoint::ArmRetry>(effect)) {
        verifier.step(now_, checkpoint::RetryTimer{}, effects);
      } else {
        return std::get<checkpoint::SaveJudged>(effect);
      }
      verifier.check();
    }
  }

  // The truth, by looking at the bytes themselves.
  bool whole(const StageSave& save) const {
    const std::string directory = checkpoint::directory_of(save.save) + "/";
    if (disk_.visible(directory + checkpoint::kManifestName) != save.manifest_text) return false;
    for (std::size_t rank = 0; rank < save.shares.size(); ++rank) {
      const auto found = disk_.visible(directory + save.manifest.files[rank].name);
      if (found != save.shares[rank]) return false;
    }
    return true;
  }

  void remove_save(const Checkpoint& saved) {
    const std::string directory = checkpoint::directory_of({saved.step, saved.round});
    for (const std::string& name : disk_.list(directory)) {
      at_once({kReader, sim::DiskOpKind::kRemove, directory + "/" + name, {}, {}});
    }
    at_once({kReader, sim::DiskOpKind::kSyncDir, directory, {}, {}});
    at_once({kReader, sim::DiskOpKind::kRemove, directory, {}, {}});
    at_once({kReader, sim::DiskOpKind::kSyncDir, ".", {}, {}});
  }

 private:
  static constexpr std::size_t kNobody = SIZE_MAX;
  static constexpr std::uint32_t kManifestRank = UINT32_MAX;
  static constexpr NodeId kReader{1'000'000};

  struct Io {
    sim::DiskTicket ticket;
    NodeId client;
    std::size_t save = kNobody;
    std::uint32_t rank = 0;  // or kManifestRank
    checkpoint::OpId op;
  };
  struct Timer {
    std::size_t save = kNobody;
    std::uint32_t rank = 0;
  };
  struct Append {
    std::size_t save = kNobody;
  };
  using Due = std::variant<Io, Timer, Append>;

  void schedule(Duration after, Due due) { due_.emplace(std::pair(now_ + after, ++order_), due); }

  sim::DiskReply at_once(const sim::DiskRequest& request) {
    const sim::Disk::Submitted submitted = disk_.submit(request);
    return *disk_.complete(submitted.ticket).reply;
  }
  sim::DiskReply read(const std::string& path) {
    return at_once({kReader, sim::DiskOpKind::kRead, path, {}, {}});
  }

  void apply_faults() {
    for (auto at = faults_.begin(); at != faults_.end() && at->first <= events_;) {
      const bool reach =
          at->second == DiskFault::kUnavailable || at->second == DiskFault::kAvailable;
      if (reach) disk_.set_available(at->second == DiskFault::kAvailable);
      if (!reach) disk_.set_full(at->second == DiskFault::kFull);
      at = faults_.erase(at);
    }
  }

  void record(std::size_t index) {
    const StageSave& save = saves_[index];
    const RecordNo number{records_.size() + 10};
    records_.insert(records_.begin(),
                    {number, {save.save.step, save.save.round, {}, save.manifest.digest()}});
  }

  void deliver(const Due& due, const std::optional<sim::DiskReply>& reply) {
    if (const auto* io = std::get_if<Io>(&due)) {
      if (!reply || io->save == kNobody) return;
      const checkpoint::DiskAnswer answer{io->op, reply->outcome, reply->found.fact()};
      if (io->rank == kManifestRank) {
        give_manifest(io->save, answer);
      } else {
        give_share(io->save, io->rank, answer);
      }
    } else if (const auto* timer = std::get_if<Timer>(&due)) {
      if (timer->rank == kManifestRank) {
        give_manifest(timer->save, checkpoint::RetryTimer{});
      } else {
        give_share(timer->save, timer->rank, checkpoint::RetryTimer{});
      }
    } else {
      saves_[std::get<Append>(due).save].told_committed = true;
    }
  }

  void give_share(std::size_t index, std::uint32_t rank, const checkpoint::ShareInput& input) {
    if (!saves_[index].alive[rank]) return;
    checkpoint::ShareEffects effects;
    saves_[index].share_writers[rank].step(now_, input, effects);
    saves_[index].share_writers[rank].check();
    for (const checkpoint::ShareEffect& effect : effects) {
      if (std::holds_alternative<checkpoint::ShareDurable>(effect)) {
        share_durable(index, rank);
      } else {
        carry_out(index, rank, saves_[index].writers[rank].node, effect,
                  saves_[index].shares[rank]);
      }
    }
  }

  void share_durable(std::size_t index, std::uint32_t rank) {
    StageSave& save = saves_[index];
    promise(disk_.durable(checkpoint::directory_of(save.save) + "/" +
                          save.manifest.files[rank].name) == save.shares[rank],
            "share_durable: a share that was reported durable is not");
    ++save.shares_durable;
    give_manifest(index, checkpoint::ShareKnown{rank});
    if (save.shares_durable < save.shares.size()) return;
    give_manifest(index,
                  checkpoint::ManifestText{save.manifest_text.fact(), save.manifest.digest()});
  }

  void give_manifest(std::size_t index, const checkpoint::ManifestInput& input) {
    if (!saves_[index].alive[0]) return;
    checkpoint::ManifestEffects effects;
    saves_[index].manifest_writer.step(now_, input, effects);
    saves_[index].manifest_writer.check();
    for (const checkpoint::ManifestEffect& effect : effects) {
      if (std::holds_alternative<checkpoint::ManifestDurable>(effect)) {
        schedule(std::chrono::milliseconds(5), Append{index});
      } else {
        carry_out(index, kManifestRank, saves_[index].writers[0].node, effect,
                  saves_[index].manifest_text);
      }
    }
  }

  template <class Effect>
  void carry_out(std::size_t index, std::uint32_t rank, NodeId client, const Effect& effect,
                 const sim::DiskContent& content) {
    if (const auto* retry = std::get_if<checkpoint::ArmRetry>(&effect)) {
      schedule(retry->after, Timer{index, rank});
      return;
    }
    sim::DiskRequest request{client, sim::DiskOpKind::kRead, {}, {}, {}};
    checkpoint::OpId op;
    if (const auto* make = std::get_if<checkpoint::DiskMakeDir>(&effect)) {
      request.kind = sim::DiskOpKind::kMakeDir;
      std::tie(op, request.path) = std::tie(make->op, make->path);
    } else if (const auto* write = std::get_if<checkpoint::DiskWrite>(&effect)) {
      request.kind = sim::DiskOpKind::kWrite;
      std::tie(op, request.path) = std::tie(write->op, write->path);
      request.content = content;
    } else if (const auto* sync = std::get_if<checkpoint::DiskSync>(&effect)) {
      request.kind = sim::DiskOpKind::kSync;
      std::tie(op, request.path) = std::tie(sync->op, sync->path);
    } else if (const auto* rename = std::get_if<checkpoint::DiskRename>(&effect)) {
      request.kind = sim::DiskOpKind::kRename;
      std::tie(op, request.path) = std::tie(rename->op, rename->from);
      request.to = rename->to;
    } else if (const auto* sync_dir = std::get_if<checkpoint::DiskSyncDir>(&effect)) {
      request.kind = sim::DiskOpKind::kSyncDir;
      std::tie(op, request.path) = std::tie(sync_dir->op, sync_dir->path);
    } else if (const auto* gone = std::get_if<checkpoint::DiskRemove>(&effect)) {
      request.kind = sim::DiskOpKind::kRemove;
      std::tie(op, request.path) = std::tie(gone->op, gone->path);
    } else {
      return;  // PlacingOver
    }
    const sim::Disk::Submitted submitted = disk_.submit(std::move(request));
    schedule(submitted.after, Io{submitted.ticket, client, index, rank, op});
  }

  void promise(bool kept, const std::string& what) {
    if (!kept && broken_promise_.empty()) broken_promise_ = what;
  }

  std::uint64_t seed_;
  sim::Chance chance_;
  sim::Disk disk_;
  Time now_{};
  std::uint64_t order_ = 0;
  std::uint64_t moment_ = 0;
  std::uint64_t events_ = 0;
  std::map<std::pair<Time, std::uint64_t>, Due> due_;
  std::optional<std::pair<Due, std::optional<sim::DiskReply>>> heard_;
  std::multimap<std::uint64_t, DiskFault> faults_;
  std::vector<StageSave> saves_;
  std::vector<CommittedSave> records_;
  std::vector<NodeId> dead_;
  std::map<std::uint64_t, checkpoint::Manifest> texts_;
  std::string broken_promise_;
};

// ---- Judges: what a run of the stage must not show. Each gives the name of the promise that was
// broken and what was seen, or nothing.

struct StageRun {
  std::uint64_t seed = 1;
  std::uint32_t writers = 3;
  bool faults = false;  // the disk is full or out of reach for a while
};

inline std::vector<AgentId> stage_agents(std::uint32_t writers, std::uint64_t life) {
  std::vector<AgentId> agents;
  for (std::uint64_t node = 1; node <= writers; ++node) {
    agents.push_back({NodeId{node}, AgentLife{life}});
  }
  return agents;
}

inline checkpoint::SaveId stage_save(std::uint64_t step, std::uint64_t round) {
  return {Step{step}, {JournalLife{(1ULL << 32U) | 7U}, round}};
}

inline DiskStage start_stage(const StageRun& run) {
  DiskStage stage(run.seed, {});
  using Fault = DiskStage::DiskFault;
  if (run.faults) {
    const std::uint64_t begin = math::below(stage.draw(1, 0), 30);
    const std::uint64_t length = 1 + math::below(stage.draw(1, 1), 12);
    const bool full = math::below(stage.draw(1, 2), 3) == 0;
    stage.fault_after(begin, full ? Fault::kFull : Fault::kUnavailable);
    stage.fault_after(begin + length, full ? Fault::kNotFull : Fault::kAvailable);
  }
  stage.begin(stage_save(10, 1), stage_agents(run.writers, 5));
  return stage;
}

// What was recorded is read back intact, and nothing is called intact that is not.
inline std::string judge_saves(DiskStage& stage) {
  if (!stage.broken_promise().empty()) return stage.broken_promise();
  for (std::size_t i = 0; i < stage.saves(); ++i) {
    const StageSave& save = stage.save(i);
    const Checkpoint as_recorded{save.save.step, save.save.round, {}, save.manifest.digest()};
    const checkpoint::SaveJudged judged = stage.read_back(as_recorded);
    if (judged.intact() && !stage.whole(save)) {
      return "never_taken_for_whole: a save was called intact that is not";
    }
    if (stage.committed(save.save) && !judged.intact()) {
      return "committed_is_intact: round " + std::to_string(save.save.round.number) + ": " +
             judged.why;
    }
    if (save.told_committed && !stage.committed(save.save)) return "record: told, not recorded";
  }
  return {};
}

struct StageCounts {
  std::uint64_t crashes = 0;
  std::uint64_t committed = 0;  // of them: after the record
  std::uint64_t torn = 0;       // a save that is there in part
};

// Everybody loses power at that moment. Empty and `past_end`: the run ended before it.
inline std::string judge_power_loss(const StageRun& run, std::uint64_t moment, bool* past_end,
                                    StageCounts* counts) {
  DiskStage stage = start_stage(run);
  *past_end = !stage.run(moment);
  stage.crash_all();
  stage.run();
  stage.heal();
  if (!*past_end) ++counts->crashes;
  if (!stage.records().empty()) ++counts->committed;
  const std::string directory = checkpoint::directory_of(stage.save(0).save);
  if (stage.records().empty() && !stage.disk().list(directory).empty()) ++counts->torn;
  if (*past_end && stage.records().empty())
    return "liveness: an undisturbed save was not committed";
  return judge_saves(stage);
}

// One member's machine is lost at that moment; the next round takes the same step again and saves
// it. Whatever of the first round lands late, both records hold.
inline std::string judge_next_round(const StageRun& run, std::uint64_t moment, std::uint32_t victim,
                                    bool* past_end, StageCounts* counts) {
  DiskStage stage = start_stage(run);
  *past_end = !stage.run(moment);
  const NodeId node = stage.save(0).writers[victim % run.writers].node;
  stage.crash(node);
  stage.revive(node);
  stage.round_over(0);
  if (!*past_end) ++counts->crashes;
  if (!stage.records().empty()) ++counts->committed;
  std::vector<AgentId> members = stage_agents(run.writers, 5);
  members[victim % run.writers].life = AgentLife{6};
  std::rotate(members.begin(), members.begin() + victim % run.writers, members.end());
  stage.begin(stage_save(10, 2), members);
  stage.run();
  stage.heal();
  if (!stage.committed(stage.save(1).save))
    return "liveness: the next round's save was not committed";
  return judge_saves(stage);
}

// Saves follow each other; some rot before they are read back, none that was read back does. What
// the retention rule retires is deleted. One that can be resumed from always remains, once there
// was one.
inline std::string judge_retention(const StageRun& run, std::uint32_t keep, StageCounts* counts) {
  DiskStage stage(run.seed, {});
  std::vector<CommittedSave> kept;
  std::vector<RecordNo> retired, broken;
  RecordNo proven;
  for (std::uint64_t i = 0; i < 8; ++i) {
    stage.begin(stage_save(10 * (i + 1), 1), stage_agents(run.writers, 5));
    stage.run();
    const CommittedSave newest = stage.records().front();
    kept.insert(kept.begin(), newest);
    const std::string directory =
        checkpoint::directory_of({newest.checkpoint.step, newest.checkpoint.round});
    if (math::below(stage.draw(2, i), 2) == 0) {
      const std::vector<std::string> files = stage.disk().list(directory);
      const std::string& file = files[math::below(stage.draw(3, i), files.size())];
      stage.disk().rot_file(directory + "/" + file, stage.draw(4, i));
      ++counts->torn;
    }
    // The reading back may come late: then this save is one of those not read yet.
    if (math::below(stage.draw(5, i), 3) != 0) {
      if (stage.read_back(newest.checkpoint).intact()) {
        proven = newest.record;
      } else {
        broken.push_back(newest.record);
      }
    }
    for (const RecordNo record : checkpoint::to_retire(kept, broken, {keep, proven, {}})) {
      const auto at = std::find_if(kept.begin(), kept.end(),
                                   [&](const CommittedSave& one) { return one.record == record; });
      stage.remove_save(at->checkpoint);
      retired.push_back(record);
      kept.erase(at);
      ++counts->crashes;
    }
    std::vector<RecordNo> found_broken = broken;
    while (true) {  // as rounds do: the newest, and if it is broken the one before
      const checkpoint::Restore restore = checkpoint::choose_restore(kept, retired, found_broken);
      if (!restore.save) {
        if (proven) return "one_intact_left: a save was read back intact, and none is left";
        break;
      }
      if (stage.read_back(restore.save->checkpoint).intact()) break;
      found_broken.push_back(restore.save->record);
    }
  }
  return {};
}

}  // namespace elastic::test
