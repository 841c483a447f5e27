#include "record/program.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "record/columns.hpp"
#include "record/kernel_name.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

constexpr std::string_view kWarpsActive = "sm__warps_active.sum";
constexpr std::string_view kCyclesActiveMax = "sm__cycles_active.max";

/// Counted launches of one kernel in one process: a larger number in a file is a fault of it.
constexpr std::int64_t kMostReadings = 100000;

/// Streams named in a row; programs make thousands.
constexpr std::size_t kMostStreams = 8;

constexpr const char* kHighestClock = "highest_clock_mhz";
constexpr const char* kOwnNote = "program_note";

/// Blocks in each dimension of a grid (CUDA programming guide, all compute capabilities from 3.0 on).
constexpr Extent kLargest{2147483647, 65535, 65535};

/// FNV-1a, 32 bits: enough to tell kernels of one short name apart, and the same in every run.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 16777619u;
  return hash;
}

std::string joined(const std::set<std::int64_t>& numbers, std::size_t most) {
  std::string text;
  std::size_t count = 0;
  for (const std::int64_t number : numbers) {
    if (count++ == most) return text + "+";
    text += fmt::format("{}{}", text.empty() ? "" : "+", number);
  }
  return text;
}

std::set<std::int64_t> parse_joined(std::string_view text) {
  std::set<std::int64_t> numbers;
  while (!text.empty()) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc()) numbers.insert(number);
    const std::size_t next = text.find('+');
    text = next == std::string_view::npos ? std::string_view() : text.substr(next + 1);
  }
  return numbers;
}

std::string parameters_of(const ProgramKernel& kernel) {
  std::string text = fmt::format("grid={};block={}", to_string(kernel.grid), to_string(kernel.block));
  if (kernel.cluster != Extent{}) text += fmt::format(";cluster={}", to_string(kernel.cluster));
  return text;
}

/// Of a parameter of a row; one block or thread where it has none of that name.
Extent extent_in(const Row& row, std::string_view name) {
  std::string_view rest = row.parameters;
  while (!rest.empty()) {
    const std::string_view field = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), field.size() + 1));
    if (field.starts_with(name) && field.substr(name.size()).starts_with('=')) {
      return parse_extent(field.substr(name.size() + 1));
    }
  }
  return {};
}

std::string configuration_text(const ProgramKernel& kernel) {
  std::string text = fmt::format("<<<{}, {}", to_string(kernel.grid), to_string(kernel.block));
  if (kernel.dynamic_shared_bytes > 0) text += fmt::format(", {}", kernel.dynamic_shared_bytes);
  if (kernel.cluster != Extent{}) text += fmt::format(", cluster {}", to_string(kernel.cluster));
  return text + ">>>";
}

std::vector<double> finite(std::span<const double> values) {
  std::vector<double> numbers;
  std::ranges::copy_if(values, std::back_inserter(numbers),
                       [](double value) { return std::isfinite(value); });
  return numbers;
}

std::span<const double> readings_of(const ProgramLaunches& seen, std::string_view metric) {
  const auto found = seen.readings.find(metric);
  return found == seen.readings.end() ? std::span<const double>() : std::span<const double>(found->second);
}

void add_note(Row& row, std::string_view note) {
  if (note.empty()) return;
  row.note += fmt::format("{}{}", row.note.empty() ? "" : "; ", note);
}

void set_theory(Row& row, const ProgramKernel& kernel) {
  try {
    const Limits& limits = limits_of(parse_compute_capability(row.compute_capability));
    const Launch launch{.block_threads = static_cast<int>(kernel.block.volume()),
                        .grid_blocks = kernel.grid.volume(),
                        .cluster_blocks = static_cast<int>(kernel.cluster.volume()),
                        .dynamic_shared_bytes = kernel.dynamic_shared_bytes,
                        .carveout_pct = kernel.carveout_pct};
    const Usage usage{.registers_per_thread = kernel.registers_per_thread,
                      .static_shared_bytes = kernel.static_shared_bytes,
                      .local_bytes_per_thread = kernel.local_bytes_per_thread};
    const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
    row.blocks_per_sm = occupancy.blocks_per_sm;
    row.limiter = to_string(occupancy.limiters);
    row.theoretical_pct = occupancy.theoretical_pct;
    if (*row.sm_count > 0) row.waves = waves(occupancy, launch.grid_blocks, static_cast<int>(*row.sm_count));
    if (occupancy.blocks_per_sm == 0) add_note(row, why_it_cannot_launch(limits, launch, usage));
  } catch (const InputError& unknown) {
    add_note(row, fmt::format("no theory: {}", unknown.what()));
  }
}

void set_times(Row& row, const ProgramLaunches& seen) {
  row.launches = seen.launches;
  row.graph = seen.of_graphs;
  row.total_time_us = seen.total_us;
  row.process = joined(seen.processes, seen.processes.size());
  row.stream = joined(seen.streams, kMostStreams);
  row.time_status = "ok";
  const std::vector<double> times = finite(seen.times_us);
  if (times.empty()) return;
  const Quartiles quartiles = occbench::quartiles(times);
  row.time_us = quartiles.median;
  if (quartiles.median > 0) row.time_spread_pct = 100 * quartiles.range() / quartiles.median;
  row.repetitions = seen.timed;
}

/// Occupancy over all SMs and the longest one's cycles, in each launch.
std::vector<double> elapsed_pcts(const ProgramLaunches& seen, double warp_slots) {
  const std::span<const double> warps = readings_of(seen, kWarpsActive);
  const std::span<const double> cycles = readings_of(seen, kCyclesActiveMax);
  std::vector<double> values;
  for (std::size_t i = 0; i < std::min(warps.size(), cycles.size()); ++i) {
    values.push_back(100 * warps[i] / (warp_slots * cycles[i]));
  }
  return finite(values);
}

/// Where the occupancy went between theory and counter, as the counters say.
void set_measured_losses(Row& row, const Limits& limits) {
  if (!row.resident_blocks || !row.achieved_pct || !row.theoretical_pct || !row.block_threads) return;
  const auto warps = (*row.block_threads + limits.threads_per_warp - 1) / limits.threads_per_warp;
  const double filled = 100 * *row.resident_blocks * static_cast<double>(warps) / limits.max_warps_per_sm;
  row.measured_loss_blocks_points = *row.theoretical_pct - filled;
  row.measured_loss_warps_points = filled - *row.achieved_pct;
}

void set_counters(Row& row, const ProgramLaunches& seen) {
  row.counters_status = seen.counters_status;
  for (const Column& column : columns()) {
    if (column.metric.empty()) continue;
    const std::vector<double> values = finite(readings_of(seen, column.metric));
    if (!values.empty()) row.*std::get<Real Row::*>(column.where) = column.scale * median(values);
  }
  if (!row.achieved_pct) return;
  row.counters_status = "ok";
  row.achieved_source = "counter";
  row.achieved_spread_points =
      quartiles(finite(readings_of(seen, find_column("achieved_pct")->metric))).range();
  if (!row.theoretical_pct) return;
  const Limits& limits = limits_of(parse_compute_capability(row.compute_capability));
  set_measured_losses(row, limits);
  const std::vector<double> elapsed =
      elapsed_pcts(seen, static_cast<double>(*row.sm_count) * limits.max_warps_per_sm);
  if (!elapsed.empty()) row.achieved_elapsed_pct = median(elapsed);
}

ProgramEntry entry_of(const Row& row) {
  const auto whole = [&](const Integer& value, std::string_view column) {
    if (!value) throw InputError(fmt::format("case {} of a program has no {}", row.case_, column));
    return *value;
  };
  ProgramEntry entry;
  entry.device = {row.gpu, row.gpu_uuid, static_cast<int>(row.device_index.value_or(0)),
                  row.compute_capability, static_cast<int>(whole(row.sm_count, "sm_count"))};
  entry.kernel.name = row.variant.empty() ? row.kernel : row.variant;
  entry.kernel.grid = extent_in(row, "grid");
  entry.kernel.block = extent_in(row, "block");
  entry.kernel.cluster = extent_in(row, "cluster");
  entry.kernel.registers_per_thread =
      static_cast<int>(whole(row.registers_per_thread, "registers_per_thread"));
  entry.kernel.static_shared_bytes = row.static_shared_bytes.value_or(0);
  entry.kernel.dynamic_shared_bytes = row.dynamic_shared_bytes.value_or(0);
  entry.kernel.local_bytes_per_thread = row.local_bytes_per_thread.value_or(0);
  if (row.carveout_pct) entry.kernel.carveout_pct = static_cast<int>(*row.carveout_pct);
  entry.seen.launches = whole(row.launches, "launches");
  entry.seen.of_graphs = row.graph.value_or(0);
  entry.seen.timed = row.repetitions.value_or(0);
  entry.seen.total_us = row.total_time_us.value_or(0);
  entry.seen.counters_status = row.counters_status;
  entry.seen.processes = parse_joined(row.process);
  entry.seen.streams = parse_joined(row.stream);
  for (const auto& [name, value] : row.extra) {
    if (name == kHighestClock)
      static_cast<void>(
          std::from_chars(value.data(), value.data() + value.size(), entry.device.highest_clock_mhz));
    if (name == kOwnNote) entry.seen.note = value;
  }
  return entry;
}

void merge_into(ProgramLaunches& into, const ProgramLaunches& other) {
  into.launches += other.launches;
  into.of_graphs += other.of_graphs;
  into.timed += other.timed;
  into.total_us += other.total_us;
  into.times_us.insert(into.times_us.end(), other.times_us.begin(), other.times_us.end());
  for (const auto& [metric, values] : other.readings) {
    std::vector<double>& all = into.readings[metric];
    all.insert(all.end(), values.begin(), values.end());
  }
  if (into.counters_status != "ok" && !other.counters_status.empty()) {
    into.counters_status = other.counters_status;
    into.note = other.note;
  }
  into.processes.insert(other.processes.begin(), other.processes.end());
  into.streams.insert(other.streams.begin(), other.streams.end());
}

std::string device_text(const ProgramDevice& device) {
  return device.uuid.empty() ? fmt::format("GPU {}", device.index) : device.uuid.substr(0, 12);
}

}  // namespace

std::string to_string(const Extent& extent) {
  if (extent.z != 1) return fmt::format("{}x{}x{}", extent.x, extent.y, extent.z);
  return extent.y != 1 ? fmt::format("{}x{}", extent.x, extent.y) : fmt::format("{}", extent.x);
}

Extent parse_extent(std::string_view text) {
  Extent extent;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (const auto dimension : {&Extent::x, &Extent::y, &Extent::z}) {
    std::int64_t& size = extent.*dimension;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1 || size > kLargest.*dimension) break;
    if (next == end) return extent;
    if (*next != 'x') break;
    at = next + 1;
  }
  throw InputError(fmt::format("'{}' is not the size of a grid or block; write it as 66x2x1", text));
}

std::vector<std::string> program_metrics() {
  std::vector<std::string> metrics = {std::string(kWarpsActive)};
  for (const Column& column : columns()) {
    // Local memory and pipes are read where somebody asks for them: they make a session dearer.
    const bool is_extra = column.name.ends_with("_sectors") || column.name.ends_with("_pipe_pct");
    if (!column.metric.empty() && !is_extra) metrics.emplace_back(column.metric);
  }
  return metrics;
}

Row program_row(const ProgramEntry& entry) {
  const auto& [device, kernel, seen] = entry;
  Row row;
  row.schema = kSchema;
  row.experiment = kTraceExperiment;
  row.gpu = device.name;
  row.gpu_uuid = device.uuid;
  row.device_index = device.index;
  row.compute_capability = device.compute_capability;
  row.sm_count = device.sm_count;
  row.kernel = demangled_kernel_name(kernel.name);
  if (row.kernel != kernel.name) row.variant = kernel.name;
  row.case_ = shortened_kernel_name(row.kernel) + configuration_text(kernel);
  row.parameters = parameters_of(kernel);
  row.block_threads = kernel.block.volume();
  row.grid_blocks = kernel.grid.volume();
  row.cluster_blocks = kernel.cluster.volume();
  row.dynamic_shared_bytes = kernel.dynamic_shared_bytes;
  row.carveout_pct = kernel.carveout_pct;
  row.registers_per_thread = kernel.registers_per_thread;
  row.static_shared_bytes = kernel.static_shared_bytes;
  row.local_bytes_per_thread = kernel.local_bytes_per_thread;
  row.check = "none";
  add_note(row, seen.note);
  set_theory(row, kernel);
  set_times(row, seen);
  set_counters(row, seen);
  return row;
}

std::vector<std::string> process_columns() {
  return {kHighestClock, kOwnNote};
}

std::vector<Row> process_rows(std::span<const ProgramEntry> entries) {
  std::vector<Row> rows = program_rows(entries);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].extra = {{kHighestClock, fmt::format("{}", entries[i].device.highest_clock_mhz)},
                     {kOwnNote, entries[i].seen.note}};
  }
  return rows;
}

std::vector<Sample> program_samples(const Row& row, const ProgramLaunches& seen) {
  std::vector<Sample> samples;
  const auto add = [&](const std::string& quantity, std::span<const double> values) {
    std::int64_t index = 0;
    for (const double value : values) {
      if (std::isfinite(value)) samples.push_back({row.experiment, row.case_, quantity, index, value});
      ++index;
    }
  };
  add("time_us", seen.times_us);
  for (const auto& [metric, values] : seen.readings) add(metric, values);
  return samples;
}

std::vector<ProgramEntry> program_entries(std::span<const Row> rows, std::span<const Sample> samples) {
  std::map<std::string_view, std::size_t> by_case;
  std::vector<ProgramEntry> entries;
  for (const Row& row : rows) {
    by_case[row.case_] = entries.size();
    entries.push_back(entry_of(row));
  }
  for (const Sample& sample : samples) {
    const auto found = by_case.find(sample.case_name);
    if (found == by_case.end()) continue;
    ProgramLaunches& seen = entries[found->second].seen;
    if (sample.quantity == "time_us") {
      seen.times_us.push_back(sample.value);
    } else if (sample.index >= 0 && sample.index < kMostReadings) {
      std::vector<double>& values = seen.readings[sample.quantity];
      const auto place = static_cast<std::size_t>(sample.index);
      if (values.size() <= place) values.resize(place + 1, std::nan(""));
      values[place] = sample.value;
    }
  }
  return entries;
}

std::vector<ProgramEntry> merged(std::vector<ProgramEntry> entries) {
  // The same GPU has another number in a process that sees fewer of them.
  std::map<std::pair<std::string, ProgramKernel>, std::size_t> places;
  std::vector<ProgramEntry> result;
  for (ProgramEntry& entry : entries) {
    const std::string gpu =
        entry.device.uuid.empty() ? fmt::format("{}", entry.device.index) : entry.device.uuid;
    const auto [found, is_new] = places.try_emplace({gpu, entry.kernel}, result.size());
    if (is_new) {
      result.push_back(std::move(entry));
    } else {
      merge_into(result[found->second].seen, entry.seen);
    }
  }
  std::ranges::stable_sort(result, std::ranges::greater(),
                           [](const ProgramEntry& entry) { return entry.seen.total_us; });
  return result;
}

std::vector<Row> program_rows(std::span<const ProgramEntry> entries) {
  std::set<std::string> devices;
  for (const ProgramEntry& entry : entries) devices.insert(device_text(entry.device));
  std::vector<Row> rows;
  std::map<std::string, int> times_used;
  for (const ProgramEntry& entry : entries) {
    Row& row = rows.emplace_back(program_row(entry));
    if (devices.size() > 1) row.case_ += fmt::format(" on {}", device_text(entry.device));
    ++times_used[row.case_];
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (times_used[rows[i].case_] == 1) continue;
    const ProgramKernel& kernel = entries[i].kernel;
    const std::string whole =
        fmt::format("{} {} {} {} {}", kernel.name, kernel.registers_per_thread, kernel.static_shared_bytes,
                    kernel.local_bytes_per_thread, kernel.carveout_pct.value_or(-1));
    rows[i].case_ += fmt::format(" #{:08x}", hash_of(whole));
  }
  return rows;
}

}  // namespace occbench
