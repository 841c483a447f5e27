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

/// Where a write to `file` ends: at a regular file or a free name, through the symbolic links that lead there.
/// @throws InputError if that is a folder, a device, a FIFO, a socket or an open file of a process (/dev/stdout), the links lead
/// nowhere, or the name is that of a compressed file or - (standard output)
std::filesystem::path output_target(const std::filesystem::path& file);

/// The folder that a file will lie in, where it can be made; writing the file says more where not.
void make_folder_of(const std::filesystem::path& file);

/// When a file counts as written.
enum class WrittenTo {
  disk,   ///< after fsync: it survives the machine
  system  ///< after write: it survives the process
};

/// A file that takes its name when it is whole: until then the old one stands there, and afterwards the new one, at
/// every instant. A symbolic link stays and leads to the new file. Its text is kept until then in a file of this process
/// alone, in the same folder; if it is killed, the next output there removes that.
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

  /// All of the text is written, and only the name is missing: for files that take their names together.
  /// @throws InputError if the disk is full
  void complete();

  /// The new file takes its name; complete() is part of it. @throws InputError if the disk is full
  void keep();

 private:
  void flush();

  std::filesystem::path file_;  ///< as it was named
  std::filesystem::path target_;
  WrittenTo written_;
  std::filesystem::path temporary_;  ///< empty once it is kept
  Descriptor descriptor_;
  Descriptor locked_;    ///< of the same file, once it is complete
  std::string waiting_;  ///< text that is not handed to the system yet
};

/// Puts `text` in the place of a file, as OutputFile does. @throws InputError as it does
void replace_text(const std::filesystem::path& file, std::string_view text,
                  WrittenTo written = WrittenTo::disk);

/// Makes a file that was not there. @returns false if there is something of that name
/// @throws InputError if it cannot be made
bool create_text(const std::filesystem::path& file, std::string_view text);

/// A file that grows at its end by whole pieces of text.
class AppendFile {
 public:
  /// Opens a regular file that exists. @throws InputError if it cannot be written.
  explicit AppendFile(std::filesystem::path file, WrittenTo written = WrittenTo::disk);

  /// Appends `text` by one write(2), and waits until it is on disk where it is written to there. What a full disk has taken of it
  /// is cut off again.
  /// @throws std::system_error if the disk is full or the file was removed.
  void append(std::string_view text);

 private:
  std::filesystem::path file_;
  WrittenTo written_;
  Descriptor descriptor_;
};

/// @throws InputError if what has the name of a log is no regular file: it was not named by the user, and may lead to somebody's
void require_log(const std::filesystem::path& file);

/// Opens a log to append to; makes it where there is none. @throws InputError as require_log(), or if it cannot be written
Descriptor open_log(const std::filesystem::path& file);

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
