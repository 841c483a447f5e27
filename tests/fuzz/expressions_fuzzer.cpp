#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "axes/expression.hpp"
#include "occupancy/input_error.hpp"

/// Any text is either refused or has a value, which it also has in parentheses.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace occbench;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const ValueOf value_of = [](std::string_view name) -> ExpressionValue {
    if (name == "body") return std::string("latency");
    return static_cast<double>(name.size());
  };
  ExpressionValue value;
  try {
    value = evaluate(text, value_of);
  } catch (const InputError&) {
    return 0;
  }
  try {
    const ExpressionValue again = evaluate("(" + text + ")", value_of);
    const double* const number = std::get_if<double>(&value);
    const bool both_nan = number != nullptr && std::isnan(*number) && std::isnan(std::get<double>(again));
    if (!both_nan && again != value) std::abort();
  } catch (const InputError&) {
    // One level or two letters more may be too many.
    if (size < 4000 && text.find_first_of("(-!") == std::string::npos) std::abort();
  }
  return 0;
}
