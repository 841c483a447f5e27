#include "harness/time_case.hpp"

#include <fmt/core.h>

#include "record/statistics.hpp"

namespace occbench {
namespace {

/// A median needs this many timed launches, however long they are ...
constexpr std::size_t kMinimumSamples = 10;
/// ... unless getting them takes longer than this.
constexpr double kTopUpSeconds = 0.3;

/// Times whose middle half is spread by more than this are marked unstable ...
constexpr double kUnstableSpreadPct = 5;
/// ... unless it is spread by less than events resolve. Source: CUDA Runtime API, cudaEventElapsedTime.
constexpr double kEventResolutionUs = 0.5;

void top_up(std::vector<double>& microseconds, ReadyCase& ready, const std::function<bool()>& stopped) {
  double seconds = 0;
  while (microseconds.size() < kMinimumSamples && seconds < kTopUpSeconds && !stopped()) {
    microseconds.push_back(ready.time_launch());
    seconds += 1e-6 * microseconds.back();
  }
}

Times times_of(const std::vector<double>& microseconds, GpuWatch& watch, const Amount& useful) {
  watch.look();
  const Quartiles quartiles = occbench::quartiles(microseconds);
  const double spread_pct = 100 * quartiles.range() / quartiles.median;
  const bool unstable = spread_pct > kUnstableSpreadPct && quartiles.range() > kEventResolutionUs;
  return {.status = watch.saw_throttle() ? TimeStatus::throttled
                    : unstable           ? TimeStatus::unstable
                                         : TimeStatus::ok,
          .time_us = quartiles.median,
          .time_spread_pct = spread_pct,
          .repetitions = static_cast<std::int64_t>(microseconds.size()),
          .throughput = useful.quantity / (1e-6 * quartiles.median),
          .throughput_unit = fmt::format("{}/s", useful.unit)};
}

}  // namespace

void time_case(ReadyCase& ready, std::vector<double> microseconds, GpuWatch& watch,
               const std::function<bool()>& stopped, MeasuredCase& into) {
  top_up(microseconds, ready, stopped);
  if (stopped()) return;
  CaseRecord& record = into.record;
  record.times = times_of(microseconds, watch, ready.useful());
  if (record.times.status != TimeStatus::ok) {
    add_note(record.note, fmt::format("timed twice: {} at first", to_string(*record.times.status)));
    into.samples.add("time_us_discarded", microseconds);
    watch.forget_and_look();
    for (double& time : microseconds) {
      if (stopped()) return;
      time = ready.time_launch();
    }
    record.times = times_of(microseconds, watch, ready.useful());
  }
  into.samples.add("time_us", microseconds);
}

}  // namespace occbench
