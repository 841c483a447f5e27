#include "files/input.hpp"

#include <cerrno>
#include <cstring>
#include <istream>
#include <zlib.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

std::int64_t most_bytes = kMaxFileBytes;

void require_allowed(std::int64_t bytes, std::int64_t most, std::string_view source) {
  if (bytes <= most) return;
  throw InputError("cannot read {}: it holds more than {} bytes; --max-size SIZE raises this limit", source,
                   most);
}

/// How many bytes a character has that begins with this one; 0 if none does.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

}  // namespace

std::int64_t max_file_bytes() {
  return most_bytes;
}

void set_max_file_bytes(std::int64_t bytes) {
  most_bytes = bytes;
}

InputBuffer::InputBuffer(const std::filesystem::path& file, std::int64_t most)
    : name_(file.string()), file_(::gzopen(file.c_str(), "rbe"), ::gzclose_r), most_(most) {
  if (!file_) throw InputError("cannot read {}: {}", name_, std::strerror(errno));
  ::gzbuffer(file_.get(), 1u << 17);
}

InputBuffer::int_type InputBuffer::underflow() {
  const int read = ::gzread(file_.get(), piece_.data(), static_cast<unsigned>(piece_.size()));
  // A file that ends too early is an error of the stream, not of the last read.
  int error = Z_OK;
  const char* const why = ::gzerror(file_.get(), &error);
  if (read < 0 || error != Z_OK) {
    throw InputError("cannot read {}: {}", name_, error == Z_ERRNO ? std::strerror(errno) : why);
  }
  if (read == 0) return traits_type::eof();
  require_allowed(bytes_ += read, most_, name_);
  setg(piece_.data(), piece_.data(), piece_.data() + read);
  return traits_type::to_int_type(piece_[0]);
}

std::string read_text(const std::filesystem::path& file) {
  InputBuffer buffer(file);
  std::string text;
  while (buffer.in_avail() > 0 || buffer.sgetc() != InputBuffer::traits_type::eof()) {
    const std::size_t before = text.size();
    text.resize(before + static_cast<std::size_t>(buffer.in_avail()));
    buffer.sgetn(text.data() + before, static_cast<std::streamsize>(text.size() - before));
  }
  return text;
}

std::string read_text(std::istream& stream, std::string_view source) {
  std::string text;
  std::array<char, 1 << 16> piece;
  while (stream.read(piece.data(), piece.size()), stream.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
    require_allowed(static_cast<std::int64_t>(text.size()), most_bytes, source);
  }
  return text;
}

Utf8Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = length_of(first);
  const Utf8Character byte{1, first, length == 1};
  if (length <= 1) return byte;
  std::uint32_t code = first & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {1, first, false, true};
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return byte;
    code = (code << 6) | (next & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[length] || code > 0x10ffff || surrogate ? byte : Utf8Character{length, code, true};
}

}  // namespace occbench
