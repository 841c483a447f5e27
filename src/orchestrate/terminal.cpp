#include "orchestrate/terminal.hpp"

#include <cstdint>
#include <unistd.h>

#include <fmt/core.h>

#include "files/input.hpp"

namespace occbench {
namespace {

bool is_shown_as_it_is(const Utf8Character& character) {
  const std::uint32_t code = character.code;
  if (!character.valid) return false;
  if (code < 0x20) return code == '\t' || code == '\n';
  const bool is_control = code >= 0x7f && code <= 0x9f;
  const bool turns_text = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                          (code >= 0x2066 && code <= 0x2069);
  return !is_control && !turns_text;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (is_shown_as_it_is(character)) {
      shown += text.substr(0, character.bytes);
    } else {
      shown += character.bytes == 1 ? fmt::format("\\x{:02x}", character.code)
                                    : fmt::format("\\u{:04x}", character.code);
    }
    text.remove_prefix(character.bytes);
  }
  return shown;
}

bool TerminalStream::Buffer::pass_on(std::size_t end) {
  const std::string shown = printable(std::string_view(waiting_).substr(0, end));
  waiting_.erase(0, end);
  return to_->sputn(shown.data(), static_cast<std::streamsize>(shown.size())) ==
         static_cast<std::streamsize>(shown.size());
}

std::streamsize TerminalStream::Buffer::xsputn(const char* text, std::streamsize size) {
  waiting_.append(text, static_cast<std::size_t>(size));
  // A character may arrive in two pieces. Up to the last line end all are complete.
  return pass_on(waiting_.rfind('\n') + 1) ? size : 0;
}

TerminalStream::Buffer::int_type TerminalStream::Buffer::overflow(int_type letter) {
  if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
  const char text = traits_type::to_char_type(letter);
  return xsputn(&text, 1) == 1 ? letter : traits_type::eof();
}

int TerminalStream::Buffer::sync() {
  const bool passed = pass_on(waiting_.size());
  return passed && to_->pubsync() == 0 ? 0 : -1;
}

TerminalStream::TerminalStream(std::ostream& to, int descriptor)
    : std::ostream(nullptr), buffer_(to.rdbuf()) {
  rdbuf(::isatty(descriptor) != 0 ? &buffer_ : to.rdbuf());
  if ((to.flags() & std::ios::unitbuf) != 0) setf(std::ios::unitbuf);
}

}  // namespace occbench
