#include "core/checkpoint/save_verifier.h"

#include <algorithm>

#include "core/assert.h"
#include "core/checkpoint/place_file.h"
#include "core/math/digest.h"

namespace elastic::checkpoint {

void SaveVerifier::step(Time /*now*/, const VerifyInput& input, VerifyEffects& effects) {
  if (const auto* task = std::get_if<VerifyTask>(&input)) {
    if (has_task_) return;
    task_ = *task;
    has_task_ = true;
    read_next(effects);
    return;
  }
  if (judged_ || !has_task_) return;
  if (const auto* manifest = std::get_if<ManifestAnswer>(&input)) {
    if (!in_flight_ || has_manifest_ || manifest->op.value != ops_) return;
    in_flight_ = false;
    on_manifest(*manifest, effects);
  } else if (const auto* file = std::get_if<DiskAnswer>(&input)) {
    if (!in_flight_ || !has_manifest_ || file->op.value != ops_) return;
    in_flight_ = false;
    on_file(*file, effects);
  } else if (!in_flight_) {
    read_next(effects);
  }
}

void SaveVerifier::read_next(VerifyEffects& effects) {
  ELASTIC_ASSERT(!in_flight_);
  ELASTIC_ASSERT(!judged_);
  if (has_manifest_ && next_file_ == files_.size()) {
    judge({}, effects);
    return;
  }
  in_flight_ = true;
  const std::string directory = directory_of(task_.save) + "/";
  if (has_manifest_) {
    effects.push_back(DiskRead{OpId{++ops_}, directory + files_[next_file_].name});
  } else {
    effects.push_back(DiskReadManifest{OpId{++ops_}, directory + kManifestName});
  }
}

void SaveVerifier::retry_later(VerifyEffects& effects) {
  ELASTIC_ASSERT(!in_flight_);
  ELASTIC_ASSERT(!judged_);
  const std::uint32_t exponent = std::min<std::uint32_t>(failures_in_row_++, 9);
  effects.push_back(ArmRetry{std::min(kLastRetry, kFirstRetry * (Duration::rep{1} << exponent))});
}

void SaveVerifier::judge(const std::string& why, VerifyEffects& effects) {
  ELASTIC_ASSERT(!judged_);
  ELASTIC_ASSERT(!in_flight_);
  judged_ = true;
  effects.push_back(SaveJudged{task_.save, why});
}

void SaveVerifier::on_manifest(const ManifestAnswer& answer, VerifyEffects& effects) {
  ELASTIC_ASSERT(!in_flight_);
  ELASTIC_ASSERT(!has_manifest_);
  if (answer.outcome == DiskOutcome::kMissing) return judge("the manifest is missing", effects);
  if (answer.outcome != DiskOutcome::kOk) return retry_later(effects);
  failures_in_row_ = 0;
  if (!answer.manifest) return judge("the manifest cannot be parsed", effects);
  const Manifest& manifest = *answer.manifest;
  if (manifest.digest() != task_.manifest_digest) {
    return judge("the manifest is not the one that was committed (its digest differs)", effects);
  }
  if (const auto problem = problem_in(manifest)) return judge("manifest: " + *problem, effects);
  if (manifest.round != task_.save.round || manifest.step != task_.save.step) {
    return judge("the manifest is of another step or round", effects);
  }
  files_ = manifest.files;
  has_manifest_ = true;
  read_next(effects);
}

void SaveVerifier::on_file(const DiskAnswer& answer, VerifyEffects& effects) {
  ELASTIC_ASSERT(!in_flight_);
  ELASTIC_ASSERT(next_file_ < files_.size());
  const FileEntry& file = files_[next_file_];
  if (answer.outcome == DiskOutcome::kMissing) {
    return judge("file '" + file.name + "' is missing", effects);
  }
  if (answer.outcome != DiskOutcome::kOk) return retry_later(effects);
  failures_in_row_ = 0;
  if (answer.found.bytes != file.content.bytes) {
    return judge("file '" + file.name + "' has " + std::to_string(answer.found.bytes) +
                     " bytes, expected " + std::to_string(file.content.bytes),
                 effects);
  }
  if (answer.found.digest != file.content.digest) {
    return judge("file '" + file.name + "' has another digest than the manifest says", effects);
  }
  ++next_file_;
  read_next(effects);
}

void SaveVerifier::check() const {
  ELASTIC_ASSERT(next_file_ <= files_.size());
  ELASTIC_ASSERT(!judged_ || !in_flight_);
  ELASTIC_ASSERT(has_manifest_ || files_.empty());
}

std::uint64_t SaveVerifier::digest() const {
  math::Digest digest;
  digest.add(task_.save.step.value);
  digest.add(task_.save.round.journal.value);
  digest.add(task_.save.round.number);
  digest.add(task_.manifest_digest);
  digest.add(ops_);
  digest.add(failures_in_row_);
  for (const bool flag : {has_task_, in_flight_, has_manifest_, judged_}) digest.add(flag);
  digest.add(files_.size());
  digest.add(next_file_);
  return digest.value();
}

}  // namespace elastic::checkpoint
