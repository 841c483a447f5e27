#include "record/stop_signals.hpp"

namespace occbench {
namespace {

volatile std::sig_atomic_t asked = 0;
volatile std::sig_atomic_t by_terminal = 0;

void note_signal(int signal, siginfo_t* about, void*) {
  // Who presses Ctrl-C again does not want to wait.
  if (asked != 0 && about->si_code == SI_KERNEL) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    return;
  }
  by_terminal = about->si_code == SI_KERNEL ? 1 : 0;
  asked = signal;
}

}  // namespace

StopOnSignals::StopOnSignals() {
  asked = 0;
  struct sigaction action {};
  action.sa_sigaction = note_signal;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  static_cast<void>(sigaction(SIGINT, &action, &before_interrupt_));
  static_cast<void>(sigaction(SIGTERM, &action, &before_terminate_));
}

StopOnSignals::~StopOnSignals() {
  static_cast<void>(sigaction(SIGINT, &before_interrupt_, nullptr));
  static_cast<void>(sigaction(SIGTERM, &before_terminate_, nullptr));
}

int stop_signal() {
  return asked;
}

bool stopped_by_terminal() {
  return by_terminal != 0;
}

}  // namespace occbench
