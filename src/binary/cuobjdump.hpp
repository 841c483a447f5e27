#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "binary/device_code.hpp"

namespace occbench {

/// The CUDA toolkit's program that takes binaries apart. It needs nvdisasm beside it for machine code.
class Cuobjdump {
 public:
  /// Looks on PATH, in $CUDA_HOME/bin, $CUDA_PATH/bin, /usr/local/cuda/bin and build/cuda/bin of a source
  /// tree.
  /// @throws InputError naming these if it is in none
  Cuobjdump();

  using Line = std::function<void(std::string_view)>;

  /// Runs it on a file and calls `line` for each line that it prints, without the line's end.
  /// @param folder for files that it writes
  /// @throws InputError with the file and its complaint if it fails
  void run(const std::vector<std::string>& options, const std::filesystem::path& file, const Line& line,
           const std::filesystem::path& folder = ".") const;

  /// The same. @returns its complaint, or nvdisasm's, if it fails; else an empty text
  std::string complaint_of(const std::vector<std::string>& options, const std::filesystem::path& file,
                           const Line& line, const std::filesystem::path& folder = ".") const;

 private:
  std::filesystem::path program_;
};

/// A complaint about files that cuobjdump writes, preceded by the reason if its folder is full.
std::string with_lack_of_space(const std::string& complaint);

/// The output of `cuobjdump -res-usage`, line by line: the kernels of each cubin, in the order of the file.
class ResourceListing {
 public:
  void read(std::string_view line);

  /// A list of kernels for each cubin, without functions that are not kernels: symbol, architecture (except for a bare
  /// cubin), registers, stack, local and shared memory (with what the linker added).
  const std::vector<std::vector<DeviceKernel>>& cubins() const {
    return cubins_;
  }

  /// Whether some of the file is NVVM IR, for link-time optimization.
  bool is_lto() const {
    return is_lto_;
  }

 private:
  std::vector<std::vector<DeviceKernel>> cubins_;
  std::string architecture_;
  bool is_lto_ = false;
  std::string function_;
};

/// The output of `cuobjdump -sass` for a cubin, line by line.
class CodeListing {
 public:
  void read(std::string_view line);

  const std::unordered_map<std::string, LocalAccesses>& functions() const {
    return functions_;
  }

 private:
  std::unordered_map<std::string, LocalAccesses> functions_;
  LocalAccesses* function_ = nullptr;
};

}  // namespace occbench
