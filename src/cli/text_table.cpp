#include "cli/text_table.hpp"

#include <fmt/core.h>

#include "occupancy/text.hpp"

namespace occbench {
std::string repeated(std::string_view symbol, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += symbol;
  return text;
}

std::string number_text(double value) {
  return decimal_text(value, 2);
}

std::string percent_text(double value) {
  return number_text(value) + " %";
}

}  // namespace occbench
