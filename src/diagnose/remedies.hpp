#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnose/finding.hpp"
#include "predict/advice.hpp"

namespace occbench {

/// A launch that was predicted, and with what: others are predicted likewise.
struct PredictedLaunch {
  const Asked& asked;
  const std::optional<Work>& work;  ///< that `tasks` are of; empty where a file has their durations
  const Tasks& tasks;
  const Prediction& prediction;

  Configuration now() const {
    return {asked.launch, asked.usage};
  }
};

/// What to do about the limit of theory and about the largest loss, with the time that it is predicted to save. None about
/// the grid: another one is advised, or others were found no better. What saves more comes first.
/// @param findings    of the launch as it is
/// @param other_grid  is advised: of losses nothing is said, but of uneven blocks that cost more than it saves
/// @returns paragraphs
/// @throws InputError as predict() does
std::vector<std::string> remedies_of(std::span<const Finding> findings, const PredictedLaunch& launch,
                                     const std::optional<Advice>& other_grid);

}  // namespace occbench
