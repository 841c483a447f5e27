#include "occupancy/configuration.hpp"

#include <algorithm>
#include <stdexcept>

namespace occbench {
namespace {

std::vector<std::int64_t> steps(std::int64_t first, std::int64_t last, std::int64_t step) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value <= last; value += step) values.push_back(value);
  return values;
}

// Values that fill their allocation to the last byte. The reserve is a whole number of units (limits.cpp).
std::vector<std::int64_t> shared_allocations(const Limits& limits) {
  return steps(0, limits.max_shared_bytes_per_block, limits.shared_allocation_unit);
}

}  // namespace

std::string_view to_string(Axis axis) {
  static constexpr std::string_view kWords[] = {"block_threads", "registers_per_thread",
                                                "shared_bytes_per_block", "carveout_pct", "barriers"};
  return kWords[static_cast<std::size_t>(axis)];
}

std::int64_t value_on(Axis axis, const Configuration& configuration) {
  const auto& [launch, usage] = configuration;
  const std::int64_t in_order[] = {launch.block_threads, usage.registers_per_thread,
                                   usage.static_shared_bytes + launch.dynamic_shared_bytes,
                                   launch.carveout_pct ? *launch.carveout_pct : kDefaultCarveout,
                                   usage.barriers};
  return in_order[static_cast<std::size_t>(axis)];
}

Configuration with(Axis axis, std::int64_t value, Configuration configuration) {
  auto& [launch, usage] = configuration;
  switch (axis) {
    case Axis::block_threads:
      launch.block_threads = static_cast<int>(value);
      break;
    case Axis::registers_per_thread:
      usage.registers_per_thread = static_cast<int>(value);
      break;
    case Axis::shared_bytes_per_block:
      usage.static_shared_bytes = std::min(usage.static_shared_bytes, value);
      launch.dynamic_shared_bytes = value - usage.static_shared_bytes;
      break;
    case Axis::carveout_pct:
      launch.carveout_pct.reset();
      if (value != kDefaultCarveout) launch.carveout_pct = static_cast<int>(value);
      break;
    case Axis::barriers:
      usage.barriers = static_cast<int>(value);
      break;
  }
  return configuration;
}

std::vector<std::int64_t> values_of(Axis axis, const Limits& limits) {
  switch (axis) {
    case Axis::block_threads:
      return steps(limits.min_threads_per_block, limits.max_threads_per_block, 1);
    case Axis::registers_per_thread:
      return steps(limits.min_registers_per_thread, limits.max_registers_per_thread, 1);
    case Axis::shared_bytes_per_block: {
      std::vector<std::int64_t> values;
      for (const std::int64_t filled : shared_allocations(limits)) {
        values.push_back(filled);
        values.push_back(filled + 1);
      }
      return values;
    }
    case Axis::carveout_pct:
      return steps(kDefaultCarveout, 100, 1);
    case Axis::barriers:
      return steps(0, kMaxBarriersPerBlock, 1);
  }
  throw std::logic_error("not an Axis");
}

std::vector<CurvePoint> curve(const Limits& limits, const Configuration& configuration, Axis axis) {
  const std::int64_t current = value_on(axis, configuration);
  std::vector<std::int64_t> values =
      axis == Axis::block_threads ? steps(std::max(limits.threads_per_warp, limits.min_threads_per_block),
                                          limits.max_threads_per_block, limits.threads_per_warp)
      : axis == Axis::shared_bytes_per_block ? shared_allocations(limits)
                                             : values_of(axis, limits);
  const auto place = std::ranges::lower_bound(values, current);
  if (place == values.end() || *place != current) values.insert(place, current);
  std::vector<CurvePoint> points;
  for (const std::int64_t value : values) {
    const Occupancy occupancy = theoretical_occupancy(limits, with(axis, value, configuration));
    points.push_back({value, value == current, occupancy.blocks_per_sm, occupancy.warps_per_sm(),
                      occupancy.theoretical_pct});
  }
  return points;
}

}  // namespace occbench
