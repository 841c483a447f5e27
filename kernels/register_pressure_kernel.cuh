#pragma once

#include "kernels/multiply_add.cuh"

namespace occbench {

inline constexpr MultiplyAddShape kRegisterPressureShape{144, 144, 24};

__device__ inline void register_pressure_rounds(const MultiplyAddArguments& arguments) {
  multiply_add_rounds<kRegisterPressureShape.values, kRegisterPressureShape.steps,
                      kRegisterPressureShape.steps_per_load>(arguments);
}

}  // namespace occbench
