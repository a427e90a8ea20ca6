// Which children of this process are its own.
//
// An agent is a sub-reaper: if a supervisor is killed from outside, what is left of its tree
// becomes a child of the agent, which kills it. So that it kills nothing else, whatever else forks
// in this process declares its children. (Only then: without a supervisor killed from outside, this
// list is not looked at.)
#pragma once

#include <sys/types.h>

namespace elastic::real {

void declare_own_child(pid_t pid);
// After it was reaped.
void forget_own_child(pid_t pid);
bool is_own_child(pid_t pid);

// A child that nobody waits for any more: reaped by a later call of this or of reap_abandoned().
void abandon_own_child(pid_t pid);
void reap_abandoned();

}  // namespace elastic::real
