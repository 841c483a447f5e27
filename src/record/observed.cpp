#include "record/observed.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

constexpr std::string_view kInferred = "inferred from ";

std::optional<double> above_zero(const std::optional<double>& value) {
  return value && *value > 0 ? value : std::nullopt;
}

}  // namespace

ObservedLaunch observed_of(const CaseRecord& record) {
  const CounterValues& counters = record.readings.counters;
  ObservedLaunch observed{.cycles_active_min = counters.sm_cycles_active_min,
                          .cycles_active_mean = above_zero(counters.sm_cycles_active_avg),
                          .cycles_active_max = above_zero(counters.sm_cycles_active_max),
                          .resident_blocks = above_zero(counters.resident_blocks)};
  if (record.times.time_us && above_zero(counters.sm_clock_mhz)) {
    observed.elapsed_cycles =
        std::max(1.0, (*record.times.time_us - kRecordOverheadUs) * *counters.sm_clock_mhz);
  }
  return observed;
}

bool is_inferred_work(std::string_view source) {
  return source.starts_with(kInferred);
}

std::optional<ObservedPrediction> observed_prediction(const CaseRecord& record,
                                                      const std::optional<DeviceProfile>& given) {
  const LaunchOnDevice on = launch_on_device(record);
  const ChosenProfile profile = given ? chosen(*given, identity_of(record.provenance)) : profile_of(record);
  auto observed = predict_observed(on.launch, on.usage, on.limits, profile.profile, observed_of(record));
  if (observed) {
    const Tasks tasks(observed->inferred.work, on.launch.grid_blocks,
                      theoretical_occupancy(on).warps_per_block);
    add_quality(observed->prediction, on.launch, on.usage, on.limits, profile, tasks);
  }
  return observed;
}

std::string no_prediction(std::string_view why) {
  return fmt::format("no prediction: {}", why);
}

Inference infer_and_predict(CaseRecord& record, const std::optional<DeviceProfile>& profile) {
  if (!record.theory || record.theory->theoretical_pct == 0 || !record.provenance.sm_count)
    return Inference::too_little;
  try {
    auto found = observed_prediction(record, profile);
    if (!found) return Inference::too_little;
    record.identity.work = std::move(found->inferred.work);
    record.identity.work_source = fmt::format("{}{}", kInferred, found->inferred.source);
    record.prediction = std::move(found->prediction);
    record.device_profile = record.prediction->device_profile;
    record.profile_quality = record.prediction->profile_quality;
    return Inference::predicted;
  } catch (const InputError& refused) {
    add_note(record.note, no_prediction(refused.what()));
    return Inference::refused;
  }
}

}  // namespace occbench
