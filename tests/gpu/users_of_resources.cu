#include "users_of_resources.hpp"

namespace occbench {
namespace {

constexpr int kFewestRegisters = 24;  // that __maxnreg__ can ask for

// Never launched: what matters is what the compiler makes of it. `kRegisters` values are needed at once.
template <int kRegisters, int kSharedBytes, int kBarriers>
__global__ void __maxnreg__(kRegisters < kFewestRegisters ? kFewestRegisters : kRegisters)
    user_of_resources(float* x) {
  float values[kRegisters];
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) values[i] = x[32 * i + threadIdx.x];
  if constexpr (kSharedBytes > 0) {
    __shared__ char block[kSharedBytes];
    block[threadIdx.x % kSharedBytes] = static_cast<char>(values[0]);
    values[0] += static_cast<float>(block[(threadIdx.x + 1) % kSharedBytes]);
  }
  if constexpr (kBarriers > 0)
    asm volatile("bar.sync %0, %1;" ::"n"(kBarriers - 1), "r"(blockDim.x) : "memory");
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) x[32 * i + threadIdx.x] = values[kRegisters - 1 - i];
}

template <int kRegisters, int kSharedBytes = 0, int kBarriers = 0>
ResourceUser user() {
  return {reinterpret_cast<const void*>(&user_of_resources<kRegisters, kSharedBytes, kBarriers>), kBarriers};
}

}  // namespace

std::vector<ResourceUser> users_of_resources() {
  return {user<4>(),
          user<12, 0, 1>(),
          user<24, 1>(),
          user<28, 1500, 1>(),
          user<32, 0, 3>(),
          user<36, 4096, 2>(),
          user<40>(),
          user<44, 20000, 1>(),
          user<48, 0, 5>(),
          user<56, 7000, 16>(),
          user<64, 0, 1>(),
          user<72, 49152>(),
          user<80, 0, 9>(),
          user<88, 1024, 1>(),
          user<96>(),
          user<112, 0, 1>(),
          user<128, 33333, 4>(),
          user<144>(),
          user<168, 100>(),
          user<200, 0, 12>(),
          user<232, 0, 1>(),
          user<255, 12345, 1>()};
}

}  // namespace occbench
