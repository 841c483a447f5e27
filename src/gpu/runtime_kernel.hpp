#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/nvrtc.hpp"
#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"

namespace occbench {

/// Device code that is compiled at run time.
struct KernelSource {
  std::string name;  ///< for the compiler's messages: "my.cu"
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers = {};  ///< name and text, found before files
  std::vector<std::filesystem::path> include_folders = {};
  std::string standard = "c++20";
  std::optional<std::string> included = {};  ///< included_by(); empty: looked up for each build
};

/// Size and hash of the files that a source includes, for the cache: libraries have megabytes.
std::string included_by(const KernelSource& source);

/// One build of a source.
struct KernelBuild {
  std::string function;  ///< as written in the source, with template arguments: "product<32>"
  ComputeCapability compute_capability;
  std::optional<int> register_cap = {};   ///< as -maxrregcount; launch bounds of the source override it
  std::vector<std::string> defines = {};  ///< "TILE=16"
};

/// A source that does not compile. The message is the compiler's.
class DoesNotCompile : public std::runtime_error {
 public:
  explicit DoesNotCompile(const std::string& message) : std::runtime_error(message) {}
};

/// A kernel compiled at run time: its usage is known without a GPU.
class RuntimeKernel {
 public:
  RuntimeKernel(Nvrtc::Output output, const KernelBuild& build);

  /// Usage, spills and architecture, as the assembler reported them. Its shared memory excludes the driver's
  /// reserve.
  const Compiled& compiled() const {
    return compiled_;
  }

  const std::string& cubin() const {
    return cubin_;
  }

  /// Its mangled name.
  const std::string& symbol() const {
    return symbol_;
  }

  /// A sentence if the assembler did not keep the register cap; else empty.
  const std::string& note() const {
    return note_;
  }

  /// The function, for the runtime's calls that take one. The first call loads it into the current context.
  /// @throws CudaError, GpuUnavailable if the driver cannot load it
  const void* function();

 private:
  std::string cubin_;
  std::string symbol_;
  Compiled compiled_;
  std::string note_;
  const void* function_ = nullptr;
};

/// Compiles with NVRTC, or reuses an earlier result from this process or the cache. Thread-safe.
/// @throws DoesNotCompile; InputError if there is no NVRTC
std::shared_ptr<RuntimeKernel> compile_kernel(const KernelSource& source, const KernelBuild& build,
                                              const KernelCache& cache = KernelCache(user_kernel_cache()));

}  // namespace occbench
