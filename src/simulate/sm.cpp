#include "simulate/sm.hpp"

namespace occbench {
namespace {

/// Stretched work falls out of step by as many cycles as it does otherwise: tail placement stays the same.
double slowness(const DeviceModel& device, const Draws& draws, int clock_domain, double stretch) {
  const double known = device.gpc_clock_ppm[static_cast<std::size_t>(clock_domain)];
  const double chance = 2 * draws.clock(clock_domain) - 1;
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
  return {blocks_started_++, launching_.begin(now, rules.block_launch_cycles)};
}

}  // namespace occbench
