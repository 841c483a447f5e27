#include "cli/text_table.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace occbench {
namespace {

/// Characters of UTF-8 text.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace

std::string text_table(std::span<const std::vector<std::string>> lines, std::string_view alignment) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t cell = 0; cell < line.size(); ++cell) {
      widths[cell] = std::max(widths[cell], width_of(line[cell]));
    }
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t cell = 0; cell < line.size(); ++cell) {
      const std::string padding(widths[cell] - width_of(line[cell]), ' ');
      const bool to_the_left = alignment[std::min(cell, alignment.size() - 1)] == '<';
      text += (cell > 0 ? "  " : "") + (to_the_left ? line[cell] + padding : padding + line[cell]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

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
