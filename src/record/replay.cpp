#include "record/replay.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "record/observed.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// The profile of that name beside the rows of a case.
std::optional<DeviceProfile> profile_beside(const CaseRecord& record) {
  const fs::path name = record.device_profile + ".profile";
  const fs::path file = record.file.parent_path() / name;
  // A name from a file of rows leads to no other folder.
  std::error_code ignored;
  if (name.has_parent_path() || record.file.empty() || !fs::is_regular_file(file, ignored)) return {};
  DeviceProfile profile = find_profile(file.string());
  const bool of_another = !profile.gpu_uuid.empty() && profile.gpu_uuid != record.provenance.gpu_uuid;
  return of_another ? std::nullopt : std::optional(std::move(profile));
}

}  // namespace

GpuIdentity identity_of(const Provenance& provenance) {
  return {.name = provenance.gpu,
          .uuid = provenance.gpu_uuid,
          .memory_bus_bits = provenance.memory_bus_bits.value_or(0),
          .compute_capability = provenance.compute_capability.value_or(ComputeCapability{}),
          .sm_count = provenance.sm_count.value_or(0)};
}

ChosenProfile profile_of(const CaseRecord& record) {
  const GpuIdentity gpu = identity_of(record.provenance);
  if (record.device_profile.empty()) return choose_profile(gpu);
  if (std::optional<DeviceProfile> beside = profile_beside(record)) return chosen(std::move(*beside), gpu);
  const std::vector<std::string_view> built_in = built_in_profiles();
  const bool is_built_in = std::ranges::find(built_in, record.device_profile) != built_in.end();
  return is_built_in ? chosen(find_profile(record.device_profile), gpu) : choose_profile(gpu);
}

Occupancy theoretical_occupancy(const LaunchOnDevice& on) {
  return theoretical_occupancy(on.limits, on.launch, on.usage);
}

Prediction predict(const LaunchOnDevice& on, const Work& work, const ChosenProfile& profile,
                   std::optional<int> first_gpc, WorkOrigin origin) {
  const Tasks tasks(work, on.launch.grid_blocks, theoretical_occupancy(on).warps_per_block);
  return predict(on.launch, on.usage, on.limits, profile, tasks, {.first_gpc = first_gpc}, origin);
}

LaunchOnDevice launch_on_device(const CaseRecord& record) {
  const auto need = [&](bool there, const char* column) {
    if (!there) throw InputError(fmt::format("there is no {}", column));
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
    record.profile_quality.reset();
    return;
  }
  if (is_inferred_work(record.identity.work_source) &&
      infer_and_predict(record, profile) == Inference::predicted)
    return;
  const LaunchOnDevice on = launch_on_device(record);
  const ChosenProfile with = profile ? chosen(*profile, identity_of(record.provenance)) : profile_of(record);
  record.prediction = predict(on, *record.identity.work, with, record.first_gpc);
  record.device_profile = record.prediction->device_profile;
  record.profile_quality = record.prediction->profile_quality;
}

std::string prediction_text(const CaseRecord& record) {
  if (!record.prediction) return "";
  const Prediction& prediction = *record.prediction;
  const bool reconstructed = is_reconstructed_work(record.identity.work_source);
  std::string interval = fmt::format("90 %: {}", to_string(prediction.interval));
  const auto& capability = record.provenance.compute_capability;
  if (record.identity.work && capability && find_limits(*capability)) {
    const LaunchOnDevice on = launch_on_device(record);
    const Occupancy occupancy = theoretical_occupancy(on);
    const Tasks tasks(*record.identity.work, on.launch.grid_blocks, occupancy.warps_per_block);
    const WorkOrigin origin =
        is_inferred_work(record.identity.work_source) ? WorkOrigin::inferred : WorkOrigin::given;
    interval = interval_text(prediction.interval,
                             kind_of(on.launch, on.usage, occupancy, on.sm_count, tasks, origin),
                             prediction.profile_quality.value_or(ProfileQuality::generic));
  }
  return fmt::format("{} {:.1f} % ({})", reconstructed ? "reconstructed" : "predicted",
                     prediction.predicted_pct, interval);
}

std::set<std::string> remarks_on_profiles(std::span<const CaseRecord> cases) {
  std::set<std::string> remarks;
  for (const CaseRecord& each : cases) {
    if (each.prediction && each.profile_quality)
      remarks.insert(remark_on(each.device_profile, *each.profile_quality, each.provenance.gpu));
  }
  remarks.erase("");
  return remarks;
}

}  // namespace occbench
