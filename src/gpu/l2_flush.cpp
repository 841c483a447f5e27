#include "gpu/l2_flush.hpp"

namespace occbench {
namespace {

std::size_t l2_bytes(int device_index) {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device_index),
        "cudaDeviceGetAttribute(L2CacheSize)");
  return static_cast<std::size_t>(bytes);
}

}  // namespace

L2Flush::L2Flush(int device_index) : bytes_(2 * l2_bytes(device_index)) {}

void L2Flush::queue(cudaStream_t stream) {
  if (!memory_) memory_.emplace(bytes_);
  check(cudaMemsetAsync(memory_->data(), 0, memory_->bytes(), stream), "cudaMemsetAsync");
}

}  // namespace occbench
