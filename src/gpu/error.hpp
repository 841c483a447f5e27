#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

namespace occbench {

/// A CUDA runtime call failed. The message has the call, the error's name and text, and the source location.
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, std::string_view call, const std::source_location& where);
  cudaError_t code() const {
    return code_;
  }

 private:
  cudaError_t code_;
};

/// This process can use no GPU: none in the machine, no driver, a driver older than the toolkit, or no code
/// for it in this binary. The message has the cause and the remedy. Programs then exit with status 2.
class GpuUnavailable : public std::runtime_error {
 public:
  explicit GpuUnavailable(const std::string& message) : std::runtime_error(message) {}
};

/// A case needs a feature that this device or its driver lacks. The message names it; the case's row is
/// `skipped`.
class CannotRun : public std::runtime_error {
 public:
  explicit CannotRun(const std::string& message) : std::runtime_error(message) {}
};

/// @throws CudaError unless `code` is cudaSuccess, GpuUnavailable if it says that this binary has no code for
/// the device; `call` names the call for the message.
void check(cudaError_t code, std::string_view call,
           const std::source_location& where = std::source_location::current());

/// The driver's function of this name, as of CUDA 12. @throws GpuUnavailable if the driver lacks it
template <typename Signature>
Signature* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result), name);
  if (result != cudaDriverEntryPointSuccess)
    throw GpuUnavailable("the driver has no " + std::string(name) + ": this needs one of CUDA 12");
  return reinterpret_cast<Signature*>(found);
}

/// Whether a failed kernel has destroyed the process's context: every later CUDA call would fail, too.
bool context_is_lost() noexcept;

}  // namespace occbench
