#include "orchestrate/child_process.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>

#include "files/output.hpp"
#include "files/stop_signals.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// Capacity of a pipe in bytes: at most what one read takes. It is a page if pages are of 64 KiB.
constexpr int kPipeCapacity = 1 << 16;

[[noreturn]] void throw_error(int code, const std::string& what) {
  throw std::system_error(code, std::generic_category(), what);
}

/// Folder of the names from LinePipe::file_to_write().
constexpr std::string_view kPipes = "/proc/self/fd";

/// @returns none if no file is named
Descriptor appending(const fs::path& file) {
  if (file.empty()) return Descriptor();
  if (file.parent_path() != kPipes) return open_log(file);
  Descriptor descriptor(::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!descriptor.is_open()) throw_error(errno, fmt::format("cannot write {}", file.string()));
  return descriptor;
}

/// Pointers to texts, as exec takes them; valid while the texts live.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs before the starter's handlers could handle signals meant for the program.
void answer_signals_by_default() {
  sigset_t answered;
  ::sigemptyset(&answered);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      action = {};
      action.sa_handler = SIG_DFL;
      ::sigaction(signal, &action, nullptr);
    }
    ::sigaddset(&answered, signal);
  }
  ::sigprocmask(SIG_UNBLOCK, &answered, nullptr);
}

/// Runs in the new process. Everything that needs memory is made before the fork; only fork-safe calls are made here.
/// @param output, errors  -1: unchanged
/// @param failure         a pipe for the reason why it cannot become the program
[[noreturn]] void become(const ProgramStart& start, char* const* arguments, char* const* environment,
                         int output, int errors, int failure, pid_t starter) {
  // Any end of the starter, SIGKILL included, ends the program, because nobody would look after it.
  const bool bound = !start.outlives_starter && ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
  if (bound && ::getppid() != starter) ::_exit(1);
  answer_signals_by_default();
  const bool ready = (output < 0 || ::dup2(output, STDOUT_FILENO) >= 0) &&
                     (errors < 0 || ::dup2(errors, STDERR_FILENO) >= 0) &&
                     (!start.inherited || ::fcntl(*start.inherited, F_SETFD, 0) == 0) &&
                     (start.folder.empty() || ::chdir(start.folder.c_str()) == 0);
  if (ready) ::execvpe(arguments[0], arguments, environment);
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

ChildProcess::ChildProcess(const ProgramStart& start) {
  const Descriptor output = appending(start.output);
  const Descriptor errors = appending(start.errors.empty() ? start.output : start.errors);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_error(errno, "pipe2");
  const Descriptor failure(ends[0]);
  Descriptor told(ends[1]);
  std::vector<std::string> words = {start.program.string()};
  words.insert(words.end(), start.arguments.begin(), start.arguments.end());
  std::vector<std::string> environment = start.environment.value_or(std::vector<std::string>());
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> variables = pointers_to(environment);
  const pid_t starter = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw_error(errno, fmt::format("cannot start {}", words.front()));
  if (process_ == 0)
    become(start, arguments.data(), start.environment ? variables.data() : environ, output.number(),
           errors.number(), told.number(), starter);
  told.close();  // the read ends when the program has begun
  int code = 0;
  ssize_t length = 0;
  while ((length = ::read(failure.number(), &code, sizeof(code))) < 0 && errno == EINTR) {
  }
  if (length == sizeof(code)) {
    static_cast<void>(wait());
    throw_error(code, fmt::format("cannot start {}", words.front()));
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

LinePipe::LinePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_error(errno, "pipe2");
  read_end_ = Descriptor(ends[0]);
  write_end_ = Descriptor(ends[1]);
  static_cast<void>(::fcntl(write_end(), F_SETPIPE_SZ, kPipeCapacity));
}

fs::path LinePipe::file_to_write() const {
  return fmt::format("{}/{}", kPipes, write_end());
}

std::vector<std::string> LinePipe::lines(std::chrono::milliseconds patience) {
  pollfd waiting{.fd = read_end_.number(), .events = POLLIN, .revents = 0};
  if (ended_ || ::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return {};
  std::array<char, kPipeCapacity> piece{};
  const ssize_t length = ::read(read_end_.number(), piece.data(), piece.size());
  if (length < 0 && errno == EINTR) return {};
  if (length <= 0) {
    ended_ = true;
    return {};
  }
  begun_line_.append(piece.data(), static_cast<std::size_t>(length));
  std::vector<std::string> whole;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = begun_line_.find('\n', begin)) != std::string::npos; begin = end + 1)
    whole.push_back(begun_line_.substr(begin, end - begin));
  begun_line_.erase(0, begin);
  return whole;
}

Ending run_and_read(ProgramStart start, const std::function<void(std::string_view)>& line) {
  LinePipe pipe;
  start.output = pipe.file_to_write();
  start.errors.clear();
  ChildProcess process(start);
  pipe.close_write_end();
  constexpr std::chrono::seconds kPatience{1};
  while (!pipe.ended()) {
    for (const std::string& text : pipe.lines(kPatience)) line(text);
  }
  if (!pipe.begun_line().empty()) line(pipe.begun_line());
  return process.wait();
}

}  // namespace occbench
