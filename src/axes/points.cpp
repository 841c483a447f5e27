#include "axes/points.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "occupancy/nearest.hpp"

namespace occbench {
namespace {

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
  std::vector<std::string> names;
  for (const SweepAxis& axis : declared) names.push_back(axis.name);
  throw InputError(fmt::format("this kernel has no axis --{}; the nearest are --{}", name,
                               fmt::join(nearest_names(name, names, 3), ", --")));
}

/// Given axes first and in their order, which decides which varies fastest; then the others.
std::vector<Expanded> expand(std::span<const SweepAxis> declared, std::span<const GivenAxis> given) {
  std::vector<Expanded> axes;
  for (const GivenAxis& each : given) {
    const SweepAxis& axis = find_axis(declared, each.name);
    if (std::ranges::find(axes, &axis, &Expanded::axis) != axes.end())
      throw InputError(fmt::format("--{} is given twice; write its values in one list", each.name));
    std::vector<std::string> values = expand_values(axis, each.values);
    // One that is made of others says nothing more of a configuration.
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
        throw InputError(fmt::format("--zip pairs values one by one, but --{} has {} and --{} has {}",
                                     longest->axis->name, longest->values.size(), each.axis->name,
                                     each.values.size()));
      }
      longest = &each;
      count = each.values.size();
    } else {
      count *= each.values.size();
      if (count > kMostPoints)
        throw InputError(fmt::format("the axes have more than {} configurations", kMostPoints));
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
