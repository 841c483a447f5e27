#include "harness/experiment.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace occbench {

Occupancy Planner::occupancy(const Kernel& kernel, std::string_view variant, const Launch& launch) const {
  return theoretical_occupancy(limits(), launch, inspect(kernel.find(variant)).usage);
}

std::int64_t Planner::wave(const Kernel& kernel, std::string_view variant, const Launch& launch) const {
  return static_cast<std::int64_t>(device_->sm_count) * occupancy(kernel, variant, launch).blocks_per_sm;
}

std::int64_t Planner::grid(const Kernel& kernel, std::string_view variant, const Launch& launch,
                           double waves) const {
  return std::max<std::int64_t>(1, std::llround(waves * static_cast<double>(wave(kernel, variant, launch))));
}

std::string Planner::cause_of_grid(const Kernel& kernel, std::string_view variant,
                                   const Launch& launch) const {
  const std::int64_t full = wave(kernel, variant, launch);
  if (full == 0 || launch.grid_blocks % full == 0) return "none";
  return launch.grid_blocks < full ? "small_grid" : "tail";
}

std::string Planner::cause_of_limit(const Kernel& kernel, std::string_view variant, const Launch& launch,
                                    const std::string& limit, const std::string& otherwise) const {
  return occupancy(kernel, variant, launch).theoretical_pct < 100 ? limit : otherwise;
}

bool Planner::has_local_memory(const Kernel& kernel, std::string_view variant) const {
  return inspect(kernel.find(variant)).usage.local_bytes_per_thread > 0;
}

std::int64_t Planner::blocks_of_full_device(int block_threads, int times) const {
  const std::int64_t threads = static_cast<std::int64_t>(device_->sm_count) * limits().max_threads_per_sm();
  return times * threads / block_threads;
}

std::optional<std::int64_t> Planner::shared_bytes_for(const Kernel& kernel, std::string_view variant,
                                                      const Launch& launch, int blocks) const {
  const Usage usage = inspect(kernel.find(variant)).usage;
  Launch padded = launch;
  for (std::int64_t bytes = 0; bytes <= limits().max_shared_bytes_per_block;
       bytes += limits().shared_allocation_unit) {
    padded.dynamic_shared_bytes = bytes;
    const int fit = theoretical_occupancy(limits(), padded, usage).blocks_per_sm;
    if (fit == blocks) return bytes;
    if (fit < blocks) break;
  }
  return std::nullopt;
}

std::optional<Launch> Planner::padded_wave(const Kernel& kernel, std::string_view variant,
                                           const Launch& launch, int blocks_per_sm) const {
  const std::optional<std::int64_t> bytes = shared_bytes_for(kernel, variant, launch, blocks_per_sm);
  if (!bytes) return std::nullopt;
  Launch padded = launch;
  padded.dynamic_shared_bytes = *bytes;
  padded.grid_blocks = static_cast<std::int64_t>(device_->sm_count) * blocks_per_sm;
  return padded;
}

std::string case_name(const Case& chosen) {
  std::string name = fmt::format("{}/{}", chosen.kernel->name, chosen.variant);
  for (const auto& [key, value] : chosen.parameters) name += fmt::format("/{}={}", key, value);
  return name;
}

std::vector<double> steps(double first, double last, double step) {
  std::vector<double> values;
  const auto count = std::llround((last - first) / step);
  for (std::int64_t i = 0; i <= count; ++i) values.push_back(first + static_cast<double>(i) * step);
  return values;
}

}  // namespace occbench
