#pragma once

#include <csignal>

#include "files/descriptor.hpp"

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
  Descriptor nothing_;
  struct sigaction before_interrupt_ {};
  struct sigaction before_terminate_ {};
};

/// While it lives, what waits for something to read of this descriptor finds the end where one of these signals comes: reads go on after a
/// signal, and whoever would write may never do so. One at a time.
class ReadUntilStopped {
 public:
  /// @throws Interrupted if the signal came before
  explicit ReadUntilStopped(int descriptor);
  ~ReadUntilStopped();
  ReadUntilStopped(const ReadUntilStopped&) = delete;
  ReadUntilStopped& operator=(const ReadUntilStopped&) = delete;

  /// @throws Interrupted if the signal has come, and what was read is not what the file has
  void check() const;
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
