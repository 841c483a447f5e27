#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "files/output.hpp"
#include "harness/options.hpp"
#include "record/row.hpp"

namespace occbench {

/// Passes Google Benchmark its flags. @param program  its name; it and `options` must outlive the benchmarks
/// @throws InputError for a flag that Google Benchmark does not know
void initialize_google_benchmark(const std::string& program, const Options& options);

/// Lists cases as Google Benchmark lists its tests, one per line.
void list_tests(std::span<const std::string> names);

/// Google Benchmark's results of one case: its repetitions, and aggregates of several.
using Runs = std::vector<benchmark::BenchmarkReporter::Run>;

/// Timed launches of a case.
struct TimedLaunches {
  std::vector<double>
      microseconds;  ///< of each launch of the repetitions, not of the search for their length
  Runs runs;
};

/// Google Benchmark, one case at a time. It decides how many launches time a case, and prints. It gets a case's
/// results when all of the case is known.
class GoogleBenchmark {
 public:
  /// Begins the reports. @param widest_name  characters of the longest name of a case
  /// @throws InputError if their file cannot be written
  GoogleBenchmark(const Reports& reports, std::size_t widest_name);
  GoogleBenchmark(const GoogleBenchmark&) = delete;
  GoogleBenchmark& operator=(const GoogleBenchmark&) = delete;

  /// Times a case by its flags. @throws what `launch` throws
  /// @param launch  makes one launch and returns its microseconds
  /// @param stopped  whether to end early
  TimedLaunches time(const std::string& name, const std::function<double()>& launch,
                     const std::function<bool()>& stopped);

  /// Results of a case without times.
  Runs without_times(const std::string& name, const std::string& reason);

  /// Prints the runs of a case with numbers of its row as user counters: on the console three occupancies and the
  /// spread of the times, in JSON all of them.
  void report(Runs runs, const Row& row);

  /// Ends the reports and gives their file its name. @throws InputError if the disk is full
  void finish();

 private:
  struct Output {
    benchmark::BenchmarkReporter* reporter;
    std::vector<std::string_view> columns;  ///< shown as user counters
    bool aggregates_only;
  };

  std::optional<OutputFile> file_;
  std::ostringstream text_;  ///< text of the file
  std::unique_ptr<benchmark::BenchmarkReporter> file_reporter_;
  std::vector<Output> outputs_;
  std::int64_t reported_ = 0;  ///< number of cases
};

}  // namespace occbench
