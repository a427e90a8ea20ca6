// Assertions stay on in release: they guard against our own bugs, and a wrong step costs more than
// the check. What the world may do wrong (a message, a journal's answer, a file, what workers say)
// is an error value, or is ignored: nothing that comes in from outside may trip an assertion.
//
// Where they stand:
//  1. Every machine has check(): its invariants. Whoever drives the machine calls it after every
//     input (the simulator, the interaction and the property tests do), so each input passes all of
//     them, whatever functions it went through. A part of a machine is checked by the check() of
//     the whole: Node::check() calls those of agent, coordinator, election and journals,
//     Worker::check() that of the noise.
//  2. A function asserts by itself what check() cannot see: what it requires of its caller, and
//     what must hold at the moment when it does something that cannot be taken back (an append, an
//     acknowledgement, an update applied, a file called durable, an end).
//  3. Pure functions assert what they REQUIRE. State that no check() covers (JournalView, the
//     histograms of core/math) is asserted where it changes.
#pragma once

namespace elastic {

// Called once with the failed condition; must not return. The default prints it and aborts.
using AssertHandler = void (*)(const char* condition, const char* file, int line);
void set_assert_handler(AssertHandler handler);

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace elastic

#if defined(ELASTIC_ASSERTIONS_OFF)
// Never in a build that runs a job: only to measure what they cost (docs/hacking.md).
#define ELASTIC_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#else
#define ELASTIC_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::elastic::assertion_failed(#condition, __FILE__, __LINE__))
#endif
