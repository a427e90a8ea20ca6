// Assertions stay on in release: they guard against our own bugs, and a wrong step costs more than
// the check. What the world may do wrong is an error value, never an assertion.
#pragma once

namespace elastic {

// Called once with the failed condition; must not return. The default prints it and aborts.
using AssertHandler = void (*)(const char* condition, const char* file, int line);
void set_assert_handler(AssertHandler handler);

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace elastic

#define ELASTIC_ASSERT(condition) \
  ((condition) ? static_cast<void>(0) : ::elastic::assertion_failed(#condition, __FILE__, __LINE__))
