#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../record/packed_runs.hpp"
#include "made_up_fleet.hpp"

namespace occbench {

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

}  // namespace occbench
