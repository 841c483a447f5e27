#pragma once

#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "harness/session.hpp"

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

  /// Identity, launch, usage and theory, which need no launch.
  const Row& row() const {
    return row_;
  }

  /// A timing loop of Google Benchmark's: one launch an iteration.
  void time(benchmark::State& state);

  /// One check and one launch, and nothing else. @returns whether the result was right; a skipped case is
  /// @throws CudaError
  bool launch_once();

  /// Counters, medians, the row on disk. @param repetitions how many of the last calls of `time` count.
  /// Does its work at the first call; no row is written for a case that the end of the run cut off.
  const Row& finish(std::size_t repetitions);

 private:
  void describe();
  void begin();
  Check check_and_launch();
  void measure_time(benchmark::State& state);
  void top_up_samples();
  void summarize_times();
  void predict();
  void read_counters();
  void keep_trace();
  void add_note(std::string_view note);
  void summarize_counters(const CounterReadings& readings);
  void skip(const std::string& reason);
  void fail(const std::string& message);

  Session& session_;
  Case case_;
  const Variant* variant_;
  std::string name_;
  Row row_;
  std::vector<Sample> samples_;
  std::unique_ptr<Prepared> prepared_;
  std::vector<std::vector<double>> batches_;  ///< microseconds of each launch of each timing loop
  std::vector<double> times_;                 ///< microseconds of the launches that count
  bool begun_ = false;
  bool finished_ = false;
};

/// The case as `--occ_small` runs it: a few short blocks.
Case make_small(Case chosen);

}  // namespace occbench
