#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/measure_case.hpp"
#include "harness/plan.hpp"
#include "occupancy/statuses.hpp"
#include "record/csv.hpp"

// `occbench sweep --fastest`: the fastest configuration of a sweep, without measuring all.
namespace occbench {

/// Marks as skipped, before any is launched, configurations with the same machine code, launch and arguments as another.
void leave_out_same_code(std::vector<PlannedCase>& cases);

/// Launches of cases that have no row yet: FILE.csv.race, a file of rows with its samples. A case has a row there for each time
/// that it was launched or checked.
class RaceFile {
 public:
  /// @param rows_file  of the race
  /// @param cases      that have no row
  /// @throws InputError as RunFile and its require_same_origin() do
  RaceFile(const std::filesystem::path& rows_file, std::span<const PlannedCase> cases);

  /// What an earlier race that was stopped knew of a case.
  struct Kept {
    CaseRecord record;
    std::vector<double> times;  ///< microseconds
  };
  /// nullptr where it was not launched.
  const Kept* find(const CaseIdentity& identity) const;

  /// On disk when it returns.
  void append(std::span<const MeasuredCase> launched);

  /// Of a race that is over.
  void remove();

 private:
  std::filesystem::path path_;
  RunFile file_;
  std::map<std::string, Kept, std::less<>> kept_;  ///< by full name
};

/// Where the race's rows go.
struct RaceOutput {
  std::function<void(const PlannedCase&)> begin;              ///< launches of it begin
  std::function<void(const std::vector<MeasuredCase>&)> end;  ///< these have their rows
  RaceFile* launches = nullptr;                               ///< null where no rows are kept
};

/// Races the cases (record/race.hpp) and measures the fastest as every case is measured. Each case gets a row: the
/// fastest all of it; others that were launched their times, and a note why they are out.
/// @param known_us  the fastest time of the rows that a resumed run has already
/// @returns no_verdict where the run must go on in another process or the user stopped it
ExitStatus measure_fastest(std::span<const PlannedCase> cases, const MeasureWith& with,
                           const RaceOutput& output, std::optional<double> known_us);

}  // namespace occbench
