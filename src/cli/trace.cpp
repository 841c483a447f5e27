#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "cli/gpu_option.hpp"
#include "cli/program_table.hpp"
#include "cli/waiting.hpp"
#include "entries/process_files.hpp"
#include "files/lock.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "orchestrate/child_process.hpp"
#include "orchestrate/run.hpp"
#include "predict/device_profile.hpp"
#include "programs/process_entries.hpp"
#include "programs/program.hpp"
#include "programs/timeline.hpp"
#include "programs/torch_trace.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/provenance.hpp"
#include "record/replay.hpp"

namespace occbench {

/// What to run under the library that traces it.
struct TraceCommand {
  std::vector<std::string> words;     ///< the program and its arguments
  std::string counters = "auto";      ///< "auto", "sampled", "off" or a number of launches
  std::string kernels;                ///< regular expression of those to count; empty = all
  std::optional<std::int64_t> after;  ///< launches before the first that is counted
  bool regions = false;               ///< a row for each region and kernel
  std::string only;                   ///< the region whose launches alone get counters; empty = all
  std::filesystem::path timeline;     ///< a Chrome trace of what windows held; empty = none
  std::string visible_gpu;            ///< UUID of the one GPU that it may use; empty: as it is
};

/// Runs a command with its own input and output, and the library in each of its processes that uses CUDA.
/// Signals that would end occbench go to the command. Where the library cannot be used, says why and runs
/// the command without it.
/// Says so where no process of the command has a file.
/// @param command one that check() let through
/// @param on_start is called once the command runs
/// @returns what the command ended with, 128 + N for signal N
/// @throws InputError if there is no such command
ExitStatus run_traced(const TraceCommand& command, const std::filesystem::path& out, Console& console,
                      const std::function<void()>& on_start);

/// @throws InputError for wrong options
void check(const TraceCommand& command);

/// What the processes of a traced command wrote.
struct MergedProcesses {
  std::vector<ProgramEntry> entries;
  WindowTotals windows;
  std::vector<std::filesystem::path> files;  ///< that were read
};

/// Reads the files of processes. Says which cannot be read, and where they have no launch.
MergedProcesses merged_processes(const std::vector<std::filesystem::path>& files, Console& console);

/// Removes files of processes.
void remove_process_files(const std::vector<std::filesystem::path>& files);

/// As /proc/driver/nvidia/version has it; empty without a driver.
std::string nvidia_module_version();

struct ImportOptions {
  std::filesystem::path file;
  std::optional<double> clock_mhz;
};

/// A program's cases, without predictions, and the entries that they are made of.
struct ProgramTable {
  std::vector<CaseRecord> cases;
  std::vector<ProgramEntry> entries;
};

/// The cases of a trace of torch.profiler. Says on `console.err` what clock it takes and where the trace's
/// own estimate of occupancy is wrong. @throws InputError as read_torch_trace()
ProgramTable import_torch_trace(const ImportOptions& options, Console& console);

namespace {

namespace fs = std::filesystem;

struct TraceOptions {
  TraceCommand command;
  std::vector<std::string> misplaced;  ///< words of a command before --
  ImportOptions import_from;
  bool merge = false;
  std::string out;
  std::string profile;
  std::size_t top = 20;
  std::string device;  ///< empty: the command chooses
};

/// That the user names, if so. @throws InputError if there is none of that name
std::optional<DeviceProfile> profile_of(const TraceOptions& options) {
  return options.profile.empty() ? std::nullopt : std::optional(find_profile(options.profile));
}

/// Predictions, provenance, files and the table on the terminal.
void finish(ProgramTable& table, const fs::path& out, const TraceOptions& options, Console& console) {
  const std::optional<DeviceProfile> profile = profile_of(options);
  set_clocks(table.cases, table.entries);
  {
    Waiting waiting("predicting kernels:", table.cases.size());
    predict_all(table.cases, profile, [&] { waiting.step(); });
  }
  for (const std::string& remark : remarks_on_profiles(table.cases)) fmt::print(console.err, "{}\n", remark);
  const std::string now = iso_time(std::chrono::system_clock::now());
  for (CaseRecord& record : table.cases) {
    record.provenance.recorded_at = now;
    record.provenance.commit = build_commit();
    record.provenance.host = host_name();
  }
  write_program(out, table.cases, table.entries);
  const auto has_region = [](const ProgramEntry& entry) { return !entry.kernel.region.empty(); };
  if (std::ranges::any_of(table.entries, has_region)) print_regions(table.cases, console.out);
  print_program(table.cases, options.top, console.out);
  fmt::print(console.out, "Rows: {}   samples: {}\n", out.string(), samples_path(out).string());
}

/// How much of the program the samples tell of.
void print_windows(const WindowTotals& windows, Console& console) {
  const double active_ns = windows.attributed_ns + windows.unattributed_ns;
  if (windows.windows == 0) return;
  fmt::print(console.out, "Sampled: {} windows, {} thrown away", windows.windows, windows.thrown_away);
  if (active_ns > 0) {
    fmt::print(console.out,
               "; {:.1f} % of the GPU's active time in them is of launches that could be told apart",
               100 * windows.attributed_ns / active_ns);
  }
  fmt::print(console.out, "\n");
}

ExitStatus import_trace(const TraceOptions& options, const fs::path& out, Console& console) {
  require_not_input(out, {&options.import_from.file, 1});
  ProgramTable table = import_torch_trace(options.import_from, console);
  const auto wanted = checked_kernel_filter(options.command.kernels);
  for (std::size_t i = table.cases.size(); i-- > 0;) {
    if (wanted(table.cases[i].identity.kernel)) continue;
    table.cases.erase(table.cases.begin() + static_cast<std::ptrdiff_t>(i));
    table.entries.erase(table.entries.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (table.cases.empty())
    throw InputError(fmt::format("--kernels {} matches no kernel", options.command.kernels));
  keep_older_rows(out, console);
  finish(table, out, options, console);
  return ExitStatus::done;
}

/// What the processes wrote. @returns the files that were read
std::vector<fs::path> merge_and_report(const std::vector<fs::path>& files, const TraceOptions& options,
                                       const fs::path& out, Console& console) {
  MergedProcesses merged = merged_processes(files, console);
  if (merged.entries.empty()) return merged.files;
  ProgramTable table;
  table.entries = std::move(merged.entries);
  table.cases = program_cases(table.entries);
  const std::string driver = nvidia_module_version();
  for (CaseRecord& record : table.cases) record.provenance.driver = driver;
  finish(table, out, options, console);
  print_windows(merged.windows, console);
  if (!options.command.timeline.empty()) {
    const std::size_t windows = write_timeline(options.command.timeline, merged.files);
    fmt::print(console.out, "Timeline: {}, of {} windows\n", options.command.timeline.string(), windows);
  }
  return merged.files;
}

/// What the processes of a trace that was cut off wrote, some of which may still write.
void merge(const TraceOptions& options, const fs::path& out, Console& console) {
  const std::vector<fs::path> files = process_files(out);
  if (files.empty()) {
    const fs::path of_any = fs::path(out).replace_extension(".PID.entries");
    throw InputError(
        fmt::format("there is nothing to merge: no {} of a trace --out {}", of_any.string(), out.string()));
  }
  merge_and_report(files, options, out, console);
}

/// Rows of an earlier trace that was cut off before they were merged are kept.
void merge_earlier(const TraceOptions& options, const fs::path& out, Console& console) {
  const std::vector<fs::path> files = process_files(out);
  if (files.empty()) return;
  keep_older_rows(out, console);
  fmt::print(console.err,
             "occbench trace: an earlier trace was cut off; its processes' files are merged first\n");
  remove_process_files(merge_and_report(files, options, out, console));
}

ExitStatus trace(const TraceOptions& options, Console& console) {
  const bool importing = !options.import_from.file.empty();
  const int modes = (importing ? 1 : 0) + (options.merge ? 1 : 0) + (options.command.words.empty() ? 0 : 1);
  if (modes != 1) {
    throw InputError(
        "trace takes one of: a command behind --, --import FILE.json, or --merge with --out FILE.csv");
  }
  if (options.merge && options.out.empty())
    throw InputError("--merge needs --out FILE.csv, as it was traced with");
  static_cast<void>(profile_of(options));  // before a command runs for nothing
  const fs::path out = output_file(options.out, "trace");
  make_folder_of(out);
  static_cast<void>(output_target(out));
  const FileLock lock(out);
  if (importing) return import_trace(options, out, console);
  if (options.merge) {
    merge(options, out, console);
    return ExitStatus::done;
  }
  check(options.command);
  if (fs::weakly_canonical(options.command.timeline) == fs::weakly_canonical(out))
    throw InputError(fmt::format("--timeline and --out are both {}: name two files", out.string()));
  merge_earlier(options, out, console);
  // The command's own, also where reading what was traced of it fails. Rows of an earlier run must not pass for this one's.
  const ExitStatus status = run_traced(options.command, out, console, [&] { keep_older_rows(out, console); });
  try {
    remove_process_files(merge_and_report(process_files(out), options, out, console));
  } catch (const std::exception& error) {
    fmt::print(console.err,
               "occbench trace: {}; the processes' files stay: occbench trace --merge --out {}\n",
               error.what(), out.string());
  }
  return status;
}

/// With one GPU for the command to see, or once for each of several.
ExitStatus trace_on_gpus(TraceOptions options, const CLI::App& parser, Console& console) {
  options.command.regions = options.command.regions || !options.command.only.empty();
  if (!options.misplaced.empty())
    throw InputError(fmt::format("'{}': a command stands behind --: occbench trace [OPTION...] -- COMMAND",
                                 options.misplaced.front()));
  if (options.device.empty()) return trace(options, console);
  if (options.command.words.empty()) throw InputError("--device needs a command behind --");
  const std::vector<GpuHere> gpus = listed_gpus(options.device);
  if (gpus.size() > 1 && !options.command.timeline.empty())
    throw InputError(fmt::format("--timeline is of one run, and --device {} makes {}: name one GPU",
                                 options.device, gpus.size()));
  if (gpus.size() > 1) {
    EachDevice each = each_device(parser, gpus);
    each.arguments.emplace_back("--");
    std::ranges::copy(options.command.words, std::back_inserter(each.arguments));
    each.rows = output_file(options.out, "trace");
    return run_on_each(each, console);
  }
  if (const std::string reason = why_no_gpu(); !reason.empty()) {
    fmt::print(console.err, "occbench trace: --device {} has no effect: {}\n", options.device, reason);
    return trace(options, console);
  }
  const std::string device = gpus.empty() ? options.device : std::to_string(gpus.front().index);
  options.command.visible_gpu = gpu_here(device).value().uuid;
  return trace(options, console);
}

}  // namespace

Action declare_trace(CLI::App& parser, std::vector<std::string> words) {
  const auto options = std::make_shared<TraceOptions>();
  TraceCommand& command = options->command;
  command.words = std::move(words);
  parser
      .add_option("--out", options->out,
                  "rows go here, samples beside it (default: a new file in results/local/)")
      ->type_name("FILE.csv");
  parser
      .add_option(
          "--counters", command.counters,
          "launches to count of each kernel and configuration: auto (1, and 2 more once counting "
          "has taken at most 2 % of the time), off, or N; sampled: none, the GPU is sampled while the "
          "program goes on, kernels of CUDA graphs too")
      ->capture_default_str()
      ->type_name("auto|sampled|off|N");
  parser
      .add_option("--kernels", command.kernels,
                  "count only kernels whose name this extended regular expression is found in; "
                  "with --import, keep only those")
      ->type_name("RE");
  parser.add_flag(
      "--regions", command.regions,
      "a row for each region and kernel: regions are ranges of NVTX, or of occbench.region in Python");
  parser
      .add_option(
          "--only", command.only,
          "take counters and samples in this region alone (`forward`, or `step/forward`); its rows are "
          "those of --regions")
      ->type_name("REGION");
  parser
      .add_option("--timeline", command.timeline,
                  "a Chrome trace of the sampling windows, for Perfetto: occupancy, resident blocks and "
                  "kernels over time; "
                  "with --counters sampled")
      ->type_name("FILE.json");
  add_number(parser, "--after", command.after,
             "launches of a process before the first is counted (default: until it repeats itself); "
             "cudaProfilerStart begins at once");
  parser
      .add_option("--import", options->import_from.file,
                  "a Chrome trace of torch.profiler instead of a command")
      ->type_name("FILE.json[.gz]")
      ->excludes("--counters")
      ->excludes("--only")
      ->excludes("--regions")
      ->excludes("--timeline")
      ->excludes("--after");
  add_number(parser, "--clock-mhz", options->import_from.clock_mhz, "SM clock while it was recorded", 1, 1e5)
      ->needs("--import");
  parser.add_flag("--merge", options->merge,
                  "merge what the processes of a trace that was cut off wrote beside --out");
  parser
      .add_option(
          "--profile", options->profile,
          "device profile to predict with, a built-in one or a file (default: the best known of the GPU)")
      ->type_name("NAME|FILE");
  add_device_option(
      parser, options->device,
      "the only GPU that the command sees, by its number (default: those that it sees now); all, "
      "or a list such as 0,2: the command once on each")
      ->type_name("N|all|N,N");
  declare_at_once(parser);
  add_number(parser, "--top", options->top,
             fmt::format("how many kernels to print, 0 = all (default: {})", options->top));
  parser.add_option("COMMAND", options->misplaced, "behind --: what to run, with its arguments");
  parser.footer(
      "Exit status: that of COMMAND, 128 + N if signal N ended it; 64 wrong use, or no such command.");
  return [options, &parser](Console& console) { return trace_on_gpus(*options, parser, console); };
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kInjection = "CUDA_INJECTION64_PATH";
constexpr const char* kNvtxInjection = "NVTX_INJECTION64_PATH";
constexpr const char* kLibrary = "libocc_trace.so";
constexpr int kMostCounted = 1000;

/// Beside this program or, installed, in the library folder beside its own.
fs::path library_path() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& candidate : {folder / kLibrary, folder.parent_path() / "lib" / "occbench" / kLibrary,
                                    folder.parent_path() / "lib64" / "occbench" / kLibrary}) {
    if (fs::exists(candidate)) return fs::canonical(candidate);
  }
  return {};
}

/// What the library is told to count.
std::string counted_launches(const std::string& counters) {
  if (counters == kTracePaced || counters == kTraceSampled) return counters;
  if (counters == "off") return "0";
  int number = 0;
  const auto [end, error] = std::from_chars(counters.data(), counters.data() + counters.size(), number);
  if (error == std::errc() && end == counters.data() + counters.size() && number >= 1 &&
      number <= kMostCounted)
    return counters;
  throw InputError(fmt::format("--counters '{}' is none of auto, sampled, off and a number from 1 to {}",
                               counters, kMostCounted));
}

/// Why the command runs untraced; empty where it need not.
std::string why_not_traced(const TraceCommand& command) {
  const std::string name = fs::path(command.words.front()).filename();
  if (name == "ncu" || name == "nsys")
    return fmt::format("{} injects a library of its own, and only one can be injected", name);
  if (const char* other = std::getenv(kInjection); other != nullptr && *other != '\0') {
    return fmt::format(
        "{} is already set to {} (ncu, nsys and compute-sanitizer do so): end that, for only one library can "
        "be "
        "injected",
        kInjection, other);
  }
  const fs::path library = library_path();
  if (library.empty()) {
    return fmt::format("{} lies neither beside occbench nor in ../lib/occbench: build occbench with CUDA",
                       kLibrary);
  }
  // The driver would not say why it did not load it.
  void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return fmt::format("the library cannot be loaded: {}", ::dlerror());
  ::dlclose(loaded);
  return "";
}

/// This process's, with what a traced command needs.
std::vector<std::string> environment_for(const TraceCommand& command, const fs::path& out, bool traced) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  const auto set = [&](std::string_view name, std::string_view value) {
    std::erase_if(environment,
                  [&](const std::string& text) { return text.starts_with(fmt::format("{}=", name)); });
    environment.push_back(fmt::format("{}={}", name, value));
  };
  if (!command.visible_gpu.empty()) set("CUDA_VISIBLE_DEVICES", command.visible_gpu);
  if (!traced) return environment;
  set(kInjection, library_path().string());
  if (const char* other = std::getenv(kNvtxInjection); other == nullptr || *other == '\0')
    set(kNvtxInjection, library_path().string());
  set(kTraceOutVariable, fs::absolute(out).string());
  set(kTraceCountersVariable, counted_launches(command.counters));
  set(kTraceKernelsVariable, command.kernels);
  set(kTraceRegionsVariable, command.regions ? "1" : "");
  set(kTraceOnlyVariable, command.only);
  if (!command.timeline.empty())
    set(kTraceWindowsVariable, fs::absolute(command.timeline).string() + ".windows");
  set(kTraceMetricsVariable, fmt::format("{}", fmt::join(program_metrics(), " ")));
  set(kTraceAfterVariable, command.after ? fmt::format("{}", *command.after) : "");
  return environment;
}

constexpr int kPassedSignals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t running = 0;

/// The command has what a terminal sends already: each process of its foreground gets it.
void pass_on(int signal, siginfo_t* about, void*) {
  const bool of_terminal = about->si_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT);
  if (running > 0 && !of_terminal) static_cast<void>(::kill(running, signal));
}

/// While it lives, what the terminal sends to all is the command's to answer, and what is sent to occbench
/// goes to the command.
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

/// Starts the command, to which signals then go. One that comes before it is known whom to pass it on to waits.
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
    throw InputError(fmt::format("cannot run '{}': {}{}", name, error.code().message(),
                                 is_here ? fmt::format(" in PATH; the one here is ./{}", name) : ""));
  }
}

/// Where no process of a traced command has a file.
void say_why_no_file(Ending ending, Console& console) {
  if (ending.status != 0) {
    fmt::print(console.err, "occbench trace: the command ended with status {} before it used CUDA\n",
               ending.status);
    return;
  }
  fmt::print(
      console.err,
      "occbench trace: no process loaded {}: the command does not use CUDA here, or sudo, srun, a container "
      "or another tool takes {} away: run occbench within\n",
      kLibrary, kInjection);
}

}  // namespace

void check(const TraceCommand& command) {
  static_cast<void>(counted_launches(command.counters));
  if (!command.timeline.empty() && command.counters != kTraceSampled)
    throw InputError(
        fmt::format("--timeline shows sampling windows, and --counters '{}' has none: add --counters sampled",
                    command.counters));
  if (!command.timeline.empty()) static_cast<void>(output_target(command.timeline));
  static_cast<void>(checked_kernel_filter(command.kernels));
  const bool is_empty_name = command.only.starts_with('/') || command.only.ends_with('/');
  if (is_empty_name || command.only.find("//") != std::string::npos)
    throw InputError(
        fmt::format("--only '{}': names of nested regions have one / between them", command.only));
}

ExitStatus run_traced(const TraceCommand& command, const fs::path& out, Console& console,
                      const std::function<void()>& on_start) {
  const std::string reason = why_not_traced(command);
  if (!reason.empty())
    fmt::print(console.err, "occbench trace: the command runs without being traced: {}\n", reason);
  const SignalsForCommand signals;
  const std::unique_ptr<ChildProcess> process = start(command, environment_for(command, out, reason.empty()));
  on_start();
  const Ending ending = process->wait();
  running = 0;
  if (reason.empty() && process_files(out).empty()) say_why_no_file(ending, console);
  if (ending.signal != 0) {
    fmt::print(console.err, "occbench trace: signal {} ({}) ended the command\n", ending.signal,
               strsignal(ending.signal));
    return static_cast<ExitStatus>(128 + ending.signal);
  }
  return static_cast<ExitStatus>(ending.status);
}

MergedProcesses merged_processes(const std::vector<fs::path>& files, Console& console) {
  MergedProcesses merged;
  for (const fs::path& file : files) {
    try {
      TracedProcess process = read_process_file(file);
      std::ranges::move(process.entries, std::back_inserter(merged.entries));
      merged.windows += process.windows;
      if (process.impossible > 0)
        fmt::print(console.err, "occbench trace: {} is damaged: {} left out that no GPU can launch\n",
                   file.string(), counted(process.impossible, "kernel"));
      merged.files.push_back(file);
    } catch (const InputError& unreadable) {
      fmt::print(console.err, "occbench trace: {}; {} stays, and its launches are in no row\n",
                 unreadable.what(), file.string());
    }
  }
  if (merged.entries.empty() && !merged.files.empty()) {
    const std::size_t count = merged.files.size();
    fmt::print(console.err,
               "occbench trace: {} initialized CUDA, and no kernel launch was traced: it launched "
               "none, or it says above why it is not traced\n",
               count == 1 ? "a process" : fmt::format("{} processes", count));
  }
  merged.entries = occbench::merged(std::move(merged.entries));
  return merged;
}

void remove_process_files(const std::vector<fs::path>& files) {
  std::error_code ignored;
  for (const fs::path& file : files) {
    fs::remove(file, ignored);
  }
}

std::string nvidia_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return Pattern(R"(\b(\d+\.\d+(?:\.\d+)?)\b)").first_group(text).value_or("");
}

namespace {

/// The clock of each GPU of the trace, and a line about it.
void choose_clocks(TorchTrace& trace, const std::optional<double>& given, Console& console) {
  std::set<std::string> said;
  for (TorchKernel& kernel : trace.kernels) {
    ProgramDevice& device = kernel.entry.device;
    const std::optional<double> clock = given ? given : highest_sm_clock_mhz(device.name);
    device.highest_clock_mhz = clock.value_or(0);
    if (given || !said.insert(device.name).second) continue;
    if (clock) {
      fmt::print(console.err,
                 "{}: the trace has no SM clock; {} MHz, the GPU's highest, is taken (--clock-mhz N)\n",
                 device.name, *clock);
    } else {
      fmt::print(
          console.err,
          "{}: the trace has no SM clock, and this GPU's highest is not known: nothing is predicted without "
          "--clock-mhz N\n",
          device.name);
    }
  }
}

void report_estimates(const std::map<EstimateFault, std::int64_t>& launches, Console& console) {
  const auto say = [&](EstimateFault fault, std::string_view what) {
    const auto found = launches.find(fault);
    if (found == launches.end()) return;
    fmt::print(console.err, "the trace's \"est. achieved occupancy %\" of {} {}\n",
               counted(found->second, "launch", "es"), what);
  };
  say(EstimateFault::shared_memory,
      "is 0, which is wrong: PyTorch's calculator allows no more than 48 KB of shared memory per block");
  say(EstimateFault::spread_over_sms,
      "is the grid's threads over those of all SMs, idle ones included, which no counter reads");
  say(EstimateFault::other, "is not theoretical occupancy for a reason that is not known");
  say(EstimateFault::none,
      "is theoretical occupancy, not achieved: it knows no tail, no uneven blocks, no overhead");
}

}  // namespace

ProgramTable import_torch_trace(const ImportOptions& options, Console& console) {
  TorchTrace trace = read_torch_trace(options.file);
  choose_clocks(trace, options.clock_mhz, console);
  if (trace.malformed > 0) {
    fmt::print(console.err, "{} of {} is left out: no launch has such a grid, block or time\n",
               counted(trace.malformed, "event"), options.file.string());
  }
  ProgramTable table;
  for (const TorchKernel& kernel : trace.kernels) table.entries.push_back(kernel.entry);
  table.cases = program_cases(table.entries);
  std::map<EstimateFault, std::int64_t> estimates;
  for (std::size_t i = 0; i < table.cases.size(); ++i) {
    CaseRecord& record = table.cases[i];
    const TorchKernel& kernel = trace.kernels[i];
    add_note(record.note, fmt::format("imported from {}", options.file.filename().string()));
    if (options.clock_mhz) record.readings.counters.sm_clock_mhz = options.clock_mhz;
    if (!kernel.estimate_pct || !record.theory) continue;
    const EstimateFault fault = fault_of_estimate(kernel, record);
    estimates[fault] += kernel.entry.seen.launches;
    add_note(record.note, to_string(fault, *kernel.estimate_pct));
  }
  report_estimates(estimates, console);
  return table;
}

}  // namespace occbench
