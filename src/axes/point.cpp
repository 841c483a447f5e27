#include "axes/point.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

template <typename Number>
std::optional<Number> parsed(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

const Point::Value* Point::find(std::string_view axis) const {
  const auto found = std::ranges::find(values_, axis, &Value::axis);
  return found == values_.end() ? nullptr : &*found;
}

void Point::set(const SweepAxis& axis, std::string text, bool named) {
  values_.push_back({axis.name, std::move(text), named, axis.kind});
}

bool Point::has(std::string_view axis) const {
  return find(axis) != nullptr;
}

const std::string& Point::text(std::string_view axis) const {
  if (const Value* value = find(axis)) return value->text;
  throw InputError(fmt::format("--{} is needed", axis));
}

std::int64_t Point::integer(std::string_view axis, std::int64_t most) const {
  const std::optional<std::int64_t> value = parsed<std::int64_t>(text(axis));
  if (!value || *value < 0 || *value > most)
    throw InputError(fmt::format("--{} {}: a whole number from 0 to {}", axis, text(axis), most));
  return *value;
}

double Point::real(std::string_view axis) const {
  const std::optional<double> value = parsed<double>(text(axis));
  if (!value) throw InputError(fmt::format("--{} {}: a number is needed", axis, text(axis)));
  return *value;
}

}  // namespace occbench
