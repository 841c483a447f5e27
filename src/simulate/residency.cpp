#include "simulate/residency.hpp"

#include <limits>

namespace occbench {

SkippedWaves skipped_waves(std::int64_t grid_blocks, std::int64_t wave_blocks) {
  constexpr std::int64_t kMostBlocks = 1 << 18;
  constexpr std::int64_t kLeastWaves = 16;
  if (grid_blocks <= kMostBlocks) return {grid_blocks, wave_blocks, 0};
  const std::int64_t simulated = std::max(kMostBlocks, kLeastWaves * wave_blocks);
  const std::int64_t waves = std::max<std::int64_t>(0, (grid_blocks - simulated) / wave_blocks);
  return {grid_blocks - waves * wave_blocks, wave_blocks, waves};
}

/// After a quarter of the simulated waves, their length is steady. After three quarters, the skipped waves
/// are inserted with the mean length since then, per SM.
void Residency::skip_waves(std::int64_t block, double now, std::span<const Sm> sms) {
  const std::int64_t quarter = skipped_.simulated_blocks / skipped_.wave_blocks / 4;
  if (block == quarter * skipped_.wave_blocks) {
    for (const Sm& sm : sms) skipped_active_.push_back({sm.active.total(), 0});
    skipped_warp_cycles_.at_quarter = warp_cycles_;
    skipped_block_cycles_.at_quarter = block_cycles_;
  } else if (block == 3 * quarter * skipped_.wave_blocks) {
    const double share = static_cast<double>(skipped_.waves) / static_cast<double>(2 * quarter);
    const auto extrapolate = [&](Extrapolated& of, double now_total) {
      of.skipped = (now_total - of.at_quarter) * share;
    };
    extrapolate(skipped_warp_cycles_, warp_cycles_);
    extrapolate(skipped_block_cycles_, block_cycles_);
    double cycles = 0;
    for (std::size_t sm = 0; sm < sms.size(); ++sm) {
      extrapolate(skipped_active_[sm], sms[sm].active.total());
      cycles += skipped_active_[sm].skipped / static_cast<double>(sms.size());
    }
    timeline_.add(now, now + cycles, skipped_warp_cycles_.skipped / cycles);
    skipped_cycles_ = cycles;
  }
}

Simulation Residency::result(std::span<const Sm> sms, int max_warps) const {
  double sum = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t sm = 0; sm < sms.size(); ++sm) {
    const double skipped = skipped_active_.empty() ? 0 : skipped_active_[sm].skipped;
    const double cycles = (sms[sm].active.total() + skipped) / sms[sm].traits().slowness;
    sum += cycles;
    least = std::min(least, cycles);
    most = std::max(most, cycles);
  }
  const double resident = warp_cycles_ + skipped_warp_cycles_.skipped;
  const auto count = static_cast<double>(sms.size());
  Simulation simulation;
  simulation.achieved_pct = 100 * resident / (sum * max_warps);
  simulation.elapsed_pct = 100 * resident / (most * count * max_warps);
  simulation.cycles_active_min = least;
  simulation.cycles_active_mean = sum / count;
  simulation.cycles_active_max = most;
  simulation.resident_blocks = (block_cycles_ + skipped_block_cycles_.skipped) / sum;
  simulation.timeline = timeline_.finish();
  return simulation;
}

namespace {

/// Stretched work drifts apart by as many cycles as unstretched work, so tail placement stays the same.
double slowness(const DeviceModel& device, const Draws& draws, int clock_domain, double stretch) {
  const double known = device.gpc_clock_ppm[static_cast<std::size_t>(clock_domain)];
  const double chance = 2 * draws.unit(Draws::Stream::clock, clock_domain) - 1;
  return 1 / (1 + 1e-6 * (known + chance * device.parameters.gpc_clock_spread_ppm) / stretch);
}

}  // namespace

std::vector<Sm> sms_of(const DeviceModel& device, const FirstWave& wave, const Draws& draws, double stretch) {
  const Topology& topology = device.topology;
  const DeviceParameters& parameters = device.parameters;
  std::vector<int> extra(static_cast<std::size_t>(topology.sm_count()));
  for (const int sm : wave.rest) ++extra[static_cast<std::size_t>(sm)];
  std::vector<Sm> sms;
  for (int sm = 0; sm < topology.sm_count(); ++sm) {
    SmTraits traits;
    traits.first_start = parameters.sm_delay_cycles * draws.sm_delay(sm);
    traits.slowness = slowness(device, draws, topology.clock_domain_of(sm), stretch);
    traits.replacement_latency_cycles =
        parameters.replacement_latency_cycles +
        device.tpc_replacement_latency_cycles[static_cast<std::size_t>(topology.tpc_of(sm))];
    traits.first_wave_blocks = wave.rounds + extra[static_cast<std::size_t>(sm)];
    sms.emplace_back(traits);
  }
  return sms;
}

SmRules::SmRules(const DeviceParameters& parameters, const Limits& limits, const Occupancy& occupancy)
    : max_warps(limits.max_warps_per_sm),
      warps_per_block(occupancy.warps_per_block),
      blocks_per_sm(occupancy.blocks_per_sm),
      block_launch_cycles(parameters.block_launch_cycles) {}

Sm::Launched Sm::launch(double now, const SmRules& rules) {
  ++resident_blocks_;
  const double start = std::max(now, launches_from_);
  launches_from_ = start + rules.block_launch_cycles;
  return {blocks_started_++, start};
}

void TimelineBuilder::change(double when, double warps) {
  while (when >= step_ * kSteps) {
    for (std::size_t i = 0; i < kSteps / 2; ++i) {
      const double first = change_[2 * i];
      const double second = change_[2 * i + 1];
      weighted_[i] = (weighted_[2 * i] + weighted_[2 * i + 1] + second) / 2;
      change_[i] = first + second;
    }
    std::fill(change_.begin() + kSteps / 2, change_.end(), 0);
    std::fill(weighted_.begin() + kSteps / 2, weighted_.end(), 0);
    step_ *= 2;
  }
  const double place = when / step_;
  const auto index = static_cast<std::size_t>(place);
  change_[index] += warps;
  weighted_[index] += warps * (place - static_cast<double>(index));
}

void TimelineBuilder::add(double start, double end, double warps) {
  change(start, warps);
  change(end, -warps);
  end_ = std::max(end_, end);
}

Timeline TimelineBuilder::finish() const {
  Timeline timeline{step_, {}};
  double level = 0;
  for (std::size_t i = 0; i < kSteps && static_cast<double>(i) * step_ < end_; ++i) {
    level += change_[i];
    timeline.warps.push_back(std::max(0.0, level - weighted_[i]));
  }
  return timeline;
}

}  // namespace occbench
