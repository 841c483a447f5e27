#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "files/input.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"

namespace occbench {

/// Rows of the smoke suite as two runs of one H200 recorded them, with those of its memory-bound cases.
struct RecordedSmoke {
  std::vector<Row> first;
  std::vector<Row> second;  ///< the same cases in the same order
};

inline std::set<std::string> smoke_names() {
  std::set<std::string> names = {"latency_hiding/reads/copy", "latency_hiding/pointer_chase/plain/memory=l1"};
  const std::string file = OCCBENCH_SOURCE_DIR "/tests/data/gate/unchanged.csv.gz";
  for (const Row& row : parse_rows(read_text(file), file)) names.insert(full_name(row));
  return names;
}

inline const RecordedSmoke& recorded_smoke() {
  static const RecordedSmoke recorded = [] {
    const std::set<std::string> names = smoke_names();
    const auto rows_of_run = [&](const char* file) {
      std::vector<Row> rows = read_rows(std::string(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/") + file);
      std::erase_if(rows, [&](const Row& row) {
        const bool reads = row.case_.starts_with("reads/bytes_16_in_flight_4/") || row.kernel == "atomics";
        return !reads && !names.contains(full_name(row));
      });
      return rows;
    };
    return RecordedSmoke{rows_of_run("full.csv"), rows_of_run("repeat.csv")};
  }();
  return recorded;
}

/// What a row's time follows.
inline bool follows_sm_clock(const Row& row) {
  return row.kernel != "reads" && row.kernel != "register_pressure" && row.kernel != "atomics";
}
inline bool is_memory_bound(const Row& row) {
  return row.kernel == "reads" && row.throughput.value_or(0) > 4e12;
}

/// A fault puts into a copied row what it would have measured.
using Fault = std::function<void(Row&)>;

inline void slow_clock(Row& row) {
  row.sm_clock_mhz = row.sm_clock_mhz.value_or(0) * 0.99;
  if (follows_sm_clock(row) && row.time_us) *row.time_us /= 0.99;
}

inline void slow_memory(Row& row) {
  if (is_memory_bound(row)) *row.time_us /= 0.97;
}

/// Full waves need 132/131 of the time.
inline void one_sm_less(Row& row) {
  row.sm_count = 131;
  if (!follows_sm_clock(row) || row.waves.value_or(0) < 1 || !row.time_us) return;
  *row.time_us *= 132.0 / 131;
  *row.sm_cycles_active_max *= 132.0 / 131;
}

/// One that the driver counts and that gets no blocks.
inline void one_hidden_sm_less(Row& row) {
  const auto told = row.sm_count;
  one_sm_less(row);
  row.sm_count = told;
}

/// Of 132 SMs 18 are half a percent slower. A launch on all SMs waits for them.
inline void one_slow_gpc(Row& row) {
  row.sm_clock_mhz = row.sm_clock_mhz.value_or(0) * (1 - 0.005 * 18 / 132);
  if (follows_sm_clock(row) && row.grid_blocks >= row.sm_count && row.time_us) *row.time_us *= 1.005;
}

/// GPUs of one model as copies of recorded rows. Each case is from one of two runs. Each GPU has a clock of its
/// own, with the standard deviation of 0.05 % that five H200s show, and memory with 0.1 %.
class MadeUpFleet {
 public:
  explicit MadeUpFleet(unsigned seed) : generator_(seed) {}

  /// A GPU's rows. @param fault  of it; empty = none
  std::vector<Row> gpu(int number, const Fault& fault = {}) {
    const double clock = std::exp(0.0005 * normal());
    const double memory = std::exp(0.001 * normal());
    std::vector<Row> rows;
    for (std::size_t i = 0; i < recorded_smoke().first.size(); ++i) {
      Row row = generator_() % 2 == 0 ? recorded_smoke().first[i] : recorded_smoke().second[i];
      row.gpu_uuid = fmt::format("GPU-{:05}", number);
      row.host = fmt::format("node{}", number / 8);
      if (row.sm_clock_mhz) *row.sm_clock_mhz *= clock;
      if (row.time_us && follows_sm_clock(row)) *row.time_us /= clock;
      if (row.time_us && is_memory_bound(row)) *row.time_us *= memory;
      if (fault) fault(row);
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  /// About normal: twelve uniform numbers, so that every standard library draws the same.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(generator_()) / 4294967296.0;
    return sum;
  }

  std::mt19937 generator_;
};

inline std::string text_of(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) text += csv_record(row);
  return text;
}

}  // namespace occbench
