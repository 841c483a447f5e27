#pragma once

#include <filesystem>

namespace occbench {

/// A folder for files of no use to anybody else, which goes with what is in it when its owner does.
class TemporaryFolder {
 public:
  /// @throws InputError if it cannot be made
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const {
    return path_;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace occbench
