#include "files/input.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <istream>
#include <optional>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "files/stop_signals.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

std::int64_t most_bytes = kMaxFileBytes;

void require_allowed(std::int64_t bytes, std::int64_t most, std::string_view source) {
  if (bytes <= most) return;
  throw InputError("cannot read {}: it holds more than {} bytes; --max-size SIZE raises this limit", source,
                   most);
}

/// Bytes of a character that begins with this one; 0 if none does.
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

/// Opens a FIFO without blocking, then waits for its writer until a signal asks to stop.
InputBuffer::InputBuffer(const std::filesystem::path& file, std::int64_t most)
    : name_(file.string()), file_(nullptr, ::gzclose_r), most_(most) {
  descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ >= 0) file_.reset(::gzdopen(descriptor_, "rb"));
  if (!file_) throw InputError("cannot read {}: {}", name_, std::strerror(errno));
  ::gzbuffer(file_.get(), 1u << 17);
  struct stat found {};
  waits_ = ::fstat(descriptor_, &found) != 0 || !S_ISREG(found.st_mode);
  if (!waits_) return;
  const ReadUntilStopped reading(descriptor_);
  pollfd writer{.fd = descriptor_, .events = POLLIN, .revents = 0};
  while (::poll(&writer, 1, -1) < 0 && errno == EINTR) reading.check();
  static_cast<void>(::fcntl(descriptor_, F_SETFL, 0));
}

InputBuffer::int_type InputBuffer::underflow() {
  std::optional<ReadUntilStopped> reading;
  if (waits_) reading.emplace(descriptor_);
  const int read = ::gzread(file_.get(), piece_.data(), static_cast<unsigned>(piece_.size()));
  if (reading) reading->check();
  // A file that ends too early is an error of the stream, not of the last read.
  int error = Z_OK;
  const char* const why = ::gzerror(file_.get(), &error);
  if (read < 0 || error != Z_OK) {
    const char* const named = std::strstr(why, ">: ");  // behind the descriptor
    throw InputError("cannot read {}: {}", name_,
                     error == Z_ERRNO   ? std::strerror(errno)
                     : named == nullptr ? why
                                        : named + 3);
  }
  if (read == 0) return traits_type::eof();
  require_allowed(bytes_ += read, most_, name_);
  setg(piece_.data(), piece_.data(), piece_.data() + read);
  return traits_type::to_int_type(piece_[0]);
}

bool is_file_beside(const fs::path& file, std::string_view what) {
  std::error_code missing;
  const fs::file_status status = fs::status(file, missing);
  if (!fs::exists(status) || fs::is_regular_file(status)) return fs::exists(status);
  throw InputError("{} is no regular file, and its name says that it has {}: move it away", file.string(),
                   what);
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
