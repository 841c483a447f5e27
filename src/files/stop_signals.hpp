#pragma once

#include <csignal>

#include "files/descriptor.hpp"

namespace occbench {

/// While it lives, SIGINT and SIGTERM ask the program to stop after its current work is finished and written. Then their old handlers are
/// restored. One object at a time. A second signal from the terminal ends the program at once.
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

/// While it lives, a waiting read of this descriptor finds the end if one of these signals comes. Otherwise reads go on after a signal, and
/// the writer may never write. One object at a time.
class ReadUntilStopped {
 public:
  /// @throws Interrupted if the signal came before
  explicit ReadUntilStopped(int descriptor);
  ~ReadUntilStopped();
  ReadUntilStopped(const ReadUntilStopped&) = delete;
  ReadUntilStopped& operator=(const ReadUntilStopped&) = delete;

  /// @throws Interrupted if the signal has come, so that the data is not the file's
  void check() const;
};

/// The last such signal since the last StopOnSignals began; 0 if none came.
int stop_signal();

/// Whether a terminal sent it: then each of its foreground processes has it.
bool stopped_by_terminal();

/// Whether one of them came.
inline bool stop_asked() {
  return stop_signal() != 0;
}

}  // namespace occbench
