#include "chaos/run/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace elastic::chaos {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

extern "C" void on_interrupt(int /*signal*/) {
  if (g_interrupted != 0) _exit(kInterruptedStatus);
  g_interrupted = 1;
}

void set_all(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace

void catch_interrupts() { set_all(on_interrupt); }

void ignore_interrupts() {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  action.sa_handler = SIG_DFL;
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return g_interrupted != 0; }

}  // namespace elastic::chaos
