#pragma once

#include <csignal>

namespace occbench {

/// While it lives, SIGINT and SIGTERM ask the program to stop when what it has in hand is finished and
/// written; then they do again what they did before. One at a time.
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

/// Whether one of them came since the last StopOnSignals began.
bool stop_asked();

}  // namespace occbench
