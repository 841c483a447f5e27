#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gate/run.hpp"
#include "gate/tolerances.hpp"

namespace occbench {

/// Verdict of the gate on a case and on the whole, from mild to severe.
enum class Verdict {
  pass,
  no_verdict,  ///< the case could not be compared
  regression,
};

/// "pass", "no verdict", "regression"
std::string_view to_string(Verdict verdict);

/// Grade of a finding, from those that the verdict does not depend on to those that it does.
enum class Grade {
  note,      ///< better than before, or nothing to compare with
  advisory,  ///< would be a regression if the two runs could be compared so finely
  no_verdict,
  regression,
};

/// "note", "advisory", "no verdict", "regression"
std::string_view to_string(Grade grade);

struct GateFinding {
  Grade grade;
  std::string message;     ///< a complete sentence
  std::string subject{};   ///< a column, a quantity, or empty
  std::string baseline{};  ///< as in the CSV, empty if there is none
  std::string candidate{};
  double weight = 0;  ///< severity among findings of its grade: multiples of the tolerance
};

/// "first", or "first and 3 more" of four.
std::string first_and_count(const std::string& first, std::size_t count);

/// A case that at least one side has.
struct ComparedCase {
  std::string experiment;
  std::string name;
  std::vector<GateFinding> findings;     ///< most severe grade first, causes before consequences
  std::optional<RecordedCase> baseline;  ///< if the side has the case once
  std::optional<RecordedCase> candidate;
  bool compared = false;                  ///< something was compared
  std::optional<double> caught_points;    ///< smallest loss of occupancy that would have been a regression
  std::optional<double> caught_time_pct;  ///< smallest loss of time likewise; empty if time is advisory

  std::string full_name() const;  ///< "experiment/case"
  Verdict verdict() const;
  bool not_compared() const;  ///< passes because there was nothing to compare: it is new, or skipped in both
};

/// Result of comparing one candidate with one baseline.
struct Comparison {
  std::string baseline;  ///< its place
  std::string candidate;
  std::vector<ComparedCase> cases;   ///< worst first
  std::vector<GateFinding> general;  ///< about the two as a whole
  bool simulated = false;            ///< nothing of either was measured
  std::set<std::string_view>
      lacking{};  ///< lower_is_better or higher_is_better columns that not every file, or no row, has

  /// Regression if a case has one. Else no verdict if a case that counts has none or nothing was compared.
  Verdict verdict() const;
  std::size_t count(Verdict verdict) const;
};

/// Compares two runs.
Comparison compare(const RecordedRun& baseline, const RecordedRun& candidate, const Tolerances& tolerances);

/// Runs of two builds that alternated on one machine: baseline[i] ran next to candidate[i], so that they share any
/// drift. Measured columns and times are medians over the runs. @pre as many of each, at least one
Comparison compare_pairs(std::span<const RecordedRun> baseline, std::span<const RecordedRun> candidate,
                         const Tolerances& tolerances);

/// Compares two files. A missing baseline gives no verdict. @throws InputError
Comparison compare_paths(const std::filesystem::path& baseline, const std::filesystem::path& candidate,
                         const Tolerances& tolerances);

}  // namespace occbench
