#include "cli/text_table.hpp"

#include <fmt/core.h>

namespace occbench {
std::string repeated(std::string_view symbol, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += symbol;
  return text;
}

std::string number_text(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string percent_text(double value) {
  return number_text(value) + " %";
}

}  // namespace occbench
