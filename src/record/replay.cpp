#include "record/replay.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "record/observed.hpp"

namespace occbench {
namespace {

DeviceProfile profile_for(const CaseRecord& record, const LaunchOnDevice& on) {
  const std::vector<std::string_view> built_in = built_in_profiles();
  return std::ranges::find(built_in, record.device_profile) != built_in.end()
             ? resized(find_profile(record.device_profile), on.sm_count)
             : profile_of_device(on.limits.compute_capability, on.sm_count);
}

}  // namespace

Occupancy theoretical_occupancy(const LaunchOnDevice& on) {
  return theoretical_occupancy(on.limits, on.launch, on.usage);
}

Prediction predict(const LaunchOnDevice& on, const Work& work, const DeviceProfile& profile,
                   std::optional<int> first_gpc) {
  const Tasks tasks(work, on.launch.grid_blocks, theoretical_occupancy(on).warps_per_block);
  return predict(on.launch, on.usage, on.limits, profile, tasks, {.first_gpc = first_gpc});
}

LaunchOnDevice launch_on_device(const CaseRecord& record) {
  const auto need = [&](bool there, const char* column) {
    if (!there) throw InputError(fmt::format("{} has no {}", full_name(record.identity), column));
  };
  need(record.provenance.compute_capability.has_value(), "compute_capability");
  need(record.provenance.sm_count.has_value(), "sm_count");
  need(record.launch.has_value(), "block_threads");
  need(record.launch->grid_blocks > 0, "grid_blocks");
  need(record.compiled.has_value(), "registers_per_thread");
  return {*record.launch, record.compiled->usage, limits_of(*record.provenance.compute_capability),
          *record.provenance.sm_count};
}

void repredict(CaseRecord& record, const std::optional<DeviceProfile>& profile) {
  if (!record.identity.work) {
    record.prediction.reset();
    record.device_profile.clear();
    return;
  }
  if (is_inferred_work(record.identity.work_source)) {
    if (auto observed = observed_prediction(record, profile)) {
      record.prediction = std::move(observed->prediction);
      record.device_profile = record.prediction->device_profile;
      return;
    }
  }
  const LaunchOnDevice on = launch_on_device(record);
  record.prediction =
      predict(on, *record.identity.work, profile ? resized(*profile, on.sm_count) : profile_for(record, on),
              record.first_gpc);
  record.device_profile = record.prediction->device_profile;
}

}  // namespace occbench
