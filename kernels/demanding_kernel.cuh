#pragma once

#include "kernels/multiply_add.cuh"

namespace occbench {

inline constexpr MultiplyAddShape kDemandingShape{144, 144, 24};

__device__ inline void demanding_rounds(const MultiplyAddArguments& arguments) {
  multiply_add_rounds<kDemandingShape.values, kDemandingShape.steps, kDemandingShape.steps_per_load>(
      arguments);
}

}  // namespace occbench
