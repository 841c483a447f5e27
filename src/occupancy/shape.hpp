#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace occbench {

/// Threads of a block, or blocks of a grid, along x, y and z. All 0: empty.
struct Shape {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t z = 0;

  bool empty() const {
    return x == 0;
  }
  std::int64_t total() const {
    return x * y * z;
  }
  bool operator==(const Shape&) const = default;
};

/// The most along each dimension. Source: CUDA C++ Programming Guide, table "Technical Specifications per
/// Compute Capability", the same from 3.0 on.
inline constexpr Shape kMostBlockShape{1024, 1024, 64};
inline constexpr Shape kMostGridShape{2'147'483'647, 65'535, 65'535};

/// Reads "256", "16x16" or "8x8x4"; what is left out is 1.
/// @param what  for the message: "--block-size"
/// @throws InputError where the text is no shape, a dimension is 0, or the total is more than 2^53
Shape parse_shape(std::string_view text, std::string_view what);

/// "256", "16x16", "8x8x4": without ones at the end.
std::string to_string(const Shape& shape);

/// @throws InputError with dimension, value and limit where one is more than `most` allows
void require_within(const Shape& shape, const Shape& most, std::string_view what);

}  // namespace occbench
