#include "core/checkpoint/reading_plan.h"

#include "core/assert.h"
#include "core/math/integer.h"

namespace elastic::checkpoint {
namespace {

// A chunk, and where it lies when all chunks are laid one after the other.
struct Placed {
  std::uint64_t begin = 0, end = 0;  // bytes
  std::uint32_t tensor = 0;
  std::uint32_t element_size = 1;
  ChunkEntry chunk;
};

std::vector<Placed> laid_out(const Manifest& manifest) {
  std::vector<Placed> placed;
  std::uint64_t at = 0;
  for (std::uint32_t tensor = 0; tensor < manifest.tensors.size(); ++tensor) {
    const TensorEntry& entry = manifest.tensors[tensor];
    for (const ChunkEntry& chunk : entry.chunks) {
      const std::uint64_t bytes = chunk.elements * entry.tensor.element_size;
      placed.push_back({at, at + bytes, tensor, entry.tensor.element_size, chunk});
      at += bytes;
    }
  }
  return placed;
}

// The place in or beside `chunk` where a cut that should be at `ideal` goes. Grows with `ideal`.
std::uint64_t cut_near(const Placed& chunk, std::uint64_t ideal, std::uint64_t slack) {
  const std::uint64_t behind = ideal - chunk.begin;
  const std::uint64_t ahead = chunk.end - ideal;
  if (behind <= slack && behind <= ahead) return chunk.begin;
  if (ahead <= slack && ahead < behind) return chunk.end;
  return ideal - behind % chunk.element_size;
}

}  // namespace

std::vector<Reading> reading_plan(const Manifest& manifest, std::uint32_t readers) {
  ELASTIC_ASSERT(readers > 0);
  const std::vector<Placed> chunks = laid_out(manifest);
  const std::uint64_t total = chunks.empty() ? 0 : chunks.back().end;
  const std::uint64_t slack = total / readers / kCutSlack;
  std::vector<Reading> parts(readers);
  std::size_t at = 0;           // chunk in which the present part begins
  std::size_t ideal_chunk = 0;  // chunk in which the next cut would be
  std::uint64_t done = 0;       // bytes before the present part
  for (std::uint32_t reader = 0; reader < readers; ++reader) {
    std::uint64_t cut = total;
    if (reader + 1 < readers && total > 0) {
      const std::uint64_t ideal = math::mul_div_u64(total, std::uint64_t{reader} + 1, readers);
      while (chunks[ideal_chunk].end <= ideal) ++ideal_chunk;
      cut = cut_near(chunks[ideal_chunk], ideal, slack);
    }
    ELASTIC_ASSERT(cut >= done);
    while (done < cut) {
      const Placed& here = chunks[at];
      const std::uint64_t until = here.end < cut ? here.end : cut;
      const std::uint64_t skipped = (done - here.begin) / here.element_size;
      parts[reader].push_back({here.chunk.file, here.chunk.offset + (done - here.begin),
                               here.tensor, here.chunk.first + skipped,
                               (until - done) / here.element_size});
      done = until;
      if (done == here.end) ++at;
    }
  }
  ELASTIC_ASSERT(done == total);
  return parts;
}

}  // namespace elastic::checkpoint
