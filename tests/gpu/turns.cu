#include "gpu/error.hpp"
#include "gpu/resources.hpp"
#include "gpu/warp_record.hpp"
#include "turns.hpp"

namespace occbench {
namespace {

/// `placed`: blocks that have begun, and then the SM of the last one of them.
__global__ void leave_one_after_another(unsigned first_to_leave, unsigned sms, unsigned* placed) {
  constexpr long long kPatience = 10'000'000;
  const long long start = clock64();
  const unsigned begun_before = atomicAdd(&placed[0], 1U);
  if (begun_before == sms) placed[1] = current_sm();
  const bool leaves_first = begun_before < sms && current_sm() == first_to_leave;
  const unsigned until = leaves_first ? sms : sms + 1;
  while (atomicAdd(&placed[0], 0U) < until && clock64() - start < kPatience) __nanosleep(200);
}

__global__ void note_sm(int* sms) {
  constexpr long long kCycles = 20'000;
  const long long start = clock64();
  if (threadIdx.x == 0) sms[blockIdx.x] = static_cast<int>(current_sm());
  while (clock64() - start < kCycles) __nanosleep(20);
}

}  // namespace

int place_last_block_on(const Device& device, int sm) {
  DeviceBuffer<unsigned> placed(2);
  placed.fill_bytes(0);
  const auto bytes = static_cast<int>(device.limits.max_shared_bytes_per_block);
  check(cudaFuncSetAttribute(leave_one_after_another, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "cudaFuncSetAttribute");
  leave_one_after_another<<<static_cast<unsigned>(device.sm_count) + 1, 1, static_cast<std::size_t>(bytes)>>>(
      static_cast<unsigned>(sm), static_cast<unsigned>(device.sm_count), placed.data());
  check(cudaGetLastError(), "launch of leave_one_after_another");
  return static_cast<int>(placed.to_host()[1]);
}

std::vector<int> sms_of_blocks(int blocks) {
  DeviceBuffer<int> sms(static_cast<std::size_t>(blocks));
  note_sm<<<static_cast<unsigned>(blocks), 256>>>(sms.data());
  check(cudaGetLastError(), "launch of note_sm");
  return sms.to_host();
}

}  // namespace occbench
