#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "files/descriptor.hpp"

namespace occbench {

/// How a process ended.
struct Ending {
  int status = 0;  ///< exit status, if no signal ended it
  int signal = 0;  ///< the signal that ended it, 0 if none did

  bool operator==(const Ending&) const = default;
};

/// "exit status 2" or "signal 9 (Killed)"
std::string to_string(Ending ending);

/// A program to start, and what it inherits from this process.
struct ProgramStart {
  std::filesystem::path program;  ///< a name without a slash is looked for on PATH
  std::vector<std::string> arguments = {};
  std::filesystem::path output = {};  ///< its standard output is appended to this file; empty: goes to ours
  std::filesystem::path errors =
      {};  ///< likewise its standard error; empty: goes with its output, or to ours
  std::optional<int> inherited = {};  ///< a file descriptor that it gets under the same number
  std::filesystem::path folder = {};  ///< in which it starts; empty: ours
  std::optional<std::vector<std::string>> environment = {};  ///< NAME=VALUE each; without, ours
  bool outlives_starter = false;                             ///< continues if this process is killed
};

/// A running program. Signals that this process handles or blocks have their default effect on it; signals that this
/// process ignores, it ignores. On destruction a program that still runs is sent SIGTERM and waited for.
class ChildProcess {
 public:
  /// @throws std::system_error if it cannot be started, with the reason as its code; InputError as open_log()
  explicit ChildProcess(const ProgramStart& start);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t id() const {
    return process_;
  }

  /// Empty while it runs.
  std::optional<Ending> poll();

  Ending wait();

  /// As wait(). Once the user asks to stop (stop_asked()), the program is asked to end, once.
  Ending wait_or_stop();

  /// Asks it to end.
  void terminate(int signal = SIGTERM);

 private:
  pid_t process_ = -1;
  std::optional<Ending> ending_;
};

/// A pipe through which a program that this one starts sends lines.
class LinePipe {
 public:
  /// @throws std::system_error
  LinePipe();

  /// The program's end, for ProgramStart::inherited.
  int write_end() const {
    return write_end_.number();
  }
  /// The same as a file, for ProgramStart::output and errors.
  std::filesystem::path file_to_write() const;

  /// To be called once the program has it: the pipe then ends with the program.
  void close_write_end() {
    write_end_.close();
  }

  /// For poll(2) on several pipes; -1, which poll skips, once the pipe has ended.
  int read_end() const {
    return ended_ ? -1 : read_end_.number();
  }

  /// The complete lines that have arrived, without their line ends: all that the pipe holds, else those that arrive
  /// within `patience`, or until a signal. Empty also if the pipe has ended.
  std::vector<std::string> lines(std::chrono::milliseconds patience);

  /// The part of a line that has arrived without its end.
  const std::string& begun_line() const {
    return begun_line_;
  }

  /// Whether nothing more will arrive.
  bool ended() const {
    return ended_;
  }

 private:
  Descriptor read_end_;
  Descriptor write_end_;
  bool ended_ = false;
  std::string begun_line_;
};

/// Runs a program to its end and calls `line` for each line of its output and errors, also for a last one without its
/// end. @throws std::system_error if it cannot be started; an exception of `line` ends the program
Ending run_and_read(ProgramStart start, const std::function<void(std::string_view)>& line);

}  // namespace occbench
