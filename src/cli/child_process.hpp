#pragma once

#include <csignal>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace occbench {

/// How a process ended.
struct Ending {
  int status = 0;  ///< exit status, where no signal ended it
  int signal = 0;  ///< the signal that ended it, 0 if none did

  bool operator==(const Ending&) const = default;
};

/// "exit status 2" or "signal 9 (Killed)"
std::string to_string(Ending ending);

/// A program running with its standard output and error appended to files. One that still runs is sent
/// SIGTERM and waited for on destruction; one whose starter was killed is killed too.
class ChildProcess {
 public:
  /// @param inherited  a file descriptor that the program gets under the same number
  /// @param errors     its standard error goes here; without, where its output goes
  /// @throws std::system_error if it cannot be started
  ChildProcess(const std::filesystem::path& program, std::span<const std::string> arguments,
               const std::filesystem::path& output, std::optional<int> inherited = std::nullopt,
               const std::optional<std::filesystem::path>& errors = std::nullopt);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Empty while it runs.
  std::optional<Ending> poll();

  Ending wait();

  /// As wait(); once the user asks to stop (stop_asked()), the program is asked to end, once.
  Ending wait_or_stop();

  /// Asks it to end.
  void terminate(int signal = SIGTERM);

 private:
  pid_t process_ = -1;
  std::optional<Ending> ending_;
};

}  // namespace occbench
