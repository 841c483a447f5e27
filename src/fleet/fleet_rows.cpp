#include "fleet/fleet_rows.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_set>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/bound_by.hpp"
#include "record/case_record.hpp"
#include "record/columns.hpp"
#include "record/row_stream.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

/// Of the peak of device memory, from which on what a kernel moves is bound by it. Reads reach 0.93 of it on an H100 and on an
/// H200, a copy 0.88. A kernel that reuses what it has read moves more than the peak.
constexpr double kOfMemoryPeak = 0.85;

constexpr std::size_t kMostReasons = 32;

/// A record's cells by the names of columns; a column that the file lacks is empty everywhere.
class Cells {
 public:
  explicit Cells(const RowStream& stream) : stream_(stream) {
    for (std::size_t i = 0; i < stream.names().size(); ++i) where_[stream.names()[i]] = i;
    for (const char* needed : {"experiment", "case", "gpu", "gpu_uuid", "time_us"}) stream.column(needed);
  }

  void read() {
    cells_ = stream_.cells();
  }

  const std::string& text(std::string_view name) const {
    static const std::string kEmpty;
    const auto found = where_.find(name);
    return found == where_.end() ? kEmpty : cells_[found->second];
  }

  double number(std::string_view name) const {
    const std::string& cell = text(name);
    if (cell.empty()) return kNoReading;
    return at_line(stream_.source(), stream_.line(), [&] {
      const std::optional<double> value = read_number<double>(cell);
      if (!value) throw InputError("{} is '{}', which is no finite number", name, cell);
      require_in_range(*find_column(name), *value);
      return *value;
    });
  }

 private:
  const RowStream& stream_;
  std::map<std::string, std::size_t, std::less<>> where_;
  std::vector<std::string> cells_;
};

std::string uuid_of(const Cells& cells) {
  const std::string& uuid = cells.text("gpu_uuid");
  return uuid.empty() ? cells.text("host") : uuid;
}

MeasuredGpu gpu_of(const Cells& cells, const GpuState& state, const std::string& uuid,
                   const std::string& run) {
  const auto& bus = state.memory_bus_bits;
  return {.uuid = uuid,
          .run = run,
          .model = cells.text("gpu"),
          .compute_capability = cells.text("compute_capability"),
          .host = cells.text("host"),
          .commit = cells.text("commit"),
          .driver = cells.text("driver"),
          .gpu_settings = state.settings,
          .sm_count = cells.text("sm_count"),
          .memory_bus_bits = bus ? std::to_string(*bus) : "",
          .memory_clock_mhz = {},
          .recorded_at = {},
          .readings = {}};
}

/// Else rows of two models have one UUID.
void require_same_model(const MeasuredGpu& gpu, const Cells& cells, const RowStream& stream) {
  if (gpu.model == cells.text("gpu")) return;
  throw InputError("{}, line {}: {} is '{}' here and '{}' above", stream.source(), stream.line(), gpu.uuid,
                   cells.text("gpu"), gpu.model);
}

CaseReading reading_of(const Cells& cells, const Condition& condition, std::uint32_t throttle_reasons) {
  CaseReading reading;
  reading.present = true;
  reading.failed = cells.text("time_status") == "failed" || cells.text("check") == "wrong";
  const std::string& counters = cells.text("counters_status");
  reading.counters_missing = !counters.empty() && counters != "ok" && counters != "off" &&
                             counters != "sampled" && counters != "simulated";
  reading.other_processes =
      static_cast<std::int32_t>(std::min<std::int64_t>(condition.other_processes.value_or(0), 1'000'000));
  reading.throttle_reasons = throttle_reasons;
  reading.time_us = cells.number("time_us");
  reading.sm_clock_mhz = cells.number("sm_clock_mhz");
  reading.cycles_max = cells.number("sm_cycles_active_max");
  reading.cycles_min = cells.number("sm_cycles_active_min");
  reading.achieved_elapsed_pct = cells.number("achieved_elapsed_pct");
  return reading;
}

void learn(FleetCase& known, const Cells& cells, const CaseReading& reading) {
  if (known.useful) return;
  const double throughput = cells.number("throughput");
  if (!std::isnan(throughput) && !std::isnan(reading.time_us)) known.useful = throughput * reading.time_us;
}

FleetCase case_of(const std::string& name, const Cells& cells, const GpuState& state) {
  const bool of_sms = is_bound_by_sm(cells.text("work"), cells.number("spill_bytes") > 0);
  const BoundBy else_bound = expects_atomics(cells.text("expected_cause")) ? BoundBy::l2 : BoundBy::other;
  // Two transfers a clock; megahertz are clocks per microsecond.
  const Integer& clock = state.condition.memory_clock_mhz;
  const double memory_peak = state.memory_bus_bits && clock ? static_cast<double>(*state.memory_bus_bits) /
                                                                  8 * 2 * static_cast<double>(*clock)
                                                            : kNoReading;
  return {.name = name,
          .bound = of_sms ? BoundBy::sm : else_bound,
          .on_all_sms = cells.number("grid_blocks") >= cells.number("sm_count"),
          .useful = {},
          .memory_peak = cells.text("throughput_unit") == "bytes/s" ? memory_peak : kNoReading};
}

}  // namespace

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
  Cells cells(stream);
  std::map<std::string, std::size_t> gpu_numbers;  // of this run
  std::unordered_set<std::size_t>
      contents;  // hashes: of ten million two agree with a chance of 3 in a million
  while (stream.next()) {
    if (!contents.insert(std::hash<std::string>()(stream.record())).second) continue;
    cells.read();
    kind.add(cells.text("time_status"), stream.source());
    const std::string uuid = uuid_of(cells);
    const GpuState state =
        at_line(stream.source(), stream.line(), [&] { return parse_gpu_state(cells.text("gpu_state")); });
    const auto [place, is_new] = gpu_numbers.try_emplace(uuid, gpus.size());
    if (is_new) gpus.push_back(gpu_of(cells, state, uuid, stream.source()));
    MeasuredGpu& gpu = gpus[place->second];
    require_same_model(gpu, cells, stream);

    const std::string name = cells.text("experiment") + "/" + cells.text("case");
    const auto [number, is_new_case] = case_numbers_.try_emplace(name, cases.size());
    if (is_new_case) cases.push_back(case_of(name, cells, state));
    if (gpu.readings.size() <= number->second) gpu.readings.resize(number->second + 1);
    CaseReading& reading = gpu.readings[number->second];
    if (reading.present) {
      throw InputError(
          "{}, line {}: {} has {} twice, with different values; keep one run of each GPU in this file and "
          "give the others with --since FOLDER",
          stream.source(), stream.line(), uuid, name);
    }
    reading = reading_of(cells, state.condition, reason_bits(state.condition.throttle_reasons));
    learn(cases[number->second], cells, reading);
    gpu.recorded_at = std::max(gpu.recorded_at, cells.text("recorded_at"));
    if (const Integer& clock = state.condition.memory_clock_mhz; gpu.memory_clock_mhz.empty() && clock)
      gpu.memory_clock_mhz = std::to_string(*clock);
  }
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
