#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace occbench {

/// NVIDIA's runtime compiler, loaded at its first use.
class Nvrtc {
 public:
  /// @throws NoRuntimeCompiler if its library cannot be loaded
  static const Nvrtc& loaded();

  /// "13.0"
  const std::string& version() const {
    return version_;
  }

  /// Folders of the toolkit's headers, if the library is part of a toolkit.
  const std::vector<std::filesystem::path>& include_folders() const {
    return include_folders_;
  }

  /// One source as machine code.
  struct Output {
    std::string cubin;   ///< empty if it does not compile
    std::string symbol;  ///< of the requested function
    std::string log;     ///< of the compiler, and of the assembler with --ptxas-options=-v
  };

  /// @param headers   name and text of headers that are not in a folder
  /// @param function  as written in the source: "product<32>"
  /// @throws std::runtime_error if the compiler itself fails
  Output compile(const std::string& text, const std::string& name,
                 std::span<const std::pair<std::string, std::string>> headers, const std::string& function,
                 std::span<const std::string> options) const;

 private:
  explicit Nvrtc(void* library);

  void* library_;
  std::string version_;
  bool has_cache_ = false;
  std::vector<std::filesystem::path> include_folders_;
};

/// Compiled kernels of this user, one file each, found by all their inputs.
class KernelCache {
 public:
  /// @param folder created if missing; empty: nothing is kept
  explicit KernelCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The output for `content`; empty if none was kept, or its file is damaged.
  std::optional<Nvrtc::Output> find(const std::string& content) const;

  /// Keeps it for later processes. If it cannot be written, the kernel is compiled again.
  void keep(const std::string& content, const Nvrtc::Output& output) const;

 private:
  std::filesystem::path file_of(const std::string& content) const;

  std::filesystem::path folder_;
};

/// $XDG_CACHE_HOME/occbench/kernels, or else ~/.cache/occbench/kernels; empty if neither is known.
std::filesystem::path user_kernel_cache();

}  // namespace occbench
