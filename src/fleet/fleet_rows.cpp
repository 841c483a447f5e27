#include "fleet/fleet_rows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <unordered_set>

#include "occupancy/input_error.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"
#include "record/case_record.hpp"

namespace occbench {
namespace {

/// Share of the device memory's peak from which on a kernel is memory-bound. Reads reach 0.93 of the peak on an H100
/// and on an H200, a copy 0.88. A kernel that reuses the data that it has read exceeds the peak.
constexpr double kOfMemoryPeak = 0.85;

constexpr std::size_t kMostReasons = 32;

std::string text_of(const Integer& number) {
  return number ? std::to_string(*number) : "";
}

MeasuredGpu gpu_of(const Row& row, const GpuState& state, const std::string& uuid, const std::string& run) {
  return {.uuid = uuid,
          .run = run,
          .model = row.gpu,
          .compute_capability = row.compute_capability,
          .host = row.host,
          .commit = row.commit,
          .driver = row.driver,
          .gpu_settings = state.settings,
          .sm_count = text_of(row.sm_count),
          .memory_bus_bits = text_of(state.memory_bus_bits)};
}

/// Otherwise rows of two models have one UUID.
void require_same_model(const MeasuredGpu& gpu, const Row& row, const RowStream& stream) {
  if (gpu.model == row.gpu) return;
  throw InputError("{}, line {}: {} is '{}' here and '{}' above", stream.source(), stream.line(), gpu.uuid,
                   row.gpu, gpu.model);
}

/// A 0 in a row, for a value that is never 0, was not read.
double positive(const Real& value) {
  return value && *value > 0 ? *value : kNoReading;
}

/// Read by counters, or by NVML, which watched rows with a gpu_state. Other rows of programs have the clock of the
/// counted ones, the GPU's highest, or the user's value.
bool measured_clock(const Row& row) {
  return row.achieved_pct || !row.gpu_state.empty();
}

CaseReading reading_of(const Row& row, const Condition& condition, std::uint32_t throttle_reasons) {
  CaseReading reading;
  reading.present = true;
  reading.failed = row.time_status == "failed" || row.check == "wrong";
  const std::string& counters = row.counters_status;
  reading.counters_missing = !counters.empty() && counters != "ok" && counters != "off" &&
                             counters != "sampled" && counters != "simulated";
  reading.other_processes =
      static_cast<std::int32_t>(std::min<std::int64_t>(condition.other_processes.value_or(0), 1'000'000));
  reading.throttle_reasons = throttle_reasons;
  reading.time_us = positive(row.time_us);
  reading.sm_clock_mhz = measured_clock(row) ? positive(row.sm_clock_mhz) : kNoReading;
  reading.cycles_max = row.sm_cycles_active_max.value_or(kNoReading);
  reading.cycles_min = row.sm_cycles_active_min.value_or(kNoReading);
  reading.achieved_elapsed_pct = row.achieved_elapsed_pct.value_or(kNoReading);
  return reading;
}

FleetCase case_of(const std::string& name, const Row& row, const GpuState& state) {
  const bool of_sms = is_bound_by_sm(row.work, row.spill_bytes > 0);
  const BoundBy else_bound = expects_atomics(row.expected_cause) ? BoundBy::l2 : BoundBy::other;
  // Two transfers per clock; megahertz are clocks per microsecond.
  const Integer& clock = state.condition.memory_clock_mhz;
  const double memory_peak = state.memory_bus_bits && clock ? static_cast<double>(*state.memory_bus_bits) /
                                                                  8 * 2 * static_cast<double>(*clock)
                                                            : kNoReading;
  return {.name = name,
          .bound = of_sms ? BoundBy::sm : else_bound,
          .on_all_sms = row.grid_blocks && row.sm_count && row.grid_blocks >= row.sm_count,
          .memory_peak = row.throughput_unit == "bytes/s" ? memory_peak : kNoReading};
}

}  // namespace

Row row_of(const RowStream& stream, std::span<const Column* const> columns) {
  Row row;
  at_line(stream.source(), stream.line(), [&] {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] != nullptr) set_cell(row, *columns[i], stream.cells()[i]);
    }
  });
  return row;
}

const CaseReading& MeasuredGpu::reading(std::size_t number) const {
  static const CaseReading kAbsent;
  return number < readings.size() ? readings[number] : kAbsent;
}

std::uint32_t FleetRows::reason_bits(std::string_view text) {
  std::uint32_t bits = 0;
  for (const std::string_view reason : split(text, '+')) {
    if (reason.empty() || reason == "none") continue;
    const auto found = std::ranges::find(reasons, reason);
    const auto number = static_cast<std::size_t>(found - reasons.begin());
    if (number == kMostReasons) continue;
    if (found == reasons.end()) reasons.emplace_back(reason);
    bits |= 1U << number;
  }
  return bits;
}

void FleetRows::add(const std::filesystem::path& file) {
  RowStream stream(file);
  for (const char* const needed : {"experiment", "case", "gpu", "gpu_uuid", "time_us"}) stream.column(needed);
  const std::vector<const Column*> columns = mapped(stream.names(), find_column);
  std::map<std::string, std::size_t> gpu_numbers;  // of this run
  std::unordered_set<std::size_t>
      contents;  // hashes: of ten million two agree with a chance of 3 in a million
  while (stream.next()) {
    if (!contents.insert(std::hash<std::string>()(stream.record())).second) continue;
    const Row row = row_of(stream, columns);
    kind.add(row.time_status, stream.source());
    const std::string& uuid = row.gpu_uuid.empty() ? row.host : row.gpu_uuid;
    const GpuState state =
        at_line(stream.source(), stream.line(), [&] { return parse_gpu_state(row.gpu_state); });
    const auto [place, is_new] = gpu_numbers.try_emplace(uuid, gpus.size());
    if (is_new) gpus.push_back(gpu_of(row, state, uuid, stream.source()));
    MeasuredGpu& gpu = gpus[place->second];
    require_same_model(gpu, row, stream);

    const std::string name = full_name(row);
    const auto [number, is_new_case] = case_numbers_.try_emplace(exact_name(row), cases.size());
    if (is_new_case) cases.push_back(case_of(name, row, state));
    if (gpu.readings.size() <= number->second) gpu.readings.resize(number->second + 1);
    CaseReading& reading = gpu.readings[number->second];
    if (reading.present) {
      throw InputError(
          "{}, line {}: {} has {} twice, with different values; keep one run of each GPU in this file and "
          "give the others with --since FOLDER",
          stream.source(), stream.line(), uuid, name);
    }
    reading = reading_of(row, state.condition, reason_bits(state.condition.throttle_reasons));
    FleetCase& known = cases[number->second];
    if (!known.useful && row.throughput && row.time_us) known.useful = *row.throughput * *row.time_us;
    gpu.recorded_at = std::max(gpu.recorded_at, row.recorded_at);
    if (const Integer& clock = state.condition.memory_clock_mhz; gpu.memory_clock_mhz.empty() && clock)
      gpu.memory_clock_mhz = std::to_string(*clock);
  }
  if (gpu_numbers.empty()) without_rows.push_back(stream.source());
  if (stream.torn()) torn.push_back(stream.source());
}

void find_memory_bound(FleetRows& rows) {
  for (std::size_t number = 0; number < rows.cases.size(); ++number) {
    FleetCase& each = rows.cases[number];
    if (!each.useful || std::isnan(each.memory_peak)) continue;
    std::vector<double> times;
    for (const MeasuredGpu& gpu : rows.gpus) {
      const double time = gpu.reading(number).time_us;
      if (time > 0) times.push_back(time);
    }
    if (times.empty()) continue;
    // Useful work is in bytes a second times microseconds.
    const double share = *each.useful / 1e6 / median(times) / each.memory_peak;
    if (share >= kOfMemoryPeak && share <= 1) each.bound = BoundBy::memory;
  }
}

}  // namespace occbench
