#include "harness/case_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/core.h>

#include "gpu/error.hpp"
#include "harness/counter_columns.hpp"
#include "harness/per_sm_file.hpp"
#include "harness/timeline_file.hpp"
#include "harness/trace_samples.hpp"
#include "measure/trace.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/warps.hpp"
#include "record/case_filter.hpp"
#include "record/columns.hpp"
#include "record/files.hpp"
#include "record/provenance.hpp"
#include "record/replay.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

/// A median needs this many timed launches, however long they are ...
constexpr std::size_t kMinimumSamples = 10;
/// ... unless getting them takes longer than this.
constexpr double kTopUpSeconds = 0.1;

/// Times whose middle half is spread by more than this are marked unstable.
constexpr double kUnstableSpreadPct = 5;

/// Traced launches of which per-SM figures, or what stands in for the counter, are made.
constexpr std::size_t kTracedLaunches = 4;

std::string parameters_text(const Case& chosen) {
  std::string text;
  for (const auto& [key, value] : chosen.parameters) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", key, value);
  }
  return text;
}

std::string_view to_string(Check check) {
  switch (check) {
    case Check::ok:
      return "ok";
    case Check::wrong:
      return "wrong";
    case Check::none:
      return "none";
  }
  return "none";
}

}  // namespace

Case make_small(Case chosen) {
  constexpr std::int64_t kBlocks = 8;
  constexpr double kCycles = 2'000;
  chosen.small = true;
  chosen.launch.grid_blocks = std::min(chosen.launch.grid_blocks, kBlocks * chosen.launch.cluster_blocks);
  const auto shortened = [](const Work& work) { return work.scaled(std::min(1.0, kCycles / work.cycles)); };
  if (chosen.work) chosen.work = shortened(*chosen.work);
  if (chosen.items) {
    chosen.items->count = std::min(chosen.items->count, 2 * kBlocks);
    chosen.items->work = shortened(chosen.items->work);
  }
  return chosen;
}

CaseRun::CaseRun(Session& session, const Experiment& of, Case chosen)
    : session_(session),
      case_(std::move(chosen)),
      variant_(&case_.kernel->find(case_.variant)),
      row_(session.new_row(of)) {
  describe();
  name_ = full_name(row_);
}

void CaseRun::describe() {
  const Launch& launch = case_.launch;
  row_.case_ = case_name(case_);
  row_.kernel = case_.kernel->name;
  row_.variant = case_.variant;
  row_.parameters = parameters_text(case_);
  if (case_.work) row_.work = occbench::to_string(*case_.work);
  if (variant_->function == nullptr) {
    add_note("the runtime launches it: kernel, launch and theory are not known");
    return;
  }
  if (!case_.work) add_note("no single work string describes what its blocks do: nothing is predicted");
  row_.block_threads = launch.block_threads;
  row_.grid_blocks = launch.grid_blocks;
  row_.cluster_blocks = launch.cluster_blocks;
  row_.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  row_.carveout_pct = launch.carveout_pct;
  try {
    const Compiled compiled = session_.instruments().inspect(*variant_);
    row_.registers_per_thread = compiled.usage.registers_per_thread;
    row_.static_shared_bytes = compiled.usage.static_shared_bytes;
    row_.local_bytes_per_thread = compiled.usage.local_bytes_per_thread;
    row_.spill_bytes = compiled.spill_bytes;
    row_.code_architecture = compiled.code_architecture;
    const Limits& limits = session_.device().limits;
    const Occupancy occupancy = theoretical_occupancy(limits, launch, compiled.usage);
    row_.blocks_per_sm = occupancy.blocks_per_sm;
    row_.limiter = occbench::to_string(occupancy.limiters);
    row_.theoretical_pct = occupancy.theoretical_pct;
    row_.waves = waves(occupancy, launch.grid_blocks, session_.device().sm_count);
    if (occupancy.blocks_per_sm == 0) {
      skip(why_it_cannot_launch(limits, launch, compiled.usage));
    }
  } catch (const GpuUnavailable& unavailable) {
    skip(unavailable.what());
  } catch (const InputError& refused) {
    skip(refused.what());
  }
}

void CaseRun::begin() {
  if (std::exchange(begun_, true)) return;
  session_.begin(row_.case_);
  // These launches load the module, which must not happen behind a blocked stream.
  row_.check = to_string(check_and_launch());
  note_condition();
}

Check CaseRun::check_and_launch() {
  Instruments& instruments = session_.instruments();
  prepared_ = case_.kernel->prepare(case_, *variant_, session_.device());
  // The check first, so that the launch finds its code in the caches.
  const Check result = prepared_->check(instruments.stream());
  prepared_->launch(instruments.stream());
  instruments.synchronize();
  return result;
}

bool CaseRun::launch_once() {
  if (row_.time_status == "skipped") return true;
  try {
    const Check result = check_and_launch();
    prepared_.reset();
    return result != Check::wrong;
  } catch (const CannotRun& reason) {
    skip(reason.what());
    return true;
  }
}

void CaseRun::time(benchmark::State& state) {
  if (row_.time_status == "skipped" || row_.time_status == "failed" || session_.stop() != Stop::no) {
    state.SkipWithError(row_.note.empty() ? "the run was stopped" : row_.note.c_str());
    return;
  }
  try {
    begin();
    measure_time(state);
  } catch (const CannotRun& reason) {
    skip(reason.what());
    state.SkipWithError(row_.note.c_str());
  } catch (const std::exception& error) {
    fail(error.what());
    state.SkipWithError(row_.note.c_str());
  }
}

void CaseRun::measure_time(benchmark::State& state) {
  std::vector<double> batch;
  for ([[maybe_unused]] const auto _ : state) {
    const double microseconds = time_launch();
    batch.push_back(microseconds);
    state.SetIterationTime(1e-6 * microseconds);
    if (session_.stop() != Stop::no) {
      state.SkipWithError("the run was stopped");
      break;
    }
  }
  batches_.push_back(std::move(batch));
}

double CaseRun::time_launch() {
  return session_.instruments().microseconds([&](cudaStream_t stream) { prepared_->launch(stream); },
                                             case_.cold);
}

void CaseRun::finish(std::size_t repetitions) {
  // A case that the end of the run cut off has no row: it is missing, and a resumed run makes it.
  if (session_.stop() != Stop::no && row_.time_status != "failed") return;
  if (row_.time_status.empty()) {
    try {
      take_times(repetitions);
      if (session_.stop() != Stop::no) return;
      row_.first_gpc = session_.instruments().first_gpc();
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  if (row_.time_status != "skipped") predict();
  if (row_.time_status != "skipped" && row_.time_status != "failed") measure_in_depth();
  if (row_.first_gpc && !session_.instruments().first_gpc()) leave_first_gpc_open();
  prepared_.reset();
  if (!row_.sm_clock_mhz) row_.sm_clock_mhz = sm_clock_mhz_;
  row_.recorded_at = iso_time(std::chrono::system_clock::now());
  session_.end(row_, samples_);
}

void CaseRun::take_times(std::size_t repetitions) {
  const std::size_t first = batches_.size() - std::min(repetitions, batches_.size());
  for (std::size_t i = first; i < batches_.size(); ++i) {
    times_.insert(times_.end(), batches_[i].begin(), batches_[i].end());
  }
  top_up_samples();
  if (session_.stop() != Stop::no) return;
  summarize_times();
  if (row_.time_status != "ok") time_again();
  add_samples("time_us", times_);
}

void CaseRun::top_up_samples() {
  double seconds = 0;
  while (times_.size() < kMinimumSamples && seconds < kTopUpSeconds && session_.stop() == Stop::no) {
    times_.push_back(time_launch());
    seconds += 1e-6 * times_.back();
  }
}

/// Times that a throttle or something passing spoiled are held out, and taken once more.
void CaseRun::time_again() {
  add_note(fmt::format("timed twice: {} at first", row_.time_status));
  add_samples("time_us_discarded", times_);
  event_reasons_ = 0;
  note_condition();
  for (double& time : times_) {
    if (session_.stop() != Stop::no) return;
    time = time_launch();
  }
  summarize_times();
}

void CaseRun::summarize_times() {
  note_condition();
  const Quartiles quartiles = occbench::quartiles(times_);
  row_.time_us = quartiles.median;
  row_.time_spread_pct = 100 * quartiles.range() / quartiles.median;
  row_.repetitions = static_cast<std::int64_t>(times_.size());
  row_.time_status = is_throttled(event_reasons_)                 ? "throttled"
                     : *row_.time_spread_pct > kUnstableSpreadPct ? "unstable"
                                                                  : "ok";
  const Amount useful = prepared_->useful();
  row_.throughput = useful.quantity / (1e-6 * quartiles.median);
  row_.throughput_unit = fmt::format("{}/s", useful.unit);
}

void CaseRun::note_condition() {
  const GpuCondition condition = session_.instruments().condition();
  sm_clock_mhz_ = condition.sm_clock_mhz;
  row_.memory_clock_mhz = condition.memory_clock_mhz;
  row_.temperature_c = condition.temperature_c;
  row_.power_w = condition.power_w;
  row_.other_processes = condition.other_processes;
  if (!condition.clocks_event_reasons) return;
  event_reasons_ |= *condition.clocks_event_reasons;
  row_.throttle_reasons = clocks_event_reasons_text(event_reasons_);
}

void CaseRun::predict() {
  try {
    prediction_ = prediction_of(row_, session_.options().device_profile);
    if (prediction_) set_prediction(row_, *prediction_);
  } catch (const InputError& refused) {
    if (row_.note.empty()) row_.note = fmt::format("no prediction: {}", refused.what());
  }
}

/// Where it could not be set before each launch that was measured.
void CaseRun::leave_first_gpc_open() {
  row_.first_gpc.reset();
  predict();
}

/// Each in launches of its own. Whatever goes wrong here, what was measured before survives; a run that is
/// interrupted finishes its case, for a resumed one would take the row for the whole of it.
void CaseRun::measure_in_depth() {
  const auto goes_on = [&] { return session_.stop() != Stop::context_lost; };
  read_counters();
  if (goes_on() && session_.options().timeline && !write_timeline()) session_.miss();
  if (goes_on() && (case_.trace || session_.options().per_sm || trace_stands_in())) read_traces();
}

void CaseRun::make_ready() {
  session_.instruments().make_ready(case_.cold);
}

void CaseRun::launch_and_wait() {
  prepared_->launch(session_.instruments().stream());
  session_.instruments().synchronize();
}

void CaseRun::read_counters() {
  const auto count = [&](const std::vector<std::string>& metrics) -> Counted {
    try {
      return session_.count(
          metrics, [&] { launch_and_wait(); }, [&] { make_ready(); });
    } catch (const std::exception& error) {
      if (session_.instruments().context_is_lost()) session_.lose_context();
      return {.status = CountersStatus::failed, .note = error.what()};
    }
  };
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::string> metrics = metrics_for(row_);
  const Counted counted = count(metrics);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  row_.counters_status = occbench::to_string(counted.status);
  add_note(counted.note);
  if (counted.status == CountersStatus::ok) {
    keep_readings(counted, metrics);
    const double per_launch = spent.count() / session_.options().readings;
    add_samples("counting_ms_per_launch", {&per_launch, 1});
  }
  // More of them in sessions of their own, so that they cost the others no pass.
  const auto count_more = [&](const std::vector<std::string>& wanted) -> Counted {
    if (wanted.empty() || counted.status != CountersStatus::ok || session_.stop() == Stop::context_lost)
      return {};
    const Counted more = count(wanted);
    add_note(more.note);
    return more;
  };
  const std::vector<std::string> asked_for = metrics_of(case_.counters);
  if (const Counted more = count_more(asked_for); more.status == CountersStatus::ok)
    keep_readings(more, asked_for);
  const std::vector<std::string>& by_name = session_.options().metrics;
  const Counted more = count_more(by_name);
  if (!by_name.empty() && more.status != CountersStatus::ok) session_.miss();
  set_extra_columns(row_, more.readings, by_name);
  for (Sample& sample : counter_samples(row_, more.readings)) {
    if (!counted.readings.contains(sample.quantity)) samples_.push_back(std::move(sample));
  }
}

void CaseRun::keep_readings(const Counted& counted, const std::vector<std::string>& metrics) {
  set_counter_columns(row_, counted.readings, metrics, session_.device().limits.max_warps_per_sm);
  const std::vector<Sample> samples = counter_samples(row_, counted.readings);
  samples_.insert(samples_.end(), samples.begin(), samples.end());
}

bool CaseRun::write_timeline() {
  try {
    make_ready();
    const Sampled sampled = session_.sample(row_.time_us.value_or(0), [&] { launch_and_wait(); });
    add_note(sampled.note);
    if (!sampled.note.empty()) return false;
    const double warp_slots =
        static_cast<double>(session_.device().sm_count) * session_.device().limits.max_warps_per_sm;
    const Activity activity = activity_of(sampled.samples, warp_slots);
    for (const std::string& loss : activity.losses) {
      add_note(fmt::format("timeline: {}", loss));
      fmt::print(stderr, "{}: timeline: {}\n", name_, loss);
    }
    // What the runtime launches need not have warps.
    if (activity.steps.empty()) return variant_->function == nullptr;
    const double mean = activity.mean_pct();
    add_samples("timeline_mean_pct", {&mean, 1});
    replace_text(case_file(*session_.options().timeline, row_, "timeline"),
                 timeline_csv(row_, activity, prediction_ ? &prediction_->timeline : nullptr, warp_slots));
    return true;
  } catch (const std::exception& error) {
    survive("no timeline", error);
    return false;
  }
}

/// Where the counters are closed, and a trace of this very kernel says the same.
bool CaseRun::trace_stands_in() {
  const bool closed = row_.counters_status != "ok" && row_.counters_status != "off";
  if (!closed || !case_.kernel->trace_agrees_with_counter) return false;
  if (variant_->traced_function == nullptr) return true;
  Variant traced = *variant_;
  traced.function = variant_->traced_function;
  const Usage usage = session_.instruments().inspect(traced).usage;
  return theoretical_occupancy(session_.device().limits, case_.launch, usage).theoretical_pct ==
         row_.theoretical_pct;
}

void CaseRun::read_traces() {
  const std::size_t launches =
      session_.options().per_sm || trace_stands_in() ? kTracedLaunches : std::size(kTracePrefixes);
  try {
    while (traces_.size() < launches) {
      make_ready();
      std::vector<WarpRecord> records = prepared_->trace(session_.instruments().stream());
      if (records.empty()) {
        if (session_.options().per_sm) add_note("no file per SM: this kernel keeps no trace");
        return;
      }
      traces_.push_back(std::move(records));
    }
    summarize_traces();
    if (session_.options().per_sm && row_.counters_status == "ok") trace_and_count();
  } catch (const std::exception& error) {
    if (session_.options().per_sm) session_.miss();
    survive("not traced", error);
  }
}

void CaseRun::summarize_traces() {
  const int warps_per_block = warps_of_block(case_.launch.block_threads);
  const int max_warps = session_.device().limits.max_warps_per_sm;
  if (case_.trace) {
    for (std::size_t i = 0; i < std::size(kTracePrefixes); ++i) {
      const std::vector<Sample> traced =
          trace_samples(row_, traces_[i], warps_per_block, max_warps, kTracePrefixes[i]);
      samples_.insert(samples_.end(), traced.begin(), traced.end());
    }
  }
  std::vector<double> achieved;
  for (const auto& records : traces_) {
    achieved.push_back(achieved_pct(sms_of(records, warps_per_block), max_warps));
  }
  add_samples("achieved_pct_by_trace", achieved);
  if (trace_stands_in()) {
    row_.achieved_pct = median(achieved);
    row_.achieved_spread_points = quartiles(achieved).range();
    row_.achieved_source = "trace";
    add_note(
        "achieved_pct is that of traced launches, which can place the blocks of a partial last wave "
        "otherwise");
  }
  if (session_.options().per_sm) {
    replace_text(case_file(*session_.options().per_sm, row_, "per_sm"),
                 per_sm_csv(row_, traces_, warps_per_block, max_warps));
  }
}

/// The trace and the counter of the very same launches: what the trace is worth where it has to stand in.
void CaseRun::trace_and_count() {
  const std::string counter(find_column("achieved_pct")->metric);
  const int warps_per_block = warps_of_block(case_.launch.block_threads);
  std::vector<double> traced;
  const auto trace = [&] {
    const std::vector<WarpRecord> records = prepared_->trace(session_.instruments().stream());
    traced.push_back(
        achieved_pct(sms_of(records, warps_per_block), session_.device().limits.max_warps_per_sm));
  };
  const Counted counted = session_.count({counter}, trace, [&] { make_ready(); });
  add_note(counted.note);
  if (counted.status != CountersStatus::ok) return;
  add_samples("same_launch_trace_pct", traced);
  add_samples("same_launch_counter_pct", counted.readings.at(counter));
}

void CaseRun::add_note(std::string_view note) {
  if (note.empty()) return;
  if (!row_.note.empty()) row_.note += "; ";
  row_.note += note;
}

void CaseRun::add_samples(std::string_view quantity, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    samples_.push_back(
        {row_.experiment, row_.case_, std::string(quantity), static_cast<std::int64_t>(i), values[i]});
  }
}

void CaseRun::survive(std::string_view what, const std::exception& error) {
  add_note(fmt::format("{}: {}", what, error.what()));
  if (session_.instruments().context_is_lost()) session_.lose_context();
}

void CaseRun::skip(const std::string& reason) {
  row_.time_status = "skipped";
  row_.note = reason;
  prepared_.reset();
}

void CaseRun::fail(const std::string& message) {
  row_.time_status = "failed";
  row_.note = message;
  prepared_.reset();
  if (session_.instruments().context_is_lost()) session_.lose_context();
}

}  // namespace occbench
