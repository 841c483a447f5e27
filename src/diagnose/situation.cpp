#include "diagnose/situation.hpp"

#include <algorithm>
#include <cmath>

namespace occbench {
namespace {

/// What remains of theory where the grid is all that is known: without a tail's or a part of a wave's places.
double pct_by_grid(const Situation& situation) {
  if (situation.is_partial_wave()) return situation.partial_wave_pct();
  if (!situation.has_tail()) return situation.theoretical_pct;
  if (situation.facts.tail_of_equal_blocks)
    return situation.theoretical_pct - *situation.facts.tail_of_equal_blocks;
  return situation.theoretical_pct * situation.waves() / std::ceil(situation.waves());
}

}  // namespace

double Situation::blocks_of_busy_sm() const {
  return static_cast<double>(launch.grid_blocks) /
         static_cast<double>(std::min<std::int64_t>(launch.grid_blocks, facts.sm_count));
}

double Situation::partial_wave_pct() const {
  return theoretical_pct * blocks_of_busy_sm() / occupancy.blocks_per_sm;
}

double Situation::most_of_partial_wave_pct() const {
  return theoretical_pct * std::ceil(blocks_of_busy_sm()) / occupancy.blocks_per_sm;
}

double Situation::predicted_share_of_cycles() const {
  const Real& measured = counters().sm_cycles_active_avg;
  if (!facts.prediction || !measured || *measured <= 0) return 1;
  return std::min(1.0, facts.prediction->cycles_active_mean / *measured);
}

std::optional<double> Situation::cycles_per_block() const {
  const Real& counted = counters().sm_cycles_active_avg;
  const Real& cycles = counted ? counted : facts.most_cycles_active;
  if (!cycles || wave == 0 || launch.grid_blocks < wave) return std::nullopt;
  return *cycles / waves();
}

MeasuredParts measured_parts(double theoretical_pct, double achieved_pct, double resident_blocks,
                             int warps_per_block, int warps_per_sm) {
  const double filled_pct = 100 * resident_blocks * warps_per_block / warps_per_sm;
  return {theoretical_pct - filled_pct, filled_pct - achieved_pct};
}

std::optional<Situation> situation_of(const LaunchFacts& facts) {
  if (!facts.limits || !facts.launch || !facts.compiled || !facts.theoretical_pct) return std::nullopt;
  Situation situation{.facts = facts,
                      .launch = *facts.launch,
                      .usage = facts.compiled->usage,
                      .occupancy = theoretical_occupancy(*facts.limits, *facts.launch, facts.compiled->usage),
                      .theoretical_pct = *facts.theoretical_pct,
                      .achieved_pct = facts.readings.counters.achieved_pct,
                      .parts = std::nullopt};
  if (situation.occupancy.blocks_per_sm == 0) return std::nullopt;
  if (facts.sm_count > 0) situation.wave = full_wave_blocks(situation.occupancy, facts.sm_count);
  situation.reached_pct = situation.achieved_pct ? *situation.achieved_pct
                          : facts.prediction     ? facts.prediction->predicted_pct
                                                 : pct_by_grid(situation);
  if (const Real& blocks = facts.readings.counters.resident_blocks; blocks && situation.achieved_pct) {
    situation.parts = measured_parts(situation.theoretical_pct, *situation.achieved_pct, *blocks,
                                     situation.occupancy.warps_per_block, facts.limits->max_warps_per_sm);
  }
  return situation;
}

}  // namespace occbench
