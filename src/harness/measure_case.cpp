#include "harness/measure_case.hpp"

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "diagnose/diagnose.hpp"
#include "gpu/error.hpp"
#include "harness/count_case.hpp"
#include "harness/depth.hpp"
#include "harness/time_case.hpp"
#include "occupancy/input_error.hpp"
#include "record/replay.hpp"
#include "record/provenance.hpp"
#include "record/statistics.hpp"
#include "record/stop_signals.hpp"

namespace occbench {
namespace {

void end_without_times(CaseRecord& record, TimeStatus status, const std::string& why) {
  record.times.status = status;
  record.note = why;
}

/// Lost updates differ from launch to launch: the samples have the share of each, and the note their median.
void measure_lost_updates(ReadyCase& ready, MeasuredCase& into) {
  constexpr std::size_t kLaunches = 16;
  std::vector<double> shares;
  while (shares.size() < kLaunches) {
    const std::optional<double> share = ready.lost_updates_pct();
    if (!share) return;
    shares.push_back(*share);
  }
  add_note(into.record.note, fmt::format("{} % of updates lost", real_text(median(shares))));
  into.samples.add("lost_updates_pct", shares);
}

/// @returns the case as it is on the device, nullptr where a launch of it failed or is none of the device's
std::unique_ptr<ReadyCase> check_and_time(const PlannedCase& planned, const MeasureWith& with,
                                          GpuWatch& watch, MeasuredCase& into) {
  CaseRecord& record = into.record;
  try {
    auto ready = std::make_unique<ReadyCase>(planned, with.device, with.instruments);
    // These launches load the module, which must not happen behind a blocked stream.
    record.check = ready->check_and_launch();
    measure_lost_updates(*ready, into);
    watch.look();
    TimedLaunches timed = with.raced != nullptr
                              ? TimedLaunches{*with.raced, {}}
                              : with.benchmark.time(
                                    planned.name, [&] { return ready->time_launch(); }, stop_asked);
    into.runs = std::move(timed.runs);
    time_case(*ready, std::move(timed.microseconds), watch, into);
    return ready;
  } catch (const CannotRun& reason) {
    end_without_times(record, TimeStatus::skipped, reason.what());
  } catch (const std::exception& error) {
    end_without_times(record, TimeStatus::failed, error.what());
  }
  into.runs.clear();
  return nullptr;
}

/// For the limits of the device itself: one whose compute capability the table lacks is predicted like any
/// other.
void predict_case(CaseRecord& record, const Device& device, const ChosenProfile& profile) {
  if (!record.identity.work || !record.launch || !record.compiled) return;
  try {
    const LaunchOnDevice on{*record.launch, record.compiled->usage, device.limits, device.sm_count};
    record.prediction = predict(on, *record.identity.work, profile, record.first_gpc);
  } catch (const InputError& refused) {
    add_note(record.note, no_prediction(refused.what()));
  }
}

}  // namespace

std::optional<MeasuredCase> measure_case(const PlannedCase& planned, const MeasureWith& with) {
  // Usage and theory are known.
  MeasuredCase measured{planned.known, CaseSamples(planned.known.identity), {}};
  CaseRecord& record = measured.record;
  const double warp_slots = with.device.warp_slots();

  // Check and times. A case that the end of the run cuts off is as if it had not begun.
  std::unique_ptr<ReadyCase> ready;
  if (planned.can_launch()) {
    GpuWatch watch(with.instruments);
    ready = check_and_time(planned, with, watch, measured);
    if (stop_asked() && record.times.status != TimeStatus::failed) return std::nullopt;
    record.condition = watch.condition();
    record.readings.counters.sm_clock_mhz = watch.sm_clock_mhz();
  }

  // Counters, occupancy over time and traces, each in launches of its own, as long as the context lives. A run
  // that is interrupted here ends its case first, for a resumed one would take the row for the whole of it.
  std::optional<Activity> activity;
  if (ready) {
    const auto goes_on = [&] { return !with.instruments.context_is_lost(); };
    record.first_gpc = with.instruments.first_gpc();
    count_case(*ready, with.instruments, with.counters, with.options.readings, warp_slots, measured);
    if (with.options.timeline && goes_on())
      activity = sample_activity(planned, *ready, with.instruments, warp_slots, measured);
    if (goes_on()) {
      trace_case(planned, *ready, with.instruments, with.device, with.options.per_sm, with.counters,
                 measured);
    }
    // Left open where it could not be set before each of these launches too.
    if (record.first_gpc && !with.instruments.first_gpc()) record.first_gpc.reset();
  }

  // The prediction, last: for the GPC that all of these launches began with.
  if (record.times.status != TimeStatus::skipped) predict_case(record, with.device, with.profile);
  if (activity) write_timeline(*activity, with.options.timeline.value(), warp_slots, measured);

  // Where the occupancy went, of all that is known now.
  record.explanation = explanation_of(facts_of(record, &with.device.limits));

  record.provenance.recorded_at = iso_time(std::chrono::system_clock::now());
  return measured;
}

void CaseSamples::add(std::string_view quantity, std::int64_t index, double value) {
  samples_.push_back({experiment_, case_name_, std::string(quantity), index, value});
}

void CaseSamples::add(std::string_view quantity, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) add(quantity, static_cast<std::int64_t>(i), values[i]);
  }
}

}  // namespace occbench
