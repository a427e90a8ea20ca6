// Journal records: the only source of safety. Record k is created once and never changes, except
// that it may be emptied when later ones have made it meaningless. No clock takes part in that: who
// writes later, or believes that it still leads, finds its number taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/policy/flaps.h"
#include "core/policy/growth.h"
#include "core/types.h"

namespace elastic {

// How a worker ended. `code` is the exit code when `signal` is 0.
struct ExitStatus {
  std::int32_t code = 0;
  std::int32_t signal = 0;
  bool operator==(const ExitStatus&) const = default;
  bool ok() const { return code == 0 && signal == 0; }
};

// One death of a worker, named by worker incarnation: (agent, number within that agent's life).
struct FailureReport {
  AgentId agent;
  FailureNo number;
  RoundId round;  // in which the worker ran (zero: it was in none yet)
  std::uint32_t local_rank = 0;
  std::uint32_t rank = 0;  // global rank in `round`
  ExitStatus status;
  bool stopped_by_agent = false;  // the agent ended it itself (round change, frozen, lease)
  bool operator==(const FailureReport&) const = default;
};

// A node of a round; its place in World::members is its group rank.
struct Member {
  AgentId agent;
  std::uint32_t workers = 1;  // ranks: the sum of the workers before it, and on
  bool operator==(const Member&) const = default;
};

// Where a round takes up the training. Workers that already hold this state keep it; the others are
// filled from holders, or load the checkpoint.
struct ResumePoint {
  enum class Source : std::uint8_t {
    kScratch,     // step 0: nothing was ever committed
    kHolders,     // members that report `state`
    kCheckpoint,  // the save committed by record `checkpoint`
  };
  Source source = Source::kScratch;
  StatePoint state;
  RecordNo checkpoint;
  bool operator==(const ResumePoint&) const = default;
};

// Counters that a new coordinator must inherit. Only the program's own failures spend
// `restarts_used` and `no_progress`; each is counted once, however often it is reported and to
// whomever.
struct Budgets {
  std::uint32_t restarts_used = 0;  // failures of the program, job-wide, since the last reset
  std::uint32_t churn = 0;          // rounds that ended neither so nor by an announced change
  std::uint32_t resizes = 0;        // rounds that ended by an announced change
  std::uint32_t no_progress = 0;    // failures of the program in a row that got no further
  Step stuck_at;                    // than this
  bool went_back = false;           // to a checkpoint, because of them
  bool operator==(const Budgets&) const = default;
};

// What was measured of rounds, as lengths: it decides whether a larger one pays.
struct Pace {
  policy::StepLength here;       // newest round in which steps were measured
  policy::StepLength elsewhere;  // newest one of another size
  Duration pause{};              // newest change of round; zero: none was measured
  bool operator==(const Pace&) const = default;
};

// Up to which number the failures of an agent at the start of its programs, outside any round, have
// been counted: a coordinator that hears one again knows it.
struct CountedStarts {
  AgentId agent;
  FailureNo number;
  bool operator==(const CountedStarts&) const = default;
};

enum class RoundCause : std::uint8_t {
  kFirst,         // the job starts
  kNodeLost,      // a member was silent, or came back in another life
  kWorkerFailed,  // a worker exited, or a member has left without being asked
  kResize,        // announced: a joiner is ready, or a member leaves
  kEdge,          // members cannot reach each other
  kStalled,       // a member did not enter in time
  kAdopted,       // a new coordinator could not adopt the running round
  kSaveBroken,    // the save that it resumes from, or ends with, was found broken
};

// I coordinate from here on. Whoever reads a newer Lead than its own stops: it could write nothing
// more, since this record has the number that its next one would need.
struct Lead {
  AgentId leader;
  bool operator==(const Lead&) const = default;
};

// A round. Recorded only when every earlier round is dead (docs/decisions/0001), and announced only
// when it is recorded: once it is in the journal it is true for everybody, for ever.
//
// A committed step is kept: `resume` names it, or a later one, as long as a member of the World
// before lives that holds it; otherwise the newest save that can be used. The one exception is on
// purpose (`abandoned_below`).
struct World {
  RoundId round;
  std::vector<Member> members;  // by rank: those of the World before in their order, then others
  ResumePoint resume;
  // Agents, in the lives that they had, that may still hold the newest possibly committed state if
  // nobody enters this round (docs/decisions/0004).
  std::vector<AgentId> holders;
  Budgets budgets;
  RoundCause cause = RoundCause::kFirst;
  std::vector<NodeId> sitting_out;            // for a cool-down, because of failed edges
  std::vector<policy::FlapScore> flaps;       // as of the writing of this record, by node
  std::vector<CountedStarts> starts_counted;  // by node
  // States of rounds below this are given up for good: the job has gone back to a checkpoint.
  RoundId abandoned_below;
  Pace pace;
  // Committed saves that were found broken and are not retired, so that a new coordinator does
  // not name them again.
  std::vector<RecordNo> broken;
  bool operator==(const World&) const = default;
};

// A save that is whole: every shard is durable and its manifest is in place.
struct Checkpoint {
  Step step;
  RoundId round;
  Lineage lineage;
  std::uint64_t manifest_digest = 0;
  bool operator==(const Checkpoint&) const = default;
};

// A Checkpoint with its number: how a save is named from then on.
struct CommittedSave {
  RecordNo record;
  Checkpoint checkpoint;
  bool operator==(const CommittedSave&) const = default;
};

// These saves may be deleted, and no later World names them. Recorded only when a newer one was
// read back intact and its marker is durable. Never emptied, since whoever has read the Checkpoints
// needs it; numbers of records that were emptied since mean nothing and do no harm.
struct Retire {
  std::vector<RecordNo> saves;  // oldest first
  bool operator==(const Retire&) const = default;
};

// The job has ended; nothing follows. Only this record ends a job: that members leave, or that
// their programs exit with 0, never does.
struct Verdict {
  enum class Kind : std::uint8_t {
    // All foreign programs have exited with 0, or the last step of native ones is in a Checkpoint:
    // the final weights are the newest save.
    kSucceeded,
    kProgramFailed,  // the restart budget is used up
    kGaveUp,         // the churn budget is used up
    kStopped,        // by the operator
    kNoProgress,     // the program fails at the same step again and again
    kTooFewNodes,    // fewer than min_healthy for longer than its grace
    // Every committed save is broken, and nobody holds a state. To begin from scratch would throw
    // away, without a word, what the job had promised to keep; to wait would be for ever, because
    // nobody is left who could bring it. An operator who repairs the files starts the job anew,
    // from their marker.
    kSavesLost,
  };
  Kind kind = Kind::kSucceeded;
  Step step;                    // kSucceeded: the last step; kSavesLost: of the newest save
  FailureReport first_failure;  // kProgramFailed, kNoProgress: of the round that used it up
  bool operator==(const Verdict&) const = default;
};

// What is left of a record that nobody needs any more (HostedJournal): its number stays taken, and
// its writer still finds it there.
struct Emptied {
  bool operator==(const Emptied&) const = default;
};

struct Record {
  AgentId writer;
  std::uint64_t nonce = 0;  // tells two records of one writer apart
  std::variant<Lead, World, Checkpoint, Verdict, Retire, Emptied> body;
  bool operator==(const Record&) const = default;
};

struct NumberedRecord {
  RecordNo number;
  Record record;
  bool operator==(const NumberedRecord&) const = default;
};

// Left in the checkpoint directory beside a manifest, so that a journal founded later starts above
// it: its life is higher than `journal`, and it begins with this save, or with the verdict.
struct CommitMarker {
  JournalLife journal;
  RecordNo record;
  Checkpoint checkpoint;
  bool verdict = false;  // the job has succeeded with this checkpoint
  bool operator==(const CommitMarker&) const = default;
};

// First rank of members[index], and the number of ranks in all.
std::uint32_t first_rank(const World& world, std::size_t index);
std::uint32_t world_size(const World& world);
// Index of `node` in members, or members.size().
std::size_t index_of(const World& world, NodeId node);

// The same for whoever asks for many nodes: O(N log N) to make, O(log N) to ask. It refers to
// `world`, which must outlive it; nullptr: there are no members.
class MemberIndex {
 public:
  explicit MemberIndex(const World* world);
  std::optional<std::size_t> of(NodeId node) const;
  // This very life of the node is a member.
  bool has(AgentId agent) const;

 private:
  const World* world_;
  std::vector<std::pair<NodeId, std::size_t>> by_node_;
};

}  // namespace elastic
