#pragma once

#include <optional>
#include <string_view>

#include "predict/prediction.hpp"
#include "predict/work.hpp"

namespace occbench {

// A launch of a program does not say what its blocks have to do. How long the SMs were busy tells: the work
// is chosen with which the simulator keeps them busy for as long.

/// What is known of a launch from outside. Values are above 0.
struct ObservedLaunch {
  /// Cycles in which an SM had a warp: the SM that had fewest (0 where one had none), the mean over all, the
  /// one that had most.
  std::optional<double> cycles_active_min{};
  std::optional<double> cycles_active_mean{};
  std::optional<double> cycles_active_max{};
  /// Mean number of blocks on an SM in those cycles.
  std::optional<double> resident_blocks{};
  /// Cycles from the first warp to the last, a time times the SM clock. Looked at only where the mean of the
  /// active cycles is not known.
  std::optional<double> elapsed_cycles{};
};

struct InferredWork {
  Work work;
  /// What tells: "cycles" (the active cycles), "cycles and resident blocks", "cycles and spread" (of the SMs'
  /// active cycles) or "time".
  std::string_view source;
};

/// Work that is equal for all blocks, if equal blocks explain what was observed. Where fewer blocks were
/// resident, or SMs were active for more different times than equal blocks leave, work drawn for each block
/// from a log-normal distribution as wide as that takes. Grids of more than some 16,000 blocks are cut to
/// fewer whole waves, and the prediction's to some 260,000.
/// @returns empty where neither cycles nor time are known
/// @throws InputError as simulate() does
std::optional<InferredWork> infer_work(const Launch& launch, const Usage& usage, const Limits& limits,
                                       const DeviceProfile& profile, const ObservedLaunch& observed,
                                       const Chance& chance = {});

struct ObservedPrediction {
  InferredWork inferred;
  Prediction prediction;
};

/// Predicts a launch with the work that infer_work() finds. What was observed then replaces what was
/// predicted of it: the mean of resident blocks, with the difference in the loss between blocks, or else, in
/// grids of more than one wave, the SMs' active cycles, with the difference in the loss of the tail. Warps
/// are resident for as long as their work takes, wherever chance put the last blocks.
/// @returns and throws as infer_work()
std::optional<ObservedPrediction> predict_observed(const Launch& launch, const Usage& usage,
                                                   const Limits& limits, const DeviceProfile& profile,
                                                   const ObservedLaunch& observed, const Chance& chance = {});

}  // namespace occbench
