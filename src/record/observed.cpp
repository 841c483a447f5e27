#include "record/observed.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

constexpr std::string_view kInferred = "inferred from ";

std::optional<double> above_zero(const Real& value) {
  return value && *value > 0 ? value : std::nullopt;
}

}  // namespace

ObservedLaunch observed_of(const Row& row) {
  ObservedLaunch observed{.cycles_active_min = row.sm_cycles_active_min,
                          .cycles_active_mean = above_zero(row.sm_cycles_active_avg),
                          .cycles_active_max = above_zero(row.sm_cycles_active_max),
                          .resident_blocks = above_zero(row.resident_blocks)};
  if (row.time_us && above_zero(row.sm_clock_mhz)) {
    observed.elapsed_cycles = std::max(1.0, (*row.time_us - kRecordOverheadUs) * *row.sm_clock_mhz);
  }
  return observed;
}

bool has_inferred_work(const Row& row) {
  return row.work_source.starts_with(kInferred);
}

std::optional<ObservedPrediction> observed_prediction(const Row& row,
                                                      const std::optional<DeviceProfile>& given) {
  if (!row.sm_count || *row.sm_count < 1) return std::nullopt;
  const Launch launch = launch_of(row);
  const Usage usage = usage_of(row);
  const Limits& limits = limits_of(parse_compute_capability(row.compute_capability));
  const int sm_count = static_cast<int>(*row.sm_count);
  const DeviceProfile profile = given ? *given : profile_of_device(limits.compute_capability, sm_count);
  return predict_observed(launch, usage, limits, sm_count, profile, observed_of(row));
}

void infer_and_predict(Row& row, const std::optional<DeviceProfile>& profile) {
  if (!row.theoretical_pct || *row.theoretical_pct == 0) return;
  try {
    const auto found = observed_prediction(row, profile);
    if (!found) return;
    row.work = to_string(found->inferred.work);
    row.work_source = fmt::format("{}{}", kInferred, found->inferred.source);
    set_prediction(row, found->prediction);
  } catch (const InputError& refused) {
    row.note += fmt::format("{}no prediction: {}", row.note.empty() ? "" : "; ", refused.what());
  }
}

}  // namespace occbench
