#include "transport/real/process/protocol.h"

#include <cstring>
#include <type_traits>

namespace elastic::real {
namespace {

struct Head {
  std::uint32_t version = kProtocolVersion;
  std::uint32_t kind = 0;
};

template <class Message>
std::optional<SupervisorMessage> decode_as(std::span<const std::byte> body) {
  static_assert(std::is_trivially_copyable_v<Message>);
  static_assert(std::has_unique_object_representations_v<Message>, "padding would carry garbage");
  static_assert(sizeof(Head) + sizeof(Message) <= kMaxMessageBytes);
  if (body.size() != sizeof(Message)) return std::nullopt;
  Message message;
  std::memcpy(&message, body.data(), sizeof message);
  return message;
}

template <std::size_t... kKinds>
std::optional<SupervisorMessage> decode_kind(std::uint32_t kind, std::span<const std::byte> body,
                                             std::index_sequence<kKinds...> /*kinds*/) {
  std::optional<SupervisorMessage> found;
  ((kind == kKinds &&
    (found = decode_as<std::variant_alternative_t<kKinds, SupervisorMessage>>(body), true)) ||
   ...);
  return found;
}

bool sound(const SupervisorMessage& message) {
  if (const auto* add = std::get_if<AddWorkers>(&message)) {
    return add->count > 0 && add->count <= kWorkersPerMessage &&
           add->first_rank <= kMaxWorkers - add->count && add->bytes <= kMaxSpecBytes;
  }
  if (const auto* start = std::get_if<StartTree>(&message)) {
    constexpr std::int64_t kLongest = std::int64_t{1} << 60;  // 36 years: sums do not overflow
    const auto length = [](std::int64_t v) { return v >= 0 && v <= kLongest; };
    return start->round != 0 && length(start->lease) && length(start->orphan) &&
           length(start->lease_from) && length(start->unkillable_after) &&
           length(start->straggler_grace);
  }
  if (const auto* renew = std::get_if<RenewTree>(&message)) {
    return renew->from >= 0 && renew->from <= (std::int64_t{1} << 60);
  }
  if (const auto* forward = std::get_if<ForwardSignal>(&message)) {
    return forward->signal > 0 && forward->signal < 65;
  }
  return true;
}

}  // namespace

std::vector<std::byte> encode(const SupervisorMessage& message) {
  return std::visit(
      [&](const auto& body) {
        const Head head{kProtocolVersion, static_cast<std::uint32_t>(message.index())};
        std::vector<std::byte> bytes(sizeof head + sizeof body);
        std::memcpy(bytes.data(), &head, sizeof head);
        std::memcpy(bytes.data() + sizeof head, &body, sizeof body);
        return bytes;
      },
      message);
}

std::optional<SupervisorMessage> decode(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.version != kProtocolVersion) return std::nullopt;
  auto message = decode_kind(head.kind, bytes.subspan(sizeof head),
                             std::make_index_sequence<std::variant_size_v<SupervisorMessage>>());
  if (!message || !sound(*message)) return std::nullopt;
  return message;
}

std::string pack_programs(std::span<const WorkerProgram> programs) {
  std::string bytes;
  for (const WorkerProgram& program : programs) {
    for (const std::size_t count : {program.argv.size(), program.env.size()}) {
      const auto number = static_cast<std::uint32_t>(count);
      bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
  }
  for (const WorkerProgram& program : programs) {
    bytes.append(program.cwd).push_back('\0');
    for (const std::string& argument : program.argv) bytes.append(argument).push_back('\0');
    for (const std::string& variable : program.env) bytes.append(variable).push_back('\0');
  }
  return bytes;
}

std::optional<std::vector<PackedProgram>> unpack_programs(std::span<char> bytes,
                                                          std::uint32_t count) {
  const std::size_t heads = std::size_t{count} * 2 * sizeof(std::uint32_t);
  if (bytes.size() <= heads || bytes.back() != '\0') return std::nullopt;
  std::size_t at = heads;
  const auto next = [&]() -> char* {
    if (at >= bytes.size()) return nullptr;
    char* string = bytes.data() + at;
    at += std::strlen(string) + 1;  // ends at the last zero at the latest
    return string;
  };
  std::vector<PackedProgram> programs(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t sizes[2];
    std::memcpy(sizes, bytes.data() + std::size_t{i} * sizeof sizes, sizeof sizes);
    if (sizes[0] == 0 || std::uint64_t{sizes[0]} + sizes[1] > bytes.size()) return std::nullopt;
    PackedProgram& program = programs[i];
    program.cwd = next();
    for (std::uint32_t k = 0; k < sizes[0]; ++k) program.argv.push_back(next());
    for (std::uint32_t k = 0; k < sizes[1]; ++k) program.env.push_back(next());
    // Once there is no string left, the last one asked for is missing, too.
    if (program.cwd == nullptr || program.argv.back() == nullptr ||
        (!program.env.empty() && program.env.back() == nullptr)) {
      return std::nullopt;
    }
    program.argv.push_back(nullptr);
    program.env.push_back(nullptr);
  }
  if (at != bytes.size()) return std::nullopt;
  return programs;
}

}  // namespace elastic::real
