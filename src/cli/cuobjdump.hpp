#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace occbench {

/// The CUDA toolkit's program that takes binaries apart. It needs nvdisasm beside it for machine code.
class Cuobjdump {
 public:
  /// Looks on PATH, in $CUDA_HOME/bin, $CUDA_PATH/bin, /usr/local/cuda/bin and build/cuda/bin of a source
  /// tree.
  /// @throws InputError naming these where it is in none
  Cuobjdump();

  using Line = std::function<void(std::string_view)>;

  /// Runs it on a file and calls `line` for each line that it prints, without the line's end.
  /// @param folder where files that it writes go
  /// @throws InputError with the file and its complaint where it fails
  void run(const std::vector<std::string>& options, const std::filesystem::path& file, const Line& line,
           const std::filesystem::path& folder = ".") const;

 private:
  std::filesystem::path program_;
};

}  // namespace occbench
