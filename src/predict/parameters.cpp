#include "predict/parameters.hpp"

#include <algorithm>
#include <array>

namespace occbench {
namespace {

constexpr double kMostCycles = 1e6;

// "Fits": profiles fitted to calibrations of four H200s and one H100 80GB; low and high are half and twice
// what they found, since nobody has published such figures of another architecture. "Seen": what was seen on
// an H200 beside the fits, in launches that are in tests/data/h200_launches.
constexpr std::string_view kFits = "fits of four H200s and an H100; half to twice of that elsewhere";
constexpr std::string_view kSeenOrOff = "seen on an H200 only; from off to twice of that elsewhere";

using P = DeviceParameters;

// clang-format off
constexpr std::array kParameters{
    Parameter{"launch_overhead_cycles", &P::launch_overhead_cycles, 240, 0, 120, 480, 0, kMostCycles,
              FittedTo::whole_waves, MattersTo::every_launch, "a warp is resident this much longer than its work takes", kFits},
    Parameter{"replacement_latency_cycles", &P::replacement_latency_cycles, 200, 0, 100, 400, 0, kMostCycles,
              FittedTo::whole_waves, MattersTo::more_than_a_wave, "from the end of a block to the start of the one in its place", kFits},
    Parameter{"replacement_dispatch_cycles_per_block", &P::replacement_dispatch_cycles_per_block, 1.1, 0, 0.55, 2.2, 0, kMostCycles,
              FittedTo::whole_waves, MattersTo::more_than_a_wave, "between two blocks that replace others, device-wide", kFits},
    Parameter{"busy_sm_extra_warp_launch_cycles", &P::busy_sm_extra_warp_launch_cycles, 7.5, 0, 3.8, 15, 0, kMostCycles,
              FittedTo::whole_waves, MattersTo::every_launch, "in the first wave, so much longer for each warp beyond half of those that an SM holds", kFits},
    Parameter{"warp_retire_cycles", &P::warp_retire_cycles, 18, 0, 9, 36, 0, kMostCycles,
              FittedTo::whole_waves, MattersTo::every_launch, "an SM retires two blocks this far apart for each warp, of at most two", kFits},
    Parameter{"block_launch_cycles", &P::block_launch_cycles, 20, 0, 10, 40, 0, kMostCycles,
              FittedTo::whole_waves, MattersTo::every_launch, "an SM launches two blocks at least this far apart", kFits},
    Parameter{"warp_launch_cycles", &P::warp_launch_cycles, 2.5, 0, 1.2, 5, 0, kMostCycles,
              FittedTo::whole_waves, MattersTo::every_launch, "and at least this for each warp of the first", kFits},
    Parameter{"shared_launch_share", &P::shared_launch_share, 0.25, 0, 0, 0.5, 0, 1,
              FittedTo::nothing, MattersTo::every_launch, "of the first slower launch, what delays the last warp of the block before it", kSeenOrOff},
    Parameter{"retire_active_warps", &P::retire_active_warps, 2, 0, 0, 2, 0, 64,
              FittedTo::nothing, MattersTo::every_launch, "blocks of up to so many warps keep the SM active until it has retired them", kSeenOrOff},
    Parameter{"full_sm_retire_delay_cycles", &P::full_sm_retire_delay_cycles, 200, 0, 0, 400, 0, kMostCycles,
              FittedTo::nothing, MattersTo::more_than_a_wave, "where such blocks take all block slots, completions beside another are seen this much later", kSeenOrOff},
    Parameter{"sibling_notices_room", &P::sibling_notices_room, 1, 0, 0, 1, 0, 1,
              FittedTo::nothing, MattersTo::more_than_a_wave, "1: room left by exited warps is seen when a block ends on either SM of a TPC", kSeenOrOff},
    Parameter{"even_first_wave", &P::even_first_wave, 1, 0, 0, 1, 0, 1,
              FittedTo::nothing, MattersTo::less_than_a_wave, "1: a grid that leaves room is spread over SMs in a fixed order", "placement.csv: 13 of 14 grids to the block"},
    Parameter{"gpcs_between_singletons", &P::gpcs_between_singletons, 6, {}, 6, 6, 1, 64,
              FittedTo::nothing, MattersTo::every_launch, "GPCs served between two visits to singleton TPCs", "the order of blocks traced on H200s"},
    Parameter{"jitter_cycles", &P::jitter_cycles, 100, 0, 0, 400, 0, kMostCycles,
              FittedTo::tails, MattersTo::every_launch, "and up to half of this longer or shorter, alike for blocks side by side", kFits},
    Parameter{"second_sm_delay_cycles", &P::second_sm_delay_cycles, 90, 0, 0, 360, 0, kMostCycles,
              FittedTo::tails, MattersTo::every_launch, "the second SM of a TPC starts its first block up to this much later", kFits},
    Parameter{"second_sm_delay_warps", &P::second_sm_delay_warps, 6, 0, 0, 12, 0, 64,
              FittedTo::nothing, MattersTo::every_launch, "blocks of fewer warps delay it in proportion", kSeenOrOff},
    Parameter{"sm_delay_cycles", &P::sm_delay_cycles, 60, 0, 0, 240, 0, kMostCycles,
              FittedTo::tails, MattersTo::every_launch, "an SM starts its first block up to this much later than another", kFits},
    Parameter{"gpc_clock_spread_ppm", &P::gpc_clock_spread_ppm, 600, 0, 0, 1200, 0, 100'000,
              FittedTo::known_clocks, MattersTo::every_launch, "GPC clocks differ by up to so much more or less, drawn for each launch",
              "clocks of eleven H200s that nobody traced; up to twice of that elsewhere"},
    Parameter{"always_issuing_share", &P::always_issuing_share, 0.8, 2, 0.8, 0.8, 0.01, 2,
              FittedTo::nothing, MattersTo::always_issuing, "warps that issue in this share of their cycles alone count as always issuing; above 1: none",
              "an H200 serves one warp of four multiply-add chains (0.82 to 0.96) so, and one of three not"},
    Parameter{"lockstep_least_cycles", &P::lockstep_least_cycles, 30'000, {}, 10'000, 100'000, 1, 1e12,
              FittedTo::nothing, MattersTo::always_issuing, "warps that can always issue share slots evenly at least so long",
              "10,000 to 700,000 explain the launches of lockstep.csv"},
    Parameter{"lockstep_most_cycles", &P::lockstep_most_cycles, 500'000, {}, 300'000, 700'000, 1, 1e12,
              FittedTo::nothing, MattersTo::always_issuing, "and at most so long: drawn evenly by its logarithm", "as the line above"},
    Parameter{"greedy_of_three_share", &P::greedy_of_three_share, 0.25, 0, 0, 0.5, 0, 1,
              FittedTo::nothing, MattersTo::always_issuing, "share of three, instead of two, oldest warps served after that", kSeenOrOff},
    Parameter{"bytes_per_cycle", &P::bytes_per_cycle, 2350, {}, 2350, 2350, 1, kMostCycles,
              FittedTo::nothing, MattersTo::memory, "bandwidth of device memory, device-wide; measured by a calibration",
              "an H200; of another GPU its data sheet's bandwidth over its clock"},
    Parameter{"memory_spread", &P::memory_spread, 0.1, 0, 0, 0.2, 0, 1,
              FittedTo::nothing, MattersTo::memory, "equal reads take up to this share longer or shorter at full load", kSeenOrOff},
};
// clang-format on

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
