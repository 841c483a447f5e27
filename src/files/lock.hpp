#pragma once

#include <filesystem>

#include "files/descriptor.hpp"

namespace occbench {

/// Keeps other processes from writing a file while this one does, by a lock on FILE.lock beside it. That file names the holder and goes
/// with the lock. Processes that the holder starts share its lock.
class FileLock {
 public:
  /// @throws InputError if another process holds it, or FILE.lock is not a lock
  explicit FileLock(const std::filesystem::path& file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  bool take(const std::filesystem::path& file, int tries);

  std::filesystem::path path_;
  Descriptor descriptor_;  ///< none if another's lock covers this process too, or the folder has no locks
};

}  // namespace occbench
