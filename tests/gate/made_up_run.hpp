#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "gate/run.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {

/// A run as an H200 would record it, made up: rows and samples that a test then changes.
struct MadeUpRun {
  std::vector<Row> rows;
  std::vector<std::vector<double>> times;  ///< of each row

  std::string rows_text() const {
    std::string text = csv_header();
    for (const Row& row : rows) text += csv_record(row);
    return text;
  }

  std::string samples_text() const {
    std::string text = samples_header();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t k = 0; k < times[i].size(); ++k) {
        text += csv_record(
            Sample{rows[i].experiment, rows[i].case_, "time_us", static_cast<std::int64_t>(k), times[i][k]});
      }
    }
    return text;
  }

  RecordedRun run(const std::string& name = "run.csv") const {
    return parse_run(rows_text(), samples_text(), name);
  }

  MadeUpRun with(const std::function<void(MadeUpRun&)>& change) const {
    MadeUpRun changed = *this;
    change(changed);
    return changed;
  }

  /// All times of a row as many times as long.
  void slow_down(std::size_t row, double factor) {
    for (double& time : times[row]) time *= factor;
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
  row.device_index = 0;
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
  row.achieved_source = "counter";
  row.sm_cycles_active_avg = 800'000;
  row.time_us = 404;
  row.time_spread_pct = 0.2;
  row.check = "ok";
  row.time_status = "ok";
  row.counters_status = "ok";
  return row;
}

/// Times scatter by 0.1 % within a run, as long launches do.
inline MadeUpRun made_up_run(int cases = 4, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 1);
  MadeUpRun run;
  for (int number = 0; number < cases; ++number) {
    run.rows.push_back(made_up_row(number));
    std::vector<double>& times = run.times.emplace_back();
    for (int i = 0; i < 12; ++i) times.push_back(404 * (1 + 0.001 * noise(random)));
  }
  return run;
}

/// What one of the injected changes does to a row.
namespace injected {

inline void two_more_registers(Row& row) {
  row.registers_per_thread = 33;
  row.blocks_per_sm = 3;
  row.limiter = "registers";
  row.theoretical_pct = 75;
  row.achieved_pct = 74.8;
  row.grid_blocks = 1584;
}

inline void a_kilobyte_more(Row& row) {
  row.dynamic_shared_bytes = 33'792;
  row.blocks_per_sm = 3;
  row.limiter = "shared_memory";
  row.theoretical_pct = 75;
  row.achieved_pct = 74.8;
}

inline void larger_blocks(Row& row) {
  row.block_threads = 768;
  row.blocks_per_sm = 2;
  row.theoretical_pct = 75;
  row.achieved_pct = 74.8;
}

inline void one_slow_warp(Row& row) {
  row.achieved_pct = 53.4;
  row.achieved_elapsed_pct = 53.0;
  row.sm_cycles_active_avg = 1'600'000;
}

}  // namespace injected
}  // namespace occbench
