#include "core/assert.h"

#include <cstdio>
#include <cstdlib>

namespace elastic {
namespace {
AssertHandler g_handler = nullptr;
}

void set_assert_handler(AssertHandler handler) { g_handler = handler; }

void assertion_failed(const char* condition, const char* file, int line) {
  if (g_handler != nullptr) g_handler(condition, file, line);
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace elastic
