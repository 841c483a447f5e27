#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "axes/point.hpp"
#include "gpu/argument.hpp"
#include "occupancy/input_error.hpp"

namespace {

using namespace occbench;

/// Whether a range may have so many values that its text says little for the time that it takes.
bool may_be_long(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return false;
  if (text.find_first_of("MGTeE") != std::string_view::npos) return true;
  const bool has_thousands = text.find('K') != std::string_view::npos;
  if (has_thousands && text.find('.') != std::string_view::npos) return true;
  const std::size_t most_digits = has_thousands ? 2 : 4;
  std::size_t digits = 0;
  for (const char letter : text) {
    digits = letter >= '0' && letter <= '9' ? digits + 1 : 0;
    if (digits > most_digits) return true;
  }
  return false;
}

/// Lines are values of these axes, in turn.
void combine(std::string_view text) {
  static const std::array<SweepAxis, 6> axes = {{{"count", AxisKind::integer, "", "1"},
                                                 {"bytes", AxisKind::bytes, "", ""},
                                                 {"factor", AxisKind::real, "", "1"},
                                                 {"registers", AxisKind::registers, "", ""},
                                                 {"block-size", AxisKind::shape, "", "32"},
                                                 {"body", AxisKind::text, "", ""}}};
  constexpr double kMostPoints = 1000;
  double count = 1;
  std::vector<GivenAxis> given;
  for (std::size_t at = 0; at < text.size() && given.size() < axes.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) {
      const SweepAxis& axis = axes[given.size()];
      given.push_back({axis.name, std::string(text.substr(at, end - at))});
      try {
        count *= static_cast<double>(expand_values(axis, given.back().values).size());
      } catch (const InputError&) {
      }
    }
    at = end + 1;
  }
  if (count > kMostPoints) return;
  for (const Combine how : {Combine::product, Combine::zip}) {
    try {
      for (Point& point : points_of(axes, given, how)) {
        point.resolve();
        if (point.integer("count") < 0) std::abort();
        const Point again = point;
        point.resolve();
        if (point != again) std::abort();
      }
    } catch (const InputError&) {
    }
  }
}

}  // namespace

/// Any text is either refused or values of axes, and either refused or an argument of a kernel.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!may_be_long(text)) combine(text);
  if (text.find('@') != std::string_view::npos) return 0;  // it would read the file that is named
  try {
    if (parse_argument(text).count < 0) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
