#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/child_process.hpp"
#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "record/row.hpp"

namespace occbench {

/// What `occbench run` was asked for.
struct RunOptions {
  std::string suite = "quick";
  std::string filter;
  std::string device = "auto";
  std::string counters = "auto";
  std::string out;
  std::filesystem::path benches;     ///< folder of the bench binaries; empty = that of this program
  std::string profile;               ///< as --occ_device_profile of the binaries
  std::vector<std::string> metrics;  ///< as --occ_metrics of the binaries; likewise the next three
  std::string timeline;
  std::string per_sm;
  std::string shuffle;
  bool list = false;
  bool require_gpu = false;
  bool resume = false;
};

/// A bench binary and the cases of it that this run wants.
struct Bench {
  std::filesystem::path program;
  std::vector<Row> cases;
  std::vector<std::string> notes;  ///< on the device and on what was asked for, the same from every binary
};

/// A bench binary could not say which cases it has; the message has its output.
class CannotList : public std::runtime_error {
 public:
  CannotList(ExitStatus status, const std::string& message) : std::runtime_error(message), status_(status) {}

  /// What `occbench run` ends with: the binary's own status where that says that nothing can be measured.
  ExitStatus status() const {
    return status_;
  }

 private:
  ExitStatus status_;
};

/// Asks every bench binary of the folder which cases it has of the suite and the filter.
/// @throws InputError if there are no binaries, nothing matches or one refuses what is asked for, CannotList
/// if one cannot answer
std::vector<Bench> planned_benches(const RunOptions& options);

/// The command line that goes on with a run whose rows are in `out`, for a shell.
std::string resuming_command(const RunOptions& options, const std::filesystem::path& out);

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

  /// Rows of the file, finished before or now.
  const std::vector<Row>& rows() const {
    return rows_;
  }

  /// What the binaries print goes here.
  std::filesystem::path log() const;

 private:
  bool is_complete(const Bench& bench) const;
  Ending run_process(const Bench& bench);
  void report_new_rows();
  void record_crash(const Bench& bench, Ending ending);

  const RunOptions& options_;
  std::filesystem::path out_;
  Progress& progress_;
  Console& console_;
  std::vector<Row> rows_;
  std::uintmax_t size_ = 0;
  bool something_missed_ = false;
};

}  // namespace occbench
