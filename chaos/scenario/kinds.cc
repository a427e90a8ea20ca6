#include <fmt/format.h>

#include <limits>

#include "chaos/scenario/faults.h"
#include "chaos/scenario/problem.h"

namespace elastic::chaos {
namespace {

using sim::FaultKind;

constexpr std::int64_t kMs = 1'000'000;              // ns
constexpr std::int64_t kMinute = 60'000;             // ms
constexpr std::int64_t kMaxClockShare = 100'000;     // 10 %
constexpr std::int64_t kMaxCompute = 1'000'000'000;  // a thousand times slower

// In the order of FaultKind. Ranges and weights of a swarm: short faults are frequent, and none
// lasts so long that a run sees nothing else.
constexpr std::array<KindInfo, sim::kFaultKinds> kKinds{{
    {FaultKind::kAdd,
     Reach::kNodes,
     "",
     Need::kNo,
     ValueUnit::kNone,
     0,
     {},
     {},
     "Machines appear, or come back, with empty disks."},
    {FaultKind::kNotice,
     Reach::kNodes,
     "ahead",
     Need::kRequired,
     ValueUnit::kNone,
     1,
     {30'000, 2 * kMinute},
     {},
     "The provider announces that it takes machines back so long from now (a reclaim is a line of "
     "its own)."},
    // `for` of a reclaim is not a length in the plan: others take the places so much later.
    {FaultKind::kReclaim,
     Reach::kNodes,
     "for",
     Need::kOptional,
     ValueUnit::kNone,
     4,
     {kMinute, 20 * kMinute},
     {},
     "The provider takes machines at once, their disks too; with for, others take their places "
     "later."},
    {FaultKind::kCrash,
     Reach::kNodes,
     "for",
     Need::kOptional,
     ValueUnit::kNone,
     4,
     {30'000, 10 * kMinute},
     {},
     "Machines lose power; they keep their disks, and boot after for (without: never)."},
    {FaultKind::kKillAgent,
     Reach::kNodes,
     "for",
     Need::kOptional,
     ValueUnit::kNone,
     4,
     {100, 30'000},
     {},
     "An agent is killed, and its workers with it; it is started again after for."},
    {FaultKind::kKillWorker,
     Reach::kNodes,
     "",
     Need::kNo,
     ValueUnit::kWorker,
     4,
     {},
     {0, 0},
     "A worker is killed: the doing of the machine."},
    {FaultKind::kExitWorker,
     Reach::kNodes,
     "",
     Need::kNo,
     ValueUnit::kExitCode,
     1,
     {},
     {1, 127},
     "A worker ends with an exit code: the doing of the program."},
    {FaultKind::kFreezeAgent,
     Reach::kNodes,
     "for",
     Need::kRequired,
     ValueUnit::kNone,
     3,
     {100, 40'000},
     {},
     "An agent stands still, then goes on as if nothing had happened; its workers go on."},
    {FaultKind::kFreezeWorker,
     Reach::kNodes,
     "for",
     Need::kRequired,
     ValueUnit::kWorker,
     3,
     {100, 40'000},
     {0, 0},
     "A worker stands still, then goes on."},
    {FaultKind::kFreezeMachine,
     Reach::kNodes,
     "for",
     Need::kRequired,
     ValueUnit::kNone,
     3,
     {100, 40'000},
     {},
     "A whole machine stands still, as in a live migration, then goes on."},
    {FaultKind::kSlow,
     Reach::kNodes,
     "for",
     Need::kRequired,
     ValueUnit::kCompute,
     3,
     {10'000, 10 * kMinute},
     {1'100'000, 4'000'000},
     "Computing takes longer: 200% is twice as long."},
    {FaultKind::kClockDrift,
     Reach::kNodes,
     "for",
     Need::kRequired,
     ValueUnit::kSignedShare,
     2,
     {kMinute, 30 * kMinute},
     {-4'000, 4'000},
     "The monotonic clock runs fast, or slow (negative)."},
    {FaultKind::kClockJump,
     Reach::kNodes,
     "",
     Need::kNo,
     ValueUnit::kSignedDuration,
     2,
     {},
     {-3'600'000 * kMs, 3'600'000 * kMs},
     "The wall clock jumps. Nothing may depend on it."},
    {FaultKind::kLeave,
     Reach::kNodes,
     "ahead",
     Need::kRequired,
     ValueUnit::kNone,
     2,
     {5'000, 2 * kMinute},
     {},
     "The operator asks machines to leave, so long ahead."},
    {FaultKind::kPartition,
     Reach::kCut,
     "for",
     Need::kRequired,
     ValueUnit::kNone,
     3,
     {100, 2 * kMinute},
     {},
     "Nothing passes between the sides of a cut."},
    {FaultKind::kOneWay,
     Reach::kCut,
     "for",
     Need::kRequired,
     ValueUnit::kNone,
     3,
     {100, 2 * kMinute},
     {},
     "Nothing passes from the first side of a cut to the second."},
    {FaultKind::kLoss,
     Reach::kCut,
     "for",
     Need::kRequired,
     ValueUnit::kShare,
     2,
     {5'000, 5 * kMinute},
     {1'000, 300'000},
     "A share of messages is lost between the sides of a cut."},
    {FaultKind::kDelay,
     Reach::kCut,
     "for",
     Need::kRequired,
     ValueUnit::kDelay,
     2,
     {5'000, 5 * kMinute},
     {kMs, 500 * kMs},
     "Messages between the sides of a cut take up to this much longer."},
    {FaultKind::kDuplicate,
     Reach::kCut,
     "for",
     Need::kRequired,
     ValueUnit::kShare,
     2,
     {5'000, 5 * kMinute},
     {10'000, 500'000},
     "A share of messages arrives twice."},
    {FaultKind::kReorder,
     Reach::kCut,
     "for",
     Need::kRequired,
     ValueUnit::kShare,
     2,
     {5'000, 5 * kMinute},
     {10'000, 500'000},
     "A share of messages arrives after later ones."},
    {FaultKind::kJournalSlow,
     Reach::kAnyone,
     "for",
     Need::kRequired,
     ValueUnit::kDelay,
     2,
     {5'000, 2 * kMinute},
     {10 * kMs, 2'000 * kMs},
     "Each request to the journal takes so much longer."},
    {FaultKind::kJournalUnreachable,
     Reach::kAnyone,
     "for",
     Need::kRequired,
     ValueUnit::kNone,
     2,
     {1'000, kMinute},
     {},
     "The journal neither answers nor does what it is asked."},
    {FaultKind::kJournalUnknown,
     Reach::kAnyone,
     "for",
     Need::kRequired,
     ValueUnit::kShare,
     2,
     {5'000, 5 * kMinute},
     {50'000, 800'000},
     "A share of appends is answered with \"unknown\"; half of them did happen."},
    {FaultKind::kJournalLate,
     Reach::kAnyone,
     "for",
     Need::kRequired,
     ValueUnit::kShare,
     2,
     {5'000, 2 * kMinute},
     {50'000, 800'000},
     "A share of appends is answered with \"unknown\" and happens later."},
    {FaultKind::kJournalLost,
     Reach::kNobody,
     "",
     Need::kNo,
     ValueUnit::kNone,
     0,
     {},
     {},
     "The file of a hosted journal is gone."},
    {FaultKind::kStorageUnreachable,
     Reach::kNobody,
     "for",
     Need::kRequired,
     ValueUnit::kNone,
     1,
     {5'000, 5 * kMinute},
     {},
     "The storage of saves neither reads nor writes."},
    {FaultKind::kStorageFull,
     Reach::kNobody,
     "for",
     Need::kRequired,
     ValueUnit::kNone,
     1,
     {5'000, 5 * kMinute},
     {},
     "The storage of saves reads and does not write."},
    {FaultKind::kStorageSlow,
     Reach::kNobody,
     "for",
     Need::kRequired,
     ValueUnit::kShare,
     1,
     {5'000, 5 * kMinute},
     {10'000, 500'000},
     "The storage of saves has this share of its bandwidth."},
    // Never by a swarm: two in a row may leave no save, and the job over by its verdict.
    {FaultKind::kStorageRot,
     Reach::kNobody,
     "",
     Need::kNo,
     ValueUnit::kSave,
     0,
     {},
     {0, 0},
     "A bit flips in a whole save, which shows when it is read."},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < sim::kFaultKinds; ++i) {
    if (static_cast<std::size_t>(kKinds[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order());

// `value` if it lies within the bounds, else what is wrong.
Parsed<std::int64_t> bounded(std::string_view text, Parsed<std::int64_t> value,
                             const ValueBounds& bounds) {
  if (!value || (*value >= bounds.low && *value <= bounds.high)) return value;
  return tl::unexpected(fmt::format("\"{}\" is out of range; {}", printable(text), bounds.words));
}

Parsed<std::int64_t> signed_duration(std::string_view text) {
  const Parsed<Duration> value = parse_duration(text);
  if (!value) return tl::unexpected(value.error());
  return value->count();
}

Parsed<std::int64_t> signed_share(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  const Parsed<std::int64_t> value = parse_share(text.substr(negative ? 1 : 0));
  return value && negative ? -*value : value;
}

Parsed<std::int64_t> count(std::string_view text) {
  const Parsed<std::uint64_t> value = parse_count(text);
  if (!value) return tl::unexpected(value.error());
  return static_cast<std::int64_t>(*value);  // of at most 18 digits
}

}  // namespace

const KindInfo& info(FaultKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

std::optional<FaultKind> find_kind(std::string_view text) {
  if (text == "freeze") return FaultKind::kFreezeMachine;
  for (const KindInfo& one : kKinds) {
    if (name(one.kind) == text) return one.kind;
  }
  return std::nullopt;
}

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for (const KindInfo& one : kKinds) names.push_back(name(one.kind));
  names.emplace_back("freeze");
  names.emplace_back("swarm");
  return names;
}

std::string_view value_key(ValueUnit unit) {
  switch (unit) {
    case ValueUnit::kNone:
      return "";
    case ValueUnit::kWorker:
      return "worker";
    case ValueUnit::kExitCode:
      return "code";
    case ValueUnit::kCompute:
      return "compute";
    case ValueUnit::kShare:
      return "share";
    case ValueUnit::kDelay:
    case ValueUnit::kSignedShare:
    case ValueUnit::kSignedDuration:
      return "by";
    case ValueUnit::kSave:
      return "save";
  }
  return "";
}

ValueBounds value_bounds(ValueUnit unit) {
  constexpr std::int64_t kYear = std::int64_t{365} * 24 * 3600 * 1'000 * kMs;
  switch (unit) {
    case ValueUnit::kNone:
      break;
    case ValueUnit::kWorker:
      return {0, 1'023, "a local rank is at most 1023"};
    case ValueUnit::kSave:
      return {0, 1'000, "0 is the newest save, 1 the one before"};
    case ValueUnit::kExitCode:
      return {1, 255, "a failing exit code is 1 to 255"};
    case ValueUnit::kCompute:
      return {10'000, kMaxCompute, "write the share of the normal time, from 1% to 100000%"};
    case ValueUnit::kShare:
      return {1, 1'000'000, "write 1ppm to 100%"};
    case ValueUnit::kDelay:
      return {1, kYear, "write a positive duration"};
    case ValueUnit::kSignedShare:
      return {-kMaxClockShare, kMaxClockShare, "a clock is at most 10% off"};
    case ValueUnit::kSignedDuration:
      return {-kYear, kYear, "at most a year either way"};
  }
  return {};
}

Parsed<std::int64_t> parse_value(ValueUnit unit, std::string_view text) {
  switch (unit) {
    case ValueUnit::kNone:
      break;
    case ValueUnit::kWorker:
    case ValueUnit::kSave:
    case ValueUnit::kExitCode:
      return bounded(text, count(text), value_bounds(unit));
    case ValueUnit::kCompute:
    case ValueUnit::kShare:
      return bounded(text, parse_share(text), value_bounds(unit));
    case ValueUnit::kSignedShare:
      return bounded(text, signed_share(text), value_bounds(unit));
    case ValueUnit::kDelay:
    case ValueUnit::kSignedDuration:
      return bounded(text, signed_duration(text), value_bounds(unit));
  }
  return tl::unexpected(std::string("takes no value"));
}

std::string value_text(ValueUnit unit, std::int64_t value) {
  switch (unit) {
    case ValueUnit::kNone:
      return "";
    case ValueUnit::kWorker:
    case ValueUnit::kExitCode:
    case ValueUnit::kSave:
      return std::to_string(value);
    case ValueUnit::kCompute:
    case ValueUnit::kShare:
      return share_text(value);
    case ValueUnit::kSignedShare:
      return value < 0 ? "-" + share_text(-value) : share_text(value);
    case ValueUnit::kDelay:
    case ValueUnit::kSignedDuration:
      return duration_text(Duration(value));
  }
  return "";
}

}  // namespace elastic::chaos
