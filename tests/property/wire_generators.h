// Draws values of everything that transport/wire encodes. To be called inside a property. Long
// lists come up, too: their elements follow from one draw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/agent/io.h"
#include "core/membership/config.h"
#include "transport/wire/recording.h"

namespace elastic::test {

// From 0 to count - 1, all equally often (inRange alone prefers small numbers).
std::size_t below(std::size_t count);
std::uint64_t any_word();  // often 0, small, or near the largest
AgentId any_agent();
Record any_record();
NumberedRecord any_numbered_record();
CommitMarker any_marker();
wire::RecordingHeader any_header();

// One function per kind, in the order of the variant, so that a property can name its classes.
constexpr const char* kRecordNames[] = {"Lead",    "World",  "Checkpoint",
                                        "Verdict", "Retire", "Emptied"};
constexpr const char* kMessageNames[] = {"Beat",    "Order",      "Canvass",
                                         "Hearing", "JournalAsk", "JournalAnswer"};
constexpr const char* kInputNames[] = {
    "Start",           "Received",          "PeerClosed",   "TimerFired",      "JournalReplied",
    "JournalFileRead", "JournalFileSynced", "MarkerStored", "LeftoversKilled", "WorkersPrepared",
    "WorkersEntered",  "WorkersLeft",       "WorkerExited", "WorkerPulse",     "WorkersSaved",
    "WorkersFinished", "EdgeFailed",        "LeaveNotice",  "StopJob",         "ManifestWritten",
    "SaveVerified",    "SaveBroken",        "MarkerRead"};
constexpr const char* kEffectNames[] = {"Send",
                                        "ArmTimer",
                                        "CancelTimer",
                                        "AskJournal",
                                        "ReadJournalFile",
                                        "WriteJournalFile",
                                        "PutMarker",
                                        "KillLeftovers",
                                        "PrepareWorkers",
                                        "EnterRound",
                                        "LeaveRound",
                                        "StopWorkers",
                                        "KillWorker",
                                        "RenewLease",
                                        "PollWorkers",
                                        "TellCheckpoint",
                                        "Exit",
                                        "Note",
                                        "WriteManifest",
                                        "VerifySave",
                                        "DeleteSaves",
                                        "SweepSaves",
                                        "EmptyRecords",
                                        "ReadMarker"};
Message any_message();
Input any_input();
Effect any_effect();

template <std::size_t N>
std::vector<std::string> classes_of(const char* const (&names)[N]) {
  return {names, names + N};
}

}  // namespace elastic::test
