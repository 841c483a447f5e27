#include "measure/activity.hpp"

#include <algorithm>
#include <span>

#include <fmt/core.h>

namespace occbench {
namespace {

/// The samples in which there were warps, with idle ones in between.
std::span<const ActivitySample> of_launch(std::span<const ActivitySample> samples) {
  const auto has_warps = [](const ActivitySample& sample) { return sample.warp_cycles > 0; };
  // The first sample covers the time before the sampling began.
  if (!samples.empty()) samples = samples.subspan(1);
  const auto first = std::ranges::find_if(samples, has_warps);
  if (first == samples.end()) return {};
  const auto last = std::find_if(samples.rbegin(), samples.rend(), has_warps).base();
  return {first, last};
}

double clock_mhz(std::span<const ActivitySample> samples) {
  double cycles = 0;
  double nanoseconds = 0;
  for (const ActivitySample& sample : samples) {
    cycles += sample.elapsed_cycles;
    nanoseconds += static_cast<double>(sample.end_ns - sample.start_ns);
  }
  return 1000 * cycles / nanoseconds;
}

}  // namespace

double Activity::mean_pct() const {
  double sum = 0;
  double time = 0;
  for (const ActivityStep& step : steps) {
    if (!step.active_warps_pct) continue;
    sum += *step.active_warps_pct * (step.end_us - step.start_us);
    time += step.end_us - step.start_us;
  }
  return time > 0 ? sum / time : 0;
}

Activity activity_of(const ActivitySamples& samples, double warp_slots) {
  Activity activity;
  activity.losses = samples.losses;
  const std::span<const ActivitySample> launch = of_launch(samples.samples);
  if (launch.empty()) {
    activity.losses.emplace_back("no sample saw a warp");
    return activity;
  }
  activity.sm_clock_mhz = clock_mhz(launch);
  double reached_us = 0;
  double missing_us = 0;
  for (std::size_t i = 0; i < launch.size(); ++i) {
    const ActivitySample& sample = launch[i];
    if (i > 0 && sample.start_ns > launch[i - 1].end_ns) {
      const double gap_us = 1e-3 * static_cast<double>(sample.start_ns - launch[i - 1].end_ns);
      activity.steps.push_back({reached_us, reached_us + gap_us, std::nullopt});
      reached_us += gap_us;
      missing_us += gap_us;
    }
    const bool is_partial = i == 0 || i + 1 == launch.size();
    const double cycles = is_partial ? sample.active_cycles : sample.elapsed_cycles;
    if (cycles <= 0) continue;
    const double end_us = reached_us + cycles / activity.sm_clock_mhz;
    activity.steps.push_back({reached_us, end_us, 100 * sample.warp_cycles / (warp_slots * cycles)});
    reached_us = end_us;
  }
  if (missing_us > 0) {
    activity.losses.push_back(
        fmt::format("samples of {:.1f} of {:.1f} us are missing", missing_us, reached_us));
  }
  return activity;
}

}  // namespace occbench
