#include "axes/axis.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/launch.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

/// No axis has more values: a wrong step is noticed before the machine is full.
constexpr std::size_t kMostValues = 1'000'000;
/// Whole numbers up to this are exact as decimal numbers.
constexpr double kMostNumber = 9e15;

[[noreturn]] void refuse(const SweepAxis& axis, std::string_view part, std::string_view why) {
  throw InputError("--{} {}: {}", axis.name, part, why);
}

/// Empty if it is not a number.
std::optional<double> number_of(std::string_view text) {
  const std::int64_t factor = text.empty() ? 0 : size_factor(text.back());
  if (factor > 0) text.remove_suffix(1);
  const std::optional<double> value = occbench::read_number<double>(text);
  return value && factor > 0 ? *value * static_cast<double>(factor) : value;
}

double read_number(const SweepAxis& axis, std::string_view text, std::string_view part) {
  const std::optional<double> value = number_of(text);
  if (!value) {
    refuse(axis, part,
           fmt::format("'{}' is not a number; values are 64,128 or 64:1024:64 or 64:1024:x2{}", text,
                       axis.kind == AxisKind::shape ? " or 16x16" : ""));
  }
  if (*value < 0 || *value > kMostNumber) refuse(axis, part, "a value is a number from 0 to 9e15");
  if (axis.kind != AxisKind::real && *value != std::floor(*value))
    refuse(axis, part, fmt::format("'{}' is not a whole number", text));
  return *value;
}

std::string number_text(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

/// The numbers of "first:last:step".
std::vector<double> range(const SweepAxis& axis, std::string_view part) {
  const std::vector<std::string_view> ends = split(part, ':');
  if (ends.size() != 3) refuse(axis, part, "a range is FIRST:LAST:STEP or FIRST:LAST:xFACTOR");
  const double first = read_number(axis, ends[0], part);
  const double last = read_number(axis, ends[1], part);
  const bool multiplied = ends[2].starts_with('x');
  const double step = read_number(axis, multiplied ? ends[2].substr(1) : ends[2], part);
  if (first > last)
    refuse(axis, part, fmt::format("the range is empty: {} is more than {}", ends[0], ends[1]));
  if (multiplied && step <= 1) refuse(axis, part, "a factor is more than 1, as in 64:1024:x2");
  if (multiplied && first == 0) refuse(axis, part, "a range with a factor begins above 0");
  if (!multiplied && step == 0) refuse(axis, part, "a step is more than 0, as in 64:1024:64");
  std::vector<double> values;
  // Decimal steps do not add up exactly.
  const double most = last * (1 + 1e-9);
  double value = first;
  while (value <= most) {
    if (values.size() == kMostValues)
      refuse(axis, part, fmt::format("the range has more than {} values", kMostValues));
    values.push_back(axis.kind == AxisKind::real ? std::round(value * 1e9) / 1e9 : std::floor(value));
    value = multiplied ? value * step : first + static_cast<double>(values.size()) * step;
  }
  return values;
}

/// "4Kx4K" as "4096x4096".
std::string shape_text(const SweepAxis& axis, std::string_view part, std::string_view text) {
  std::string numbers;
  for (const std::string_view size : split(part, 'x')) {
    if (!numbers.empty()) numbers += 'x';
    numbers += number_text(read_number(axis, size, text));
  }
  return to_string(parse_shape(numbers, "--" + axis.name));
}

std::vector<std::string> expand_numbers(const SweepAxis& axis, std::string_view text) {
  std::vector<std::string> values;
  for (const std::string_view part : split(text, ',')) {
    if (part.find('{') != std::string_view::npos) {
      values.emplace_back(part);
      continue;
    }
    const bool is_range = part.find(':') != std::string_view::npos;
    if (axis.kind == AxisKind::shape && !is_range && part.find('x') != std::string_view::npos) {
      values.push_back(shape_text(axis, part, text));
    } else if (!is_range) {
      values.push_back(number_text(read_number(axis, part, text)));
    } else {
      for (const double value : range(axis, part)) values.push_back(number_text(value));
    }
  }
  return values;
}

}  // namespace

std::string parameter_name(std::string_view axis_name) {
  std::string name(axis_name);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::vector<std::string> expand_values(const SweepAxis& axis, std::string_view text) {
  if (text.empty()) refuse(axis, "''", "a value is missing");
  std::vector<std::string> values;
  if (axis.kind == AxisKind::text) {
    for (const std::string_view part : split(text, ',')) {
      if (part.empty()) refuse(axis, text, "a value is empty");
      const bool has_braces = part.find('{') != std::string_view::npos;
      if (part.find_first_of("/;\n") != std::string_view::npos && axis.name != "work" && !has_braces)
        refuse(axis, part, "a value has no '/', ';' or line break, which separate values on a row");
      values.emplace_back(part);
    }
  } else if (axis.kind == AxisKind::registers && text.starts_with('=')) {
    values = expand_numbers(axis, text.substr(1));
    for (std::string& value : values) value = fmt::format("={}", value);
  } else {
    values = expand_numbers(axis, text);
  }
  std::vector<std::string> sorted = values;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    refuse(axis, text, fmt::format("{} is there twice", *twice));
  return values;
}

}  // namespace occbench
