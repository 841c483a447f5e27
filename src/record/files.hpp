#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace occbench {

/// The whole of a file. @throws InputError if it cannot be read.
std::string read_text(const std::filesystem::path& file);

/// The whole of a file that gzip compressed. @throws InputError if it cannot be read or is damaged.
std::string read_gzip_text(const std::filesystem::path& file);

/// Writes to a file descriptor, however often a signal or a full disk splits the write. @returns whether all
/// of it is written
bool write_all(int descriptor, std::string_view text);

/// Puts `text` in the place of a file: at every instant the file is the old one or the new one, whole, and
/// the new one is on disk on return. Symbolic links are followed.
/// @throws InputError if the folder cannot be written or `file` is something else than a file.
void replace_text(const std::filesystem::path& file, std::string_view text);

/// A folder for files of no use to anybody else, which goes with what is in it when its owner does.
class TemporaryFolder {
 public:
  /// @throws std::system_error if it cannot be made
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

/// Keeps other processes from writing a file while this one does: a lock on FILE.lock beside it, which names
/// the process that holds it and goes with the lock. Processes that the holder starts go by its lock.
class FileLock {
 public:
  /// @throws InputError if another process holds it
  explicit FileLock(const std::filesystem::path& file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  bool take(const std::filesystem::path& file);

  std::filesystem::path path_;
  int descriptor_ =
      -1;  ///< -1 where somebody else's lock holds for this process too, or the folder has no locks
};

/// A file that grows at its end by whole pieces of text.
class AppendFile {
 public:
  /// Opens a file that exists. @throws InputError if it cannot be written.
  explicit AppendFile(std::filesystem::path file);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;

  /// Appends `text` by one write(2) and waits until it is on disk. What a full disk has taken of it is cut
  /// off again.
  /// @throws std::system_error if the disk is full or the file was removed.
  void append(std::string_view text);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace occbench
