#pragma once

#include <filesystem>

#include "files/descriptor.hpp"

namespace occbench {

/// Keeps other processes from writing a file while this one does: a lock on FILE.lock beside it, which names
/// the process that holds it and goes with the lock. Processes that the holder starts go by its lock.
class FileLock {
 public:
  /// @throws InputError if another process holds it, or what stands at FILE.lock is no lock
  explicit FileLock(const std::filesystem::path& file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  bool take(const std::filesystem::path& file, int tries);

  std::filesystem::path path_;
  Descriptor
      descriptor_;  ///< none where somebody else's lock holds for this process too, or the folder has no locks
};

}  // namespace occbench
