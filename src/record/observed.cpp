#include "record/observed.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "occupancy/gpus.hpp"
#include "occupancy/input_error.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

constexpr std::string_view kInferred = "inferred from ";
constexpr std::string_view kReconstructed = "reconstructed from ";

std::optional<double> above_zero(const std::optional<double>& value) {
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<double> clock_mhz(const CaseRecord& record, const DeviceProfile& profile) {
  const CounterValues& counters = record.readings.counters;
  if (!counters.achieved_pct && above_zero(counters.sm_clock_mhz)) return counters.sm_clock_mhz;
  const std::string& name = record.provenance.gpu.empty() ? profile.gpu : record.provenance.gpu;
  const Gpu* const gpu = find_gpu_by_driver_name(name);
  return gpu == nullptr ? std::nullopt : std::optional<double>(gpu->clock_mhz);
}

}  // namespace

ObservedLaunch observed_of(const CaseRecord& record, const DeviceProfile& profile) {
  ObservedLaunch observed;
  const std::optional<double> clock = clock_mhz(record, profile);
  if (above_zero(record.times.time_us) && clock) {
    observed.elapsed_cycles = std::max(1.0, (*record.times.time_us - kRecordOverheadUs) * *clock);
  } else {
    observed.cycles_active_mean = above_zero(record.readings.counters.sm_cycles_active_avg);
  }
  return observed;
}

bool is_inferred_work(std::string_view source) {
  return source.starts_with(kInferred) || is_reconstructed_work(source);
}

bool is_reconstructed_work(std::string_view source) {
  return source.starts_with(kReconstructed);
}

std::string no_prediction(std::string_view why) {
  return fmt::format("no prediction: {}", why);
}

Inference infer_and_predict(CaseRecord& record, const std::optional<DeviceProfile>& profile) {
  if (!record.theory || record.theory->theoretical_pct == 0 || !record.provenance.sm_count)
    return Inference::too_little;
  try {
    const LaunchOnDevice on = launch_on_device(record);
    const ChosenProfile chosen_one =
        profile ? chosen(*profile, identity_of(record.provenance)) : profile_of(record);
    const ObservedLaunch observed = observed_of(record, chosen_one.profile);
    auto inferred = infer_work(on.launch, on.usage, on.limits, chosen_one.profile, observed);
    if (!inferred) return Inference::too_little;
    record.prediction = predict(on, inferred->work, chosen_one, record.first_gpc, WorkOrigin::inferred);
    record.device_profile = record.prediction->device_profile;
    record.profile_quality = record.prediction->profile_quality;
    record.identity.work = std::move(inferred->work);
    const bool its_own = observed.cycles_active_mean && record.readings.counters.achieved_pct;
    record.identity.work_source = fmt::format("{}{}", its_own ? kReconstructed : kInferred, inferred->source);
    return Inference::predicted;
  } catch (const InputError& refused) {
    add_note(record.note, no_prediction(refused.what()));
    return Inference::refused;
  }
}

}  // namespace occbench
