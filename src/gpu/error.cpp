#include "gpu/error.hpp"

#include <filesystem>

#include <fmt/core.h>

namespace occbench {

CudaError::CudaError(cudaError_t code, std::string_view call, const std::source_location& where)
    : std::runtime_error(
          fmt::format("{} failed: {} ({}) at {}:{}", call, cudaGetErrorName(code), cudaGetErrorString(code),
                      std::filesystem::path(where.file_name()).filename().string(), where.line())),
      code_(code) {}

void check(cudaError_t code, std::string_view call, const std::source_location& where) {
  if (code == cudaSuccess) return;
  // A launch error stays the thread's last error: clear it, because the exception carries it from here.
  static_cast<void>(cudaGetLastError());
  if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction ||
      code == cudaErrorUnsupportedPtxVersion) {
    throw GpuUnavailable(
        fmt::format("this binary has no code that the GPU can run ({} in {}): configure with "
                    "-DCMAKE_CUDA_ARCHITECTURES=native, or run scripts/run on this machine",
                    cudaGetErrorName(code), call));
  }
  throw CudaError(code, call, where);
}

bool context_is_lost() noexcept {
  // The documented errors that leave a process without a usable context are sticky: a harmless call returns
  // them.
  return cudaDeviceSynchronize() != cudaSuccess && cudaFree(nullptr) != cudaSuccess;
}

}  // namespace occbench
