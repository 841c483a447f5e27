#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cli/device_code.hpp"

namespace occbench {

/// What `cuobjdump -res-usage` prints, line by line: the kernels of each cubin, in the order of the file.
class ResourceListing {
 public:
  void read(std::string_view line);

  /// A list of kernels for each cubin, functions that are no kernels left out: symbol, registers, stack,
  /// local and shared memory (with what the linker added).
  const std::vector<std::vector<DeviceKernel>>& cubins() const {
    return cubins_;
  }

 private:
  std::vector<std::vector<DeviceKernel>> cubins_;
  std::string function_;
};

/// What `cuobjdump -sass` prints of a cubin, line by line.
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
