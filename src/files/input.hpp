#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <string_view>

struct gzFile_s;  // of zlib

namespace occbench {

namespace fs = std::filesystem;

/// Most bytes that are read from one file, after decompression: 1 GiB. The samples of a full suite have 110 MB, rows of 100,000 cases 130
/// MB. Set by `--max-size`, before anything is read.
inline constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 30;
std::int64_t max_file_bytes();
void set_max_file_bytes(std::int64_t bytes);

/// An environment variable; empty if it is not set.
inline std::string environment_variable(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

/// This user's folder by the XDG base directory specification: below the variable's, or else below the home folder. Empty if neither is
/// known. A relative path is ignored.
/// @param below_home  replaces the variable if it is not set: ".config"
inline fs::path user_folder(const char* variable, const char* below_home) {
  if (fs::path folder = environment_variable(variable); folder.is_absolute()) return folder / "occbench";
  const fs::path home = environment_variable("HOME");
  return home.is_absolute() ? home / below_home / "occbench" : fs::path();
}

/// Reading has ended because a signal asked to stop.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

/// The text of a file, decompressed if gzip compressed it.
/// @throws InputError from any read if the file cannot be read, is damaged, or is too large
class InputBuffer : public std::streambuf {
 public:
  /// @param most  bytes that may be read
  /// @throws InputError if the file cannot be opened; Interrupted, as any read, if a StopOnSignals gets a signal while a FIFO or pipe has
  /// nothing to read
  explicit InputBuffer(const std::filesystem::path& file, std::int64_t most = max_file_bytes());

 protected:
  int_type underflow() override;

 private:
  std::string name_;
  int descriptor_ = -1;
  bool waits_ = false;  ///< it is not a regular file
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> file_;
  std::array<char, 1 << 16> piece_{};
  std::int64_t most_;
  std::int64_t bytes_ = 0;
};

/// Whether a file is there that the user did not name. Opening a pipe without a writer would never end.
/// @param what  contents that its name implies @throws InputError if it is not a regular file
bool is_file_beside(const std::filesystem::path& file, std::string_view what);

/// The whole text of a file, as InputBuffer reads it. @throws InputError as it does
std::string read_text(const std::filesystem::path& file);

/// The whole of a stream such as standard input. @param source  names it in messages
/// @throws InputError if it holds more than max_file_bytes()
std::string read_text(std::istream& stream, std::string_view source);

/// A character of a text, or a byte that is not UTF-8.
struct Utf8Character {
  std::size_t bytes;   ///< 1 to 4; 1 for an invalid byte
  std::uint32_t code;  ///< of an invalid byte, the byte
  bool valid;
  bool cut = false;  ///< the text ends within what may be a character
};

/// The first character of a text that is not empty, by the rules of RFC 3629: no longer forms than needed, no surrogates,
/// nothing beyond U+10FFFF.
Utf8Character first_character(std::string_view text);

}  // namespace occbench
