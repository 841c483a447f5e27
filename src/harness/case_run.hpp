#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "harness/session.hpp"
#include "predict/prediction.hpp"

namespace occbench {

/// One case on its way from declaration to row: usage, theory, prediction, check, time, counters.
///
/// Google Benchmark owns the timing and may call `time` any number of times while it looks for an iteration
/// count; all else happens once, in `begin` at the first call and in `finish` at the report.
class CaseRun {
 public:
  CaseRun(Session& session, const Experiment& of, Case chosen);

  const std::string& name() const {
    return name_;
  }  ///< experiment/case, as Google Benchmark knows it

  /// Identity, launch, usage and theory, which need no launch; after `finish` all that was measured.
  const Row& row() const {
    return row_;
  }

  /// A timing loop of Google Benchmark's: one launch an iteration.
  void time(benchmark::State& state);

  /// One check and one launch, and nothing else. @returns whether the result was right; a skipped case is
  /// @throws CudaError
  bool launch_once();

  /// Counters, medians, the row on disk; no row is written for a case that the end of the run cut off.
  /// @param repetitions how many of the last calls of `time` count
  void finish(std::size_t repetitions);

 private:
  void describe();
  void begin();
  Check check_and_launch();
  void measure_time(benchmark::State& state);
  double time_launch();
  void take_times(std::size_t repetitions);
  void top_up_samples();
  void summarize_times();
  void note_condition();
  void time_again();
  void launch_and_wait();
  void make_ready();
  void leave_first_gpc_open();
  void predict();
  void measure_in_depth();
  void read_counters();
  void keep_readings(const Counted& counted, const std::vector<std::string>& metrics);
  void read_traces();
  bool trace_stands_in();
  void summarize_traces();
  void trace_and_count();
  bool write_timeline();
  void add_note(std::string_view note);
  void add_samples(std::string_view quantity, std::span<const double> values);
  void skip(const std::string& reason);
  void fail(const std::string& message);
  void survive(std::string_view what, const std::exception& error);

  Session& session_;
  Case case_;
  const Variant* variant_;
  std::string name_;
  Row row_;
  std::vector<Sample> samples_;
  std::unique_ptr<Prepared> prepared_;
  std::vector<std::vector<double>> batches_;  ///< microseconds of each launch of each timing loop
  std::vector<double> times_;                 ///< microseconds of the launches that count
  std::uint64_t event_reasons_ = 0;           ///< of the clocks, since the case began: NVML's bits
  std::optional<std::int64_t> sm_clock_mhz_;  ///< as NVML said last
  std::optional<Prediction> prediction_;
  std::vector<std::vector<WarpRecord>> traces_;  ///< a traced launch each
  bool begun_ = false;
};

/// The case as `--occ_small` runs it: a few short blocks.
Case make_small(Case chosen);

}  // namespace occbench
