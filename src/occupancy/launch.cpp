#include "occupancy/launch.hpp"

#include <charconv>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// Whole numbers up to this are exact as decimal numbers.
constexpr std::int64_t kMostTotal = std::int64_t{1} << 53;

}  // namespace

Shape parse_shape(std::string_view text, std::string_view what) {
  const auto refuse = [&](std::string_view why) {
    throw InputError("{} {}: {}; a shape is 256, 16x16 or 8x8x4", what, text, why);
  };
  std::int64_t sizes[] = {1, 1, 1};
  std::int64_t total = 1;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::int64_t& size : sizes) {
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc()) refuse("a dimension is a whole number");
    if (size < 1) refuse("a dimension is at least 1");
    if (size > kMostTotal / total) refuse(fmt::format("the total is more than {}", kMostTotal));
    total *= size;
    at = next;
    if (at == end) return {sizes[0], sizes[1], sizes[2]};
    if (*at++ != 'x') refuse("dimensions are separated by x");
  }
  refuse("there are at most 3 dimensions");
  return {};
}

std::string to_string(const Shape& shape) {
  if (shape.z > 1) return fmt::format("{}x{}x{}", shape.x, shape.y, shape.z);
  return shape.y > 1 ? fmt::format("{}x{}", shape.x, shape.y) : fmt::format("{}", shape.x);
}

void require_within(const Shape& shape, const Shape& most, std::string_view what) {
  const auto check = [&](char name, std::int64_t value, std::int64_t limit) {
    if (value > limit)
      throw InputError("{} {}: {} = {}, and CUDA allows 1 to {}; make it smaller or use another dimension",
                       what, to_string(shape), name, value, limit);
  };
  check('x', shape.x, most.x);
  check('y', shape.y, most.y);
  check('z', shape.z, most.z);
}

}  // namespace occbench
