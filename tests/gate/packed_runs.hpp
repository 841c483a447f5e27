#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "files/input.hpp"
#include "gate/run.hpp"
#include "record/csv.hpp"

namespace occbench {

/// The texts of several runs that were packed as one file of tests/data, by its first column, which is taken away.
inline std::map<std::string, std::string> unpack(const std::string& name) {
  const std::string file = std::string(OCCBENCH_SOURCE_DIR "/tests/data/") + name;
  CsvTable packed = parse_csv(read_text(file), file);
  packed.names.erase(packed.names.begin());
  std::map<std::string, std::string> runs;
  for (std::vector<std::string>& cells : packed.rows) {
    const std::string run = cells.front();
    cells.erase(cells.begin());
    const auto [text, is_new] = runs.try_emplace(run);
    if (is_new) text->second = csv_record(packed.names);
    text->second += csv_record(cells);
  }
  return runs;
}

/// By run. @param name  "gate/none": NAME.csv.gz and, where they were kept, NAME.samples.csv.gz
inline std::map<std::string, RecordedRun> recorded_runs(const std::string& name) {
  std::map<std::string, std::string> samples;
  if (std::filesystem::exists(std::string(OCCBENCH_SOURCE_DIR "/tests/data/") + name + ".samples.csv.gz"))
    samples = unpack(name + ".samples.csv.gz");
  std::map<std::string, RecordedRun> runs;
  for (const auto& [run, rows] : unpack(name + ".csv.gz")) {
    runs[run] = parse_run(rows, samples[run], run + ".csv");
    EXPECT_EQ(runs[run].stray_samples, "") << name;
  }
  return runs;
}

}  // namespace occbench
