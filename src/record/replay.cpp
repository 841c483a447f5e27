#include "record/replay.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "record/observed.hpp"

namespace occbench {
namespace {

std::int64_t needed(const Row& row, Integer value, const char* column) {
  if (!value) throw InputError(fmt::format("case {} of {} has no {}", row.case_, row.experiment, column));
  return *value;
}

int as_int(std::int64_t value, const char* column) {
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    throw InputError(fmt::format("{} = {} is out of any launch's range", column, value));
  }
  return static_cast<int>(value);
}

DeviceProfile profile_for(const Row& row, ComputeCapability compute_capability, int sm_count) {
  const std::vector<std::string_view> built_in = built_in_profiles();
  return std::ranges::find(built_in, row.device_profile) != built_in.end()
             ? find_profile(row.device_profile)
             : profile_of_device(compute_capability, sm_count);
}

}  // namespace

Launch launch_of(const Row& row) {
  Launch launch;
  launch.block_threads = as_int(needed(row, row.block_threads, "block_threads"), "block_threads");
  launch.grid_blocks = needed(row, row.grid_blocks, "grid_blocks");
  launch.cluster_blocks = as_int(row.cluster_blocks.value_or(1), "cluster_blocks");
  launch.dynamic_shared_bytes = row.dynamic_shared_bytes.value_or(0);
  if (row.carveout_pct) launch.carveout_pct = as_int(*row.carveout_pct, "carveout_pct");
  return launch;
}

std::optional<int> first_gpc_of(const Row& row) {
  if (!row.first_gpc) return std::nullopt;
  return as_int(*row.first_gpc, "first_gpc");
}

Usage usage_of(const Row& row) {
  Usage usage;
  usage.registers_per_thread =
      as_int(needed(row, row.registers_per_thread, "registers_per_thread"), "registers_per_thread");
  usage.static_shared_bytes = row.static_shared_bytes.value_or(0);
  usage.local_bytes_per_thread = row.local_bytes_per_thread.value_or(0);
  usage.barriers = as_int(row.barriers.value_or(0), "barriers");
  return usage;
}

void set_prediction(Row& row, const Prediction& prediction) {
  row.device_profile = prediction.device_profile;
  row.predicted_pct = prediction.predicted_pct;
  row.predicted_low_pct = prediction.predicted_low_pct;
  row.predicted_high_pct = prediction.predicted_high_pct;
  row.predicted_elapsed_pct = prediction.predicted_elapsed_pct;
  row.predicted_cycles_active = prediction.cycles_active_mean;
  row.loss_small_grid_points = prediction.losses.small_grid;
  row.loss_tail_points = prediction.losses.tail;
  row.loss_between_blocks_points = prediction.losses.between_blocks;
  row.loss_within_block_points = prediction.losses.within_block;
  row.loss_overhead_points = prediction.losses.overhead;
  row.loss_contention_points = prediction.losses.contention;
  row.explanation = prediction.explanation;
}

std::optional<Prediction> prediction_of(const Row& row, const std::optional<DeviceProfile>& given) {
  if (row.work.empty()) return std::nullopt;
  if (has_inferred_work(row)) {
    if (auto observed = observed_prediction(row, given)) return std::move(observed->prediction);
  }
  const Launch launch = launch_of(row);
  const Usage usage = usage_of(row);
  const Limits& limits = limits_of(parse_compute_capability(row.compute_capability));
  const int sm_count = static_cast<int>(needed(row, row.sm_count, "sm_count"));
  const DeviceProfile profile = given ? *given : profile_for(row, limits.compute_capability, sm_count);
  const Tasks tasks(parse_work(row.work), launch.grid_blocks,
                    theoretical_occupancy(limits, launch, usage).warps_per_block);
  return predict(launch, usage, limits, sm_count, profile, tasks, {.first_gpc = first_gpc_of(row)});
}

void repredict(Row& row, const std::optional<DeviceProfile>& profile) {
  if (row.work.empty()) {
    row.device_profile.clear();
    row.explanation.clear();
    for (Real Row::*const column :
         {&Row::predicted_pct, &Row::predicted_low_pct, &Row::predicted_high_pct, &Row::predicted_elapsed_pct,
          &Row::predicted_cycles_active, &Row::loss_small_grid_points, &Row::loss_tail_points,
          &Row::loss_between_blocks_points, &Row::loss_within_block_points, &Row::loss_overhead_points,
          &Row::loss_contention_points}) {
      (row.*column).reset();
    }
    return;
  }
  set_prediction(row, prediction_of(row, profile).value());
}

}  // namespace occbench
