#include "core/checkpoint/save_names.h"

#include <algorithm>

#include "core/mutants.h"

namespace elastic::checkpoint {
namespace {

std::string digits(std::uint64_t number, std::size_t width) {
  const std::string text = std::to_string(number);
  return std::string(width - std::min(width, text.size()), '0') + text;
}

std::string hex(std::uint64_t number) {
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[text.size() - 1 - i] = "0123456789abcdef"[(number >> (4 * i)) & 0xFU];
  }
  return text;
}

}  // namespace

std::string directory_of(const SaveId& save) {
  const std::string step = "step-" + digits(save.step.value, 12);
  if (ELASTIC_MUTANT("late_shard_over_newer")) return step;
  return step + "-round-" + hex(save.round.journal.value) + "-" + std::to_string(save.round.number);
}

std::string shard_name(const ShareId& share) {
  return "shard-" + digits(share.rank, 5) + "-of-" + digits(share.writers, 5) + ".safetensors";
}

std::string temporary_name(const std::string& name, AgentId writer, std::uint64_t attempt) {
  return "." + name + "." + std::to_string(writer.node.value) + "-" + hex(writer.life.value) + "-" +
         std::to_string(attempt) + ".tmp";
}

}  // namespace elastic::checkpoint
