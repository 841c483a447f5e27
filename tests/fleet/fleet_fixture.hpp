#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../cli/run_command.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
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

inline const std::map<std::string, Fault> kFaults = {{"sm_clock", slow_clock},
                                                     {"bandwidth", slow_memory},
                                                     {"sm_count", one_sm_less},
                                                     {"sm_cycles", one_hidden_sm_less},
                                                     {"gpc_clock", one_slow_gpc}};

inline void slow_memory_of_an_h100(Row& row) {
  if (row.kernel == "reads" && row.throughput.value_or(0) > 2e12) *row.time_us /= 0.97;
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

/// The runs of a file under tests/data whose first column, `run`, names them.
inline std::map<std::string, std::vector<Row>> packed_runs(const std::string& name) {
  const std::string file = (std::filesystem::path(OCCBENCH_SOURCE_DIR) / "tests/data" / name).string();
  std::map<std::string, std::vector<Row>> runs;
  for (Row& row : parse_rows(read_text(file), file)) {
    const std::string run = row.extra.front().second;
    row.extra.clear();
    runs[run].push_back(std::move(row));
  }
  return runs;
}

/// Smoke runs of one build on one H100, one after another.
inline constexpr const char* kRepeats = "fleet/h100_repeats.csv.gz";

/// Smoke runs of one build on several H100s: seventeen on one, three, three, one and one on the others.
inline constexpr const char* kGpus = "fleet/h100_gpus.csv.gz";

/// Twenty of that build on one H200, one after another.
inline constexpr const char* kH200 = "fleet/h200_repeats.csv.gz";

/// Each run of a GPU as a GPU of its own.
inline std::vector<Row> runs_as_gpus(const std::string& file, const std::string& begins_with) {
  std::vector<Row> all;
  for (auto& [run, rows] : packed_runs(file)) {
    if (!run.starts_with(begins_with)) continue;
    for (Row& row : rows) {
      row.gpu_uuid = "GPU of run " + run;
      all.push_back(std::move(row));
    }
  }
  return all;
}

inline std::size_t gpus_of(const std::vector<Row>& rows) {
  std::set<std::string> gpus;
  for (const Row& row : rows) gpus.insert(row.gpu_uuid);
  return gpus.size();
}

inline std::map<std::string, std::vector<Row>> by_gpu(const std::vector<Row>& rows) {
  std::map<std::string, std::vector<Row>> gpus;
  for (const Row& row : rows) gpus[row.gpu_uuid].push_back(row);
  return gpus;
}

/// The first run of each H100.
inline std::vector<Row> five_h100s() {
  std::vector<Row> all;
  for (const auto& [run, rows] : packed_runs(kGpus)) {
    if (run.ends_with("-01")) all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

/// Smoke runs of another build. GPU-8a3eeee9 was held out from all figures that GPUs are named by.
inline std::vector<Row> three_more_h100s() {
  std::vector<Row> all;
  for (const auto& [run, rows] : packed_runs("gate/h100_gpus.csv.gz")) {
    if (run.ends_with("-smoke")) all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

/// A row for each GPU and case, and copies of one of the GPUs with a fault.
inline std::vector<Row> five_recorded_h200s(const std::map<std::string, Fault>& copies, int of = 0) {
  std::vector<Row> all;
  int gpu = -1;
  for (const char* file : {"results/nvidia-h200/calibration.csv", "tests/data/h200_calibration/gpu_1.csv",
                           "tests/data/h200_calibration/gpu_2.csv", "tests/data/h200_calibration/gpu_3.csv",
                           "tests/data/h200_calibration/gpu_4.csv"}) {
    ++gpu;
    for (Row& row : read_rows(std::filesystem::path(OCCBENCH_SOURCE_DIR) / file)) {
      row.commit = "one";
      all.push_back(row);
      for (const auto& [name, fault] : copies) {
        if (gpu != of) continue;
        Row copy = row;
        copy.gpu_uuid = name;
        fault(copy);
        all.push_back(std::move(copy));
      }
    }
  }
  return all;
}

using Causes = std::map<std::string, std::set<std::string>>;  // by UUID

/// Runs `occbench fleet` on files of rows in a folder that goes with the test.
class Fleet : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& rows) {
    const std::filesystem::path file = folder_.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << csv_header() << rows;
    return file.string();
  }

  ExitStatus fleet(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "fleet");
    const Outcome outcome = run_command(arguments);
    out_ = outcome.out;
    err_ = outcome.err;
    return outcome.status;
  }

  /// What `occbench fleet --format json` names, notes aside.
  Causes causes_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--format", "json"});
    fleet(arguments);
    Causes causes;
    std::istringstream lines(out_);
    for (std::string line; std::getline(lines, line);) {
      const auto object = nlohmann::json::parse(line);
      for (const auto& finding : object["findings"]) {
        if (!finding["note"].get<bool>())
          causes[object["gpu_uuid"]].insert(finding["cause"].get<std::string>());
      }
    }
    return causes;
  }

  /// A fleet of so many GPUs with faults of some of them.
  std::string fleet_file(unsigned seed, int gpus, const std::map<int, Fault>& faults) {
    MadeUpFleet fleet(seed);
    std::string text;
    for (int number = 0; number < gpus; ++number) {
      const auto fault = faults.find(number);
      text += text_of(fleet.gpu(number, fault == faults.end() ? Fault() : fault->second));
    }
    return write(fmt::format("fleet-{}-{}.csv", seed, gpus), text);
  }

  TemporaryFolder folder_;
  std::string out_, err_;
};

}  // namespace occbench
