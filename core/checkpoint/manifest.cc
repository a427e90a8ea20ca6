#include "core/checkpoint/manifest.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/assert.h"
#include "core/math/digest.h"

namespace elastic::checkpoint {
namespace {

using Problem = std::optional<std::string>;

// Bytes [offset, offset + bytes) of a file, for finding overlaps.
struct Used {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::size_t tensor = 0;
};

Problem problem_in_files(const Manifest& manifest) {
  std::set<std::string_view> names;
  for (const FileEntry& file : manifest.files) {
    if (!is_plain_name(file.name)) {
      return "file name '" + file.name.substr(0, 128) +
             "' is no plain name; expected 1 to 128 of letters, digits, '.', '_', '-'";
    }
    if (!names.insert(file.name).second) return "file '" + file.name + "' is there twice";
  }
  return std::nullopt;
}

std::string chunk_name(const TensorEntry& entry, std::size_t index) {
  return "tensor '" + entry.tensor.name + "', chunk " + std::to_string(index);
}

// One tensor's chunks: one after the other from element 0 to the last, each inside its file.
Problem problem_in_chunks(const Manifest& manifest, std::size_t tensor, std::vector<Used>& used) {
  const TensorEntry& entry = manifest.tensors[tensor];
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < entry.chunks.size(); ++i) {
    const ChunkEntry& chunk = entry.chunks[i];
    if (chunk.first != next) {
      return chunk_name(entry, i) + " begins at element " + std::to_string(chunk.first) +
             ", expected " + std::to_string(next) +
             (chunk.first > next ? " (a gap)" : " (overlap)");
    }
    if (chunk.elements == 0) return chunk_name(entry, i) + " has no elements";
    if (chunk.elements > entry.tensor.elements - next) {
      return chunk_name(entry, i) + " has " + std::to_string(chunk.elements) +
             " elements, at most " + std::to_string(entry.tensor.elements - next) + " are left";
    }
    if (chunk.file >= manifest.files.size()) {
      return chunk_name(entry, i) + " is in file number " + std::to_string(chunk.file) + " of " +
             std::to_string(manifest.files.size());
    }
    const FileEntry& file = manifest.files[chunk.file];
    const std::uint64_t bytes = chunk.elements * entry.tensor.element_size;
    if (chunk.offset > file.content.bytes || bytes > file.content.bytes - chunk.offset) {
      return chunk_name(entry, i) + " ends behind file '" + file.name + "' of " +
             std::to_string(file.content.bytes) + " bytes";
    }
    used.push_back({chunk.file, chunk.offset, bytes, tensor});
    next += chunk.elements;
  }
  if (next == entry.tensor.elements) return std::nullopt;
  return "tensor '" + entry.tensor.name + "' has " + std::to_string(entry.tensor.elements) +
         " elements, its chunks end at " + std::to_string(next) + " (a gap)";
}

Problem problem_in_overlaps(const Manifest& manifest, std::vector<Used> used) {
  std::sort(used.begin(), used.end(), [](const Used& a, const Used& b) {
    return std::pair(a.file, a.offset) < std::pair(b.file, b.offset);
  });
  for (std::size_t i = 1; i < used.size(); ++i) {
    const Used& a = used[i - 1];
    const Used& b = used[i];
    if (a.file != b.file || a.offset + a.bytes <= b.offset) continue;
    return "file '" + manifest.files[a.file].name + "': byte " + std::to_string(b.offset) +
           " belongs to tensors '" + manifest.tensors[a.tensor].tensor.name + "' and '" +
           manifest.tensors[b.tensor].tensor.name + "' (overlap)";
  }
  return std::nullopt;
}

}  // namespace

bool is_plain_name(const std::string& name) {
  if (name.empty() || name.size() > 128 || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

std::optional<std::string> problem_in(const Manifest& manifest) {
  if (!manifest.round.journal || !manifest.round) return "the round is missing";
  if (manifest.world_size == 0) return "world size is 0; a save has at least 1 writer";
  if (const Problem problem = problem_in_files(manifest)) return problem;
  Layout layout;
  for (const TensorEntry& entry : manifest.tensors) layout.tensors.push_back(entry.tensor);
  if (const Problem problem = problem_in(layout)) return problem;
  std::vector<Used> used;
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (const Problem problem = problem_in_chunks(manifest, i, used)) return problem;
  }
  return problem_in_overlaps(manifest, std::move(used));
}

std::uint64_t Manifest::digest() const {
  math::Digest digest;
  digest.add(round.journal.value);
  digest.add(round.number);
  digest.add(step.value);
  digest.add(lineage.value);
  digest.add(cursor.epoch);
  digest.add(cursor.consumed);
  digest.add(schedule_position);
  digest.add(seed);
  digest.add(world_size);
  digest.add(files.size());
  for (const FileEntry& file : files) {
    digest.add(std::string_view(file.name));
    digest.add(file.content.bytes);
    digest.add(file.content.digest);
  }
  digest.add(tensors.size());
  for (const TensorEntry& entry : tensors) {
    digest.add(std::string_view(entry.tensor.name));
    digest.add(entry.tensor.element_size);
    digest.add(entry.tensor.elements);
    digest.add(entry.chunks.size());
    for (const ChunkEntry& chunk : entry.chunks) {
      digest.add(chunk.file);
      digest.add(chunk.offset);
      digest.add(chunk.first);
      digest.add(chunk.elements);
    }
  }
  return digest.value();
}

std::vector<TensorEntry> chunks_of(const Layout& layout, const std::vector<Share>& shares,
                                   const std::vector<std::uint64_t>& data_starts) {
  ELASTIC_ASSERT(shares.size() == data_starts.size());
  std::vector<TensorEntry> entries;
  entries.reserve(layout.tensors.size());
  for (const Tensor& tensor : layout.tensors) entries.push_back({tensor, {}});
  for (std::uint32_t file = 0; file < shares.size(); ++file) {
    std::uint64_t offset = data_starts[file];
    for (const Piece& piece : shares[file]) {
      ELASTIC_ASSERT(piece.tensor < entries.size());
      TensorEntry& entry = entries[piece.tensor];
      entry.chunks.push_back({file, offset, piece.first, piece.elements});
      offset += piece.elements * entry.tensor.element_size;
    }
  }
  return entries;
}

}  // namespace elastic::checkpoint
