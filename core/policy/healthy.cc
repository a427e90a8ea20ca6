#include "core/policy/healthy.h"

#include <algorithm>

#include "core/assert.h"
#include "core/math/digest.h"

namespace elastic::policy {

bool HealthWatch::step(Time now, std::uint32_t alive) {
  alive_ = alive;
  if (alive >= rules_.min_healthy) {
    short_since_ = kEndOfTime;
  } else if (short_since_ == kEndOfTime) {
    short_since_ = now;
  }
  ELASTIC_ASSERT(rules_.min_healthy > 0 || short_since_ == kEndOfTime);
  ELASTIC_ASSERT(short_since_ == kEndOfTime || short_since_ <= now);
  return short_since_ != kEndOfTime && now - short_since_ > rules_.grace;
}

Duration HealthWatch::left(Time now) const {
  if (short_since_ == kEndOfTime) return Duration::max();
  return std::max(rules_.grace - (now - short_since_) + Duration(1), Duration::zero());
}

void HealthWatch::check() const {
  ELASTIC_ASSERT(rules_.grace >= Duration::zero());
  ELASTIC_ASSERT((short_since_ != kEndOfTime) == (alive_ < rules_.min_healthy));
}

std::uint64_t HealthWatch::digest() const {
  math::Digest digest;
  digest.add(rules_.min_healthy);
  digest.add(static_cast<std::uint64_t>(rules_.grace.count()));
  digest.add(alive_);
  digest.add(static_cast<std::uint64_t>(short_since_.time_since_epoch().count()));
  return digest.value();
}

}  // namespace elastic::policy
