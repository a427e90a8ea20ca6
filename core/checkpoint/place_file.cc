#include "core/checkpoint/place_file.h"

#include <algorithm>

#include "core/assert.h"
#include "core/checkpoint/save_names.h"
#include "core/math/digest.h"

namespace elastic::checkpoint {
namespace {

// Temporary files that could not be removed so far; older ones than these are left to whoever
// deletes the save.
constexpr std::size_t kMaxLeftovers = 8;

Duration back_off(DiskOutcome outcome, std::uint32_t failures_in_row) {
  const Duration first = outcome == DiskOutcome::kFull ? kFirstRetryWhenFull : kFirstRetry;
  const std::uint32_t exponent = std::min<std::uint32_t>(failures_in_row, 9);
  return std::min(kLastRetry, first * (Duration::rep{1} << exponent));
}

// Of an attempt: not cleaning, not waiting.
bool has_operation(PlaceFile::Stage stage) {
  return stage >= PlaceFile::Stage::kRemoveOld && stage <= PlaceFile::Stage::kSyncDir;
}

}  // namespace

std::string PlaceFile::temporary(std::uint64_t attempt) const {
  return path(temporary_name(task_.name, task_.writer, attempt));
}

void PlaceFile::step(Time /*now*/, const PlaceInput& input, PlaceEffects& effects) {
  if (const auto* task = std::get_if<PlaceTask>(&input)) {
    if (stage_ != Stage::kIdle) return;
    task_ = *task;
    begin_attempt(effects);
  } else if (const auto* answer = std::get_if<DiskAnswer>(&input)) {
    if (in_flight_ && answer->op.value == ops_) on_answer(*answer, effects);
  } else if (std::holds_alternative<RetryTimer>(input)) {
    if (stage_ == Stage::kBackOff) begin_attempt(effects);
  } else {
    if (abandoned_ || stage_ == Stage::kOver) return;
    abandoned_ = true;
    never_committed_ = std::get<AbandonPlacing>(input).never_committed;
    // What is in flight would land after the cleaning: it is waited for.
    if (!in_flight_) abandon(effects);
  }
}

void PlaceFile::begin_attempt(PlaceEffects& effects) {
  ELASTIC_ASSERT(!in_flight_);
  ELASTIC_ASSERT(!durable_);
  const std::uint64_t before = attempt_++;
  synced_ = false;
  if (before == 0) {
    go(Stage::kMakeDir, effects);
    return;
  }
  to_remove_.push_back(temporary(before));
  if (to_remove_.size() > kMaxLeftovers) to_remove_.erase(to_remove_.begin());
  go(Stage::kRemoveOld, effects);
}

void PlaceFile::go(Stage stage, PlaceEffects& effects) {
  ELASTIC_ASSERT(!in_flight_);
  ELASTIC_ASSERT(has_operation(stage));
  stage_ = stage;
  in_flight_ = true;
  switch (stage) {
    case Stage::kRemoveOld:
      effects.push_back(DiskRemove{next(), to_remove_.back()});
      return;
    case Stage::kMakeDir:
      effects.push_back(DiskMakeDir{next(), task_.directory});
      return;
    case Stage::kSyncParent:
      effects.push_back(DiskSyncDir{next(), "."});
      return;
    case Stage::kWrite:
      effects.push_back(DiskWrite{next(), temporary(attempt_), task_.content});
      return;
    case Stage::kSync:
      effects.push_back(DiskSync{next(), temporary(attempt_)});
      return;
    case Stage::kRename:
      ELASTIC_ASSERT(synced_);
      rename_asked_ = true;
      effects.push_back(DiskRename{next(), temporary(attempt_), path(task_.name)});
      return;
    case Stage::kSyncDir:
      effects.push_back(DiskSyncDir{next(), task_.directory});
      return;
    default:
      return;
  }
}

void PlaceFile::on_answer(const DiskAnswer& answer, PlaceEffects& effects) {
  ELASTIC_ASSERT(in_flight_);
  in_flight_ = false;
  const bool ok = answer.outcome == DiskOutcome::kOk;
  const bool cleaning = stage_ == Stage::kAbandoned || stage_ == Stage::kDurable;
  if (cleaning || stage_ == Stage::kRemoveOld) {
    // Removing is a kindness to the disk: only in kRemoveOld does a failure leave it for later.
    if (cleaning || ok || answer.outcome == DiskOutcome::kMissing) to_remove_.pop_back();
  }
  if (abandoned_ && stage_ != Stage::kAbandoned) {
    abandon(effects);
    return;
  }
  if (cleaning) {
    clean(effects);
    return;
  }
  if (!ok && stage_ != Stage::kRemoveOld) {
    failed(answer.outcome, effects);
    return;
  }
  ELASTIC_ASSERT(has_operation(stage_));
  switch (stage_) {
    case Stage::kRemoveOld:
      return go(Stage::kMakeDir, effects);
    case Stage::kMakeDir:
      return go(Stage::kSyncParent, effects);
    case Stage::kSyncParent:
      return go(Stage::kWrite, effects);
    case Stage::kWrite:
      if (sync_first_ == SyncFirst::kYes) return go(Stage::kSync, effects);
      synced_ = true;
      return go(Stage::kRename, effects);
    case Stage::kSync:
      synced_ = true;
      return go(Stage::kRename, effects);
    case Stage::kRename:
      return go(Stage::kSyncDir, effects);
    case Stage::kSyncDir:
      durable_ = true;
      last_failure_ = DiskOutcome::kOk;
      stage_ = Stage::kDurable;
      effects.push_back(FileDurable{task_.content});
      return clean(effects);
    default:
      return;
  }
}

void PlaceFile::failed(DiskOutcome outcome, PlaceEffects& effects) {
  ELASTIC_ASSERT(outcome != DiskOutcome::kOk);
  ELASTIC_ASSERT(!durable_);
  stage_ = Stage::kBackOff;
  last_failure_ = outcome;
  effects.push_back(ArmRetry{back_off(outcome, failures_in_row_)});
  ++failures_in_row_;
}

void PlaceFile::abandon(PlaceEffects& effects) {
  ELASTIC_ASSERT(abandoned_);
  ELASTIC_ASSERT(!in_flight_);
  if (stage_ == Stage::kIdle) {  // nothing was ever asked of the disk
    stage_ = Stage::kOver;
    effects.push_back(PlacingOver{});
    return;
  }
  stage_ = Stage::kAbandoned;
  // The final name may be in a manifest that somebody commits, unless that is surely over.
  if (rename_asked_ && never_committed_) to_remove_.push_back(path(task_.name));
  if (!durable_) to_remove_.push_back(temporary(attempt_));
  clean(effects);
}

void PlaceFile::clean(PlaceEffects& effects) {
  ELASTIC_ASSERT(durable_ || abandoned_);
  ELASTIC_ASSERT(!in_flight_);
  if (to_remove_.empty()) {
    if (stage_ != Stage::kAbandoned) return;  // durable: its round may still die
    stage_ = Stage::kOver;
    effects.push_back(PlacingOver{});
    return;
  }
  in_flight_ = true;
  effects.push_back(DiskRemove{next(), to_remove_.back()});
}

void PlaceFile::check() const {
  ELASTIC_ASSERT(stage_ != Stage::kRename || synced_);
  ELASTIC_ASSERT(stage_ != Stage::kSyncDir || (synced_ && rename_asked_));
  ELASTIC_ASSERT(!durable_ || rename_asked_);
  ELASTIC_ASSERT(!in_flight_ || (stage_ != Stage::kIdle && stage_ != Stage::kBackOff));
  ELASTIC_ASSERT(stage_ != Stage::kOver || (abandoned_ && to_remove_.empty()));
  ELASTIC_ASSERT(to_remove_.size() <= kMaxLeftovers + 2);
}

std::uint64_t PlaceFile::digest() const {
  math::Digest digest;
  digest.add(std::string_view(task_.directory));
  digest.add(std::string_view(task_.name));
  digest.add(task_.writer.node.value);
  digest.add(task_.writer.life.value);
  digest.add(task_.content.bytes);
  digest.add(task_.content.digest);
  digest.add(static_cast<std::uint64_t>(stage_));
  digest.add(ops_);
  digest.add(attempt_);
  digest.add(failures_in_row_);
  digest.add(static_cast<std::uint64_t>(last_failure_));
  for (const bool flag :
       {in_flight_, synced_, rename_asked_, durable_, abandoned_, never_committed_}) {
    digest.add(flag);
  }
  digest.add(to_remove_.size());
  for (const std::string& name : to_remove_) digest.add(std::string_view(name));
  return digest.value();
}

}  // namespace elastic::checkpoint
