#pragma once

#include <cstdint>
#include <optional>

namespace occbench {

/// What a warp does in a cycle when it has the device to itself.
struct Rates {
  double issue = 0;  ///< instructions that it issues, 0 to 1
  double pipe = 0;   ///< share of the cycles in which it keeps the busiest of its sub-partition's pipes busy
  double bytes = 0;  ///< bytes that it moves to and from device memory

  /// It needs issue slots at least as much as a pipe.
  bool issue_bound() const {
    return issue > 0 && issue >= pipe;
  }
  /// It can issue in every cycle, or almost. @param least_issue  of the device, above 0
  bool always_issues(double least_issue) const {
    return issue_bound() && issue >= least_issue;
  }

  bool operator==(const Rates&) const = default;
};

/// What every warp of one launch has to do, as the simulation asks for it.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual std::int64_t grid_blocks() const = 0;

  /// Cycles that a block's longest warp takes alone; all its warps, unless they differ within blocks.
  virtual double block_cycles(std::int64_t block) const = 0;
  virtual double warp_cycles(std::int64_t block, int warp) const = 0;

  /// Warps of one block may differ.
  virtual bool differ_within_blocks() const = 0;
  /// All warps take equally long.
  virtual bool all_equal() const = 0;

  /// All 0: its warps share nothing that they lack.
  virtual Rates rates() const = 0;
  bool contends() const {
    return rates() != Rates{};
  }

  /// For how long warps that always issue stay in lockstep; empty = not known.
  virtual std::optional<double> lockstep_cycles() const = 0;

  /// A warp that waits for its time to come looks at the clock once in so many cycles for each warp of its
  /// SM, and is late by up to that. 0 for warps that do not wait for a clock.
  virtual double poll_cycles_per_warp() const = 0;

  /// By how much the work was stretched to see it without overheads, 1 = as given.
  virtual double stretch() const = 0;
};

}  // namespace occbench
