#include "core/checkpoint/manifest_writer.h"

#include "core/assert.h"
#include "core/math/digest.h"
#include "core/mutants.h"

namespace elastic::checkpoint {

ManifestWriter::ManifestWriter()
    : placing_(ELASTIC_MUTANT("manifest_before_sync") ? PlaceFile::SyncFirst::kNo
                                                      : PlaceFile::SyncFirst::kYes) {}

void ManifestWriter::step(Time now, const ManifestInput& input, ManifestEffects& effects) {
  PlaceEffects placed;
  if (const auto* task = std::get_if<ManifestTask>(&input)) {
    if (has_task_) return;
    ELASTIC_ASSERT(task->writers > 0);
    task_ = *task;
    has_task_ = true;
    begin_if_ready(now, placed);
  } else if (const auto* share = std::get_if<ShareKnown>(&input)) {
    if (!has_task_ || share->rank >= task_.writers) return;
    known_.insert(share->rank);
    begin_if_ready(now, placed);
  } else if (const auto* text = std::get_if<ManifestText>(&input)) {
    if (has_text_) return;
    has_text_ = true;
    text_ = *text;
    begin_if_ready(now, placed);
  } else if (const auto* answer = std::get_if<DiskAnswer>(&input)) {
    placing_.step(now, *answer, placed);
  } else if (std::holds_alternative<RetryTimer>(input)) {
    placing_.step(now, RetryTimer{}, placed);
  } else {
    placing_.step(now, std::get<AbandonPlacing>(input), placed);
  }
  for (const PlaceEffect& effect : placed) {
    std::visit(
        [&](const auto& one) {
          using Kind = std::decay_t<decltype(one)>;
          if constexpr (std::is_same_v<Kind, FileDurable>) {
            ELASTIC_ASSERT(one.content == text_.content);
            effects.push_back(ManifestDurable{task_.save, text_.digest});
          } else {
            effects.push_back(one);
          }
        },
        effect);
  }
}

void ManifestWriter::begin_if_ready(Time now, PlaceEffects& placed) {
  if (!has_task_ || !has_text_ || !all_shares_known()) return;
  if (placing_.stage() != PlaceFile::Stage::kIdle) return;
  placing_.step(
      now, PlaceTask{directory_of(task_.save), kManifestName, task_.writer, text_.content}, placed);
}

void ManifestWriter::check() const {
  placing_.check();
  ELASTIC_ASSERT(placing_.attempts() == 0 || (has_task_ && has_text_ && all_shares_known()));
  ELASTIC_ASSERT(known_.size() <= task_.writers);
}

std::uint64_t ManifestWriter::digest() const {
  math::Digest digest;
  digest.add(task_.save.step.value);
  digest.add(task_.save.round.journal.value);
  digest.add(task_.save.round.number);
  digest.add(task_.writers);
  digest.add(has_task_);
  digest.add(known_.size());
  for (const std::uint32_t rank : known_) digest.add(rank);
  digest.add(has_text_);
  digest.add(text_.content.bytes);
  digest.add(text_.content.digest);
  digest.add(text_.digest);
  digest.add(placing_.digest());
  return digest.value();
}

}  // namespace elastic::checkpoint
