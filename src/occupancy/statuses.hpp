#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace occbench {

// Outcomes of a case. The columns of these names have the enumerators as words.

/// The column `time_status`.
enum class TimeStatus {
  ok,
  unstable,   ///< the times are spread too widely
  throttled,  ///< heat or power held the clocks down
  failed,     ///< a launch or its check ended with an error
  skipped,    ///< this device cannot launch it
  simulated,  ///< nothing was launched: all values are predictions
};

/// The column `counters_status`.
enum class CountersStatus {
  ok,
  denied,       ///< the driver does not allow it to this user
  busy,         ///< another profiler holds them
  unsupported,  ///< this GPU or driver has none that can be read
  off,          ///< the user asked for none
  failed,
};

/// The column `check`: whether a kernel's result agreed with its reference.
enum class Check {
  ok,
  wrong,
  none,          ///< the kernel has no result to compare
  lost_updates,  ///< updates are missing, as the case was made to show
};

std::string_view to_string(TimeStatus status);
std::string_view to_string(CountersStatus status);
std::string_view to_string(Check check);

/// The reverse of to_string. @throws InputError naming the column for a word that it does not have
TimeStatus parse_time_status(std::string_view word);
CountersStatus parse_counters_status(std::string_view word);
Check parse_check(std::string_view word);

/// How `occbench` and the bench binaries end.
enum class ExitStatus {
  done = 0,
  regression = 1,  ///< the gate found one
  no_verdict = 2,  ///< none could be given, or something asked for was not measured
  usage = 64,      ///< wrong use or input (EX_USAGE)
  fault = 70,      ///< a fault of ours (EX_SOFTWARE)
};

/// Why something was not done: a message, and the status that says so.
template <typename Status>
class StatusError : public std::runtime_error {
 public:
  StatusError(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  Status status() const {
    return status_;
  }

 private:
  Status status_;
};

}  // namespace occbench
