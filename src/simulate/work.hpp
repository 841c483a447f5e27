#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace occbench {

/// Demand of a warp per cycle when it is alone on the device.
struct Rates {
  double issue = 0;  ///< instructions issued, 0 to 1
  double pipe = 0;   ///< share of cycles in which it keeps the busiest pipe of its sub-partition busy
  double bytes = 0;  ///< bytes moved to and from device memory

  /// It needs issue slots at least as much as a pipe.
  bool issue_bound() const {
    return issue > 0 && issue >= pipe;
  }
  /// It can issue in almost every cycle. @param least_issue  always_issuing_share of the device, above 0
  bool always_issues(double least_issue) const {
    return issue_bound() && issue >= least_issue;
  }

  bool operator==(const Rates&) const = default;
};

// How long the units of a launch are busy. A unit is a block; with `warp/` in front it is a warp (block by
// block). One canonical string feeds the kernel's input, the simulator, the CSV and `predict --work`:
//
//   equal:CYCLES                           every unit the same; CYCLES may be microseconds, 100us, if the
//                                          clock is known (work_in_cycles)
//   linear:CYCLES:FIRST:LAST               factor from FIRST (first unit) to LAST (last unit)
//   uniform:CYCLES:LOW:HIGH:seed=N         factor drawn evenly from LOW to HIGH
//   lognormal:CYCLES:SIGMA:seed=N          factor exp(SIGMA * normal), mean scaled to 1
//   exponential:CYCLES:MOST:seed=N         factor drawn from an exponential of mean 1, cut at MOST
//   bimodal:CYCLES:FRACTION:FACTOR:seed=N  a FRACTION of the units takes FACTOR times as long
//   every:CYCLES:N:FACTOR                  each N-th unit (unit % N == 0) takes FACTOR times as long
//   last:CYCLES:COUNT:FACTOR               the last COUNT units take FACTOR times as long
//
// With `warp/`, `every:C:W:F` with W = warps per block makes one slow warp in each block. The default seed is
// 1.
//
// Optional named fields describe the kernel's warps, in any order:
//
//   :issue=N     instructions (issue slots of its sub-partition) that a warp alone on the device issues in
//                its CYCLES, at most CYCLES
//   :pipe=N      cycles for which it then keeps the busiest pipe of its sub-partition busy, at most CYCLES;
//                give it if an instruction takes a pipe for more than one cycle
//   :bytes=N     bytes that a warp moves to and from device memory in its CYCLES
//   :lockstep=N  cycles for which warps that can issue in every cycle stay in lockstep on a sub-partition
//                (simulate/contention.hpp), from one counter reading of their code. Without it, each run of
//                a prediction draws a time. Issue must be above 0 and no less than pipe. A profile's
//                always_issuing_share says which of these warps can issue in every cycle
//   :poll=N      warps that wait for a clock read it once every N cycles per warp of their SM
//
// Issue, pipe and bytes apply to factor 1 and scale with the factor, as cycles do; the others are the same
// for all units. `equal:80000:issue=20000` is a chain of 20,000 dependent instructions of 4 cycles each.

/// The forms of a distribution, by their names in the string.
enum class WorkForm { equal, linear, uniform, lognormal, exponential, bimodal, every, last };

/// The factor of each unit.
struct Distribution {
  WorkForm form = WorkForm::equal;
  std::array<double, 2> values{};  ///< fields between CYCLES and the seed, such as FIRST and LAST
  std::uint64_t seed = 1;          ///< of a random form
  bool operator==(const Distribution&) const = default;
};

/// No unit takes longer than this, whatever its factor.
inline constexpr double kMaxUnitCycles = 1e15;

/// The work of each block or warp of a launch.
struct Work {
  double cycles = 1;               ///< cycles of a unit at factor 1, from 1 to 1e12
  Distribution distribution = {};  ///< the factor of each unit
  bool per_warp = false;           ///< a unit is a warp, not a block
  double issue_slots = 0;          ///< instructions that each warp issues at factor 1, 0 to cycles
  double pipe_cycles = 0;  ///< for which each warp keeps the busiest pipe busy at factor 1, 0 to cycles
  double bytes = 0;        ///< bytes that each warp moves at factor 1, 0 to 1e12
  /// Cycles for which always-issuing warps stay in lockstep, 0 to 1e12; empty = not known.
  std::optional<double> lockstep_cycles = std::nullopt;
  double poll_cycles_per_warp = 0;  ///< Tasks::poll_cycles_per_warp, 0 to 1e6

  static Work equal(double cycles) {
    return {.cycles = cycles};
  }

  /// Factor of unit `index` of `count`, at least 0. Depends only on its arguments and is the same on every
  /// machine, in any order of calls.
  double factor_of(std::int64_t index, std::int64_t count) const;

  /// Cycles of unit `index` of `count`: cycles x factor, a whole number from 1 to kMaxUnitCycles.
  std::int64_t cycles_of(std::int64_t index, std::int64_t count) const;

  /// The same with `factor` times the work per unit, at least one cycle. The lockstep time stays, unless the
  /// warps are no longer issue-bound.
  Work scaled(double factor) const;

  Rates rates() const {
    return {issue_slots / cycles, pipe_cycles / cycles, bytes / cycles};
  }

  /// Whether units become shorter from first to last, by the distribution alone.
  bool is_longest_first() const;

  /// The seed of a random form; a unit's factor depends on it and the unit's index alone.
  std::optional<std::uint64_t> seed() const;

  /// Units of a grid: its blocks or its warps.
  std::int64_t unit_count(std::int64_t grid_blocks, int warps_per_block) const {
    return per_warp ? grid_blocks * warps_per_block : grid_blocks;
  }

  /// The unit that a warp belongs to.
  std::int64_t unit_of(std::int64_t block, int warp, int warps_per_block) const {
    return per_warp ? block * warps_per_block + warp : block;
  }

  /// Cycles of one warp of a grid.
  std::int64_t cycles_of_warp(std::int64_t block, int warp, std::int64_t grid_blocks,
                              int warps_per_block) const;

  bool operator==(const Work&) const = default;
};

/// The canonical string; parse_work(to_string(work)) gives the same work.
std::string to_string(const Work& work);

/// @throws InputError that names the malformed part and its position (characters from 1).
Work parse_work(std::string_view text);

/// The string with microseconds converted to cycles: "equal:100us" at 1980 MHz is "equal:198000".
/// @param clock_mhz  of the SMs
/// @throws InputError if the text is in microseconds and these are not a number, or the clock is not known
std::string work_in_cycles(std::string_view text, std::optional<double> clock_mhz);

/// The forms of work and the named fields, one line each with an example.
std::string work_grammar();

/// Measured or given cycles of every unit of a launch: a unit is a block or a warp (block by block). A single
/// number applies to all.
struct Durations {
  std::vector<std::int64_t> cycles;
  bool per_warp = false;
  std::string source = "durations";  ///< where they come from, for messages
  double poll_cycles_per_warp = 0;   ///< Tasks::poll_cycles_per_warp
};

/// Reads one number of cycles per line (1 to 1e15, decimals are rounded).
/// @throws InputError that names `source` and the line if a line is empty, not a number or out of range, or
/// if there is no line.
Durations parse_durations(std::string_view text, std::string_view source, bool per_warp);

/// The work of every warp of one launch, from a Work or from measured durations, and "what if" variants of
/// it.
class Tasks {
 public:
  Tasks(const Work& work, std::int64_t grid_blocks, int warps_per_block);

  /// @throws InputError with the first missing or excess line, if there are fewer or more numbers than units.
  Tasks(Durations durations, std::int64_t grid_blocks, int warps_per_block);

  std::int64_t grid_blocks() const {
    return grid_blocks_;
  }
  int warps_per_block() const {
    return warps_per_block_;
  }

  /// Warps of one block may differ.
  bool differ_within_blocks() const {
    return per_warp_ && !everywhere_ && !within_blocks_;
  }
  /// All warps take equally long.
  bool all_equal() const {
    return everywhere_.has_value();
  }

  /// Longest minus shortest given duration; infinite for other uneven work, because it is not known.
  double spread_cycles() const {
    return everywhere_ ? 0 : spread_cycles_;
  }

  /// Cycles of a block's longest warp when alone; of every warp, unless they differ within blocks.
  double block_cycles(std::int64_t block) const;
  double warp_cycles(std::int64_t block, int warp) const;
  double mean_cycles() const;
  double longest_block_cycles() const;
  /// Whether blocks differ, and none is longer than one before it.
  bool is_longest_first() const;

  /// All 0: its warps do not contend.
  Rates rates() const {
    return rates_;
  }
  bool contends() const {
    return rates_ != Rates{};
  }

  /// Cycles for which always-issuing warps stay in lockstep; empty = not known.
  std::optional<double> lockstep_cycles() const {
    return lockstep_cycles_;
  }

  /// A warp that waits for a clock reads it every so many cycles per warp of its SM, so it ends up to that
  /// late. 0 for warps that do not wait for a clock.
  double poll_cycles_per_warp() const {
    return poll_cycles_per_warp_;
  }

  /// Factor by which the work was stretched to see it without overheads, 1 = as given.
  double stretch() const {
    return stretch_;
  }

  /// The same launch if every warp took the mean of all.
  Tasks even_everywhere() const;
  /// The same launch if every warp took the mean of its block.
  Tasks even_within_blocks() const;
  /// The same launch if no warp contended.
  Tasks alone() const;
  /// The same launch if everything took `factor` times as long, the time in lockstep too.
  Tasks stretched(double factor) const;

 private:
  double unit_cycles(std::int64_t unit) const;

  std::variant<Work, std::shared_ptr<const Durations>> source_;
  std::int64_t source_units_ = 0;
  bool per_warp_ = false;
  std::int64_t grid_blocks_ = 0;
  int warps_per_block_ = 1;
  double stretch_ = 1;
  Rates rates_;
  std::optional<double> lockstep_cycles_;
  double poll_cycles_per_warp_ = 0;
  std::optional<double> everywhere_;  ///< cycles of every warp before stretching
  double spread_cycles_ = std::numeric_limits<double>::infinity();
  bool within_blocks_ = false;
};

}  // namespace occbench
