#pragma once

#include <csignal>

namespace occbench {

/// While it lives, SIGINT and SIGTERM ask the program to stop when what it has in hand is finished and
/// written; then they do again what they did before. One at a time. A second one from the terminal ends it at once.
class StopOnSignals {
 public:
  StopOnSignals();
  ~StopOnSignals();
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;

 private:
  struct sigaction before_interrupt_ {};
  struct sigaction before_terminate_ {};
};

/// The last of them that came since the last StopOnSignals began; 0 if none did.
int stop_signal();

/// Whether a terminal sent it: each process of its foreground then has it.
bool stopped_by_terminal();

/// Whether one of them came.
inline bool stop_asked() {
  return stop_signal() != 0;
}

}  // namespace occbench
