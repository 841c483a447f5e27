#include "occupancy/text.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// Whether a UTF-8 character begins with it.
bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

/// Characters of UTF-8 text.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

/// Bytes before the character of that number, from 0; all if there are fewer.
std::size_t bytes_before(std::string_view text, std::size_t character) {
  std::size_t bytes = 0;
  while (bytes < text.size() && !(begins_character(text[bytes]) && character-- == 0)) ++bytes;
  return bytes;
}

/// The factor of a suffix; 0 if it is not one.
std::int64_t factor_of(std::string_view suffix) {
  const std::string lower = lower_case(suffix);
  if (lower.empty() || lower == "b") return 1;
  const bool is_whole = lower.size() == 1 || lower.substr(1) == "b" || lower.substr(1) == "ib";
  return is_whole ? size_factor(static_cast<char>(std::toupper(lower.front()))) : 0;
}

}  // namespace

std::int64_t size_factor(char suffix) {
  const std::size_t place = std::string_view("KMG").find(suffix);
  return place == std::string_view::npos ? 0 : std::int64_t{1} << 10 * (place + 1);
}

std::int64_t parse_size(std::string_view text, std::string_view what) {
  const std::size_t digits = std::min(text.find_first_not_of("-0123456789"), text.size());
  const std::int64_t factor = factor_of(text.substr(digits));
  const auto number = read_number<std::int64_t>(text.substr(0, digits));
  std::int64_t bytes = 0;
  if (!number || factor == 0 || __builtin_mul_overflow(*number, factor, &bytes))
    throw InputError("{} = {} is not a size: write it in bytes, or as 12K, 1M", what, text);
  return bytes;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += std::string_view("<({").find(text[i]) != std::string_view::npos ? 1 : 0;
    depth -= std::string_view(">)}").find(text[i]) != std::string_view::npos ? 1 : 0;
    if (text[i] != separator || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (std::ptrdiff_t place = std::ssize(digits) - 3; place > first; place -= 3)
    digits.insert(static_cast<std::size_t>(place), 1, ',');
  return digits;
}

std::string decimal_text(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string number_or_dash(const std::optional<double>& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::string counted(std::int64_t count, std::string_view one, std::string_view ending) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : ending);
}

std::string saved_text(double pct) {
  return pct >= 99.5 ? "over 99 %" : fmt::format("{:.0f} %", pct);
}

std::string blocks_text(std::int64_t count) {
  return fmt::format("{} block{}", grouped(count), count == 1 ? "" : "s");
}

std::string waves_text(double waves, int digits) {
  const std::string whole = counted(std::llround(waves), "wave");
  if (waves == std::round(waves)) return whole;
  for (; digits < 7; ++digits) {
    const std::string text = fmt::format("{:.{}g}", waves, digits);
    if (text.find('.') != text.npos && text.find('e') == text.npos) return text + " waves";
  }
  return fmt::format("just {} {}", waves > std::round(waves) ? "over" : "under", whole);
}

std::string shortened(const std::string& name, std::size_t width, std::size_t head,
                      std::string_view between) {
  const std::size_t all = width_of(name);
  if (all <= width) return name;
  const std::size_t tail = width - head - width_of(between);
  return fmt::format("{}{}{}", name.substr(0, bytes_before(name, head)), between,
                     name.substr(bytes_before(name, all - tail)));
}

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char character) { return character < 0x20 || character == 0x7f; }, ' ');
  return text;
}

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
      const std::string shown = one_line(line[cell]);
      text += (cell > 0 ? "  " : "") + (to_the_left ? shown + padding : padding + shown);
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
  return decimal_text(value, 2);
}

std::string percent_text(double value) {
  return number_text(value) + " %";
}

}  // namespace occbench
