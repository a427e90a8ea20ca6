#include "core/policy/progress.h"

#include "core/assert.h"

namespace elastic::policy {

Judgement judge(const Progress& before, const Attempt& attempt, const ProgressRules& rules) {
  Judgement result;
  result.progress = before;
  Progress& progress = result.progress;
  if (attempt.reached > progress.stuck_at) progress = {attempt.reached, 0, false};
  if (!attempt.failed) return result;
  if (progress.failures < UINT32_MAX) ++progress.failures;
  if (rules.failures == 0 || progress.failures < rules.failures) return result;
  if (progress.went_back || !attempt.can_go_back) {
    result.next = NextTry::kStop;
    return result;
  }
  progress.failures = 0;
  progress.went_back = true;
  result.next = NextTry::kGoBack;
  ELASTIC_ASSERT(progress.stuck_at >= attempt.reached);
  ELASTIC_ASSERT(!before.went_back || attempt.reached > before.stuck_at);
  return result;
}

}  // namespace elastic::policy
