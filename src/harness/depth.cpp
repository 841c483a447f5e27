#include "harness/depth.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>

#include <fmt/core.h>

#include "files/output.hpp"
#include "measure/warp_records.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"
#include "occupancy/warps.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

void note_no_timeline(const std::exception& error, MeasuredCase& into) {
  into.missed = true;
  add_note(into.record.note, fmt::format("no timeline: {}", error.what()));
}

/// Recorded launches for per-SM figures, or for the value in place of the counter.
constexpr std::size_t kRecordedLaunches = 4;

using RecordsOfLaunches = std::vector<std::vector<WarpRecord>>;

/// Properties of a launch with which its records are read.
struct RecordShape {
  int warps_per_block;
  int max_warps_per_sm;

  double achieved_pct(const std::vector<WarpRecord>& records) const {
    return occbench::achieved_pct(sms_of(records, warps_per_block), max_warps_per_sm);
  }
};

/// Whether the counters are closed, and this kernel's records give the same value.
bool stands_in(const PlannedCase& planned, Instruments& instruments, const Limits& limits,
               const CaseRecord& record) {
  const std::optional<CountersStatus>& status = record.readings.status;
  const bool closed = status != CountersStatus::ok && status != CountersStatus::off;
  if (!closed || !planned.chosen.kernel->warp_records_agree_with_counter) return false;
  if (planned.variant->recording_function == nullptr) return true;
  Variant recording = *planned.variant;
  recording.function = planned.variant->recording_function;
  const Usage usage = instruments.inspect(recording).usage;
  const double recording_pct = theoretical_occupancy(limits, planned.chosen.launch, usage).theoretical_pct;
  return record.theory && recording_pct == record.theory->theoretical_pct;
}

/// Empty if the kernel keeps none.
RecordsOfLaunches records_of(ReadyCase& ready, std::size_t count) {
  RecordsOfLaunches launches;
  while (launches.size() < count) {
    ready.make_ready();
    launches.push_back(ready.record_warps());
    if (launches.back().empty()) return {};
  }
  return launches;
}

void take_achieved_from(const std::vector<double>& achieved_pct, CaseRecord& record) {
  record.readings.counters.achieved_pct = median(achieved_pct);
  record.readings.achieved_spread_points = quartiles(achieved_pct).range();
  record.readings.achieved_source = AchievedSource::warp_records;
  add_note(record.note,
           "achieved_pct is that of launches whose warps were recorded, which can place the blocks of a "
           "partial last wave otherwise");
}

/// The records and the counter of the same launches: they show how good records are if they replace the counter.
void record_and_count(ReadyCase& ready, Instruments& instruments, const CounterSetup& counters,
                      const RecordShape& shape, MeasuredCase& into) {
  const std::string counter(find_column("achieved_pct")->counter.value().metric);
  std::vector<double> recorded;
  const Counted counted = count_launches(
      instruments, counters, {counter}, [&] { recorded.push_back(shape.achieved_pct(ready.record_warps())); },
      [&] { ready.make_ready(); });
  add_note(into.record.note, counted.note);
  if (counted.status != CountersStatus::ok) return;
  into.samples.add("same_launch_trace_pct", recorded);
  into.samples.add("same_launch_counter_pct", counted.readings.at(counter));
}

/// @returns the records; empty if the kernel keeps none
RecordsOfLaunches record_launches(const PlannedCase& planned, ReadyCase& ready, const RecordShape& shape,
                                  bool per_sm, bool as_counter, MeasuredCase& into) {
  RecordsOfLaunches launches =
      records_of(ready, per_sm || as_counter ? kRecordedLaunches : std::size(kWarpRecordPrefixes));
  if (launches.empty()) {
    if (per_sm) add_note(into.record.note, "no file per SM: this kernel keeps no records of its warps");
    return launches;
  }
  if (planned.chosen.record_warps) {
    for (std::size_t i = 0; i < std::size(kWarpRecordPrefixes); ++i) {
      add_warp_record_samples(into.samples, launches[i], shape.warps_per_block, shape.max_warps_per_sm,
                              kWarpRecordPrefixes[i]);
    }
  }
  const std::vector<double> achieved =
      mapped(launches, [&](const auto& records) { return shape.achieved_pct(records); });
  into.samples.add("achieved_pct_by_trace", achieved);
  if (as_counter) take_achieved_from(achieved, into.record);
  return launches;
}

/// A predicted timeline in microseconds and percent.
class Predicted {
 public:
  Predicted(const Timeline* timeline, double sm_clock_mhz, double warp_slots)
      : timeline_(timeline), sm_clock_mhz_(sm_clock_mhz), warp_slots_(warp_slots) {}

  double duration_us() const {
    if (timeline_ == nullptr) return 0;
    return static_cast<double>(timeline_->warps.size()) * timeline_->step_cycles / sm_clock_mhz_;
  }

  std::optional<double> mean_pct(double start_us, double end_us) const {
    if (timeline_ == nullptr || end_us <= start_us) return std::nullopt;
    const double warps =
        warp_cycles_until(end_us * sm_clock_mhz_) - warp_cycles_until(start_us * sm_clock_mhz_);
    return 100 * warps / ((end_us - start_us) * sm_clock_mhz_ * warp_slots_);
  }

 private:
  double warp_cycles_until(double cycles) const {
    const std::vector<double>& warps = timeline_->warps;
    const double steps = std::min(cycles / timeline_->step_cycles, static_cast<double>(warps.size()));
    const auto whole = static_cast<std::size_t>(steps);
    double sum = 0;
    for (std::size_t i = 0; i < whole; ++i) sum += warps[i];
    if (whole < warps.size()) sum += warps[whole] * (steps - static_cast<double>(whole));
    return sum * timeline_->step_cycles;
  }

  const Timeline* timeline_;
  double sm_clock_mhz_;
  double warp_slots_;
};

/// Idle steps from the end of the measurement to that of the prediction, as long as the longest before.
std::vector<ActivityStep> with_idle_until(std::vector<ActivityStep> steps, double end_us) {
  double longest_us = 0;
  for (const ActivityStep& step : steps) longest_us = std::max(longest_us, step.end_us - step.start_us);
  while (longest_us > 0 && steps.back().end_us < end_us) {
    const double start_us = steps.back().end_us;
    steps.push_back({start_us, std::min(end_us, start_us + longest_us), 0});
  }
  return steps;
}

std::string cell(const std::optional<double>& value) {
  return value ? real_text(*value) : "";
}

using BlocksOfSm = std::map<std::uint32_t, std::vector<BlockRecord>>;

BlocksOfSm by_sm(std::span<const BlockRecord> blocks) {
  BlocksOfSm sms;
  for (const BlockRecord& block : blocks) sms[block.sm].push_back(block);
  return sms;
}

struct Span {
  std::int64_t start_ns, end_ns, start_cycles, end_cycles;

  /// Of the SM's clock, averaged over all of its blocks.
  double cycles_per_us() const {
    const auto ns = static_cast<double>(end_ns - start_ns);
    return ns > 0 ? 1000 * static_cast<double>(end_cycles - start_cycles) / ns : 0;
  }
};

Span span_of(const std::vector<BlockRecord>& blocks) {
  const auto least = [&](auto member) { return std::ranges::min(blocks, {}, member).*member; };
  const auto most = [&](auto member) { return std::ranges::max(blocks, {}, member).*member; };
  return {least(&BlockRecord::start_ns), most(&BlockRecord::end_ns), least(&BlockRecord::start_cycles),
          most(&BlockRecord::end_cycles)};
}

/// Start of each SM, in order of time.
std::vector<std::int64_t> first_starts(const BlocksOfSm& sms) {
  std::vector<std::int64_t> starts;
  for (const auto& [sm, blocks] : sms) starts.push_back(span_of(blocks).start_ns);
  std::ranges::sort(starts);
  return starts;
}

std::ptrdiff_t earlier_than(std::int64_t ns, const std::vector<std::int64_t>& sorted) {
  return std::ranges::lower_bound(sorted, ns) - sorted.begin();
}

std::string latency_cell(const std::vector<std::int64_t>& cycles, double cycles_per_us) {
  if (cycles.empty() || cycles_per_us <= 0) return "";
  return real_text(median(std::vector<double>(cycles.begin(), cycles.end())) / cycles_per_us);
}

std::string us_since(std::int64_t first_ns, std::int64_t ns) {
  return real_text(1e-3 * static_cast<double>(ns - first_ns));
}

}  // namespace

std::optional<Activity> sample_activity(const PlannedCase& planned, ReadyCase& ready,
                                        Instruments& instruments, double warp_slots, MeasuredCase& into) {
  CaseRecord& record = into.record;
  try {
    ready.make_ready();
    const ActivitySamples samples =
        instruments.sample(record.times.time_us.value_or(0), [&] { ready.launch_and_wait(); });
    Activity activity = activity_of(samples, warp_slots);
    for (const std::string& loss : activity.losses) {
      add_note(record.note, fmt::format("timeline: {}", loss));
      fmt::print(stderr, "{}: timeline: {}\n", planned.name, loss);
    }
    if (activity.steps.empty()) {
      // Launches by the runtime may have no warps.
      if (planned.variant->function != nullptr) into.missed = true;
      return std::nullopt;
    }
    into.samples.add("timeline_mean_pct", 0, activity.mean_pct());
    return activity;
  } catch (const std::exception& error) {
    note_no_timeline(error, into);
    return std::nullopt;
  }
}

void write_timeline(const Activity& activity, const std::filesystem::path& folder, double warp_slots,
                    MeasuredCase& into) {
  const CaseRecord& record = into.record;
  try {
    replace_text(case_file(folder, record.identity, "timeline"),
                 timeline_csv(record.identity, activity,
                              record.prediction ? &record.prediction->timeline : nullptr, warp_slots));
  } catch (const std::exception& error) {
    note_no_timeline(error, into);
  }
}

void record_warps_of_case(const PlannedCase& planned, ReadyCase& ready, Instruments& instruments,
                          const Device& device, const std::optional<std::filesystem::path>& per_sm,
                          const CounterSetup& counters, MeasuredCase& into) {
  CaseRecord& record = into.record;
  try {
    const bool as_counter = stands_in(planned, instruments, device.limits, record);
    if (!planned.chosen.record_warps && !per_sm && !as_counter) return;
    const RecordShape shape{warps_of_block(planned.chosen.launch.block_threads),
                            device.limits.max_warps_per_sm};
    const RecordsOfLaunches launches =
        record_launches(planned, ready, shape, per_sm.has_value(), as_counter, into);
    if (!per_sm || launches.empty()) return;
    replace_text(case_file(*per_sm, record.identity, "per_sm"),
                 per_sm_csv(record.identity, launches, shape.warps_per_block, shape.max_warps_per_sm));
    if (record.readings.status == CountersStatus::ok)
      record_and_count(ready, instruments, counters, shape, into);
  } catch (const std::exception& error) {
    if (per_sm) into.missed = true;
    add_note(record.note, fmt::format("its warps were not recorded: {}", error.what()));
  }
}

std::filesystem::path case_file(const std::filesystem::path& folder, const CaseIdentity& of,
                                std::string_view kind) {
  constexpr std::string_view kAllowed = "._=+-";
  std::string name = fmt::format("{}.{}", of.experiment, of.name);
  for (char& letter : name) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') || kAllowed.find(letter) != std::string_view::npos;
    if (!plain) letter = '_';
  }
  return folder / fmt::format("{}.{}.csv", name, kind);
}

std::string timeline_csv(const CaseIdentity& of, const Activity& measured, const Timeline* predicted,
                         double warp_slots) {
  const Predicted prediction(predicted, measured.sm_clock_mhz, warp_slots);
  std::string text = csv_record(std::vector<std::string>{"experiment", "case", "time_us", "active_warps_pct",
                                                         "predicted_active_warps_pct"});
  const auto add = [&](double time_us, std::optional<double> active, std::optional<double> predicted_pct) {
    text += csv_record(std::vector<std::string>{of.experiment, of.name, real_text(time_us), cell(active),
                                                cell(predicted_pct)});
  };
  const std::vector<ActivityStep> steps = with_idle_until(measured.steps, prediction.duration_us());
  for (const ActivityStep& step : steps) {
    add(step.start_us, step.active_warps_pct, prediction.mean_pct(step.start_us, step.end_us));
  }
  if (!steps.empty()) add(steps.back().end_us, 0, predicted == nullptr ? std::nullopt : std::optional(0.0));
  return text;
}

std::string per_sm_csv(const CaseIdentity& of, std::span<const std::vector<WarpRecord>> launches,
                       int warps_per_block, int max_warps_per_sm) {
  std::string text = csv_record(std::vector<std::string>{
      "experiment", "case", "launch", "sm", "blocks", "achieved_pct", "start_order", "first_start_us",
      "last_end_us", "replacement_latency_median_us", "replacements"});
  for (std::size_t launch = 0; launch < launches.size(); ++launch) {
    const std::vector<BlockRecord> blocks = blocks_of(launches[launch], warps_per_block);
    if (blocks.empty()) continue;
    const std::int64_t first_ns = std::ranges::min(blocks, {}, &BlockRecord::start_ns).start_ns;
    const BlocksOfSm of_sm = by_sm(blocks);
    const std::vector<std::int64_t> starts = first_starts(of_sm);
    for (const SmRecord& sm : sms_of(launches[launch], warps_per_block)) {
      const std::vector<BlockRecord>& its_blocks = of_sm.at(sm.sm);
      const Span span = span_of(its_blocks);
      const std::vector<std::int64_t> latencies = replacement_latency_cycles(its_blocks);
      text += csv_record(std::vector<std::string>{
          of.experiment, of.name, fmt::format("{}", launch), fmt::format("{}", sm.sm),
          fmt::format("{}", sm.blocks), real_text(sm.achieved_pct(max_warps_per_sm)),
          fmt::format("{}", 1 + earlier_than(span.start_ns, starts)), us_since(first_ns, span.start_ns),
          us_since(first_ns, span.end_ns), latency_cell(latencies, span.cycles_per_us()),
          fmt::format("{}", latencies.size())});
    }
  }
  return text;
}

void add_warp_record_samples(SamplesOfCase& samples, std::span<const WarpRecord> records, int warps_per_block,
                             int max_warps_per_sm, std::string_view prefix) {
  if (records.empty()) return;
  const std::vector<BlockRecord> blocks = blocks_of(records, warps_per_block);
  const std::vector<SmRecord> sms = sms_of(records, warps_per_block);
  const std::int64_t first_ns = std::ranges::min(blocks, {}, &BlockRecord::start_ns).start_ns;
  const auto add = [&](std::string_view quantity, std::int64_t index, double value) {
    samples.add(fmt::format("{}{}", prefix, quantity), index, value);
  };
  add("achieved_pct", 0, achieved_pct(sms, max_warps_per_sm));
  for (const BlockRecord& block : blocks) {
    add("sm", block.block, block.sm);
    add("start_ns", block.block, static_cast<double>(block.start_ns - first_ns));
    add("end_ns", block.block, static_cast<double>(block.end_ns - first_ns));
    add("sm_cycles", block.block, static_cast<double>(block.end_cycles - block.start_cycles));
  }
  const std::vector<std::int64_t> gaps = replacement_latency_cycles(blocks);
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    add("replacement_latency_cycles", static_cast<std::int64_t>(i), static_cast<double>(gaps[i]));
  }
  for (std::size_t i = 0; i < sms.size(); ++i) {
    add("most_blocks", static_cast<std::int64_t>(i), static_cast<double>(sms[i].most_blocks));
  }
}

}  // namespace occbench
