#pragma once

#include <functional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "gate/compare.hpp"
#include "gate/outputs.hpp"
#include "gate/run.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {

/// A run as an H200 would record it, made up: rows that a test then changes.
struct MadeUpRun {
  std::vector<Row> rows;

  std::string rows_text() const {
    std::string text = csv_header();
    for (const Row& row : rows) text += csv_record(row);
    return text;
  }

  RecordedRun run(const std::string& name = "run.csv") const {
    return parse_run(rows_text(), "", name);
  }

  MadeUpRun with(const std::function<void(MadeUpRun&)>& change) const {
    MadeUpRun changed = *this;
    change(changed);
    return changed;
  }

  void slow_down(std::size_t row, double factor) {
    *rows[row].time_us *= factor;
  }
};

/// Case `number` of a run: a hold kernel of 512 threads, 31 registers and 32 KB, in four full waves.
inline Row made_up_row(int number) {
  Row row;
  row.schema = kSchema;
  row.recorded_at = "2026-03-01T12:00:00Z";
  row.commit = "0123456789ab";
  row.host = "test";
  row.gpu = "NVIDIA H200";
  row.gpu_uuid = "GPU-1";
  row.compute_capability = "9.0";
  row.sm_count = 132;
  row.experiment = number % 2 == 0 ? "block_size" : "waves";
  row.case_ = fmt::format("spin/plain/number={}", number);
  row.kernel = "spin";
  row.variant = "plain";
  row.work = "equal:200000";
  row.block_threads = 512;
  row.grid_blocks = 2112;
  row.cluster_blocks = 1;
  row.dynamic_shared_bytes = 32'768;
  row.registers_per_thread = 31;
  row.static_shared_bytes = 0;
  row.blocks_per_sm = 4;
  row.limiter = "warps";
  row.waves = 4;
  row.theoretical_pct = 100;
  row.predicted_pct = 99.7;
  row.achieved_pct = 99.7;
  row.achieved_elapsed_pct = 99.1;
  row.achieved_spread_points = 0.1;
  row.sm_cycles_active_avg = 800'000;
  row.time_us = 404;
  row.time_spread_pct = 0.2;
  row.repetitions = 12;
  row.check = "ok";
  row.time_status = "ok";
  row.counters_status = "ok";
  return row;
}

inline MadeUpRun made_up_run(int cases = 4) {
  MadeUpRun run;
  for (int number = 0; number < cases; ++number) run.rows.push_back(made_up_row(number));
  return run;
}

/// Samples of a row whose longest SM's cycles, and with them achieved_elapsed_pct, have an interquartile range of 20 / 920.
inline std::string scattering_samples(const Row& row) {
  std::string samples = samples_header();
  constexpr double kWarpsPerSm = 64;
  const double warps = *row.achieved_elapsed_pct / 100 * kWarpsPerSm * static_cast<double>(*row.sm_count);
  for (int reading = 0; reading < 5; ++reading) {
    const double longest = 1000;
    const double warp_cycles = warps * longest * (900.0 + 10 * reading) / 920;
    samples += csv_record(Sample{row.experiment, row.case_, "sm__warps_active.sum", reading, warp_cycles});
    samples += csv_record(Sample{row.experiment, row.case_, "sm__cycles_active.max", reading, longest});
  }
  return samples;
}

/// What one of the injected changes does to a row.
namespace injected {

inline void two_more_registers(Row& row) {
  row.registers_per_thread = 33;
  row.blocks_per_sm = 3;
  row.limiter = "registers";
  row.theoretical_pct = 75;
  row.achieved_pct = 74.8;
  row.achieved_elapsed_pct = 74.4;
  row.grid_blocks = 1584;
}

inline void one_slow_warp(Row& row) {
  row.achieved_pct = 53.4;
  row.achieved_elapsed_pct = 53.0;
  row.sm_cycles_active_avg = 1'600'000;
}

}  // namespace injected

/// The run that candidates of these tests are compared with: four cases.
inline const MadeUpRun& baseline() {
  static const MadeUpRun run = made_up_run();
  return run;
}

inline Comparison against_baseline(const MadeUpRun& candidate) {
  return compare(baseline().run("baseline.csv"), candidate.run("candidate.csv"), {});
}

inline Comparison with_change(const std::function<void(MadeUpRun&)>& change) {
  return against_baseline(baseline().with(change));
}

/// Of the worst case.
inline std::string first_reason(const Comparison& comparison) {
  return reason(comparison.cases.front());
}

inline std::string subject(const Comparison& comparison) {
  return comparison.cases.front().findings.front().subject;
}

}  // namespace occbench
