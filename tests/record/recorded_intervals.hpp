#pragma once

// Recorded launches beside their simulations: some decide the margins of 90 % intervals, and others, which decided
// nothing, show how often the counter is inside.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "predict/interval.hpp"

namespace occbench {

/// What a launch was recorded for, and what was known of its GPU.
enum class Source { suite_with_own_profile, suite_with_built_in_profile, launches };

/// A launch as it was simulated and as it was counted.
struct RecordedRange {
  Source source = Source::launches;
  std::string gpu;         ///< model
  std::string uuid;        ///< empty where it was not recorded
  std::string experiment;  ///< or the file of launches, or the program
  WorkKind kind = WorkKind::even_waves;
  double block_cycles = 1;
  double most_pct = 100;
  RunRanges simulations{};
  double counter = 0;
  std::optional<double> counter_elapsed;  ///< empty where it was not recorded
};

using RecordedRanges = std::vector<RecordedRange>;

/// Share of launches that an interval may miss.
inline constexpr double kMissed = 0.1;
/// Launches from which on a margin or a coverage says something.
inline constexpr std::size_t kEnoughLaunches = 30;

/// What margins are decided by: the suites of two GPUs with their own profiles; with built-in ones these suites, those of
/// other GPUs, launches of tests/data/h200_launches and h200_spin, and four programs. Nothing that is held out.
RecordedRanges deciding_launches();

struct FittedMargin {
  std::size_t launches = 0;
  Margin margin;
};

struct Fit {
  std::map<WorkKind, FittedMargin> achieved;  ///< by the first kind of those that decide together
  std::map<WorkKind, FittedMargin> elapsed;

  /// Launches that decided a kind's margin of achieved occupancy.
  std::size_t launches(WorkKind kind) const;
  /// Empty where fewer than `enough` launches decided it. Where no occupancy over elapsed cycles was recorded, its margin
  /// is that of achieved occupancy.
  std::optional<KindMargins> of(WorkKind kind, std::size_t enough = 1) const;
};

/// A kind's margin is the largest that one of its sources needs, of those with enough launches.
Fit fit_margins(const RecordedRanges& launches);

/// Cycles of a block by which nine in ten launches of even_waves are outside their simulations: what
/// kOverheadErrorCycles is.
double overhead_error_cycles(const RecordedRanges& launches);

/// How often counters are inside, and how good intervals are: a mean interval score (Gneiting and Raftery, JASA
/// 2007) is the width and, where the counter is outside, 2 / kMissed times its distance. Less is better.
struct Coverage {
  std::size_t launches = 0;
  double inside = 0;  ///< launches
  double width = 0;   ///< points, sums
  double score = 0;
  double constant_score = 0;  ///< with as many points on both sides of all predictions
  std::size_t elapsed_launches = 0;
  double elapsed_inside = 0;
  double elapsed_width = 0;

  Coverage& operator+=(const Coverage& other);
  double inside_pct() const {
    return 100 * inside / static_cast<double>(launches);
  }
  double elapsed_inside_pct() const {
    return 100 * elapsed_inside / static_cast<double>(elapsed_launches);
  }
};

/// Launches that decided nothing.
struct CoverageSet {
  std::string profile;      ///< with which they are predicted: own, built-in, generic
  std::string launches_of;  ///< where they come from
  std::map<WorkKind, Coverage> kinds;

  Coverage all() const;
};

std::vector<CoverageSet> coverage_sets(const RecordedRanges& deciding);

}  // namespace occbench
