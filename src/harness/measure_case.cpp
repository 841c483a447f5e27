#include "harness/measure_case.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>

#include <fmt/core.h>

#include "diagnose/diagnose.hpp"
#include "files/stop_signals.hpp"
#include "gpu/error.hpp"
#include "harness/depth.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/statistics.hpp"
#include "record/counter_columns.hpp"
#include "record/provenance.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

void end_without_times(CaseRecord& record, TimeStatus status, const std::string& why) {
  record.times.status = status;
  record.note = why;
}

/// Lost updates differ between launches: the samples have the share of each, and the note their median.
void measure_lost_updates(const ReadyCase& ready, cudaStream_t stream, MeasuredCase& into) {
  constexpr std::size_t kLaunches = 16;
  std::vector<double> shares;
  while (shares.size() < kLaunches) {
    const std::optional<double> share = ready.prepared().lost_updates_pct(stream);
    if (!share) return;
    shares.push_back(*share);
  }
  add_note(into.record.note, fmt::format("{} % of updates lost", real_text(median(shares))));
  into.samples.add("lost_updates_pct", shares);
}

/// A median needs this many timed launches, however long they are ...
constexpr std::size_t kMinimumSamples = 10;
/// ... unless getting them takes longer than this.
constexpr double kTopUpSeconds = 0.3;

/// Times whose middle half is spread by more than this are marked unstable ...
constexpr double kUnstableSpreadPct = 5;
/// ... unless it is spread by less than events resolve. Source: CUDA Runtime API, cudaEventElapsedTime.
constexpr double kEventResolutionUs = 0.5;

/// The condition of the GPU while the times of a case are taken.
struct GpuWatch {
  Instruments& instruments;
  Condition condition = {};         ///< from the last look, with the reasons of all looks
  Integer sm_clock_mhz = {};        ///< from NVML's last answer
  std::uint64_t event_reasons = 0;  ///< why clocks were lower at one of the looks: NVML's bits

  /// Asks NVML.
  void look() {
    const GpuCondition seen = instruments.condition();
    sm_clock_mhz = seen.sm_clock_mhz;
    condition.memory_clock_mhz = seen.memory_clock_mhz;
    condition.temperature_c = seen.temperature_c;
    condition.power_w = seen.power_w;
    condition.other_processes = seen.other_processes;
    if (!seen.clocks_event_reasons) return;
    event_reasons |= *seen.clocks_event_reasons;
    condition.throttle_reasons = clocks_event_reasons_text(event_reasons);
  }
};

void top_up(std::vector<double>& microseconds, ReadyCase& ready) {
  double seconds = 0;
  while (microseconds.size() < kMinimumSamples && seconds < kTopUpSeconds && !stop_asked()) {
    microseconds.push_back(ready.time_launch());
    seconds += 1e-6 * microseconds.back();
  }
}

/// Makes the times of a case from launches that Google Benchmark timed. If those are too few for a median, a few more
/// are timed. If a throttle or a disturbance spoiled them, all are timed once more.
/// @param microseconds  of the launches so far
/// Ends early if the user asks to stop; the times then are incomplete.
/// @throws as a launch; the times until then stay
void time_case(ReadyCase& ready, std::vector<double> microseconds, GpuWatch& watch, MeasuredCase& into) {
  top_up(microseconds, ready);
  if (stop_asked()) return;
  CaseRecord& record = into.record;
  watch.look();
  record.times = times_of(microseconds, is_throttled(watch.event_reasons), ready.prepared().useful());
  if (record.times.status != TimeStatus::ok) {
    add_note(record.note, fmt::format("timed twice: {} at first", to_string(*record.times.status)));
    into.samples.add("time_us_discarded", microseconds);
    watch.event_reasons = 0;
    watch.look();
    for (double& time : microseconds) {
      if (stop_asked()) return;
      time = ready.time_launch();
    }
    watch.look();
    record.times = times_of(microseconds, is_throttled(watch.event_reasons), ready.prepared().useful());
  }
  into.samples.add("time_us", microseconds);
}

/// The readings of `read`, or why counters cannot be read.
Counted counted_by(const std::function<CounterReadings()>& read) {
  try {
    return {.status = CountersStatus::ok, .note = {}, .readings = read()};
  } catch (const CountersUnavailable& unavailable) {
    return {.status = unavailable.status(), .note = unavailable.what()};
  }
}

Counted try_counters(Instruments& instruments, const std::vector<std::string>& metrics) {
  return counted_by([&] { return instruments.set_up_counters(metrics), CounterReadings(); });
}

Counted count(ReadyCase& ready, Instruments& instruments, const CounterSetup& setup,
              const std::vector<std::string>& metrics) {
  try {
    return count_launches(
        instruments, setup, metrics, [&] { ready.launch_and_wait(); }, [&] { ready.make_ready(); });
  } catch (const std::exception& error) {
    return {.status = CountersStatus::failed, .note = error.what()};
  }
}

/// The counters of columns. @returns their readings
CounterReadings count_columns(ReadyCase& ready, Instruments& instruments, const CounterSetup& setup,
                              int readings, double warp_slots, MeasuredCase& into) {
  CaseRecord& record = into.record;
  const auto start = std::chrono::steady_clock::now();
  Counted counted = count(ready, instruments, setup, setup.metrics);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  record.readings.status = counted.status;
  add_note(record.note, counted.note);
  if (counted.status != CountersStatus::ok) {
    // If no case is counted, the run has said so at its start.
    if (setup.status == CountersStatus::ok)
      fmt::print(stderr, "{}: counters {}: {}\n", full_name(record.identity), to_string(counted.status),
                 counted.note);
    return {};
  }
  add_note(record.note, setup.note);
  set_counters(record.readings, counted.readings, warp_slots);
  add_note(record.note, note_on_missing(counted.readings, setup.metrics));
  for (const auto& [metric, values] : counted.readings) into.samples.add(metric, values);
  into.samples.add("counting_ms_per_launch", 0, spent.count() / readings);
  return std::move(counted.readings);
}

/// Reads the hardware counters of a case: those of the run, then those that the user requested by name. The latter
/// have a session of their own, so that they cost the others no pass. The note has any error.
/// @param readings    counted launches of each
/// @param warp_slots  warps that all SMs together can hold
void count_case(ReadyCase& ready, Instruments& instruments, const CounterSetup& setup, int readings,
                double warp_slots, MeasuredCase& into) {
  CaseRecord& record = into.record;
  const CounterReadings of_columns = count_columns(ready, instruments, setup, readings, warp_slots, into);
  if (setup.by_name.empty()) return;
  Counted more;
  if (record.readings.status == CountersStatus::ok) more = count(ready, instruments, setup, setup.by_name);
  add_note(record.note, more.note);
  if (more.status != CountersStatus::ok) into.missed = true;
  record.extra = extra_columns(more.readings, setup.by_name);
  for (const auto& [metric, values] : more.readings) {
    if (!of_columns.contains(metric)) into.samples.add(metric, values);
  }
}

/// @returns the case on the device, nullptr if a launch of it failed or the device cannot run it
std::unique_ptr<ReadyCase> check_and_time(const PlannedCase& planned, const MeasureWith& with,
                                          GpuWatch& watch, MeasuredCase& into) {
  CaseRecord& record = into.record;
  try {
    auto ready = std::make_unique<ReadyCase>(planned, with.device, with.instruments);
    // These launches load the module, which must not happen behind a blocked stream.
    record.check = ready->check_and_launch();
    add_note(record.note, ready->prepared().why_wrong());
    measure_lost_updates(*ready, with.instruments.stream(), into);
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

/// Predicts with the device's own limits: a device whose compute capability the table lacks is predicted like any
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
  // Usage and theory are known already.
  MeasuredCase measured{planned.known, SamplesOfCase(planned.known.identity), {}};
  CaseRecord& record = measured.record;
  const double warp_slots = with.device.warp_slots();
  // Launches of earlier cases do not count. Those of its race do, because they timed it.
  if (with.raced == nullptr) with.instruments.take_first_gpc();

  // Check and times. A case that the end of the run cuts off counts as not begun.
  std::unique_ptr<ReadyCase> ready;
  if (planned.can_launch()) {
    GpuWatch watch{with.instruments};
    ready = check_and_time(planned, with, watch, measured);
    if (stop_asked() && record.times.status != TimeStatus::failed) return std::nullopt;
    record.condition = watch.condition;
    record.readings.counters.sm_clock_mhz = watch.sm_clock_mhz;
  }

  // Counters, occupancy over time and warp records, each in launches of its own, as long as the context lives. A run
  // that is interrupted here completes its case first, because a resumed one would take the row for complete.
  std::optional<Activity> activity;
  if (ready) {
    const auto goes_on = [&] { return !with.instruments.context_is_lost(); };
    record.first_gpc = with.instruments.take_first_gpc();
    count_case(*ready, with.instruments, with.counters, readings_of(with.options), warp_slots, measured);
    if (with.options.timeline && goes_on())
      activity = sample_activity(planned, *ready, with.instruments, warp_slots, measured);
    if (goes_on()) {
      record_warps_of_case(planned, *ready, with.instruments, with.device, with.options.per_sm, with.counters,
                           measured);
    }
    // Unknown if it could not be set before each of these launches too.
    if (record.first_gpc && !with.instruments.take_first_gpc()) record.first_gpc.reset();
  }

  // The prediction comes last: for the first GPC of all of these launches.
  if (record.times.status != TimeStatus::skipped) predict_case(record, with.device, with.profile);
  if (activity) write_timeline(*activity, with.options.timeline.value(), warp_slots, measured);

  // Where the occupancy was lost, from all data so far.
  record.explanation = explanation_of(facts_of(record, &with.device.limits));

  record.provenance.recorded_at = iso_time(std::chrono::system_clock::now());
  return measured;
}

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

std::vector<WarpRecord> ReadyCase::record_warps() {
  return prepared_->record_warps(instruments_.stream());
}

CounterSetup set_up_counters(Instruments& instruments, const Options& options) {
  CounterSetup setup{.metrics = counters_read(CounterRead::every_case), .by_name = options.metrics};
  if (options.counters == CounterMode::off) return setup;
  if (options.suite == Suite::full) {
    const std::vector<std::string> all = counters_read(CounterRead::full_suite);
    const Counted tried = try_counters(instruments, all);
    if (tried.status == CountersStatus::ok || tried.status == CountersStatus::busy) {
      setup.status = CountersStatus::ok;
      setup.metrics = all;
      return setup;
    }
    setup.note = tried.note;
  }
  const Counted tried = try_counters(instruments, setup.metrics);
  const bool stays = tried.status == CountersStatus::denied || tried.status == CountersStatus::unsupported;
  setup.status = stays ? tried.status : CountersStatus::ok;
  if (stays) setup.note = tried.note;
  if (!setup.note.empty())
    fmt::print(stderr, "counters{}: {}\n",
               stays ? fmt::format(" {}", to_string(tried.status)) : " of the full suite", setup.note);
  return setup;
}

Counted count_launches(Instruments& instruments, const CounterSetup& setup,
                       const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before) {
  if (setup.status != CountersStatus::ok) return {.status = setup.status, .note = setup.note};
  return counted_by([&] { return instruments.count(metrics, launch, before); });
}

}  // namespace occbench
