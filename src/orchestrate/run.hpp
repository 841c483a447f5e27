#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "orchestrate/console.hpp"
#include "orchestrate/plan.hpp"

// Measuring programs as child processes: their progress, their rows, and recovery from one that dies.
namespace occbench {

/// Log of the programs that measure a file of rows.
std::filesystem::path log_of(const std::filesystem::path& rows);

/// "experiment/case" of each case.
std::set<std::string> names_of(std::span<const CaseRecord> cases);

/// Leaves out cases of other names.
void keep_named(std::vector<CaseRecord>& cases, const std::set<std::string>& names);

/// The file of rows that the user names, or a new one in results/local/. @param what  end of its name
std::filesystem::path output_file(const std::string& out, const std::string& what);

/// Renames existing rows, and says so, before a new run takes their name.
void keep_older_rows(const std::filesystem::path& out, Console& console);

/// Measures the cases of programs, one program after another, each in a process of its own. The process is restarted
/// after a case that ended it, until every case has its row. Shows each row as it arrives, then reports problems. The
/// user can end it with Ctrl-C.
/// @param to_go_on  how to go on after an interrupt, in a sentence
/// @returns no_verdict if something requested was not measured
/// @throws InputError if the file cannot be written or resumed, or a program refuses an option
ExitStatus measure_benches(const RunOptions& options, const std::vector<Bench>& benches,
                           const std::filesystem::path& out, const std::string& to_go_on, Console& console);

/// Writes the cases of the recorded rows `options.rehearse`, with their recorded predictions in place of
/// measurements, one row after another like a run. Filter, output and resume are as for a run; `device` is a number
/// or auto. Cluster scripts can run this way without a GPU. Rows have time_status and counters_status `simulated`.
/// @returns no_verdict if the run was stopped
ExitStatus rehearse(const RunOptions& options, Console& console);

/// Result of a program that measures launches outside the suites.
struct ToolRun {
  ExitStatus status = ExitStatus::done;
  std::vector<CaseRecord> cases;
  std::vector<Sample> samples;
};

/// Measures its launches in a process of their own, so that a fault of one ends only that process. The output of the
/// process is shown if it fails. The user can end it with Ctrl-C.
/// @param rows  file for the rows; empty: they are not kept
/// @returns its status, no_verdict if it was interrupted; measurements only if it is done
ToolRun run_tool(const std::filesystem::path& program, std::vector<std::string> arguments,
                 const std::filesystem::path& rows, Console& console);

/// Two builds to run alternately on one machine.
struct PairPlan {
  std::filesystem::path build_a;  ///< the baseline's build folder: has bin/occbench
  std::filesystem::path build_b;
  std::filesystem::path folder;  ///< the runs are kept here: 01-a.csv, 02-b.csv, 03-b.csv, ...
  int pairs = 6;
  std::vector<std::string> arguments;  ///< of `occbench run`, for both: --suite, --filter, ...
};

/// Files of rows that a pair of builds wrote, or the reason for a failure.
struct PairedRuns {
  std::vector<std::filesystem::path> a;
  std::vector<std::filesystem::path> b;
  std::string failure;  ///< which run failed; empty if none did
};

/// Runs A B, B A, A B, ..., so that a steady drift affects both alike. Each run is `bin/occbench run ARGUMENTS --out
/// FILE`, with its messages in a log beside FILE. A run that ends with 2 (some row was not measured) counts; any
/// other failure ends the comparison.
/// @throws InputError if a build has no bin/occbench or the folder cannot be written.
PairedRuns run_pairs(const PairPlan& plan, std::ostream& progress);

}  // namespace occbench
