#pragma once

#include <vector>

#include "simulate/topology.hpp"

namespace occbench {

/// What launching, dispatching and replacing blocks costs on a device, and how its warps share what they
/// need. Cycles are those of the SM clock. Each optional rule has a value that switches it off; names,
/// ranges, defaults, off values and sources are in the table of predict/parameters.cpp.
struct DeviceParameters {
  // Dispatch, device-wide.
  double replacement_dispatch_cycles_per_block = 0;  ///< between two blocks that replace others
  double gpcs_between_singletons = 0;                ///< GPCs served between two visits to singleton TPCs
  double even_first_wave = 0;  ///< 1: a grid that leaves room is spread over SMs in a fixed order

  // When SMs start their first block.
  double sm_delay_cycles = 0;  ///< an SM starts up to this much later than another

  // Launching a block.
  double block_launch_cycles = 0;     ///< an SM launches two blocks at least this far apart
  double launch_overhead_cycles = 0;  ///< a warp is resident this much longer than its work takes

  // Retiring a block and replacing it.
  double replacement_latency_cycles = 0;  ///< from the end of a block to the start of the one in its place
  double sibling_notices_room =
      0;  ///< 1: room left by exited warps is seen when a block ends on either SM of a TPC

  // Clocks.
  double gpc_clock_spread_ppm = 0;  ///< GPC clocks differ by up to so much more or less, drawn per launch

  // Issue slots and pipes.
  double always_issuing_share = 2;  ///< warps that issue in this share of their cycles alone can always issue
  double lockstep_least_cycles = 0;  ///< warps that can always issue share slots evenly for so long,
  double lockstep_most_cycles = 0;   ///< drawn evenly by its logarithm between these two
  double greedy_of_three_share = 0;  ///< share of three, instead of two, oldest warps served after that

  // Device memory.
  double bytes_per_cycle = 0;  ///< bandwidth, device-wide
  double memory_spread = 0;    ///< equal reads take up to this share longer or shorter at full load

  bool operator==(const DeviceParameters&) const = default;
};

/// Everything that the simulation knows of a device.
struct DeviceModel {
  Topology topology;
  std::vector<int> tpc_replacement_latency_cycles;  ///< what a replacement takes longer, by TPC
  std::vector<int> gpc_clock_ppm;                   ///< how much faster than the mean, by clock domain
  DeviceParameters parameters;

  /// A device of which nothing but its GPCs is known: TPCs and clocks alike.
  static DeviceModel uniform(Topology topology, const DeviceParameters& parameters) {
    DeviceModel model{std::move(topology), {}, {}, parameters};
    model.tpc_replacement_latency_cycles.assign(static_cast<std::size_t>(model.topology.tpc_count()), 0);
    model.gpc_clock_ppm.assign(static_cast<std::size_t>(model.topology.clock_domain_count()), 0);
    return model;
  }

  bool operator==(const DeviceModel&) const = default;
};

}  // namespace occbench
