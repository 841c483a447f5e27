#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace occbench {

/// Contents of a buffer when a case begins.
enum class Contents {
  random,  ///< uniform from 0 to 1 (from 0 to 2^31 - 1 for whole numbers), the same on every machine
  zeros,
  iota,  ///< 0, 1, 2, ...
  file,  ///< the bytes of a file
};

/// The types that an argument of a kernel can have.
enum class ElementType { int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64 };

std::size_t bytes_of(ElementType type);
/// By its C++ name; empty for an unknown one.
std::optional<ElementType> type_of(std::string_view name);
std::string_view to_string(ElementType type);

/// One argument of a kernel, as a description: nothing is allocated.
struct Argument {
  ElementType type = ElementType::float32;
  std::int64_t count = 0;  ///< elements of a buffer; 0: a value
  Contents contents = Contents::random;
  double value = 0;       ///< of a value
  std::string file = {};  ///< with the contents of a buffer

  bool is_buffer() const {
    return count > 0;
  }
  bool operator==(const Argument&) const = default;
};

/// An argument in text:
///
///   float[1<<24]        a buffer of 2^24 random numbers
///   float[1024*1024]=zeros
///   int[4096]=iota
///   float[4096]=@input.bin    the bytes of a file, as many as the buffer has
///   int=5               a value
///   5, 0.25             a value: int or float
///
/// Types: char, unsigned char, short, unsigned short, int, unsigned, long long, unsigned long long, float,
/// double, and int8_t to uint64_t. A count is a product or shift of whole numbers, with K, M and G for 1024
/// and so on. @throws InputError that names the text and the error, also for a file that cannot be read or
/// has another size
Argument parse_argument(std::string_view text);

}  // namespace occbench
