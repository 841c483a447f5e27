#include "record/stop_signals.hpp"

#include <csignal>

namespace occbench {
namespace {

volatile std::sig_atomic_t asked = 0;

void note_signal(int) {
  asked = 1;
}

}  // namespace

void stop_on_signals() {
  static_cast<void>(std::signal(SIGINT, note_signal));
  static_cast<void>(std::signal(SIGTERM, note_signal));
}

bool stop_asked() {
  return asked != 0;
}

}  // namespace occbench
