#include "fleet/fleet_rows.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "fleet/hash_table.hpp"
#include "occupancy/input_error.hpp"
#include "record/columns.hpp"
#include "record/l2_kernels.hpp"
#include "record/row_stream.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

/// Reads of device memory above this share of the best rate are bound by it.
constexpr double kOfBestRate = 0.9;

/// Kernels whose time follows the SM's clock.
constexpr std::array<std::string_view, 6> kSmKernels = {"spin",           "fma_chains", "live_registers",
                                                        "shared_staging", "work_queue", "concurrent_kernels"};

constexpr std::size_t kMostReasons = 32;

BoundBy bound_of(std::string_view kernel, std::string_view parameters) {
  if (std::ranges::find(kSmKernels, kernel) != kSmKernels.end()) return BoundBy::sm;
  if (waits_for_atomics_in_l2(kernel)) return BoundBy::l2;
  if (kernel == "pointer_chase" && parameters == "memory=l1") return BoundBy::sm;
  if (kernel == "pointer_chase" && parameters == "memory=l2") return BoundBy::l2;
  return BoundBy::other;
}

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
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) {
      throw InputError(fmt::format("{}, line {}: {} is '{}', which is no finite number", stream_.source(),
                                   stream_.line(), name, cell));
    }
    require_possible(name, value);
    return value;
  }

 private:
  void require_possible(std::string_view name, double value) const {
    try {
      require_in_range(*find_column(name), value);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}, line {}: {}", stream_.source(), stream_.line(), error.what()));
    }
  }

  const RowStream& stream_;
  std::map<std::string, std::size_t, std::less<>> where_;
  std::vector<std::string> cells_;
};

std::string uuid_of(const Cells& cells) {
  const std::string& uuid = cells.text("gpu_uuid");
  return uuid.empty() ? fmt::format("{}, device {}", cells.text("host"), cells.text("device_index")) : uuid;
}

MeasuredGpu gpu_of(const Cells& cells, const std::string& uuid, const std::string& run) {
  return {.uuid = uuid,
          .run = run,
          .model = cells.text("gpu"),
          .compute_capability = cells.text("compute_capability"),
          .host = cells.text("host"),
          .device_index = cells.text("device_index"),
          .commit = cells.text("commit"),
          .driver = cells.text("driver"),
          .gpu_settings = cells.text("gpu_settings"),
          .sm_count = cells.text("sm_count"),
          .memory_bus_bits = cells.text("memory_bus_bits"),
          .memory_clock_mhz = {},
          .recorded_at = {},
          .readings = {}};
}

/// Else rows of two models have one UUID.
void require_same_model(const MeasuredGpu& gpu, const Cells& cells, const RowStream& stream) {
  if (gpu.model == cells.text("gpu")) return;
  throw InputError(fmt::format("{}, line {}: {} is '{}' here and '{}' above", stream.source(), stream.line(),
                               gpu.uuid, cells.text("gpu"), gpu.model));
}

CaseReading reading_of(const Cells& cells, std::uint32_t throttle_reasons) {
  CaseReading reading;
  reading.present = true;
  reading.failed = cells.text("time_status") == "failed" || cells.text("check") == "wrong";
  const std::string& counters = cells.text("counters_status");
  reading.counters_missing = !counters.empty() && counters != "ok" && counters != "off";
  const double others = cells.number("other_processes");
  reading.other_processes = others > 0 ? static_cast<std::int32_t>(std::min(others, 1e6)) : 0;
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

FleetCase case_of(const std::string& name, const Cells& cells) {
  const double grid = cells.number("grid_blocks");
  return {.name = name,
          .bound = bound_of(cells.text("kernel"), cells.text("parameters")),
          .on_all_sms = grid >= cells.number("sm_count"),
          .useful = {},
          .reads_device_memory = cells.text("kernel") == "reads"};
}

}  // namespace

const CaseReading& MeasuredGpu::reading(std::size_t number) const {
  static const CaseReading kAbsent;
  return number < readings.size() ? readings[number] : kAbsent;
}

std::uint32_t FleetRows::reason_bits(std::string_view text) {
  std::uint32_t bits = 0;
  while (!text.empty()) {
    const std::string_view reason = text.substr(0, text.find('+'));
    text.remove_prefix(std::min(text.size(), reason.size() + 1));
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
  HashTable contents;
  while (stream.next()) {
    const std::uint64_t content = hash_of(stream.record());
    if (contents.contains(content)) continue;
    contents.insert(content, 0);
    cells.read();
    const std::string uuid = uuid_of(cells);
    const auto [place, is_new] = gpu_numbers.try_emplace(uuid, gpus.size());
    if (is_new) gpus.push_back(gpu_of(cells, uuid, stream.source()));
    MeasuredGpu& gpu = gpus[place->second];
    require_same_model(gpu, cells, stream);

    const std::string name = cells.text("experiment") + "/" + cells.text("case");
    const auto [number, is_new_case] = case_numbers_.try_emplace(name, cases.size());
    if (is_new_case) cases.push_back(case_of(name, cells));
    if (gpu.readings.size() <= number->second) gpu.readings.resize(number->second + 1);
    CaseReading& reading = gpu.readings[number->second];
    if (reading.present) {
      throw InputError(
          fmt::format("{}, line {}: {} has {} twice, with different values; keep one run of each GPU in this "
                      "file and give "
                      "the others with --since FOLDER",
                      stream.source(), stream.line(), uuid, name));
    }
    reading = reading_of(cells, reason_bits(cells.text("throttle_reasons")));
    learn(cases[number->second], cells, reading);
    gpu.recorded_at = std::max(gpu.recorded_at, cells.text("recorded_at"));
    if (gpu.memory_clock_mhz.empty()) gpu.memory_clock_mhz = cells.text("memory_clock_mhz");
  }
  if (stream.torn()) torn.push_back(stream.source());
}

void find_memory_bound(FleetRows& rows) {
  std::vector<double> rates(rows.cases.size(), 0);
  for (std::size_t number = 0; number < rows.cases.size(); ++number) {
    const FleetCase& each = rows.cases[number];
    if (!each.reads_device_memory || !each.useful) continue;
    std::vector<double> times;
    for (const MeasuredGpu& gpu : rows.gpus) {
      const double time = gpu.reading(number).time_us;
      if (time > 0) times.push_back(time);
    }
    if (!times.empty()) rates[number] = *each.useful / median(times);
  }
  const double best = rates.empty() ? 0 : std::ranges::max(rates);
  for (std::size_t number = 0; number < rows.cases.size(); ++number) {
    if (rates[number] > 0 && rates[number] >= kOfBestRate * best) rows.cases[number].bound = BoundBy::memory;
  }
}

}  // namespace occbench
