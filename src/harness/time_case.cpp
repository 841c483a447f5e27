#include "harness/time_case.hpp"

#include <fmt/core.h>

#include "record/statistics.hpp"
#include "record/stop_signals.hpp"

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

void top_up(std::vector<double>& microseconds, ReadyCase& ready) {
  double seconds = 0;
  while (microseconds.size() < kMinimumSamples && seconds < kTopUpSeconds && !stop_asked()) {
    microseconds.push_back(ready.time_launch());
    seconds += 1e-6 * microseconds.back();
  }
}

}  // namespace

Times times_of(const std::vector<double>& microseconds, bool throttled, const Amount& useful) {
  const Quartiles quartiles = occbench::quartiles(microseconds);
  const double spread_pct = 100 * quartiles.range() / quartiles.median;
  const bool unstable = spread_pct > kUnstableSpreadPct && quartiles.range() > kEventResolutionUs;
  return {.status = throttled  ? TimeStatus::throttled
                    : unstable ? TimeStatus::unstable
                               : TimeStatus::ok,
          .time_us = quartiles.median,
          .time_spread_pct = spread_pct,
          .repetitions = static_cast<std::int64_t>(microseconds.size()),
          .throughput = useful.quantity / (1e-6 * quartiles.median),
          .throughput_unit = fmt::format("{}/s", useful.unit)};
}

ReadyCase::ReadyCase(const PlannedCase& planned, const Device& device, Instruments& instruments)
    : instruments_(instruments),
      cold_(planned.chosen.cold),
      prepared_(planned.chosen.prepare
                    ? planned.chosen.prepare(planned.chosen, *planned.variant, device)
                    : planned.chosen.kernel->prepare(planned.chosen, *planned.variant, device)) {}

Check ReadyCase::check_and_launch() {
  const Check result = prepared_->check(instruments_.stream());
  launch_and_wait();
  return result;
}

std::optional<double> ReadyCase::lost_updates_pct() {
  return prepared_->lost_updates_pct(instruments_.stream());
}

double ReadyCase::time_launch() {
  return instruments_.microseconds([&](cudaStream_t stream) { prepared_->launch(stream); }, cold_);
}

void ReadyCase::make_ready() {
  instruments_.make_ready(cold_);
}

void ReadyCase::launch_and_wait() {
  prepared_->launch(instruments_.stream());
  instruments_.synchronize();
}

std::vector<WarpRecord> ReadyCase::trace() {
  return prepared_->trace(instruments_.stream());
}

Amount ReadyCase::useful() const {
  return prepared_->useful();
}

void GpuWatch::look() {
  const GpuCondition seen = instruments_.condition();
  sm_clock_mhz_ = seen.sm_clock_mhz;
  condition_.memory_clock_mhz = seen.memory_clock_mhz;
  condition_.temperature_c = seen.temperature_c;
  condition_.power_w = seen.power_w;
  condition_.other_processes = seen.other_processes;
  if (!seen.clocks_event_reasons) return;
  event_reasons_ |= *seen.clocks_event_reasons;
  condition_.throttle_reasons = clocks_event_reasons_text(event_reasons_);
}

void GpuWatch::forget_and_look() {
  event_reasons_ = 0;
  look();
}

bool GpuWatch::saw_throttle() const {
  return is_throttled(event_reasons_);
}

void time_case(ReadyCase& ready, std::vector<double> microseconds, GpuWatch& watch, MeasuredCase& into) {
  top_up(microseconds, ready);
  if (stop_asked()) return;
  CaseRecord& record = into.record;
  watch.look();
  record.times = times_of(microseconds, watch.saw_throttle(), ready.useful());
  if (record.times.status != TimeStatus::ok) {
    add_note(record.note, fmt::format("timed twice: {} at first", to_string(*record.times.status)));
    into.samples.add("time_us_discarded", microseconds);
    watch.forget_and_look();
    for (double& time : microseconds) {
      if (stop_asked()) return;
      time = ready.time_launch();
    }
    watch.look();
    record.times = times_of(microseconds, watch.saw_throttle(), ready.useful());
  }
  into.samples.add("time_us", microseconds);
}

}  // namespace occbench
