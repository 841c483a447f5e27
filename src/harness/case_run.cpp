#include "harness/case_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "gpu/error.hpp"
#include "harness/trace_samples.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/warps.hpp"
#include "record/case_filter.hpp"
#include "record/columns.hpp"
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

constexpr std::string_view kWarpsActive = "sm__warps_active.sum";
constexpr std::string_view kCyclesActiveMax = "sm__cycles_active.max";

/// Whether a case reads a column's counter. Those of local memory come from a unit that makes a session
/// slower, and a kernel that has no local memory has no such traffic; those of pipes are read where asked
/// for.
bool is_read(const Column& column, const Row& row, const Case& chosen) {
  if (column.metric.empty()) return false;
  if (column.name.starts_with("local_")) return row.local_bytes_per_thread != 0;
  if (column.name.ends_with("_pipe_pct")) {
    return std::ranges::find(chosen.counters, column.name) != chosen.counters.end();
  }
  return true;
}

/// The counters behind the columns.
std::vector<std::string> metrics_for(const Row& row, const Case& chosen) {
  std::vector<std::string> metrics = {std::string(kWarpsActive)};
  for (const Column& column : columns()) {
    if (is_read(column, row, chosen)) metrics.emplace_back(column.metric);
  }
  return metrics;
}

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

/// Warps active over the SM's maximum, over all SMs and the longest SM's active cycles, for each reading.
std::vector<double> elapsed_occupancy(const CounterReadings& readings, const Device& device) {
  const auto warps = readings.find(kWarpsActive);
  const auto cycles = readings.find(kCyclesActiveMax);
  std::vector<double> values;
  if (warps == readings.end() || cycles == readings.end()) return values;
  const double slots = device.sm_count * static_cast<double>(device.limits.max_warps_per_sm);
  for (std::size_t i = 0; i < std::min(warps->second.size(), cycles->second.size()); ++i) {
    values.push_back(100 * warps->second[i] / (slots * cycles->second[i]));
  }
  return values;
}

}  // namespace

Case make_small(Case chosen) {
  constexpr std::int64_t kBlocks = 8;
  constexpr double kCycles = 2'000;
  chosen.small = true;
  chosen.launch.grid_blocks = std::min(chosen.launch.grid_blocks, kBlocks * chosen.launch.cluster_blocks);
  const auto shorten = [](Work& work) {
    const double scale = std::min(1.0, kCycles / work.cycles);
    work.cycles *= scale;
    work.issue_slots *= scale;
    work.bytes *= scale;
  };
  if (chosen.work) shorten(*chosen.work);
  if (chosen.items) {
    chosen.items->count = std::min(chosen.items->count, 2 * kBlocks);
    shorten(chosen.items->work);
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
    const double microseconds =
        session_.instruments().microseconds([&](cudaStream_t stream) { prepared_->launch(stream); });
    batch.push_back(microseconds);
    state.SetIterationTime(1e-6 * microseconds);
    if (session_.stop() != Stop::no) {
      state.SkipWithError("the run was stopped");
      break;
    }
  }
  batches_.push_back(std::move(batch));
}

const Row& CaseRun::finish(std::size_t repetitions) {
  if (std::exchange(finished_, true)) return row_;
  // A case that the end of the run cut off has no row: it is missing, and a resumed run makes it.
  if (session_.stop() != Stop::no && row_.time_status != "failed") return row_;
  if (row_.time_status.empty()) {
    try {
      const std::size_t first = batches_.size() - std::min(repetitions, batches_.size());
      for (std::size_t i = first; i < batches_.size(); ++i) {
        times_.insert(times_.end(), batches_[i].begin(), batches_[i].end());
      }
      top_up_samples();
      if (session_.stop() != Stop::no) return row_;
      summarize_times();
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  const bool timed = row_.time_status == "ok" || row_.time_status == "unstable";
  if (timed) read_counters();
  if (row_.time_status != "skipped") predict();
  if (timed && case_.trace && session_.stop() == Stop::no) keep_trace();
  prepared_.reset();
  row_.recorded_at = iso_time(std::chrono::system_clock::now());
  session_.end(row_, samples_);
  return row_;
}

void CaseRun::top_up_samples() {
  double seconds = 0;
  while (times_.size() < kMinimumSamples && seconds < kTopUpSeconds && session_.stop() == Stop::no) {
    times_.push_back(
        session_.instruments().microseconds([&](cudaStream_t stream) { prepared_->launch(stream); }));
    seconds += 1e-6 * times_.back();
  }
}

void CaseRun::summarize_times() {
  const Quartiles quartiles = occbench::quartiles(times_);
  row_.time_us = quartiles.median;
  row_.time_spread_pct = 100 * quartiles.range() / quartiles.median;
  row_.repetitions = static_cast<std::int64_t>(times_.size());
  row_.time_status = *row_.time_spread_pct > kUnstableSpreadPct ? "unstable" : "ok";
  const Amount useful = prepared_->useful();
  row_.throughput = useful.quantity / (1e-6 * quartiles.median);
  row_.throughput_unit = fmt::format("{}/s", useful.unit);
  for (std::size_t i = 0; i < times_.size(); ++i) {
    samples_.push_back({row_.experiment, row_.case_, "time_us", static_cast<std::int64_t>(i), times_[i]});
  }
}

void CaseRun::predict() {
  if (row_.work.empty()) return;
  try {
    predict_anew(row_);
  } catch (const InputError& refused) {
    if (row_.note.empty()) row_.note = fmt::format("no prediction: {}", refused.what());
  }
}

void CaseRun::read_counters() {
  Instruments& instruments = session_.instruments();
  const auto start = std::chrono::steady_clock::now();
  Counted counted;
  try {
    counted = session_.count(metrics_for(row_, case_), [&] {
      prepared_->launch(instruments.stream());
      instruments.synchronize();
    });
  } catch (const std::exception& error) {
    // The time is measured already, and survives.
    counted = {.status = CountersStatus::failed, .note = error.what()};
    if (instruments.context_is_lost()) session_.lose_context();
  }
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  row_.counters_status = occbench::to_string(counted.status);
  add_note(counted.note);
  if (counted.status != CountersStatus::ok) return;
  summarize_counters(counted.readings);
  samples_.push_back({row_.experiment, row_.case_, "counting_ms_per_launch", 0,
                      spent.count() / session_.options().readings});
}

void CaseRun::add_note(std::string_view note) {
  if (note.empty()) return;
  if (!row_.note.empty()) row_.note += "; ";
  row_.note += note;
}

void CaseRun::keep_trace() {
  const int warps_per_block = warps_of_block(case_.launch.block_threads);
  try {
    for (const std::string_view prefix : kTracePrefixes) {
      const std::vector<WarpRecord> records = prepared_->trace(session_.instruments().stream());
      const std::vector<Sample> traced =
          trace_samples(row_, records, warps_per_block, session_.device().limits.max_warps_per_sm, prefix);
      samples_.insert(samples_.end(), traced.begin(), traced.end());
    }
  } catch (const std::exception& error) {
    // Time and counters are read already, and survive.
    add_note(fmt::format("not traced: {}", error.what()));
    if (session_.instruments().context_is_lost()) session_.lose_context();
  }
}

void CaseRun::summarize_counters(const CounterReadings& readings) {
  for (const Column& column : columns()) {
    const auto found = column.metric.empty() ? readings.end() : readings.find(column.metric);
    if (found == readings.end() || found->second.empty()) continue;
    row_.*std::get<Real Row::*>(column.where) = column.scale * median(found->second);
  }
  for (const std::string& metric : metrics_for(row_, case_)) {
    if (readings.contains(metric)) continue;
    row_.note += fmt::format("{}this GPU gave no value of {}", row_.note.empty() ? "" : "; ", metric);
  }
  const Column* achieved = find_column("achieved_pct");
  if (const auto found = readings.find(achieved->metric); found != readings.end() && !found->second.empty()) {
    row_.achieved_spread_points = quartiles(found->second).range();
    row_.achieved_source = "counter";
  }
  const std::vector<double> elapsed = elapsed_occupancy(readings, session_.device());
  if (!elapsed.empty()) row_.achieved_elapsed_pct = median(elapsed);
  for (const auto& [metric, values] : readings) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      samples_.push_back({row_.experiment, row_.case_, metric, static_cast<std::int64_t>(i), values[i]});
    }
  }
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
