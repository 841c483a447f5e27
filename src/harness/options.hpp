#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "axes/point.hpp"
#include "gpu/device.hpp"
#include "gpu/kernel.hpp"
#include "harness/source_family.hpp"
#include "predict/device_profile.hpp"

namespace occbench {

/// Whether a measuring program reads hardware counters.
enum class CounterMode {
  automatic,  ///< if they can be read; otherwise a row says why
  off,        ///< not even tried, as under another profiler
  require,    ///< the program ends with status 2 if they cannot be read
};

/// Options of Google Benchmark's reports: the flags that it cannot carry out itself while it gets one case after
/// another.
struct Reports {
  std::string format = "console";   ///< --benchmark_format: console, json or csv
  std::string out;                  ///< --benchmark_out, a file; empty = none
  std::string out_format = "json";  ///< --benchmark_out_format
  bool display_aggregates_only = false;
  int repetitions = 1;  ///< --benchmark_repetitions, also passed on
};

/// Configurations and kernel of `occbench sweep`.
struct SweepOptions {
  std::string family;                   ///< one of the experiment's, or empty if there is a source
  std::optional<SourceOptions> source;  ///< a kernel in a file
  std::vector<GivenAxis> axes;
  Combine combine = Combine::product;
  std::vector<std::string> where;  ///< expressions that a configuration must meet, all of them
};

/// Options of a measuring program: its own flags (`--occ_*`), and Google Benchmark's, which it passes on.
struct Options {
  Suite suite = Suite::quick;
  std::string device = "auto";
  std::optional<std::filesystem::path> csv;  ///< rows go here, samples beside it
  bool resume = false;                       ///< keep the rows of `csv` and run the missing cases
  std::optional<std::filesystem::path>
      cases;  ///< file with full names of cases, one per line: only those run
  CounterMode counters = CounterMode::automatic;
  std::optional<int> readings;                    ///< counted launches per case; empty = readings_of()
  std::vector<std::string> metrics;               ///< more hardware counters, one column each
  std::optional<std::filesystem::path> timeline;  ///< folder for occupancy over time, one file per case
  std::optional<std::filesystem::path> per_sm;    ///< folder for the activity of each SM, one file per case
  std::optional<std::uint64_t> shuffle;           ///< seed of a random order of the cases
  std::optional<DeviceProfile> device_profile;    ///< for predictions; empty = the best known one of the GPU
  bool profile = false;  ///< check and launch each case once, without timing or counting, for other profilers
  bool fastest = false;  ///< race the cases instead of measuring all
  std::optional<SweepOptions> sweep;               ///< replaces the experiment's cases
  std::optional<Device> planned_for;               ///< list cases for this device, without one
  bool list = false;                               ///< print the cases as JSON lines and end
  std::optional<std::filesystem::path> list_file;  ///< list them as rows in this new file instead
  bool describe = false;  ///< print name, claim and source as a JSON line and end; needs no GPU
  bool small = false;     ///< small grids and short work, for compute-sanitizer
  bool help = false;
  std::optional<int> progress_fd;  ///< file descriptor for progress messages (progress_lines.hpp)
  Reports reports;
  bool list_tests = false;                    ///< --benchmark_list_tests
  std::vector<std::string> google_benchmark;  ///< the arguments that are not ours, in order, in the form that
                                              ///< this version of Google Benchmark wants
};

/// The requested number, else 8 for the full suite, whose counters take three passes on GH100, and 16 for the others.
int readings_of(const Options& options);

/// @throws InputError for a flag of ours that does not exist or has an invalid value, naming the nearest flag.
Options parse_options(const std::vector<std::string>& arguments);

/// The text of `--help` about our flags.
std::string options_help();

}  // namespace occbench
