#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "files/descriptor.hpp"

namespace occbench {

namespace fs = std::filesystem;

/// Writes to a file descriptor, however often a signal or a full disk splits the write. @returns whether all
/// of it is written
bool write_all(int descriptor, std::string_view text);

/// The target of a write to `file`, through symbolic links: a regular file or a free name.
/// @throws InputError if that is a folder, a device, a FIFO, a socket or an open file of a process (/dev/stdout), the links lead
/// nowhere, or the name is that of a compressed file or - (standard output)
std::filesystem::path output_target(const std::filesystem::path& file);

/// Makes a file's folder if it can; if not, writing the file says more.
void make_folder_of(const std::filesystem::path& file);

/// When a file counts as written.
enum class WrittenTo {
  disk,   ///< after fsync: it survives the machine
  system  ///< after write: it survives the process
};

/// A file that takes its name when it is whole: at every instant the name has the old file or the new one. A symbolic link stays and leads
/// to the new file. Until then the text is in a file of this process alone, in the same folder. If the process is killed, the next output
/// there removes that.
class OutputFile {
 public:
  /// @throws InputError as output_target(), or if the folder cannot be written
  explicit OutputFile(const std::filesystem::path& file, WrittenTo written = WrittenTo::disk);
  /// Leaves everything as it was, unless keep() was called.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// @throws InputError if the disk is full
  void write(std::string_view text);

  /// Writes all of the text, so that only the name is missing: for files that take their names together.
  /// @throws InputError if the disk is full
  void complete();

  /// The new file takes its name; this includes complete(). @throws InputError if the disk is full
  void keep();

 private:
  void flush();

  std::filesystem::path file_;  ///< as it was named
  std::filesystem::path target_;
  WrittenTo written_;
  std::filesystem::path temporary_;  ///< empty once it is kept
  Descriptor descriptor_;
  Descriptor locked_;    ///< of the same file, once it is complete
  std::string waiting_;  ///< text not handed to the system yet
};

/// Replaces a file by `text`, as OutputFile does. @throws InputError as it does
void replace_text(const std::filesystem::path& file, std::string_view text,
                  WrittenTo written = WrittenTo::disk);

/// Makes a new file. @returns false if the name is taken
/// @throws InputError if it cannot be made
bool create_text(const std::filesystem::path& file, std::string_view text);

/// A file that whole pieces of text are appended to.
class AppendFile {
 public:
  /// Opens a regular file that exists. @throws InputError if it cannot be written.
  explicit AppendFile(std::filesystem::path file, WrittenTo written = WrittenTo::disk);

  /// Appends `text`, usually by one write(2), and with WrittenTo::disk waits until it is on disk. If the disk is full, the written part is cut off
  /// again.
  /// @throws std::system_error if the disk is full or the file was removed.
  void append(std::string_view text);

 private:
  std::filesystem::path file_;
  WrittenTo written_;
  Descriptor descriptor_;
};

/// @throws InputError if a log's name belongs to something other than a regular file: the user did not name it, and it may lead to
/// somebody's file
void require_log(const std::filesystem::path& file);

/// Opens a log to append to; makes it if there is none. @throws InputError as require_log(), or if it cannot be written
Descriptor open_log(const std::filesystem::path& file);

/// A folder for private files, removed with its contents when its owner goes.
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
