// The coordinator's part in saves: shares, manifest, Checkpoint, reading back, Retire.
//
// Every step follows from what the members say in their newest beats and from the journal, so that
// a new coordinator goes on wherever the old one stopped: shares are reported until the Checkpoint
// is seen, a written manifest likewise, and what was read back for as long as its reader lives.
// Alternative rejected: to let the workers of group rank 0 collect the shares; then a share report
// would be lost with the round's connections, and nobody would know whom to ask again.
#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/checkpoint/retention.h"
#include "core/membership/coordinator.h"
#include "core/mutants.h"

namespace elastic {
namespace {

// The newest Checkpoint is of this round, and of this step or a later one.
bool covered(const JournalView& view, RoundId round, Step step) {
  return view.checkpoint && view.checkpoint->round == round && view.checkpoint->step >= step;
}

}  // namespace

// The member of group rank 0, if it is heard in the life that has the place.
const Peer* Coordinator::first_member(const JournalView& view) const {
  if (!view.world || view.world->members.empty()) return nullptr;
  const AgentId first = view.world->members.front().agent;
  const auto at = peers_.find(first.node);
  return at == peers_.end() || at->second.beat.from != first ? nullptr : &at->second;
}

void Coordinator::note_save(const Beat& beat, const JournalView& view) {
  ELASTIC_ASSERT(beat.saved.has_value());
  const SaveReport& report = *beat.saved;
  if (!view.world || report.round != view.world->round)
    return;  // a save whose round died is abandoned
  if (covered(view, report.round, report.step)) return;
  const std::size_t at = index_of(*view.world, beat.from.node);
  if (at == view.world->members.size() || view.world->members[at].agent != beat.from) return;
  // Its shares are all known, and its manifest is being written: a newer save does not undo that.
  if (manifest_for_ && manifest_for_->round == report.round && manifest_for_->step >= report.step) {
    return;
  }
  if (saving_ && saving_->report.round == report.round && report.step < saving_->report.step)
    return;
  if (!saving_ || saving_->report.step != report.step || saving_->report.round != report.round) {
    saving_ = SaveTally{report, {}};
  }
  ELASTIC_ASSERT(saving_->report.round == view.world->round);
  if (saving_->report.lineage != report.lineage) return;  // not the same state: never whole
  saving_->in[beat.from.node] = {report.bytes, report.digest};
}

// Every share is durable: group rank 0 writes the manifest. One at a time; the order is repeated
// with every acknowledgement until the record is there.
void Coordinator::ask_for_manifest(const JournalView& view, Effects& effects) {
  if (manifest_for_ && (!view.world || manifest_for_->round != view.world->round ||
                        covered(view, manifest_for_->round, manifest_for_->step))) {
    manifest_for_.reset();
  }
  if (manifest_for_ || !saving_ || !view.world) return;
  const World& world = *view.world;
  if (saving_->report.round != world.round || saving_->in.size() < world.members.size()) return;
  ManifestOrder order{saving_->report.round, saving_->report.step, saving_->report.lineage, {}};
  for (const Member& member : world.members) {
    const auto share = saving_->in.find(member.agent.node);
    if (share == saving_->in.end()) return;  // the tally is of another World with that number
    order.shares.push_back(share->second);
  }
  ELASTIC_ASSERT(order.shares.size() == world.members.size());
  ELASTIC_ASSERT(!covered(view, order.round, order.step));
  saving_.reset();
  manifest_for_ = std::move(order);
  if (const Peer* first = first_member(view)) {
    effects.push_back(Send{first->beat.from.node, order_for(*first, view)});
  }
}

// A manifest that is durable names shares that are: the save is whole. It is committed if it is of
// the newest World's round, since then it descends from that World.
bool Coordinator::commit_save(Time now, JournalClient& journal, Effects& effects) {
  ELASTIC_ASSERT(phase_ != Phase::kEnding);
  ELASTIC_ASSERT(!journal.appending());
  const JournalView& view = journal.view();
  ask_for_manifest(view, effects);
  const Peer* first = first_member(view);
  if (first == nullptr || !first->beat.manifest) return false;
  const ManifestReport& written = *first->beat.manifest;
  const bool fenced = written.round != view.world->round && !ELASTIC_MUTANT("commit_not_fenced");
  if (fenced || covered(view, written.round, written.step)) return false;
  journal.append(now, Checkpoint{written.step, written.round, written.lineage, written.digest},
                 effects);
  return true;
}

// The own Checkpoint is in the journal, or a predecessor's, which may have left out the marker.
void Coordinator::put_marker(const CommittedSave& save, bool verdict, const JournalView& view,
                             Effects& effects) {
  ELASTIC_ASSERT(leading());
  ELASTIC_ASSERT(save.record);
  markers_asked_.insert(save.record);
  effects.push_back(PutMarker{{view.life, save.record, save.checkpoint, verdict}});
}

void Coordinator::on_marker(Time now, RecordNo record, JournalClient& journal, Effects& effects) {
  if (!leading() || !markers_asked_.contains(record)) return;  // of an earlier lead
  marker_stored_ = std::max(marker_stored_, record);
  markers_asked_.erase(markers_asked_.begin(), markers_asked_.find(marker_stored_));
  ELASTIC_ASSERT(*markers_asked_.begin() == marker_stored_);
  ELASTIC_ASSERT(marker_stored_ <= journal.view().checkpoint_record);
  evaluate(now, journal, effects);
}

// What the newest World names and what members have found since, as far as it can still be named.
std::vector<RecordNo> Coordinator::broken_saves(const JournalView& view) const {
  std::vector<RecordNo> broken;
  if (view.world && !ELASTIC_MUTANT("broken_save_forgotten")) broken = view.world->broken;
  for (const auto& [node, peer] : peers_) {
    const Beat& beat = peer.beat;
    // Numbers of another journal's records mean something else here.
    if (beat.placed.journal != view.life) continue;
    broken.insert(broken.end(), beat.broken_saves.begin(), beat.broken_saves.end());
    if (beat.checked && !beat.checked->intact) broken.push_back(beat.checked->record);
  }
  std::erase_if(broken, [&](RecordNo record) { return !view.has_save(record); });
  std::sort(broken.begin(), broken.end());
  broken.erase(std::unique(broken.begin(), broken.end()), broken.end());
  return broken;
}

// The newest World cannot go on with the save that it has: some member finds the one that it
// resumes from broken, and not everybody is in; or all have finished, and the last save is broken.
bool Coordinator::needs_other_save(const World& world, const JournalView& view) const {
  const std::vector<RecordNo> broken = broken_saves(view);
  const auto is_broken = [&](RecordNo record) {
    return std::binary_search(broken.begin(), broken.end(), record);
  };
  const bool loads = world.resume.source == ResumePoint::Source::kCheckpoint;
  if (loads && running_since_ == kEndOfTime && is_broken(world.resume.checkpoint)) return true;
  if (!covered(view, world.round, Step{}) || !is_broken(view.checkpoint_record)) return false;
  return std::all_of(world.members.begin(), world.members.end(), [&](const Member& member) {
    const auto at = peers_.find(member.agent.node);
    return at != peers_.end() && at->second.beat.from == member.agent &&
           at->second.beat.state == AgentState::kFinished &&
           at->second.beat.last_step == view.checkpoint->step;
  });
}

// The newest save, until somebody has read it back.
std::optional<CommittedSave> Coordinator::to_verify(const JournalView& view) const {
  if (job_.keep_saves == 0 || view.saves.empty()) return std::nullopt;
  const CommittedSave& newest = view.saves.front();
  if (newest.checkpoint.round.journal != view.life)
    return std::nullopt;  // known by its marker only
  const std::vector<RecordNo> broken = broken_saves(view);
  if (std::binary_search(broken.begin(), broken.end(), newest.record)) return std::nullopt;
  const bool done = std::any_of(peers_.begin(), peers_.end(), [&](const auto& entry) {
    const Beat& beat = entry.second.beat;
    return beat.placed.journal == view.life && beat.checked &&
           beat.checked->record >= newest.record;
  });
  return done ? std::nullopt : std::optional(newest);
}

// The newest save that was read back intact and whose marker, or a newer one, is durable.
RecordNo Coordinator::proven(const JournalView& view) const {
  RecordNo newest;
  for (const auto& [node, peer] : peers_) {
    const auto& checked = peer.beat.checked;
    if (!checked || !checked->intact || peer.beat.placed.journal != view.life) continue;
    if (!view.has_save(checked->record) || checked->record > marker_stored_) continue;
    newest = std::max(newest, checked->record);
  }
  return newest;
}

bool Coordinator::retire_saves(Time now, JournalClient& journal, Effects& effects) {
  const JournalView& view = journal.view();
  if (job_.keep_saves == 0 || phase_ != Phase::kRunning || !view.world) return false;
  checkpoint::Kept kept{job_.keep_saves, proven(view), {}};
  const ResumePoint& resume = view.world->resume;
  if (resume.source == ResumePoint::Source::kCheckpoint) kept.in_use = resume.checkpoint;
  std::vector<RecordNo> gone = checkpoint::to_retire(view.saves, broken_saves(view), kept);
  if (gone.empty()) return false;
  ELASTIC_ASSERT(std::find(gone.begin(), gone.end(), kept.in_use) == gone.end());
  ELASTIC_ASSERT(gone.size() < view.saves.size());
  journal.append(now, Retire{std::move(gone)}, effects);
  return true;
}

// The own Retire is in the journal.
void Coordinator::settle_retire(const Retire& retire, const JournalView& view, Effects& effects) {
  ELASTIC_ASSERT(!retire.saves.empty());
  ELASTIC_ASSERT(!view.has_save(retire.saves.back()));
  effects.push_back(DeleteSaves{view.last_retired});
  effects.push_back(
      Note{NoteKind::kRetired, self_.node, {}, retire.saves.back().value, retire.saves.size(), 0});
}

// Only saves of the newest round can still be committed (note_save, commit_save): what is there of
// older ones, and is no committed save, was abandoned.
void Coordinator::sweep_saves(const JournalView& view, Effects& effects) {
  if (!view.world || view.saves.empty() || view.world->round <= swept_below_) return;
  ELASTIC_ASSERT(view.world->round.journal == view.life);
  swept_below_ = view.world->round;
  effects.push_back(SweepSaves{view.world->round, view.saves});
}

// A new coordinator takes up what the old one may have left undone.
void Coordinator::take_up_saves(const JournalView& view, Effects& effects) {
  if (view.checkpoint && view.checkpoint->round.journal == view.life) {
    put_marker({view.checkpoint_record, *view.checkpoint}, false, view, effects);
  }
  if (!view.last_retired.empty()) effects.push_back(DeleteSaves{view.last_retired});
  sweep_saves(view, effects);
}

}  // namespace elastic
