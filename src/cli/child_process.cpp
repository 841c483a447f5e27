#include "cli/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>

namespace occbench {
namespace {

[[noreturn]] void throw_error(int code, const std::string& what) {
  throw std::system_error(code, std::generic_category(), what);
}

/// posix_spawn's list of what to open and close in the child.
class FileActions {
 public:
  explicit FileActions(const std::filesystem::path& output) {
    posix_spawn_file_actions_init(&actions_);
    int code = posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, output.c_str(),
                                                O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    if (code != 0) throw_error(code, "posix_spawn_file_actions");
  }
  ~FileActions() {
    posix_spawn_file_actions_destroy(&actions_);
  }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const {
    return &actions_;
  }

 private:
  posix_spawn_file_actions_t actions_{};
};

Ending ending_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? Ending{.status = 0, .signal = WTERMSIG(wait_status)}
                                  : Ending{.status = WEXITSTATUS(wait_status), .signal = 0};
}

}  // namespace

std::string to_string(Ending ending) {
  return ending.signal != 0 ? fmt::format("signal {} ({})", ending.signal, strsignal(ending.signal))
                            : fmt::format("exit status {}", ending.status);
}

ChildProcess::ChildProcess(const std::filesystem::path& program, std::span<const std::string> arguments,
                           const std::filesystem::path& output) {
  const FileActions actions(output);
  std::string name = program.string();
  std::vector<std::string> texts(arguments.begin(), arguments.end());
  std::vector<char*> pointers = {name.data()};
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const int code = posix_spawn(&process_, program.c_str(), actions.get(), nullptr, pointers.data(), environ);
  if (code != 0) throw_error(code, fmt::format("cannot start {}", program.string()));
}

ChildProcess::~ChildProcess() {
  if (ending_ || process_ < 0) return;
  terminate();
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
}

std::optional<Ending> ChildProcess::poll() {
  if (ending_) return ending_;
  int status = 0;
  const pid_t ended = waitpid(process_, &status, WNOHANG);
  if (ended < 0 && errno != EINTR) throw_error(errno, "waitpid");
  if (ended == process_) ending_ = ending_of(status);
  return ending_;
}

Ending ChildProcess::wait() {
  int status = 0;
  while (!ending_) {
    if (waitpid(process_, &status, 0) == process_) {
      ending_ = ending_of(status);
    } else if (errno != EINTR) {
      throw_error(errno, "waitpid");
    }
  }
  return *ending_;
}

void ChildProcess::terminate() {
  if (!ending_) static_cast<void>(kill(process_, SIGTERM));
}

}  // namespace occbench
