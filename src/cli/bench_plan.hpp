#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/device_list.hpp"
#include "predict/interval.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// What `occbench run` was asked for.
struct RunOptions {
  std::string suite = "quick";
  std::string filter;
  std::string shard;     ///< "I/N": that part of the cases; empty = all
  std::string rehearse;  ///< file of rows whose cases are predicted instead of measured
  std::string device = "auto";
  std::string counters = "auto";
  std::string out;
  std::filesystem::path benches;     ///< folder of the bench binaries; empty = that of this program
  std::string profile;               ///< as --occ_device_profile of the binaries
  std::vector<std::string> metrics;  ///< as --occ_metrics of the binaries; likewise the next three
  std::string timeline;
  std::string per_sm;
  std::string shuffle;
  std::vector<std::filesystem::path> programs;  ///< instead of the bench binaries of the folder
  std::vector<std::string> sweep;               ///< further arguments of theirs: those of a sweep
  bool calibrate = false;                       ///< first make a profile of the GPU where there is none
  bool list = false;
  bool require_gpu = false;
  bool resume = false;
  bool at_once = kAtOnce;  ///< where `device` names several GPUs
};

/// Percent of the device's warps, by one simulation of a case.
struct ListedPrediction {
  double pct = 0;
  std::optional<Interval> range;  ///< by a generic profile
};

/// A bench binary and the cases of it that this run wants.
struct Bench {
  std::filesystem::path program;
  std::vector<CaseRecord> cases;                      ///< with what is known of them before a launch
  std::string filter;                                 ///< as case_filter() reads it: what of them is wanted
  std::map<std::string, ListedPrediction> predicted;  ///< by full name, where the list was asked for them
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

/// What a binary is told by every command: when it lists its cases too, so that a wrong value is refused
/// before a file is touched.
std::vector<std::string> common_arguments(const RunOptions& options);

/// The bench binaries of a folder; of that of this program where it is empty.
/// @throws InputError if there are none
std::vector<std::filesystem::path> bench_programs(const std::filesystem::path& folder);

/// Asks every program which cases it has of the suite and the filter.
/// @throws InputError if there are no binaries, nothing matches or one refuses what is asked for, CannotList
/// if one cannot answer
std::vector<Bench> planned_benches(const RunOptions& options);

/// The command line that goes on with a run whose rows are in `out`, for a shell.
std::string resuming_command(const RunOptions& options, const std::filesystem::path& out);

/// In quotes where a shell could take it for something else.
std::string for_shell(const std::string& text);

}  // namespace occbench
