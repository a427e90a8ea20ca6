// The agent's part in saves: what it is asked for as group rank 0, and what its workers find out.
#include <algorithm>

#include "core/agent/agent.h"
#include "core/assert.h"

namespace elastic {

// A new place. What was under way in the last round is abandoned; what was found out about saves
// holds for as long as the journal whose records name them.
void Agent::start_saves(bool other_journal) {
  manifest_asked_.reset();
  manifest_.reset();
  if (other_journal) {
    checked_.reset();
    broken_saves_.clear();
  }
  // A reading that was under way may have ended with the workers that did it: it is asked again.
  checking_ = checked_ ? checked_->record : RecordNo{};
}

void Agent::take_save_orders(const Order& order, Effects& effects) {
  ELASTIC_ASSERT(in_round());
  if (!native() || exit_) return;
  // An order that was overtaken may name an older save, or one that is committed meanwhile.
  const bool asks = order.manifest && order.manifest->round == placed_ &&
                    (!manifest_asked_ || order.manifest->step > manifest_asked_->step);
  if (asks) {
    manifest_asked_ =
        ManifestReport{order.manifest->round, order.manifest->step, order.manifest->lineage, 0};
    effects.push_back(WriteManifest{*order.manifest});
  }
  // One reading at a time: the newest save will be asked for again.
  const bool reading = checking_ && (!checked_ || checked_->record < checking_);
  if (order.verify && !reading && order.verify->record > checking_) {
    checking_ = order.verify->record;
    effects.push_back(VerifySave{*order.verify});
  }
}

void Agent::on_manifest_written(Time now, const ManifestWritten& written, Effects& effects) {
  if (!manifest_asked_ || written.round != placed_ || written.step != manifest_asked_->step) return;
  ELASTIC_ASSERT(manifest_asked_->round == placed_);
  manifest_ = manifest_asked_;
  manifest_->digest = written.digest;
  beat(now, effects);
}

void Agent::on_save_verified(Time now, const SaveVerified& verified, Effects& effects) {
  if (!verified.record || verified.record != checking_) return;
  if (checked_ && checked_->record >= verified.record) return;
  checked_ = SaveCheck{verified.record, verified.intact};
  ELASTIC_ASSERT(checking_ == checked_->record);
  if (!verified.intact) {
    effects.push_back(
        Note{NoteKind::kSaveBroken, self_.node, placed_, verified.record.value, 1, 0});
  }
  beat(now, effects);
}

void Agent::on_save_broken(Time now, const SaveBroken& broken, Effects& effects) {
  if (!native() || !placed_ || !broken.record) return;
  if (std::find(broken_saves_.begin(), broken_saves_.end(), broken.record) != broken_saves_.end()) {
    return;
  }
  if (broken_saves_.size() >= kMaxBroken) broken_saves_.erase(broken_saves_.begin());
  broken_saves_.push_back(broken.record);
  ELASTIC_ASSERT(broken_saves_.size() <= kMaxBroken);
  effects.push_back(Note{NoteKind::kSaveBroken, self_.node, placed_, broken.record.value, 0, 0});
  beat(now, effects);
}

}  // namespace elastic
