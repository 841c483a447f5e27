#include "orchestrate/traced_command.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "entries/entry_paths.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/child_process.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

constexpr const char* kInjection = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";
constexpr const char* kLibrary = "libocc_trace.so";
constexpr int kMostCounted = 1000;

/// Beside this program or, if installed, in the library folder beside the program's.
fs::path library_path() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& candidate : {folder / kLibrary, folder.parent_path() / "lib" / "occbench" / kLibrary,
                                    folder.parent_path() / "lib64" / "occbench" / kLibrary}) {
    if (fs::exists(candidate)) return fs::canonical(candidate);
  }
  return {};
}

/// The library's setting for counting.
std::string counted_launches(const std::string& counters) {
  if (counters == kTracePaced || counters == kTraceSampled) return counters;
  if (counters == "off") return "0";
  if (read_number(counters, 1, kMostCounted)) return counters;
  throw InputError("--counters '{}' is none of auto, sampled, off and a number from 1 to {}", counters,
                   kMostCounted);
}

/// Why the command runs untraced; empty if it is traced.
std::string why_not_traced(const TraceCommand& command) {
  const std::string name = fs::path(command.words.front()).filename();
  if (name == "ncu" || name == "nsys")
    return fmt::format("{} injects a library of its own, and only one can be injected", name);
  if (const std::string other = environment_variable(kInjection); !other.empty()) {
    return fmt::format(
        "{} is already set to {} (ncu, nsys and compute-sanitizer do so): end that, for only one library can "
        "be injected",
        kInjection, other);
  }
  const fs::path library = library_path();
  if (library.empty()) {
    return fmt::format("{} lies neither beside occbench nor in ../lib/occbench: build occbench with CUDA",
                       kLibrary);
  }
  // The driver would not say why it did not load the library. It stays open: closed, it would lose data that its C++
  // library keeps for exceptions.
  if (::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr)
    return fmt::format("the library cannot be loaded: {}", ::dlerror());
  return "";
}

/// This process's environment, with the variables of a traced command.
std::vector<std::string> environment_for(const TraceCommand& command, const std::vector<std::string>& metrics,
                                         const fs::path& out, bool traced) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  const auto set = [&](std::string_view name, std::string_view value) {
    std::erase_if(environment,
                  [&](const std::string& text) { return text.starts_with(fmt::format("{}=", name)); });
    environment.push_back(fmt::format("{}={}", name, value));
  };
  if (!traced) return environment;
  set(kInjection, library_path().string());
  if (environment_variable(kNvtxInjection).empty()) set(kNvtxInjection, library_path().string());
  set(kTraceOutVariable, fs::absolute(out).string());
  set(kTraceCountersVariable, counted_launches(command.counters));
  set(kTraceKernelsVariable, command.kernels);
  set(kTraceRegionsVariable, command.regions ? "1" : "");
  set(kTraceOnlyVariable, command.only);
  if (!command.timeline.empty())
    set(kTraceWindowsVariable, fs::absolute(command.timeline).string() + ".windows");
  set(kTraceMetricsVariable, fmt::format("{}", fmt::join(metrics, " ")));
  set(kTraceAfterVariable, command.after ? fmt::format("{}", *command.after) : "");
  return environment;
}

constexpr int kPassedSignals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t running = 0;

/// A terminal has already sent its signal to the command, as to each foreground process.
void pass_on(int signal, siginfo_t* about, void*) {
  const bool of_terminal = about->si_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT);
  if (running > 0 && !of_terminal) static_cast<void>(::kill(running, signal));
}

/// While it lives, the command handles signals that the terminal sends to all, and signals sent to occbench go to the
/// command.
class SignalsForCommand {
 public:
  SignalsForCommand() {
    for (const int signal : kPassedSignals) set(signal);
  }
  ~SignalsForCommand() {
    for (std::size_t i = 0; i < before_.size(); ++i)
      ::sigaction(before_[i].first, &before_[i].second, nullptr);
  }
  SignalsForCommand(const SignalsForCommand&) = delete;
  SignalsForCommand& operator=(const SignalsForCommand&) = delete;

 private:
  void set(int signal) {
    struct sigaction action {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO;
    struct sigaction before {};
    ::sigaction(signal, &action, &before);
    before_.emplace_back(signal, before);
  }
  std::vector<std::pair<int, struct sigaction>> before_;
};

/// Starts the command, to which signals then go. A signal that arrives before its process is known waits.
std::unique_ptr<ChildProcess> start(const TraceCommand& command,
                                    const std::vector<std::string>& environment) {
  sigset_t passed;
  ::sigemptyset(&passed);
  for (const int signal : kPassedSignals) ::sigaddset(&passed, signal);
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &passed, &before);
  try {
    auto process = std::make_unique<ChildProcess>(
        ProgramStart{.program = command.words.front(),
                     .arguments = {command.words.begin() + 1, command.words.end()},
                     .environment = environment,
                     .outlives_starter = true});
    running = process->id();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return process;
  } catch (const std::system_error& error) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    const std::string& name = command.words.front();
    const bool is_here = name.find('/') == std::string::npos && fs::exists(name);
    throw InputError("cannot run '{}': {}{}", name, error.code().message(),
                     is_here ? fmt::format(" in PATH; the one here is ./{}", name) : "");
  }
}

/// For the case that no process of a traced command has a file.
void say_why_no_file(Ending ending, Console& console) {
  if (ending.status != 0) {
    fmt::print(console.err, "occbench trace: the command ended with status {} before it used CUDA\n",
               ending.status);
    return;
  }
  if (::dlopen("libcuda.so.1", RTLD_LAZY) == nullptr) {
    fmt::print(console.err,
               "occbench trace: no process loaded {}: there is no NVIDIA driver here (libcuda.so.1), without "
               "which no CUDA program uses a GPU\n",
               kLibrary);
    return;
  }
  fmt::print(console.err,
             "occbench trace: no process loaded {}: the command does not use CUDA here, or sudo, srun, a "
             "container or another tool takes {} away: run occbench within, for each of several ranks with a "
             "file of its own: srun sh -c 'occbench trace --out run.$SLURM_PROCID.csv -- COMMAND'\n",
             kLibrary, kInjection);
}

}  // namespace

void check(const TraceCommand& command) {
  static_cast<void>(counted_launches(command.counters));
  if (!command.timeline.empty() && command.counters != kTraceSampled && command.counters != kTracePaced)
    throw InputError(
        "--timeline shows sampling windows, and --counters '{}' has none: leave it out, or use sampled",
        command.counters);
  if (!command.timeline.empty())
    require_not_another_kind(command.timeline, R"(\{"displayTimeUnit":"ns","traceEvents":)");
  static_cast<void>(checked_kernel_filter(command.kernels));
  const bool is_empty_name = command.only.starts_with('/') || command.only.ends_with('/');
  if (is_empty_name || command.only.find("//") != std::string::npos)
    throw InputError("--only '{}': names of nested regions have one / between them", command.only);
}

ExitStatus run_traced(const TraceCommand& command, const std::vector<std::string>& metrics,
                      const fs::path& out, Console& console, const std::function<void()>& on_start) {
  const std::string reason = why_not_traced(command);
  if (!reason.empty())
    fmt::print(console.err, "occbench trace: the command runs without being traced: {}\n", reason);
  const SignalsForCommand signals;
  const std::unique_ptr<ChildProcess> process =
      start(command, environment_for(command, metrics, out, reason.empty()));
  on_start();
  const Ending ending = process->wait();
  running = 0;
  if (reason.empty() && entry_files(out).empty()) say_why_no_file(ending, console);
  if (ending.signal != 0) {
    fmt::print(console.err, "occbench trace: signal {} ({}) ended the command\n", ending.signal,
               strsignal(ending.signal));
    return static_cast<ExitStatus>(128 + ending.signal);
  }
  return static_cast<ExitStatus>(ending.status);
}

std::string nvidia_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return Pattern(R"(\b(\d+\.\d+(?:\.\d+)?)\b)").first_group(text).value_or("");
}

}  // namespace occbench
