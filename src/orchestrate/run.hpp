#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "orchestrate/console.hpp"
#include "orchestrate/plan.hpp"

// Measuring programs as child processes: their progress, their rows, and what becomes of one that dies.
namespace occbench {

/// Where the programs that measure a file of rows print.
std::filesystem::path log_of(const std::filesystem::path& rows);

/// "experiment/case" of each.
std::set<std::string> names_of(std::span<const CaseRecord> cases);

/// Leaves out cases of other names.
void keep_named(std::vector<CaseRecord>& cases, const std::set<std::string>& names);

/// The file of rows that the user names, or a new one in results/local/. @param what ends its name
std::filesystem::path output_file(const std::string& out, const std::string& what);

/// Renames rows that are there already, and says so, before a new run takes their name.
void keep_older_rows(const std::filesystem::path& out, Console& console);

/// Measures the cases of programs, one program after another, each in a process that is started again after a
/// case that ended it, until every case has its row. Shows each row as it comes, then says what is not as it
/// should be. The user can end it with Ctrl-C.
/// @param to_go_on  what to do after an interrupt, in a sentence
/// @returns no_verdict where something that was asked for was not measured
/// @throws InputError if the file cannot be written, or resumed, or a program refuses what it is asked for
ExitStatus measure_benches(const RunOptions& options, const std::vector<Bench>& benches,
                           const std::filesystem::path& out, const std::string& to_go_on, Console& console);

/// The cases of the recorded rows `options.rehearse` with their recorded predictions in place of measurements, a row after
/// another as a run writes them: filter, output and resume as of a run; `device` is a number or auto. The scripts of a cluster run so where there
/// is no GPU. Rows have time_status and counters_status `simulated`.
/// @returns no_verdict if the run was stopped
ExitStatus rehearse(const RunOptions& options, Console& console);

/// What came of a program that measures launches which are part of no suite.
struct ToolRun {
  ExitStatus status = ExitStatus::done;
  std::vector<CaseRecord> cases;
  std::vector<Sample> samples;
};

/// Measures its launches in a process of their own, so that a fault of one ends no more than that. What the
/// process prints is shown where it fails. The user can end it with Ctrl-C.
/// @param rows  the rows go here; empty: they are not kept
/// @returns what it ended with, no_verdict where it was interrupted; what it measured only where it is done
ToolRun run_tool(const std::filesystem::path& program, std::vector<std::string> arguments,
                 const std::filesystem::path& rows, Console& console);

/// Two builds to be run in turn on one machine.
struct PairPlan {
  std::filesystem::path build_a;  ///< the baseline's build folder: has bin/occbench
  std::filesystem::path build_b;
  std::filesystem::path folder;  ///< the runs are kept here: 01-a.csv, 02-b.csv, 03-b.csv, ...
  int pairs = 6;
  std::vector<std::string> arguments;  ///< of `occbench run`, for both: --suite, --filter, ...
};

/// Files of rows that a pair of builds wrote, or why not.
struct PairedRuns {
  std::vector<std::filesystem::path> a;
  std::vector<std::filesystem::path> b;
  std::string failure;  ///< which run failed; empty if none did
};

/// Runs A B, B A, A B, ...: what drifts steadily meets both alike. Each run is `bin/occbench run ARGUMENTS
/// --out FILE`, with its messages in a log beside FILE. One that ends with 2 (some row was not
/// measured) counts; any other failure ends the comparison.
/// @throws InputError if a build has no bin/occbench or the folder cannot be written.
PairedRuns run_pairs(const PairPlan& plan, std::ostream& progress);

}  // namespace occbench
