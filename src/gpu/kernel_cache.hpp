#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "gpu/nvrtc.hpp"

namespace occbench {

/// Compiled kernels of this user, a file each, found by all that they were made from.
class KernelCache {
 public:
  /// @param folder made where it is not there; empty: nothing is kept
  explicit KernelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// What was made from `content`; empty where nothing was kept, or what was kept is damaged.
  std::optional<Nvrtc::Output> find(const std::string& content) const;

  /// Keeps it for later processes. Where it cannot be written nothing is kept: the kernel is compiled again.
  void keep(const std::string& content, const Nvrtc::Output& output) const;

 private:
  std::filesystem::path file_of(const std::string& content) const;

  std::filesystem::path folder_;
};

/// $XDG_CACHE_HOME/occbench/kernels, or else ~/.cache/occbench/kernels; empty where neither is known.
std::filesystem::path user_kernel_cache();

}  // namespace occbench
