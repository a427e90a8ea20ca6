// Equality of the values in core/agent/io.h and core/membership/config.h that core itself never
// compares. `fields(x)` are the members of x: a member that core gains stops the build here.
#pragma once

#include <tuple>
#include <variant>

#include "core/agent/io.h"
#include "core/membership/config.h"
#include "transport/wire/recording.h"

namespace elastic::test {

inline auto fields(const LeftoversKilled&) { return std::tuple<>(); }
inline auto fields(const WorkersPrepared&) { return std::tuple<>(); }
inline auto fields(const StopJob&) { return std::tuple<>(); }
inline auto fields(const ReadJournalFile&) { return std::tuple<>(); }
inline auto fields(const KillLeftovers&) { return std::tuple<>(); }
inline auto fields(const PrepareWorkers&) { return std::tuple<>(); }
inline auto fields(const PollWorkers&) { return std::tuple<>(); }
inline auto fields(const ReadMarker&) { return std::tuple<>(); }
inline auto fields(const PeerClosed& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const TimerFired& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const JournalReplied& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const JournalFileSynced& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const MarkerStored& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const WorkersSaved& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const WorkersFinished& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const LeaveNotice& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const CancelTimer& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const AskJournal& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const PutMarker& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const EnterRound& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const StopWorkers& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const KillWorker& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const Exit& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const SaveBroken& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const WriteManifest& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const VerifySave& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const DeleteSaves& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const SaveVerified& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const ManifestWritten& x) {
  const auto& [a, b, c] = x;
  return std::tie(a, b, c);
}
inline auto fields(const Received& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const WorkersEntered& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const WorkersLeft& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const WorkerPulse& x) {
  const auto& [a, b, c] = x;
  return std::tie(a, b, c);
}
inline auto fields(const MarkerRead& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const SweepSaves& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const EmptyRecords& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const EdgeFailed& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const Send& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const ArmTimer& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const WriteJournalFile& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const LeaveRound& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const RenewLease& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const Start& x) {
  const auto& [a, b, c] = x;
  return std::tie(a, b, c);
}
inline auto fields(const TellCheckpoint& x) {
  const auto& [a, b, c] = x;
  return std::tie(a, b, c);
}
inline auto fields(const JournalFileRead& x) {
  const auto& [a, b, c, d] = x;
  return std::tie(a, b, c, d);
}
inline auto fields(const WorkerExited& x) {
  const auto& [a, b, c, d, e] = x;
  return std::tie(a, b, c, d, e);
}
inline auto fields(const Note& x) {
  const auto& [a, b, c, d, e, f] = x;
  return std::tie(a, b, c, d, e, f);
}
inline auto fields(const DeclaredBounds& x) {
  const auto& [a, b, c, d, e, f] = x;
  return std::tie(a, b, c, d, e, f);
}
inline auto fields(const policy::BackOff& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const policy::ProgressRules& x) {
  const auto& [a] = x;
  return std::tie(a);
}
inline auto fields(const policy::HealthRules& x) {
  const auto& [a, b] = x;
  return std::tie(a, b);
}
inline auto fields(const policy::FlapRules& x) {
  const auto& [a, b, c] = x;
  return std::tie(a, b, c);
}
inline auto fields(const GrowthPays& x) {
  const auto& [a, b, c, d] = x;
  return std::tie(a, b, c, d);
}
inline auto fields(const JobConfig& x) {
  const auto& [a, b, c, d, e, f, g, h, bounds, j, k, l, m, n, o, p, q, r, s, t, u, keep,
               restart_back_off, churn_back_off, v, no_progress, health, flaps, growth_pays] = x;
  return std::tuple_cat(fields(bounds), fields(restart_back_off), fields(churn_back_off),
                        fields(no_progress), fields(health), fields(flaps), fields(growth_pays),
                        std::tie(keep),
                        std::tie(a, b, c, d, e, f, g, h, j, k, l, m, n, o, p, q, r, s, t, u, v));
}

template <class T>
bool same(const T& one, const T& other) {
  return fields(one) == fields(other);
}

template <class... Kinds>
bool same(const std::variant<Kinds...>& one, const std::variant<Kinds...>& other) {
  if (one.index() != other.index()) return false;
  return std::visit(
      [&other](const auto& kind) {
        return same(kind, std::get<std::decay_t<decltype(kind)>>(other));
      },
      one);
}

inline bool same(const wire::RecordingHeader& one, const wire::RecordingHeader& other) {
  return one.version == other.version && same(one.job, other.job) &&
         one.timeouts == other.timeouts && one.agent == other.agent;
}

inline bool same(const wire::RecordedStep& one, const wire::RecordedStep& other) {
  if (one.at != other.at || !same(one.input, other.input)) return false;
  if (one.effects.size() != other.effects.size()) return false;
  for (std::size_t i = 0; i < one.effects.size(); ++i) {
    if (!same(one.effects[i], other.effects[i])) return false;
  }
  return true;
}

}  // namespace elastic::test
