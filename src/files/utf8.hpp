#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace occbench {

/// A character of a text, or a byte that is none of UTF-8.
struct Utf8Character {
  std::size_t bytes;   ///< 1 to 4; 1 for a byte that is none
  std::uint32_t code;  ///< of a byte that is none, the byte
  bool valid;
  bool cut = false;  ///< the text ends within what may be a character
};

/// The first character of a text that is not empty, by the rules of RFC 3629: no longer forms than needed, no surrogates,
/// nothing beyond U+10FFFF.
Utf8Character first_character(std::string_view text);

}  // namespace occbench
