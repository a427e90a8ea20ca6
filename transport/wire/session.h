// What two processes of a job say to each other beside core's messages: who they are, where others
// are, what a round's programs need to find each other, and what an operator asks.
//
// A connection begins with Hello (by who dialled), Challenge, Proof, and Accepted or Refused. Each
// side proves that it has the job's key over the nonces of both; from then on every frame carries a
// check of its origin (transport/real/link/seal.h). Nothing else is answered before.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/types.h"
#include "transport/wire/recording.h"

namespace elastic::wire {

// A numeric address, v4 or v6 without brackets; empty: none is known. Port 0: none.
struct PeerAddress {
  std::string ip;
  std::uint32_t port = 0;
  bool operator==(const PeerAddress&) const = default;
  explicit operator bool() const { return port != 0; }
};

enum class Role : std::uint8_t {
  kAgent,   // a node of the job
  kClient,  // an operator's command: it asks, and is no node
};

struct Hello {
  std::string nonce;  // 32 random bytes
  std::string job;    // --rdzv-id
  Role role = Role::kAgent;
  AgentId agent;  // of a client: none
  std::string host_name;
  PeerAddress listens;  // where others reach it; without ip: where it is seen to come from
  bool operator==(const Hello&) const = default;
};

struct Challenge {
  std::string nonce;
  std::string proof;  // that it has the key
  // What the job runs with; `settings.agent` is who speaks. The one who dialled compares.
  RecordingHeader settings;
  std::string host_name;
  PeerAddress seen_at;  // where the one who dialled is seen to come from
  PeerAddress listens;
};

struct Proof {
  std::string proof;
  bool operator==(const Proof&) const = default;
};

struct Accepted {
  bool operator==(const Accepted&) const = default;
};

struct Refused {
  enum class Kind : std::uint8_t {
    kOtherJob,    // another job's agent is at this address
    kNoToken,     // the key is another one
    kSuperseded,  // a later life of this node is known
    kNotReady,    // it does not know yet what the job runs with: ask again
    kSettings,    // it cannot be part of this job
  };
  Kind kind = Kind::kOtherJob;
  std::string reason;  // for people
  bool operator==(const Refused&) const = default;
};

// Where is this node? Not answered by who does not know.
struct AddressAsk {
  NodeId node;
  bool operator==(const AddressAsk&) const = default;
};
struct AddressAnswer {
  AgentId agent;
  PeerAddress address;
  std::string host_name;
  bool operator==(const AddressAnswer&) const = default;
};

// To the agent of group rank 0: where do this round's programs meet (MASTER_ADDR, MASTER_PORT)?
// Answered once that agent has its own place in the round.
struct RoundAsk {
  RoundId round;
  bool operator==(const RoundAsk&) const = default;
};
struct RoundAnswer {
  RoundId round;
  PeerAddress master;
  bool operator==(const RoundAnswer&) const = default;
};

// What did that worker print last? Told without asking, too: to the host, and to whoever leads.
struct FailureAsk {
  AgentId agent;
  RoundId round;  // in which it failed
  std::uint32_t local_rank = 0;
  auto operator<=>(const FailureAsk&) const = default;
};
struct FailureAnswer {
  FailureAsk of;
  std::vector<std::string> last_lines;  // oldest first, at most 256
  std::string log;                      // file on that node, if there is one
  std::int64_t at_unix_ns = 0;          // for people; no decision compares it
  bool operator==(const FailureAnswer&) const = default;
};

struct StatusAsk {
  bool operator==(const StatusAsk&) const = default;
};
struct StatusAnswer {
  std::string json;
  bool operator==(const StatusAnswer&) const = default;
};

// An operator's order.
struct Command {
  enum class Kind : std::uint8_t {
    kLeave,  // `node` (host name or id; empty: the one that is asked) leaves within the deadline
    kStop,   // the job ends
  };
  Kind kind = Kind::kLeave;
  Duration deadline{};
  std::string node;
  bool operator==(const Command&) const = default;
};
struct CommandDone {
  bool done = false;
  std::string text;
  bool operator==(const CommandDone&) const = default;
};

using Session = std::variant<Hello, Challenge, Proof, Accepted, Refused, AddressAsk, AddressAnswer,
                             RoundAsk, RoundAnswer, FailureAsk, FailureAnswer, StatusAsk,
                             StatusAnswer, Command, CommandDone>;

}  // namespace elastic::wire
