#include "record/replay.hpp"

#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

std::int64_t needed(const Row& row, Integer value, const char* column) {
  if (!value) throw InputError(fmt::format("case {} of {} has no {}", row.case_, row.experiment, column));
  return *value;
}

}  // namespace

Launch launch_of(const Row& row) {
  Launch launch;
  launch.block_threads = static_cast<int>(needed(row, row.block_threads, "block_threads"));
  launch.grid_blocks = needed(row, row.grid_blocks, "grid_blocks");
  launch.cluster_blocks = static_cast<int>(row.cluster_blocks.value_or(1));
  launch.dynamic_shared_bytes = row.dynamic_shared_bytes.value_or(0);
  if (row.carveout_pct) launch.carveout_pct = static_cast<int>(*row.carveout_pct);
  return launch;
}

Usage usage_of(const Row& row) {
  Usage usage;
  usage.registers_per_thread =
      static_cast<int>(needed(row, row.registers_per_thread, "registers_per_thread"));
  usage.static_shared_bytes = row.static_shared_bytes.value_or(0);
  usage.local_bytes_per_thread = row.local_bytes_per_thread.value_or(0);
  usage.barriers = static_cast<int>(row.barriers.value_or(0));
  return usage;
}

}  // namespace occbench
