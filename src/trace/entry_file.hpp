#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace occbench {

/// The entries of this process on disk. Written entries survive the process, not the machine: nothing waits for the disk.
class EntryFile {
 public:
  /// @param file that make_entry_file() made
  explicit EntryFile(std::filesystem::path file) : file_(std::move(file)) {}

  /// Appends changed entries. If that failed before, or the file is much longer than its content, a whole new file replaces it.
  /// @param entries appends entries to a text: those changed since its last call, or all
  /// @throws std::exception if the disk is full or the folder gone; the next call writes all
  void update(const std::function<void(std::string& text, bool all)>& entries);

 private:
  void append(const std::string& text);
  void replace(const std::string& text);

  const std::filesystem::path file_;
  bool is_whole_ = true;  ///< it has all entries handed over, and none torn
  std::size_t appended_ = 0;
  std::size_t longest_ = 8 << 20;  ///< bytes that may be appended before all is written again
};

}  // namespace occbench
