#include <cstdint>

#include "gpu/l2_flush.hpp"

namespace occbench {
namespace {

/// L2 does not replace its lines in the order of their use: a buffer of its size would leave some.
constexpr std::size_t kTimesL2 = 4;

constexpr int kBlocks = 512;
constexpr int kThreads = 512;

std::size_t l2_bytes(int device_index) {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device_index),
        "cudaDeviceGetAttribute(L2CacheSize)");
  return static_cast<std::size_t>(bytes);
}

/// @param values are 0, so that nothing is ever written
__global__ void read_all(std::uint32_t* values, std::size_t count) {
  std::uint32_t any = 0;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    any |= values[i];
  if (any != 0) values[0] = any;
}

}  // namespace

L2Flush::L2Flush(int device_index) : bytes_(kTimesL2 * l2_bytes(device_index)) {}

void L2Flush::queue(cudaStream_t stream) {
  if (!memory_) {
    memory_.emplace(bytes_ / sizeof(std::uint32_t));
    check(cudaMemsetAsync(memory_->data(), 0, memory_->bytes(), stream), "cudaMemsetAsync");
  }
  read_all<<<kBlocks, kThreads, 0, stream>>>(memory_->data(), memory_->size());
  check(cudaGetLastError(), "read_all");
}

}  // namespace occbench
