#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "cli/bench_plan.hpp"
#include "cli/child_process.hpp"
#include "cli/progress.hpp"

namespace occbench {

/// Runs bench binaries, each in a process of its own and again after each case that ended its process, until
/// every case has its row.
class BenchRunner {
 public:
  /// @param out a file of rows that exists; what it has already is not run
  BenchRunner(const RunOptions& options, std::filesystem::path out, Progress& progress, Console& console);

  void run(const Bench& bench);

  /// Whether a binary said that something that was asked for was not measured, and be it a timeline.
  bool something_missed() const {
    return something_missed_;
  }

  /// The cases that the file has, finished before or now.
  const std::vector<CaseRecord>& cases() const {
    return cases_;
  }

  /// What the binaries print goes here.
  std::filesystem::path log() const;

 private:
  bool has(const CaseRecord& wanted) const;
  bool is_complete(const Bench& bench) const;
  Ending run_process(const Bench& bench);
  void hear(const std::string& line);
  void read_file();
  void record_crash(const Bench& bench, Ending ending);

  const RunOptions& options_;
  std::filesystem::path out_;
  Progress& progress_;
  Console& console_;
  std::vector<CaseRecord> cases_;  ///< of the file, as it was when the last process had ended
  std::set<std::string>
      reported_;         ///< full names of cases that are in the file and were shown, or were there
  std::string running_;  ///< the case that has begun and has no row yet, empty where none
  bool something_missed_ = false;
};

}  // namespace occbench
