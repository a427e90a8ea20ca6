#include "chaos/run/crash.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/assert.h"

namespace elastic::chaos {
namespace {

// Sanitizers bring their own reports for signals, which say more.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCatchSignals = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kCatchSignals = false;
#else
constexpr bool kCatchSignals = true;
#endif
#else
constexpr bool kCatchSignals = true;
#endif
constexpr std::array kFatal{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

std::function<void(const Crash&)> g_tell;
std::array<char, 512> g_last_words{};
bool g_guarded = false;
bool g_telling = false;

void on_assertion(const char* condition, const char* file, int line) {
  if (g_telling || !g_tell) {
    std::fprintf(stderr, "assertion failed: %s (%s:%d)\n", condition, file, line);
    _exit(kCrashStatus);
  }
  g_telling = true;
  g_tell({.what = condition, .where = std::string(file) + ":" + std::to_string(line)});
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(kCrashStatus);
}

extern "C" void on_fatal_signal(int signal) {
  const auto say = [](const char* text) {
    const ssize_t ignored = write(STDERR_FILENO, text, std::strlen(text));
    static_cast<void>(ignored);
  };
  std::array<char, 4> digits{' ', static_cast<char>('0' + signal / 10 % 10),
                             static_cast<char>('0' + signal % 10), '\0'};
  say("elastic-sim crashed by signal");
  say(digits.data());
  say("\n");
  say(g_last_words.data());
  _exit(kCrashStatus);
}

void set_signals(void (*handler)(int)) {
  if (!kCatchSignals) return;
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : kFatal) sigaction(signal, &action, nullptr);
}

}  // namespace

void crash_without_a_word() {
  set_assert_handler([](const char*, const char*, int) { _exit(kCrashStatus); });
  set_signals(SIG_DFL);
}

CrashGuard::CrashGuard(std::function<void(const Crash&)> tell, const std::string& last_words)
    : outermost_(!g_guarded) {
  if (!outermost_) return;
  g_guarded = true;
  g_telling = false;
  g_tell = std::move(tell);
  const std::size_t length = std::min(last_words.size(), g_last_words.size() - 1);
  g_last_words.fill('\0');
  std::copy_n(last_words.begin(), length, g_last_words.begin());
  set_assert_handler(on_assertion);
  set_signals(on_fatal_signal);
}

CrashGuard::~CrashGuard() {
  if (!outermost_) return;
  g_guarded = false;
  g_tell = nullptr;
  set_signals(SIG_DFL);
}

}  // namespace elastic::chaos
