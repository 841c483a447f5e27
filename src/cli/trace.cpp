#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/ostream.h>

#include "cli/command.hpp"
#include "cli/program_table.hpp"
#include "entries/entry_paths.hpp"
#include "files/lock.hpp"
#include "files/output.hpp"
#include "orchestrate/run.hpp"
#include "orchestrate/traced_command.hpp"
#include "orchestrate/waiting.hpp"
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

namespace {

struct TraceOptions {
  TraceCommand command;
  std::vector<std::string> misplaced;  ///< words of a command before --
  ImportOptions import_from;
  bool merge = false;
  std::string out;
  std::string profile;
  std::size_t top = 20;
};

/// The profile that the user names, if any. @throws InputError if there is none of that name
std::optional<DeviceProfile> profile_of(const TraceOptions& options) {
  return options.profile.empty() ? std::nullopt : std::optional(find_profile(options.profile));
}

/// What happens to existing rows.
enum class Older {
  kept,     ///< under another name, once the new ones are whole
  replaced  ///< they are of the same processes
};

/// Adds predictions and provenance, writes the files and prints the table.
void finish(ProgramTable& table, const fs::path& out, const TraceOptions& options, Older older,
            Console& console) {
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
    if (record.provenance.host.empty()) record.provenance.host = host_name();
  }
  write_program(out, table.cases, table.entries, [&] {
    if (older == Older::kept) keep_older_rows(out, console);
  });
  const auto has_region = [](const ProgramEntry& entry) { return !entry.kernel.region.empty(); };
  if (std::ranges::any_of(table.entries, has_region)) print_regions(table.cases, console.out);
  print_program(table.cases, options.top, console.out);
  fmt::print(console.out, "Rows: {}   samples: {}\n", out.string(), samples_path(out).string());
}

/// How much of the program the samples cover.
void print_windows(const WindowTotals& windows, Console& console) {
  const double active_ns = windows.attributed_ns + windows.unattributed_ns;
  if (windows.windows == 0) return;
  fmt::print(console.out, "Sampled: {} windows, {} thrown away", windows.windows, windows.thrown_away);
  if (active_ns > 0) {
    fmt::print(
        console.out,
        "; {:.1f} % of the GPU's active time in them is of launches that could be told apart, the rest "
        "of kernels that overlapped, fit several launches or are in no row",
        100 * windows.attributed_ns / active_ns);
  }
  fmt::print(console.out, "\n");
}

ExitStatus import_trace(const TraceOptions& options, const fs::path& out, Console& console) {
  std::vector<fs::path> inputs = {options.import_from.file};
  if (!options.profile.empty()) inputs.emplace_back(options.profile);
  require_not_input(out, inputs);
  ProgramTable table = import_torch_trace(options.import_from, console.err);
  const auto wanted = checked_kernel_filter(options.command.kernels);
  for (std::size_t i = table.cases.size(); i-- > 0;) {
    if (wanted(table.cases[i].identity.kernel)) continue;
    table.cases.erase(table.cases.begin() + static_cast<std::ptrdiff_t>(i));
    table.entries.erase(table.entries.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (table.cases.empty()) throw InputError("--kernels {} matches no kernel", options.command.kernels);
  finish(table, out, options, Older::kept, console);
  return ExitStatus::done;
}

/// Merges and reports the processes' files. @returns the files that were read
std::vector<fs::path> merge_and_report(const std::vector<fs::path>& files, const TraceOptions& options,
                                       const fs::path& out, Older older, Console& console) {
  MergedProcesses merged = merged_processes(files, console.err);
  if (merged.entries.empty()) return merged.files;
  ProgramTable table;
  table.entries = std::move(merged.entries);
  table.cases = program_cases(table.entries);
  const std::string driver = nvidia_module_version();
  for (CaseRecord& record : table.cases) record.provenance.driver = driver;
  finish(table, out, options, older, console);
  print_windows(merged.windows, console);
  if (!options.command.timeline.empty()) {
    const std::size_t windows = write_timeline(options.command.timeline, merged.files);
    fmt::print(console.out, "Timeline: {}, of {} windows\n", options.command.timeline.string(), windows);
  }
  return merged.files;
}

/// Merges the files of an interrupted trace; some of its processes may still write.
void merge(const TraceOptions& options, const fs::path& out, Console& console) {
  const std::vector<fs::path> files = entry_files(out);
  if (files.empty()) {
    const fs::path of_any = fs::path(out).replace_extension(".PID.entries");
    throw InputError("there is nothing to merge: no {} of a trace --out {}", of_any.string(), out.string());
  }
  merge_and_report(files, options, out, Older::replaced, console);
}

/// Keeps rows of an earlier trace that was cut off before they were merged.
void merge_earlier(const TraceOptions& options, const fs::path& out, Console& console) {
  const std::vector<fs::path> files = entry_files(out);
  if (files.empty()) return;
  fmt::print(console.err,
             "occbench trace: an earlier trace was cut off; its processes' files are merged first\n");
  remove_entry_files(merge_and_report(files, options, out, Older::kept, console));
}

ExitStatus trace(TraceOptions options, Console& console) {
  options.command.regions = options.command.regions || !options.command.only.empty();
  if (!options.misplaced.empty())
    throw InputError("'{}': a command stands behind --: occbench trace [OPTION...] -- COMMAND",
                     options.misplaced.front());
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
  static_cast<void>(output_target(samples_path(out)));
  const FileLock lock(out);
  if (importing) return import_trace(options, out, console);
  if (options.merge) {
    merge(options, out, console);
    return ExitStatus::done;
  }
  check(options.command);
  if (fs::weakly_canonical(options.command.timeline) == fs::weakly_canonical(out))
    throw InputError("--timeline and --out are both {}: name two files", out.string());
  merge_earlier(options, out, console);
  // The command's own status, even if reading its trace fails. Rows of an earlier run must not pass for this run's.
  const ExitStatus status =
      run_traced(options.command, program_metrics(), out, console, [&] { keep_older_rows(out, console); });
  try {
    remove_entry_files(merge_and_report(entry_files(out), options, out, Older::replaced, console));
  } catch (const std::exception& error) {
    fmt::print(console.err,
               "occbench trace: {}; the processes' files stay: occbench trace --merge --out {}\n",
               error.what(), out.string());
  }
  return status;
}

}  // namespace

Action declare_trace(CLI::App& parser, std::vector<std::string> words) {
  const auto options = std::make_shared<TraceOptions>();
  TraceCommand& command = options->command;
  command.words = std::move(words);
  add_value(parser, "--out", "FILE.csv", options->out,
            "rows go here, samples beside it (default: a new file in results/local/)");
  CLI::Option* const counters =
      parser
          .add_option(
              "--counters", command.counters,
              "launches to count of each kernel and configuration: N, or off; sampled: none, the GPU is "
              "sampled while the program goes on, kernels of CUDA graphs too; auto: 1 (and 2 more once "
              "counting has taken at most 2 % of the time) for 3 s of launching, then as sampled")
          ->capture_default_str()
          ->type_name("auto|sampled|off|N");
  add_value(parser, "--kernels", "RE", command.kernels,
            "count only kernels whose name this extended regular expression is found in; with "
            "--import, keep only those");
  parser.add_flag(
      "--regions", command.regions,
      "a row for each region and kernel: regions are ranges of NVTX, or of occbench.region in Python");
  add_value(parser, "--only", "REGION", command.only,
            "take counters and samples in this region alone (`forward`, or `step/forward`); its rows "
            "are those of --regions");
  add_value(parser, "--timeline", "FILE.json", command.timeline,
            "a Chrome trace of the sampling windows, for Perfetto: occupancy, resident blocks and "
            "kernels over time; --counters is sampled then, unless it is given");
  add_number(parser, "--after", command.after,
             "launches of a process before the first is counted (default: until it repeats itself); "
             "cudaProfilerStart begins at once");
  add_value(parser, "--import", "FILE.json[.gz]", options->import_from.file,
            "a Chrome trace of torch.profiler instead of a command")
      ->excludes("--counters")
      ->excludes("--only")
      ->excludes("--regions")
      ->excludes("--timeline")
      ->excludes("--after");
  add_number(parser, "--clock-mhz", options->import_from.clock_mhz, "SM clock while it was recorded", 1, 1e5)
      ->needs("--import");
  parser.add_flag("--merge", options->merge,
                  "merge what the processes of a trace that was cut off wrote beside --out");
  add_value(parser, "--profile", "NAME|FILE", options->profile,
            "device profile to predict with, a built-in one or a file (default: the best known of the GPU)");
  add_number(parser, "--top", options->top,
             fmt::format("how many kernels to print, 0 = all (default: {})", options->top));
  parser.add_option("COMMAND", options->misplaced, "behind --: what to run, with its arguments");
  parser.footer(
      "Exit status: that of COMMAND, 128 + N if signal N ended it; 64 wrong use, or no such command.");
  return [options, counters](Console& console) {
    if (!options->command.timeline.empty() && counters->empty()) options->command.counters = kTraceSampled;
    return trace(*options, console);
  };
}

}  // namespace occbench
