#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

struct gzFile_s;  // of zlib

namespace occbench {

/// Most bytes that are read of one file, after decompression: 1 GiB. The samples of a full suite
/// have 110 MB, rows of 100,000 cases 130 MB. Set by `--max-size`, before anything is read.
inline constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 30;
std::int64_t max_file_bytes();
void set_max_file_bytes(std::int64_t bytes);

/// The text of a file, decompressed if gzip compressed it.
/// @throws InputError from any read if the file cannot be read, is damaged, or holds more than it may
class InputBuffer : public std::streambuf {
 public:
  /// @param most  bytes that may be read
  /// @throws InputError if the file cannot be opened
  explicit InputBuffer(const std::filesystem::path& file, std::int64_t most = max_file_bytes());

 protected:
  int_type underflow() override;

 private:
  std::string name_;
  std::unique_ptr<gzFile_s, int (*)(gzFile_s*)> file_;
  std::array<char, 1 << 16> piece_{};
  std::int64_t most_;
  std::int64_t bytes_ = 0;
};

/// The whole text of a file, as InputBuffer reads it. @throws InputError as it does
std::string read_text(const std::filesystem::path& file);

/// The whole of a stream such as standard input. @param source  names it in messages
/// @throws InputError if it holds more than max_file_bytes()
std::string read_text(std::istream& stream, std::string_view source);

}  // namespace occbench
