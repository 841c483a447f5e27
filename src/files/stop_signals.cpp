#include "files/stop_signals.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "files/input.hpp"

namespace occbench {
namespace {

volatile std::sig_atomic_t asked = 0;
volatile std::sig_atomic_t by_terminal = 0;
/// Descriptors: the one read, and its replacement after a signal; -1 for none.
volatile std::sig_atomic_t read_from = -1;
volatile std::sig_atomic_t nothing = -1;

void note_signal(int signal, siginfo_t* about, void*) {
  // A second Ctrl-C means: do not wait.
  if (asked != 0 && about->si_code == SI_KERNEL) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    return;
  }
  by_terminal = about->si_code == SI_KERNEL ? 1 : 0;
  asked = signal;
  if (read_from >= 0) static_cast<void>(::dup2(nothing, read_from));
}

}  // namespace

StopOnSignals::StopOnSignals() : nothing_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  asked = 0;
  nothing = nothing_.number();
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
  nothing = -1;
}

ReadUntilStopped::ReadUntilStopped(int descriptor) {
  read_from = descriptor;
  if (asked == 0) return;
  read_from = -1;
  throw Interrupted();
}

ReadUntilStopped::~ReadUntilStopped() {
  read_from = -1;
}

void ReadUntilStopped::check() const {
  if (asked != 0) throw Interrupted();
}

int stop_signal() {
  return asked;
}

bool stopped_by_terminal() {
  return by_terminal != 0;
}

}  // namespace occbench
