#include "predict/parameters.hpp"

#include <algorithm>
#include <array>

namespace occbench {
namespace {

// Each comment names the source of the typical value and of the range elsewhere. Fits: calibrations of four
// H200s and two H100s; elsewhere half to twice that, because no such figures are published for another
// architecture. Seen: in launches of H200s in tests/data/h200_launches.
using P = DeviceParameters;

constexpr std::array kParameters{
    // Fits.
    Parameter{.name = "launch_overhead_cycles",
              .value = &P::launch_overhead_cycles,
              .typical = 255,
              .off = 0,
              .least_elsewhere = 128,
              .most_elsewhere = 510,
              .fitted_to = FittedTo::whole_waves},
    // Fits.
    Parameter{.name = "replacement_latency_cycles",
              .value = &P::replacement_latency_cycles,
              .typical = 200,
              .least_elsewhere = 100,
              .most_elsewhere = 400,
              .fitted_to = FittedTo::whole_waves,
              .matters_to = MattersTo::more_than_a_wave},
    // Fits.
    Parameter{.name = "replacement_dispatch_cycles_per_block",
              .value = &P::replacement_dispatch_cycles_per_block,
              .typical = 1.17,
              .off = 0,
              .least_elsewhere = 0.58,
              .most_elsewhere = 2.3,
              .fitted_to = FittedTo::whole_waves,
              .matters_to = MattersTo::more_than_a_wave},
    // Fits.
    Parameter{.name = "block_launch_cycles",
              .value = &P::block_launch_cycles,
              .typical = 39,
              .off = 0,
              .least_elsewhere = 20,
              .most_elsewhere = 78,
              .fitted_to = FittedTo::whole_waves},
    // Seen on an H200 only; from off to twice of that elsewhere.
    Parameter{.name = "sibling_notices_room",
              .value = &P::sibling_notices_room,
              .typical = 1,
              .off = 0,
              .least_elsewhere = 0,
              .most_elsewhere = 1,
              .most_allowed = 1,
              .matters_to = MattersTo::more_than_a_wave},
    // placement.csv: 13 of 14 grids match to the block.
    Parameter{.name = "even_first_wave",
              .value = &P::even_first_wave,
              .typical = 1,
              .off = 0,
              .least_elsewhere = 0,
              .most_elsewhere = 1,
              .most_allowed = 1,
              .matters_to = MattersTo::less_than_a_wave},
    // The order of blocks recorded on H200s.
    Parameter{.name = "gpcs_between_singletons",
              .value = &P::gpcs_between_singletons,
              .typical = 6,
              .least_elsewhere = 6,
              .most_elsewhere = 6,
              .least_allowed = 1,
              .most_allowed = 64},
    // In first_blocks.csv, starts have a standard deviation of 55 cycles, as a uniform spread over 190 has;
    // from off to twice that elsewhere.
    Parameter{.name = "sm_delay_cycles",
              .value = &P::sm_delay_cycles,
              .typical = 190,
              .off = 0,
              .least_elsewhere = 0,
              .most_elsewhere = 380},
    // Clocks of eleven H200s without measured clocks; up to twice that elsewhere.
    Parameter{.name = "gpc_clock_spread_ppm",
              .value = &P::gpc_clock_spread_ppm,
              .typical = 600,
              .off = 0,
              .least_elsewhere = 0,
              .most_elsewhere = 1200,
              .most_allowed = 100'000,
              .fitted_to = FittedTo::known_clocks},
    // An H200 serves a warp of four multiply-add chains (0.82 to 0.96) so, but not one of three.
    Parameter{.name = "always_issuing_share",
              .value = &P::always_issuing_share,
              .typical = 0.8,
              .off = 2,
              .least_elsewhere = 0.8,
              .most_elsewhere = 0.8,
              .least_allowed = 0.01,
              .most_allowed = 2,
              .matters_to = MattersTo::always_issuing},
    // 10,000 to 700,000 explain the launches of lockstep.csv.
    Parameter{.name = "lockstep_least_cycles",
              .value = &P::lockstep_least_cycles,
              .typical = 30'000,
              .least_elsewhere = 10'000,
              .most_elsewhere = 100'000,
              .least_allowed = 1,
              .most_allowed = 1e12,
              .matters_to = MattersTo::always_issuing},
    // As the line above.
    Parameter{.name = "lockstep_most_cycles",
              .value = &P::lockstep_most_cycles,
              .typical = 500'000,
              .least_elsewhere = 300'000,
              .most_elsewhere = 700'000,
              .least_allowed = 1,
              .most_allowed = 1e12,
              .matters_to = MattersTo::always_issuing},
    // Seen on an H200 only; from off to twice of that elsewhere.
    Parameter{.name = "greedy_of_three_share",
              .value = &P::greedy_of_three_share,
              .typical = 0.25,
              .least_elsewhere = 0,
              .most_elsewhere = 0.5,
              .most_allowed = 1,
              .matters_to = MattersTo::always_issuing},
    // An H200; for another GPU, its data sheet's bandwidth over its clock.
    Parameter{.name = "bytes_per_cycle",
              .value = &P::bytes_per_cycle,
              .typical = 2350,
              .least_elsewhere = 2350,
              .most_elsewhere = 2350,
              .least_allowed = 1,
              .matters_to = MattersTo::memory},
    // Seen on an H200 only; from off to twice of that elsewhere.
    Parameter{.name = "memory_spread",
              .value = &P::memory_spread,
              .typical = 0.1,
              .off = 0,
              .least_elsewhere = 0,
              .most_elsewhere = 0.2,
              .most_allowed = 1,
              .matters_to = MattersTo::memory},
};

}  // namespace

std::span<const Parameter> parameters() {
  return kParameters;
}

const Parameter* find_parameter(std::string_view name) {
  const auto found = std::ranges::find(kParameters, name, &Parameter::name);
  return found == kParameters.end() ? nullptr : &*found;
}

DeviceParameters typical_parameters() {
  DeviceParameters typical;
  for (const Parameter& parameter : kParameters) typical.*parameter.value = parameter.typical;
  return typical;
}

}  // namespace occbench
