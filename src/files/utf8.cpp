#include "files/utf8.hpp"

namespace occbench {
namespace {

/// How many bytes a character has that begins with this one; 0 if none does.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

}  // namespace

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
