#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Finds the fastest of many configurations with few launches of most of them.
namespace occbench {

struct CaseRecord;

/// How a race ended for a configuration that is not the fastest. Its row's note says so.
enum class RaceOutcome {
  left_out,                ///< without a launch
  ruled_out_by_launches,   ///< by one or two launches
  ruled_out_by_intervals,  ///< by 95 % intervals
  as_fast,                 ///< not told from the fastest
};

/// The outcome as a note has it. @param why  a sentence; none for `as_fast`
std::string race_note(RaceOutcome outcome, std::string_view why = {});

/// The outcome that the case's note has; empty if it has none.
std::optional<RaceOutcome> race_outcome(const CaseRecord& record);

/// Whether it is one of the two that rule a configuration out after a launch.
bool is_ruled_out(std::optional<RaceOutcome> outcome);

/// A race calls this to launch its configurations, each by its number.
class Racers {
 public:
  virtual ~Racers() = default;

  /// Prepares a configuration and launches it once, unless it was the last one requested. Then launches it `launches`
  /// times. @returns the times of these, microseconds; empty if it cannot be launched: it is out, and the callee says
  /// why
  virtual std::vector<double> time(std::size_t number, std::size_t launches) = 0;

  /// Whether its result is correct; asked once, of configurations that are about to rule others out.
  virtual bool is_right(std::size_t number) = 0;

  /// A configuration has left the race; `why` is a sentence.
  virtual void ruled_out(std::size_t number, RaceOutcome outcome, const std::string& why) = 0;

  /// Whether the race must end here: the user asks for it, or the GPU is lost.
  virtual bool must_stop() = 0;
};

/// A race that is over.
struct RaceResult {
  std::optional<std::size_t> fastest;  ///< empty if no configuration ran with a correct result
  std::vector<std::size_t> as_fast;    ///< others that launches did not distinguish from it, fastest first
  std::vector<std::vector<double>> times;  ///< of each configuration, microseconds; empty: it did not run
};

/// Races configurations against each other. Each is described by the index of its value on each axis.
///
/// 1. Each is launched twice, but once if it takes more than 1.5 times the fastest. A random sample comes first, then always
///    the one whose neighbours (they differ in one axis) were fastest.
/// 2. One whose fastest launch is more than 5 % and 0.5 us above the fastest configuration is out.
/// 3. The others are launched 6 times per round, half as many of them in each round. One is out if its 95 % interval lies above
///    that of the fastest. The race ends when one is left, when none of the rest can be 1 % faster, or with 96 launches of
///    the fastest.
///
/// A configuration rules others out only if its result is correct.
/// @param known_us  least time of configurations that were measured before and no longer race
/// @param seed      of the random sample
RaceResult race(std::span<const std::vector<int>> places, Racers& racers, std::optional<double> known_us,
                std::uint64_t seed);

/// Interval that covers the median of the readings' distribution, for any distribution, with at least 95 %. Its ends
/// are order statistics from the binomial distribution (Conover, Practical Nonparametric Statistics, 3.2).
/// @pre at least 6 readings, the fewest that give such an interval
std::pair<double, double> median_interval(std::span<const double> readings);

}  // namespace occbench
