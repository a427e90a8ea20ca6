// Any state is cut for any number of writers, and read by any number of readers, byte for byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/checkpoint/manifest.h"
#include "core/checkpoint/reading_plan.h"
#include "core/checkpoint/shard_plan.h"
#include "tests/support/property.h"

namespace elastic::checkpoint {
namespace {

Layout any_layout() {
  Layout layout;
  const int tensors = *rc::gen::inRange(0, 9);
  const std::uint64_t most = *rc::gen::element<std::uint64_t>(3, 50, 100'000, 1ULL << 40U);
  for (int i = 0; i < tensors; ++i) {
    Tensor tensor;
    tensor.name = "layer." + std::to_string(i);
    tensor.element_size = *rc::gen::element<std::uint32_t>(1, 2, 4, 8, 16);
    tensor.elements = *rc::gen::inRange<std::uint64_t>(0, most);
    layout.tensors.push_back(tensor);
  }
  return layout;
}

std::uint64_t largest_element(const Layout& layout) {
  std::uint64_t largest = 1;
  for (const Tensor& tensor : layout.tensors) {
    largest = std::max<std::uint64_t>(largest, tensor.element_size);
  }
  return largest;
}

// |bytes - total / parts| < slack + element, in whole numbers.
bool near_even(std::uint64_t bytes, std::uint64_t total, std::uint64_t parts, std::uint64_t slack) {
  __extension__ using Wide = __int128;
  const Wide off = Wide{bytes} * Wide{parts} - Wide{total};
  return (off < 0 ? -off : off) < Wide{slack} * Wide{parts};
}

// A save of that layout by so many writers, with a header in front of each file.
Manifest any_manifest(const Layout& layout, std::uint32_t writers) {
  const std::vector<Share> shares = plan(layout, writers);
  Manifest manifest;
  manifest.round = {JournalLife{5}, 7};
  manifest.step = Step{100};
  manifest.world_size = writers;
  std::vector<std::uint64_t> starts;
  for (std::uint32_t writer = 0; writer < writers; ++writer) {
    starts.push_back(8 * std::uint64_t{*rc::gen::inRange(0U, 30U)});
    manifest.files.push_back({"shard-" + std::to_string(writer),
                              {starts.back() + bytes_of(layout, shares[writer]), writer}});
  }
  manifest.tensors = chunks_of(layout, shares, starts);
  return manifest;
}

TEST(ShardPlanProperty, every_byte_is_written_by_exactly_one_writer_and_shares_are_even) {
  test::check(
      "every byte is written by exactly one writer, and shares are even to an element",
      {"more writers than elements", "a tensor cut between writers", "an empty tensor",
       "an empty state", "one writer"},
      [] {
        const Layout layout = any_layout();
        RC_ASSERT(!problem_in(layout));
        const std::uint32_t writers = *rc::gen::inRange(1U, 40U);
        const std::vector<Share> shares = plan(layout, writers);
        RC_ASSERT(shares.size() == writers);
        const std::uint64_t total = total_bytes(layout);
        std::uint64_t elements = 0;
        bool empty_tensor = false, cut = false;
        // Walking through the shares is walking through the state.
        std::size_t tensor = 0;
        std::uint64_t element = 0;
        for (const Share& share : shares) {
          RC_ASSERT(near_even(bytes_of(layout, share), total, writers, largest_element(layout)));
          for (const Piece& piece : share) {
            while (element == layout.tensors[tensor].elements) {
              ++tensor;
              element = 0;
            }
            RC_ASSERT(piece.tensor == tensor);
            RC_ASSERT(piece.first == element);
            RC_ASSERT(piece.elements > 0U);
            element += piece.elements;
            RC_ASSERT(element <= layout.tensors[tensor].elements);
            cut = cut || element < layout.tensors[tensor].elements;
          }
        }
        for (std::size_t i = tensor; i < layout.tensors.size(); ++i) {
          RC_ASSERT(layout.tensors[i].elements == (i == tensor ? element : 0));
        }
        for (const Tensor& one : layout.tensors) {
          elements += one.elements;
          empty_tensor = empty_tensor || one.elements == 0;
        }
        RC_CLASSIFY(writers > elements && elements > 0, "more writers than elements");
        RC_CLASSIFY(cut, "a tensor cut between writers");
        RC_CLASSIFY(empty_tensor, "an empty tensor");
        RC_CLASSIFY(total == 0, "an empty state");
        RC_CLASSIFY(writers == 1, "one writer");
      },
      {.max_success = 500});
}

TEST(ReadingPlanProperty, any_readers_read_every_byte_of_any_writers_once_and_evenly) {
  test::check(
      "any number of readers reads every byte of any number of writers once, and evenly",
      {"as many as writers", "fewer", "more", "more readers than bytes", "a chunk cut in two"},
      [] {
        const Layout layout = any_layout();
        const std::uint32_t writers = *rc::gen::inRange(1U, 20U);
        const bool as_many = *rc::gen::inRange(0, 4) == 0;
        const std::uint32_t readers = as_many ? writers : *rc::gen::inRange(1U, 40U);
        const Manifest manifest = any_manifest(layout, writers);
        const auto problem = problem_in(manifest);
        RC_ASSERT(!problem);
        const std::vector<Reading> parts = reading_plan(manifest, readers);
        RC_ASSERT(parts.size() == readers);
        const std::uint64_t total = total_bytes(layout);
        bool cut = false;
        std::size_t tensor = 0, chunk = 0;
        std::uint64_t element = 0;
        for (const Reading& part : parts) {
          std::uint64_t bytes = 0;
          for (const Extent& extent : part) {
            while (chunk == manifest.tensors[tensor].chunks.size()) {
              ++tensor;
              chunk = 0;
              element = 0;
            }
            const TensorEntry& entry = manifest.tensors[tensor];
            const ChunkEntry& from = entry.chunks[chunk];
            RC_ASSERT(extent.tensor == tensor);
            RC_ASSERT(extent.first == element);
            RC_ASSERT(extent.elements > 0U);
            RC_ASSERT(extent.file == from.file);
            const std::uint64_t before = (element - from.first) * entry.tensor.element_size;
            RC_ASSERT(extent.offset == from.offset + before);
            element += extent.elements;
            RC_ASSERT(element <= from.first + from.elements);
            if (element == from.first + from.elements) ++chunk;
            cut = cut || element < from.first + from.elements;
            bytes += extent.elements * entry.tensor.element_size;
          }
          RC_ASSERT(
              near_even(bytes, total, readers, total / readers / 8 + largest_element(layout) + 1));
        }
        for (std::size_t i = tensor; i < manifest.tensors.size(); ++i) {
          RC_ASSERT(manifest.tensors[i].chunks.size() == (i == tensor ? chunk : 0));
        }
        if (readers == writers) {
          for (std::uint32_t reader = 0; reader < readers; ++reader) {
            for (const Extent& extent : parts[reader]) RC_ASSERT(extent.file == reader);
          }
          RC_ASSERT(!cut);
        }
        RC_CLASSIFY(readers == writers, "as many as writers");
        RC_CLASSIFY(readers < writers, "fewer");
        RC_CLASSIFY(readers > writers, "more");
        RC_CLASSIFY(readers > total && total > 0, "more readers than bytes");
        RC_CLASSIFY(cut, "a chunk cut in two");
      },
      {.max_success = 500});
}

TEST(ManifestProperty, a_manifest_with_one_thing_wrong_is_refused_with_a_sentence) {
  test::check(
      "a manifest with one thing wrong is refused with a sentence, and changes the digest",
      {"gap", "overlap in a tensor", "overlap in a file", "behind the file", "path",
       "repeated name", "no such file", "hidden name", "no world", "size that overflows"},
      [] {
        Layout layout = any_layout();
        layout.tensors.push_back({"last", 4, *rc::gen::inRange<std::uint64_t>(8, 1000)});
        layout.tensors.push_back({"very last", 2, *rc::gen::inRange<std::uint64_t>(8, 1000)});
        const std::uint32_t writers = *rc::gen::inRange(1U, 6U);
        Manifest manifest = any_manifest(layout, writers);
        RC_ASSERT(!problem_in(manifest));
        const std::uint64_t digest = manifest.digest();
        TensorEntry& entry = manifest.tensors.back();
        TensorEntry& other = manifest.tensors[manifest.tensors.size() - 2];
        ChunkEntry& chunk = entry.chunks[*rc::gen::inRange<std::size_t>(0, entry.chunks.size())];
        const int wrong = *rc::gen::element(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
        switch (wrong) {
          case 0:
            RC_TAG("gap");
            if (*rc::gen::arbitrary<bool>() || chunk.elements == 1) {
              entry.chunks.erase(entry.chunks.begin() + (&chunk - entry.chunks.data()));
            } else {
              --chunk.elements;
            }
            break;
          case 1:
            RC_TAG("overlap in a tensor");
            ++chunk.elements;
            break;
          case 2:
            RC_TAG("overlap in a file");
            chunk.file = other.chunks.front().file;
            chunk.offset = other.chunks.front().offset;
            break;
          case 3:
            RC_TAG("behind the file");
            chunk.offset = manifest.files[chunk.file].content.bytes - 1;
            break;
          case 4:
            RC_TAG("path");
            manifest.files.back().name =
                *rc::gen::element<std::string>("../x", "a/b", "/etc/passwd", "", "a\\b", "a b");
            break;
          case 5:
            RC_TAG("repeated name");
            if (*rc::gen::arbitrary<bool>()) {
              manifest.files.push_back(manifest.files.front());
            } else {
              entry.tensor.name = other.tensor.name;
            }
            break;
          case 6:
            RC_TAG("no such file");
            chunk.file = writers + *rc::gen::inRange(0U, 3U);
            break;
          case 7:
            RC_TAG("hidden name");
            manifest.files.front().name = *rc::gen::element<std::string>(".", "..", ".shard.tmp");
            break;
          case 8:
            RC_TAG("no world");
            manifest.world_size = 0;
            break;
          default:
            RC_TAG("size that overflows");
            entry.tensor.elements = UINT64_MAX / entry.tensor.element_size;
            chunk.elements = entry.tensor.elements - chunk.first;
        }
        const auto problem = problem_in(manifest);
        RC_ASSERT(problem.has_value());
        RC_ASSERT(problem->size() > 10U);
        RC_ASSERT(manifest.digest() != digest);
      },
      {.max_success = 500});
}

}  // namespace
}  // namespace elastic::checkpoint
