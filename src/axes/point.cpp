#include "axes/point.hpp"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

Shape shape_of(const std::string& text, const Point::Value& value) {
  return parse_shape(text, "--" + value.axis);
}

constexpr std::size_t kMostPoints = 1'000'000;

/// An axis with its values in this sweep.
struct Expanded {
  const SweepAxis* axis;
  std::vector<std::string> values;
  bool named;
};

const SweepAxis& find_axis(std::span<const SweepAxis> declared, const std::string& name) {
  const auto found = std::ranges::find(declared, name, &SweepAxis::name);
  if (found != declared.end()) return *found;
  throw InputError("this kernel has no axis --{}; the nearest are --{}", name,
                   fmt::join(nearest_names(name, mapped(declared, &SweepAxis::name), 3), ", --"));
}

/// Given axes first and in their order, which decides which varies fastest; then the others.
std::vector<Expanded> expand(std::span<const SweepAxis> declared, std::span<const GivenAxis> given) {
  std::vector<Expanded> axes;
  for (const GivenAxis& each : given) {
    const SweepAxis& axis = find_axis(declared, each.name);
    if (std::ranges::find(axes, &axis, &Expanded::axis) != axes.end())
      throw InputError("--{} is given twice; write its values in one list", each.name);
    std::vector<std::string> values = expand_values(axis, each.values);
    // An axis that is made of others says nothing more about a configuration.
    const bool named = values.size() > 1 || values.front().find('{') == std::string::npos;
    axes.push_back({&axis, std::move(values), named});
  }
  std::vector<Expanded> defaults;
  for (const SweepAxis& axis : declared) {
    if (axis.values.empty() || std::ranges::find(axes, &axis, &Expanded::axis) != axes.end()) continue;
    std::vector<std::string> values = expand_values(axis, axis.values);
    const bool named = values.size() > 1;
    defaults.push_back({&axis, std::move(values), named});
  }
  axes.insert(axes.end(), defaults.begin(), defaults.end());
  return axes;
}

std::size_t count_of(std::span<const Expanded> axes, Combine combine) {
  std::size_t count = 1;
  const Expanded* longest = nullptr;
  for (const Expanded& each : axes) {
    if (combine == Combine::zip) {
      if (each.values.size() == 1) continue;
      if (longest != nullptr && longest->values.size() != each.values.size()) {
        throw InputError("--zip pairs values one by one, but --{} has {} and --{} has {}",
                         longest->axis->name, longest->values.size(), each.axis->name, each.values.size());
      }
      longest = &each;
      count = each.values.size();
    } else {
      count *= each.values.size();
      if (count > kMostPoints) throw InputError("the axes have more than {} configurations", kMostPoints);
    }
  }
  return count;
}

/// Which value each axis has in the configuration of this number.
std::vector<std::size_t> places_of(std::span<const Expanded> axes, std::size_t number, Combine combine) {
  std::vector<std::size_t> places(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::size_t size = axes[i].values.size();
    places[i] = combine == Combine::zip ? (size == 1 ? 0 : number) : number % size;
    if (combine == Combine::product) number /= size;
  }
  return places;
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
  throw InputError("--{} is needed", axis);
}

std::int64_t Point::integer(std::string_view axis, std::int64_t most) const {
  const std::optional<std::int64_t> value = read_number<std::int64_t>(text(axis));
  if (!value || *value < 0 || *value > most)
    throw InputError("--{} {}: a whole number from 0 to {}", axis, text(axis), most);
  return *value;
}

double Point::real(std::string_view axis) const {
  const std::optional<double> value = read_number<double>(text(axis));
  if (!value) throw InputError("--{} {}: a number is needed", axis, text(axis));
  return *value;
}

Shape Point::shape(std::string_view axis) const {
  return parse_shape(text(axis), fmt::format("--{}", axis));
}

ExpressionValue Point::value_of(std::string_view name, int depth) const {
  std::string_view axis = name;
  std::size_t dimension = 0;
  if (name.size() > 2 && name[name.size() - 2] == '.') {
    dimension = std::string_view("xyz").find(name.back()) + 1;
    axis.remove_suffix(2);
  }
  const auto found = std::ranges::find_if(values_, [&](const Value& each) {
    return (parameter_name(each.axis) == axis || each.axis == axis) &&
           (axis == name || (dimension > 0 && each.kind == AxisKind::shape));
  });
  if (found == values_.end()) {
    const auto names = mapped(values_, [](const Value& each) { return parameter_name(each.axis); });
    throw InputError("there is no value {}; the nearest are {}{}", name,
                     fmt::join(nearest_names(axis, names, 3), ", "),
                     axis == name ? "" : "; shapes alone have .x, .y and .z");
  }
  const std::string text = resolved(*found, depth);
  if (found->kind == AxisKind::shape) {
    const Shape shape = shape_of(text, *found);
    const std::int64_t of[] = {shape.total(), shape.x, shape.y, shape.z};
    return static_cast<double>(of[dimension]);
  }
  const auto number = read_number<double>(text.starts_with('=') ? text.substr(1) : text);
  return number ? ExpressionValue(*number) : ExpressionValue(text);
}

std::string Point::filled_in(std::string text, int depth) const {
  for (std::size_t open = text.find('{'); open != std::string::npos; open = text.find('{', open)) {
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos) throw InputError("{}: a '}}' is missing", text);
    const std::string inner = text.substr(open + 1, close - open - 1);
    const auto named = [&](std::string_view name) { return value_of(name, depth + 1); };
    std::string filled;
    if (const Value* axis = find(inner)) {
      filled = resolved(*axis, depth + 1);
      if (axis->kind == AxisKind::shape) filled = fmt::format("{}", shape_of(filled, *axis).total());
    } else {
      // An axis may have a dash in its name, which an expression would subtract.
      const bool is_dimension = has(inner.substr(0, inner.find('.')));
      const ExpressionValue value = is_dimension ? named(inner) : evaluate(inner, named);
      const double* const number = std::get_if<double>(&value);
      filled = number != nullptr ? fmt::format("{}", *number) : std::get<std::string>(value);
    }
    text.replace(open, close - open + 1, filled);
    open += filled.size();
  }
  return text;
}

std::string Point::resolved(const Value& value, int depth) const {
  if (value.text.find('{') == std::string::npos) return value.text;
  constexpr int kMostDepth = 8;
  if (depth > kMostDepth)
    throw InputError("--{} {}: values refer to one another in a circle", value.axis, value.text);
  const std::string filled = filled_in(value.text, depth);
  const std::vector<std::string> values = expand_values({value.axis, value.kind, "", ""}, filled);
  if (values.size() != 1)
    throw InputError("--{} {}: it gives {}, and one value is needed", value.axis, value.text, filled);
  if (values.front().find('{') != std::string::npos)
    throw InputError("--{} {}: it gives {}, and a value that is made of others has no braces", value.axis,
                     value.text, values.front());
  return values.front();
}

void Point::resolve() {
  for (Value& value : values_) value.text = resolved(value, 0);
}

std::vector<Point> points_of(std::span<const SweepAxis> declared, std::span<const GivenAxis> given,
                             Combine combine) {
  const std::vector<Expanded> axes = expand(declared, given);
  const std::size_t count = count_of(axes, combine);
  std::vector<Point> points(count);
  for (std::size_t number = 0; number < count; ++number) {
    const std::vector<std::size_t> places = places_of(axes, number, combine);
    for (const SweepAxis& axis : declared) {
      const auto found = std::ranges::find(axes, &axis, &Expanded::axis);
      if (found == axes.end()) continue;
      const auto place = places[static_cast<std::size_t>(found - axes.begin())];
      points[number].set(axis, found->values[place], found->named);
    }
  }
  return points;
}

}  // namespace occbench
