#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "predict/work.hpp"

namespace occbench {

/// Cycles of every unit of a launch, as measured or given: a unit is a block or a warp (block by block). A
/// single number serves all.
struct Durations {
  std::vector<std::int64_t> cycles;
  bool per_warp = false;
  std::string source = "durations";  ///< where they come from, for messages
  double poll_cycles_per_warp = 0;   ///< Workload::poll_cycles_per_warp
};

/// Reads one number of cycles (1 to 1e15, decimals are rounded) a line.
/// @throws InputError naming `source` and the line that is empty, no number or out of range, or saying that
/// there is none at all.
Durations parse_durations(std::string_view text, std::string_view source, bool per_warp);

/// What every warp of one launch has to do by a Work or by measured durations, and variants of it that ask
/// "what if".
class Tasks final : public Workload {
 public:
  Tasks(const Work& work, std::int64_t grid_blocks, int warps_per_block);

  /// @throws InputError if there are fewer or more numbers than units, with the line where they end.
  Tasks(Durations durations, std::int64_t grid_blocks, int warps_per_block);

  std::int64_t grid_blocks() const override {
    return grid_blocks_;
  }
  int warps_per_block() const {
    return warps_per_block_;
  }

  bool differ_within_blocks() const override {
    return per_warp_ && !everywhere_ && !within_blocks_;
  }
  bool all_equal() const override {
    return everywhere_.has_value();
  }

  double block_cycles(std::int64_t block) const override;
  double warp_cycles(std::int64_t block, int warp) const override;
  double mean_cycles() const;

  Rates rates() const override {
    return rates_;
  }
  std::optional<double> lockstep_cycles() const override {
    return lockstep_cycles_;
  }
  double poll_cycles_per_warp() const override {
    return poll_cycles_per_warp_;
  }
  double stretch() const override {
    return stretch_;
  }

  /// The same launch if every warp took the mean of all.
  Tasks even_everywhere() const;
  /// The same launch if every warp took the mean of its block.
  Tasks even_within_blocks() const;
  /// The same launch if every warp had what it needs to itself.
  Tasks alone() const;
  /// The same launch if everything took `factor` times as long.
  Tasks stretched(double factor) const;
  /// The first `grid_blocks` blocks of it.
  Tasks first_blocks(std::int64_t grid_blocks) const;

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
  bool within_blocks_ = false;
};

}  // namespace occbench
