// The manifest of a save, as a value: what files it has, what is where in them, and where the
// training stands. How it is written down (JSON) is the trainer's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/layout.h"
#include "core/checkpoint/shard_plan.h"
#include "core/types.h"

namespace elastic::checkpoint {

// Length and digest of a file's bytes: equal facts are taken for equal bytes.
struct FileFact {
  std::uint64_t bytes = 0;
  std::uint64_t digest = 0;
  bool operator==(const FileFact&) const = default;
};

struct FileEntry {
  std::string name;  // in the save's directory: no path
  FileFact content;
  bool operator==(const FileEntry&) const = default;
};

// Elements [first, first + elements) of a tensor lie in file number `file` from byte `offset` on.
struct ChunkEntry {
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t first = 0;
  std::uint64_t elements = 0;
  bool operator==(const ChunkEntry&) const = default;
};

struct TensorEntry {
  Tensor tensor;
  std::vector<ChunkEntry> chunks;  // in the order of elements
  bool operator==(const TensorEntry&) const = default;
};

// Where the data stands: global samples taken from the epoch.
struct DataCursor {
  std::uint64_t epoch = 0;
  std::uint64_t consumed = 0;
  bool operator==(const DataCursor&) const = default;
};

struct Manifest {
  RoundId round;  // that saved it; it names the journal's life, too
  Step step;
  Lineage lineage;
  DataCursor cursor;
  std::uint64_t schedule_position = 0;  // samples since the start of training
  std::uint64_t seed = 0;               // of data order and augmentation
  std::uint32_t world_size = 0;         // ranks of `round`
  std::vector<FileEntry> files;
  std::vector<TensorEntry> tensors;
  bool operator==(const Manifest&) const = default;

  // Of every field, in order: what Checkpoint::manifest_digest holds. Of the value and not of its
  // text, so that a reader that parsed it needs nothing else.
  std::uint64_t digest() const;
};

// A name that is no path and cannot be mistaken for a temporary file: 1 to 128 of letters, digits,
// '.', '_', '-', and not '.' first.
bool is_plain_name(const std::string& name);

// Nothing, or a sentence that says what was found and what was expected: bad names, gaps or
// overlaps of chunks (in a tensor or in a file), chunks outside their file, lengths that cannot be.
// Time O(n log n) in files and chunks; a manifest is believed only after this.
std::optional<std::string> problem_in(const Manifest& manifest);

// The tensors of a save whose writer w wrote plan(layout, writers)[w] into file w, in that order,
// from byte data_starts[w] on.
std::vector<TensorEntry> chunks_of(const Layout& layout, const std::vector<Share>& shares,
                                   const std::vector<std::uint64_t>& data_starts);

}  // namespace elastic::checkpoint
