#include "orchestrate/devices.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <poll.h>
#include <set>
#include <system_error>
#include <tuple>

#include <fmt/ostream.h>

#include "files/input.hpp"
#include "files/lock.hpp"
#include "files/output.hpp"
#include "files/stop_signals.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "orchestrate/child_process.hpp"
#include "orchestrate/run.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

constexpr int kMostDevices = 1000;

int device_number(std::string_view text, const std::string& choice) {
  if (const std::optional<int> number = read_number(text, 0, kMostDevices - 1)) return *number;
  throw InputError(
      "--device '{}': '{}' is no GPU's number from 0 to {}; write auto, all, a number, or a list such as 0,2",
      choice, text, kMostDevices - 1);
}

GpuHere gpu_of(int number, const std::string& choice, const std::optional<std::vector<GpuHere>>& here) {
  if (!here || here->empty()) return {number, ""};
  const auto found = std::ranges::find(*here, number, &GpuHere::index);
  if (found == here->end()) {
    throw InputError(
        "--device {}: there is no GPU {}; this machine has {} (0 to {}), and occbench devices lists them",
        choice, number, here->size(), static_cast<long long>(here->size()) - 1);
  }
  return *found;
}

/// A program's output, and the stream for its lines, each with a prefix.
struct Relay {
  LinePipe pipe;
  std::string prefix;
  std::ostream& to;

  void pass_on() {
    for (const std::string& line : pipe.lines(std::chrono::milliseconds(0))) print(line);
    to.flush();
  }

  /// After the program has ended. Processes that it started may go on writing, which nobody reads.
  void finish() {
    pass_on();
    print(pipe.begun_line());
  }

  void print(const std::string& line) {
    if (!line.empty()) fmt::print(to, "{}{}\n", prefix, line);
  }
};

/// The process of one GPU, and its output.
struct GpuProcess {
  /// @throws std::exception if it cannot be started
  GpuProcess(const EachDevice& each, const GpuHere& gpu, Console& console)
      : relays{{{.pipe = {}, .prefix = fmt::format("gpu {}: ", gpu.index), .to = console.out},
                {.pipe = {}, .prefix = fmt::format("gpu {}: ", gpu.index), .to = console.err}}} {
    std::vector<std::string> arguments = {"run", fmt::format("--device={}", gpu.index)};
    const auto add = [&](const std::string& option, const fs::path& file) {
      if (!file.empty())
        arguments.push_back(fmt::format("{}={}", option, file_of_gpu(file, gpu.index).string()));
    };
    add("--out", each.rows);
    for (const auto& [option, file] : each.outputs) add(option, file);
    std::ranges::copy(each.arguments, std::back_inserter(arguments));
    process.emplace(ProgramStart{.program = each.program,
                                 .arguments = std::move(arguments),
                                 .output = relays[0].pipe.file_to_write(),
                                 .errors = relays[1].pipe.file_to_write()});
    for (Relay& relay : relays) relay.pipe.close_write_end();
  }

  Ending finish() {
    const Ending ending = process->wait();
    for (Relay& relay : relays) relay.finish();
    return ending;
  }

  std::array<Relay, 2> relays;  ///< of its output and its errors
  std::optional<ChildProcess> process;
};

/// Says why if it cannot be started. @returns null then
std::unique_ptr<GpuProcess> started(const EachDevice& each, const GpuHere& gpu, Console& console) {
  try {
    return std::make_unique<GpuProcess>(each, gpu, console);
  } catch (const std::exception& error) {
    fmt::print(console.err, "gpu {}: {}\n", gpu.index, error.what());
    return nullptr;
  }
}

/// Waits until all started processes, which run at once, have ended. The signal that asks this one to stop goes to
/// them, once.
void pass_on_until_end(std::span<const std::unique_ptr<GpuProcess>> processes) {
  constexpr int kLookMs = 50;
  std::vector<GpuProcess*> started_ones;
  for (const auto& process : processes) {
    if (process) started_ones.push_back(process.get());
  }
  bool told = false;
  for (bool running = true; running;) {
    std::vector<pollfd> outputs;
    for (GpuProcess* const process : started_ones) {
      for (const Relay& relay : process->relays)
        outputs.push_back({.fd = relay.pipe.read_end(), .events = POLLIN, .revents = 0});
    }
    static_cast<void>(::poll(outputs.data(), outputs.size(), kLookMs));
    running = false;
    for (GpuProcess* const process : started_ones) {
      running = !process->process->poll() || running;
      for (Relay& relay : process->relays) relay.pass_on();
    }
    if (stop_asked() && !stopped_by_terminal() && !std::exchange(told, true)) {
      for (GpuProcess* const process : started_ones) process->process->terminate(stop_signal());
    }
  }
}

/// @returns how each ended, a fault if it could not be started
std::vector<Ending> run_all(const EachDevice& each, Console& console) {
  constexpr Ending kNotStarted{.status = static_cast<int>(ExitStatus::fault), .signal = 0};
  fmt::print(console.err, "run: {} at once\n", counted(static_cast<std::int64_t>(each.gpus.size()), "GPU"));
  std::vector<std::unique_ptr<GpuProcess>> processes;
  for (const GpuHere& gpu : each.gpus) processes.push_back(started(each, gpu, console));
  pass_on_until_end(processes);
  return mapped(processes, [&](const auto& process) { return process ? process->finish() : kNotStarted; });
}

ExitStatus status_of(Ending ending) {
  return ending.signal != 0 ? ExitStatus::no_verdict : static_cast<ExitStatus>(ending.status);
}

/// Says which GPUs failed. @returns the worst status
ExitStatus tell_failures(const EachDevice& each, std::span<const Ending> endings, Console& console) {
  ExitStatus worst = ExitStatus::done;
  for (std::size_t i = 0; i < endings.size(); ++i) {
    const ExitStatus status = status_of(endings[i]);
    worst = std::max(worst, status);
    if (status == ExitStatus::done || (stop_asked() && status == ExitStatus::no_verdict)) continue;
    const GpuHere& gpu = each.gpus[i];
    const std::string log = log_of(file_of_gpu(each.rows, gpu.index)).string();
    std::error_code unknown;
    fmt::print(console.err, "gpu {} failed{}: {}; its lines above say why{}\n", gpu.index,
               gpu.uuid.empty() ? "" : fmt::format(" ({})", gpu.uuid), to_string(endings[i]),
               fs::exists(log, unknown) ? ", and " + log : "");
  }
  return worst;
}

using TimeOfWrite = std::optional<fs::file_time_type>;

/// Empty if there is no file.
TimeOfWrite written_at(const fs::path& file) {
  std::error_code missing;
  const fs::file_time_type time = fs::last_write_time(file, missing);
  return missing ? TimeOfWrite() : time;
}

/// The files of rows of this run. Without --resume, a file that no process touched is of an earlier one.
std::vector<fs::path> files_of_run(const EachDevice& each, std::span<const TimeOfWrite> before) {
  std::vector<fs::path> files;
  for (std::size_t i = 0; i < each.gpus.size(); ++i) {
    const fs::path file = file_of_gpu(each.rows, each.gpus[i].index);
    const TimeOfWrite now = written_at(file);
    if (now && (each.resume || now != before[i])) files.push_back(file);
  }
  return files;
}

using RowKey = std::tuple<std::string, std::string, std::string>;

std::set<RowKey> rows_in(const fs::path& file) {
  std::set<RowKey> keys;
  if (!is_file_beside(file, "rows")) return keys;
  for (const Row& row : read_rows(file)) keys.emplace(row.gpu_uuid, row.experiment, row.case_);
  return keys;
}

/// The merged file is rewritten from the files of the GPUs, so they must have all of its rows.
void require_all_rows(const EachDevice& each) {
  std::set<RowKey> merged = rows_in(each.rows);
  for (const GpuHere& gpu : each.gpus) {
    for (const RowKey& key : rows_in(file_of_gpu(each.rows, gpu.index))) merged.erase(key);
  }
  if (merged.empty()) return;
  const auto& [uuid, experiment, name] = *merged.begin();
  throw InputError(
      "cannot resume {}: no file of a GPU, such as {}, has {} of it, such as {}/{} of {}; name the "
      "GPUs that it was measured on, or write to another file",
      each.rows.string(), file_of_gpu(each.rows, each.gpus.front().index).string(),
      counted(std::ssize(merged), "row"), experiment, name, uuid);
}

/// @returns false if the merge failed or is incomplete
bool merge_rows(const EachDevice& each, const std::vector<fs::path>& files, Console& console) try {
  if (files.empty()) {
    fmt::print(console.err, "no GPU has rows; {} is not written\n", each.rows.string());
    return true;
  }
  if (!each.resume) keep_older_rows(each.rows, console);
  return each.merge(files, each.rows, console);
} catch (const std::exception& error) {
  fmt::print(console.err, "the rows are not merged: {}; each GPU's stay in its own file, such as {}\n",
             error.what(), files.front().string());
  return false;
}

}  // namespace

bool names_several(const std::string& choice) {
  return choice == "all" || choice.find(',') != std::string::npos;
}

void check_device_choice(const std::string& choice) {
  if (choice != "auto" && !names_several(choice)) device_number(choice, choice);
  if (names_several(choice)) static_cast<void>(listed_gpus(choice, std::vector<GpuHere>()));
}

std::vector<GpuHere> listed_gpus(const std::string& choice, const std::optional<std::vector<GpuHere>>& here) {
  if (choice == "all") {
    if (!here) {
      throw InputError("--device all: this command looks for no GPU; name numbers instead, such as 0,1,2");
    }
    return *here;
  }
  if (!names_several(choice)) return {};
  std::vector<GpuHere> gpus;
  for (const std::string_view part : split(choice, ',')) {
    const int number = device_number(part, choice);
    if (std::ranges::find(gpus, number, &GpuHere::index) != gpus.end())
      throw InputError("--device {}: GPU {} stands there twice; name each GPU once", choice, number);
    gpus.push_back(gpu_of(number, choice, here));
  }
  return here && here->empty() ? std::vector<GpuHere>() : gpus;
}

fs::path file_of_gpu(const fs::path& file, int index) {
  const fs::path whole = file.has_filename() ? file : file.parent_path();  // of FOLDER/
  return whole.parent_path() /
         fmt::format("{}.gpu{}{}", whole.stem().string(), index, whole.extension().string());
}

ExitStatus run_on_each(const EachDevice& each, Console& console) {
  if (each.resume) require_all_rows(each);
  make_folder_of(each.rows);
  const FileLock lock(each.rows);
  const std::vector<TimeOfWrite> before =
      mapped(each.gpus, [&](const GpuHere& gpu) { return written_at(file_of_gpu(each.rows, gpu.index)); });
  const StopOnSignals stop;
  const std::vector<Ending> endings = run_all(each, console);
  ExitStatus worst = tell_failures(each, endings, console);
  if (!merge_rows(each, files_of_run(each, before), console)) worst = std::max(worst, ExitStatus::no_verdict);
  if (stop_asked()) fmt::print(console.err, "interrupted\n");
  if (worst != ExitStatus::done && worst != ExitStatus::usage)
    fmt::print(console.err, "to measure what is missing: {}\n", each.resuming);
  return worst;
}

}  // namespace occbench
