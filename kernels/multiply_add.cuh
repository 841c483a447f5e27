#pragma once

#include "kernels/multiply_add_arguments.hpp"

namespace occbench {

template <int kValues, int kSteps, int kStepsPerLoad>
__device__ void multiply_add_rounds(const MultiplyAddArguments& arguments) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  const float* const inputs = arguments.inputs + (kStepsPerLoad > 0 ? thread / 32 : thread) % kInputSets;
  float values[kValues];
#pragma unroll
  for (int i = 0; i < kValues; ++i) values[i] = inputs[i * kInputSets];
  float sum = inputs[kValues * kInputSets];
#pragma unroll 1
  for (int round = 0; round < arguments.rounds; ++round) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      float addend = values[(step + 1) % kValues];
      if constexpr (kStepsPerLoad > 0) {
        if (step % kStepsPerLoad == 0) {
          const auto* const place =
              reinterpret_cast<const char*>(arguments.table) + (__float_as_uint(sum) & kTableByteMask);
          addend = __ldcg(reinterpret_cast<const float*>(place));  // bypasses L1
        }
      }
      sum = __fmaf_rn(sum, values[step % kValues], addend);
    }
  }
  arguments.sums[thread] = sum;
}

}  // namespace occbench
