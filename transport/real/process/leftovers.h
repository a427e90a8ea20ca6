// What an earlier life of an agent has left on its machine.
//
// An agent writes down its supervisors, each named by pid, start time and boot, before any worker
// runs under one; and every worker carries the agent's mark in its environment. A new life kills
// whatever descends from those supervisors, then them, then whatever else carries the mark. A pid
// that somebody else has by now is known by the start time, and left alone.
//
// REQUIRES: no other life of the agent runs: the slot's lock (slot.h) is held.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/types.h"
#include "transport/real/process/process_table.h"

namespace elastic::real {

// Replaces the list in this state folder. Gives what went wrong, or nothing. It outlives the
// process, not the machine: nor do the supervisors.
std::string write_supervisors(const std::string& state_folder, std::span<const ProcessName> names);
// Those of this boot; lines that make no sense are skipped.
std::vector<ProcessName> read_supervisors(const std::string& state_folder);

struct LeftoversOptions {
  std::string state_folder;
  std::string mark;  // value of kAgentMark; empty: none
  Duration bound{std::chrono::seconds(10)};
};
struct LeftoversResult {
  std::size_t killed = 0;              // processes, the supervisors among them
  std::vector<std::string> surviving;  // after the bound, for people: "4711 (python3, state D)"
};

// Effect KillLeftovers. `done` is called once, from the loop, when nothing is left or the bound is
// over. Never kills this process nor any above it.
void kill_leftovers(boost::asio::io_context& loop, LeftoversOptions options,
                    std::function<void(const LeftoversResult&)> done);

}  // namespace elastic::real
