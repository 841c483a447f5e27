#pragma once

#include "kernels/multiply_add.cuh"
#include "kernels/register_pressure_kernel.cuh"
#include "kernels/static_shared.cuh"
#include "kernels/stay.hpp"

// The multiply-add kernels that are compiled at run time, for any requested number of registers.
namespace occbench {

template <int kValues, int kSteps, int kStepsPerLoad>
__global__ void live_registers_at_run_time(MultiplyAddArguments arguments) {
  keep_static_shared();
  multiply_add_rounds<kValues, kSteps, kStepsPerLoad>(arguments);
}

/// The same, and then each warp stays until its cycles are over: occupancy limited by registers, with a known
/// duration.
template <int kValues, int kSteps>
__global__ void resident_registers_at_run_time(MultiplyAddArguments arguments, long long cycles) {
  const long long start = clock64();
  keep_static_shared();
  multiply_add_rounds<kValues, kSteps, 0>(arguments);
  stay(start, cycles);
}

__global__ void register_pressure_at_run_time(MultiplyAddArguments arguments) {
  keep_static_shared();
  register_pressure_rounds(arguments);
}

}  // namespace occbench
