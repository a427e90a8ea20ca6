// What an agent and its supervisor say to each other, over a SOCK_SEQPACKET pair: one message is
// one datagram. Both ends are the same binary on the same machine, so a message is the bytes of one
// of the structs below behind its kind; kProtocolVersion is compared nevertheless, and a datagram
// of another size, or whose numbers make no sense, is no message.
//
// What is large (arguments and environments) travels in a memory file beside the message: see
// pack_specs().
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/types.h"
#include "transport/real/process/descriptor.h"

namespace elastic::real {

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr std::uint32_t kMaxWorkers = 4096;        // per agent
inline constexpr std::uint32_t kWorkersPerMessage = 120;  // 2 descriptors each, and the memory file
inline constexpr std::uint64_t kMaxSpecBytes = 256U << 20;  // of one message's memory file
inline constexpr std::size_t kNamedPids = 32;

// ---- Agent to supervisor

// Workers first_rank .. first_rank + count - 1. Descriptors: the memory file, then for each worker
// where its standard output and its standard error go.
struct AddWorkers {
  std::uint32_t first_rank = 0;
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;  // of the memory file
};
// Starts the workers that were added. Lengths in ns; times on CLOCK_MONOTONIC.
struct StartTree {
  std::uint64_t journal = 0, round = 0;  // RoundId
  std::int64_t lease_from = 0;
  std::int64_t lease = 0, orphan = 0;  // Timeouts
  std::int64_t unkillable_after = 0;   // after SIGKILL
  std::int64_t straggler_grace = 0;    // for what is left when the last worker has exited
};
struct RenewTree {
  std::int64_t from = 0;
  std::uint64_t journal = 0, round = 0;
};
struct StopTree {
  std::uint64_t kill = 0;
};
struct KillOne {
  std::uint64_t rank = 0;
};
// A signal for the workers themselves that is neither a stop order nor judged here.
struct ForwardSignal {
  std::int64_t signal = 0;
};

// ---- Supervisor to agent

struct ToldStarted {
  std::uint32_t rank = 0;
  std::int32_t pid = 0;
};
// Its exit is told besides.
struct ToldNotStarted {
  std::uint32_t rank = 0;
  std::int32_t error = 0;   // errno
  std::uint64_t stage = 0;  // StartStage
};
struct ToldExited {
  std::uint32_t rank = 0;
  std::int32_t pid = 0;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  std::uint64_t core_dumped = 0;
};
// No process is left, and all exits were told.
struct ToldEmpty {
  std::uint64_t reserved = 0;
};
// Still there long after SIGKILL. `count` may exceed what there is room to name.
struct ToldUnkillable {
  std::uint64_t count = 0;
  std::array<std::int32_t, kNamedPids> pids{};
};

using SupervisorMessage =
    std::variant<AddWorkers, StartTree, RenewTree, StopTree, KillOne, ForwardSignal, ToldStarted,
                 ToldNotStarted, ToldExited, ToldEmpty, ToldUnkillable>;

inline constexpr std::size_t kMaxMessageBytes = 256;

std::vector<std::byte> encode(const SupervisorMessage& message);
// Nothing: these bytes are no message.
std::optional<SupervisorMessage> decode(std::span<const std::byte> bytes);

// What to run. Without a '/', argv[0] is looked for in the PATH of `env`, as a shell does.
struct WorkerProgram {
  std::vector<std::string> argv;  // not empty
  std::vector<std::string> env;   // the whole of it, KEY=VALUE
  std::string cwd;                // empty: that of the agent
};

// The content of the memory file: for each worker two 32-bit numbers (of arguments and of
// variables), then the strings of all workers, each with its zero: folder, arguments, variables.
// REQUIRES: no string holds a zero byte; argv is not empty.
std::string pack_programs(std::span<const WorkerProgram> programs);

// The same, as execve wants it: pointers into `bytes`, which must outlive it.
struct PackedProgram {
  const char* cwd = nullptr;
  std::vector<char*> argv;  // with the null at the end
  std::vector<char*> env;
};
// Nothing: it is not what pack_programs() makes of `count` programs.
std::optional<std::vector<PackedProgram>> unpack_programs(std::span<char> bytes,
                                                          std::uint32_t count);

}  // namespace elastic::real
