#include "cli/child_process.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "record/stop_signals.hpp"

namespace occbench {
namespace {

[[noreturn]] void throw_error(int code, const std::string& what) {
  throw std::system_error(code, std::generic_category(), what);
}

/// A file descriptor that closes with its owner and is not passed on to programs.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;

  int number() const {
    return number_;
  }

 private:
  int number_;
};

Descriptor appending(const std::filesystem::path& file) {
  Descriptor descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (descriptor.number() < 0) throw_error(errno, fmt::format("cannot write {}", file.string()));
  return descriptor;
}

/// In the new process: becomes the program, or tells through the pipe why not. Only calls that are safe after
/// a fork.
[[noreturn]] void become(const char* program, char* const* arguments, int output, int errors, int inherited,
                         int failure, pid_t parent) {
  // Whatever ends the parent, SIGKILL included, ends the program: nobody would look after it.
  const bool bound = ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
  if (bound && ::getppid() != parent) ::_exit(1);
  const bool ready = ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(errors, STDERR_FILENO) >= 0 &&
                     (inherited < 0 || ::fcntl(inherited, F_SETFD, 0) == 0);
  if (ready) ::execv(program, arguments);
  const int code = errno;
  static_cast<void>(!::write(failure, &code, sizeof(code)));
  ::_exit(1);
}

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
                           const std::filesystem::path& output, std::optional<int> inherited,
                           const std::optional<std::filesystem::path>& errors) {
  const Descriptor log = appending(output);
  const Descriptor error_log = appending(errors.value_or(output));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_error(errno, "pipe2");
  const Descriptor failure(ends[0]);
  Descriptor told(ends[1]);
  std::string name = program.string();
  std::vector<std::string> texts(arguments.begin(), arguments.end());
  std::vector<char*> pointers = {name.data()};
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw_error(errno, fmt::format("cannot start {}", program.string()));
  if (process_ == 0) {
    become(name.c_str(), pointers.data(), log.number(), error_log.number(), inherited.value_or(-1),
           told.number(), parent);
  }
  static_cast<void>(Descriptor(std::move(told)));  // the read ends when the program has begun
  int code = 0;
  if (::read(failure.number(), &code, sizeof(code)) == sizeof(code)) {
    static_cast<void>(wait());
    throw_error(code, fmt::format("cannot start {}", program.string()));
  }
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

Ending ChildProcess::wait_or_stop() {
  constexpr std::chrono::milliseconds kLook{50};
  bool told = false;
  while (!poll()) {
    if (stop_asked() && !std::exchange(told, true)) terminate();
    std::this_thread::sleep_for(kLook);
  }
  return *ending_;
}

void ChildProcess::terminate(int signal) {
  if (!ending_) static_cast<void>(kill(process_, signal));
}

}  // namespace occbench
