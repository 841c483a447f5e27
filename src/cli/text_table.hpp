#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace occbench {

/// Lines of a table for a terminal: columns as wide as their widest cell, two spaces apart.
/// @param alignment '<' or '>' for each column; the last holds for all further ones
std::string text_table(std::span<const std::vector<std::string>> lines, std::string_view alignment);

/// A symbol so many times.
std::string repeated(std::string_view symbol, int count);

/// "75", "41.67"
std::string number_text(double value);

/// "75 %", "41.67 %"
std::string percent_text(double value);

}  // namespace occbench
