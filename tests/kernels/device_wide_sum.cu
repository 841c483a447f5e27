#include <cub/device/device_reduce.cuh>

#include "device_wide_sum.hpp"

namespace occbench {

double device_wide_sum_microseconds(std::int64_t count) {
  constexpr int kCalls = 100;
  float* values = nullptr;
  float* total = nullptr;
  void* storage = nullptr;
  std::size_t storage_bytes = 0;
  cudaMalloc(&values, static_cast<std::size_t>(count) * sizeof(float));
  cudaMalloc(&total, sizeof(float));
  cudaMemset(values, 0, static_cast<std::size_t>(count) * sizeof(float));
  cub::DeviceReduce::Sum(storage, storage_bytes, values, total, count);
  cudaMalloc(&storage, storage_bytes);
  cudaEvent_t before = nullptr;
  cudaEvent_t after = nullptr;
  cudaEventCreate(&before);
  cudaEventCreate(&after);
  cub::DeviceReduce::Sum(storage, storage_bytes, values, total, count);
  cudaEventRecord(before);
  for (int call = 0; call < kCalls; ++call) {
    cub::DeviceReduce::Sum(storage, storage_bytes, values, total, count);
  }
  cudaEventRecord(after);
  float milliseconds = 0;
  const cudaError_t status = cudaEventSynchronize(after);
  cudaEventElapsedTime(&milliseconds, before, after);
  cudaEventDestroy(after);
  cudaEventDestroy(before);
  cudaFree(storage);
  cudaFree(total);
  cudaFree(values);
  return status == cudaSuccess ? 1e3 * static_cast<double>(milliseconds) / kCalls : -1;
}

}  // namespace occbench
