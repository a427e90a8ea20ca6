#include "chaos/scenario/draws.h"

#include "core/math/digest.h"

namespace elastic::chaos {
namespace {

std::uint64_t key_of(std::string_view text) {
  math::Digest digest;
  digest.add(text);
  return digest.value();
}

}  // namespace

Draws::Draws(std::uint64_t seed, std::string_view what, std::uint64_t number)
    : seed_(math::Seed{seed}), stream_(math::substream(math::Stream{key_of(what)}, number)) {}

std::uint64_t Draws::draw(std::string_view use, std::uint64_t index, std::uint64_t part) const {
  const math::Stream family = math::substream(stream_, key_of(use));
  return math::draw(seed_, math::substream(family, part), index);
}

std::uint64_t Draws::below(std::uint64_t bound, std::string_view use, std::uint64_t index,
                           std::uint64_t part) const {
  return math::below(draw(use, index, part), bound);
}

std::int64_t Draws::between(std::int64_t low, std::int64_t high, std::string_view use,
                            std::uint64_t index) const {
  return math::between(draw(use, index), low, high);
}

}  // namespace elastic::chaos
