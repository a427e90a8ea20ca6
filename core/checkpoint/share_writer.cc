#include "core/checkpoint/share_writer.h"

#include "core/assert.h"

namespace elastic::checkpoint {

void ShareWriter::step(Time now, const ShareInput& input, ShareEffects& effects) {
  PlaceEffects placed;
  if (const auto* task = std::get_if<ShareTask>(&input)) {
    ELASTIC_ASSERT(task->share.rank < task->share.writers);
    if (placing_.stage() != PlaceFile::Stage::kIdle) return;
    task_ = *task;
    const PlaceTask place{directory_of(task->share.save), shard_name(task->share), task->writer,
                          task->content};
    placing_.step(now, place, placed);
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
            ELASTIC_ASSERT(one.content == task_.content);
            effects.push_back(ShareDurable{task_.share, one.content});
          } else {
            effects.push_back(one);
          }
        },
        effect);
  }
}

}  // namespace elastic::checkpoint
