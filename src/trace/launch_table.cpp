#include "trace/launch_table.hpp"

#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "record/kernel_name.hpp"

namespace occbench {
namespace {

/// More than a row names.
constexpr std::size_t kMostNumbers = 9;

Extent extent_of(const EventExtent& extent) {
  return {extent.x, extent.y, extent.z};
}

ProgramKernel kernel_of(const KernelRecord& record) {
  ProgramKernel kernel;
  kernel.name = record.name;
  kernel.grid = extent_of(record.grid);
  kernel.block = extent_of(record.block);
  kernel.cluster = extent_of(record.cluster);
  kernel.registers_per_thread = static_cast<int>(record.registers_per_thread);
  kernel.static_shared_bytes = record.static_shared_bytes;
  kernel.dynamic_shared_bytes = record.dynamic_shared_bytes;
  kernel.local_bytes_per_thread = record.local_bytes_per_thread;
  if (record.carveout_pct >= 0) kernel.carveout_pct = record.carveout_pct;
  return kernel;
}

/// Why nothing was counted of a kernel on a GPU whose counters can be read.
std::string why_uncounted(std::int64_t launches, std::int64_t of_graphs) {
  if (of_graphs == launches) return "not counted: CUDA graphs of several kernels launch it";
  if (launches == 1) return "not counted: launched once";
  return fmt::format("not counted: every launch was of the warm-up, of a second context{} or not wanted",
                     of_graphs > 0 ? ", of a graph" : "");
}

}  // namespace

std::size_t LaunchTable::Hash::operator()(const Key& key) const {
  std::size_t hash = std::hash<std::string_view>()(key.kernel.name);
  for (const std::int64_t value :
       {key.kernel.grid.x, key.kernel.grid.y, key.kernel.grid.z, key.kernel.block.volume(),
        key.kernel.dynamic_shared_bytes, std::int64_t{key.kernel.registers_per_thread}}) {
    hash = (hash ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15u;
  }
  return hash;
}

LaunchTable::Seen* LaunchTable::find(Key key) {
  key.kernel.name = kernel_name_of_any_build(std::move(key.kernel.name));
  const auto found = seen_.find(key);
  if (found != seen_.end()) return &found->second;
  if (seen_.size() >= kMostEntries) return nullptr;
  return &seen_.try_emplace(std::move(key)).first->second;
}

void LaunchTable::expect(const LaunchCall& call) {
  const std::lock_guard lock(mutex_);
  expected_[call.correlation] = {
      .name = std::string(call.name), .grid = call.grid, .block = call.block, .of_graph = call.of_graph};
}

bool LaunchTable::is_of(const Expected& expected, const KernelRecord& record) {
  if (expected.seen != nullptr || expected.of_graph != record.of_graph) return false;
  return expected.of_graph ||
         (expected.name == record.name && expected.grid == record.grid && expected.block == record.block);
}

void LaunchTable::settle(Expected& expected) {
  if (expected.seen == nullptr) return;
  for (const auto& [metric, value] : std::exchange(expected.reading, {})) {
    expected.seen->readings[metric].push_back(value);
  }
}

void LaunchTable::add(const KernelRecord& record) {
  const std::lock_guard lock(mutex_);
  const auto counted = expected_.find(record.correlation);
  if (counted != expected_.end() && !is_of(counted->second, record)) return;
  ++version_;
  has_records_ = true;
  Seen* const seen = find({static_cast<int>(record.device), kernel_of(record)});
  if (seen == nullptr) {
    ++lost_;
    return;
  }
  const double us = static_cast<double>(record.end_ns - record.start_ns) / 1000;
  ++seen->launches;
  seen->of_graphs += record.of_graph ? 1 : 0;
  seen->total_us += us;
  if (seen->contexts.size() < kMostNumbers) seen->contexts.insert(record.context);
  if (seen->streams.size() < kMostNumbers) seen->streams.insert(record.stream);
  if (record.graph_node != 0 && seen->graph_nodes.size() < kMostNumbers)
    seen->graph_nodes.insert(static_cast<std::int64_t>(record.graph_node));
  if (counted == expected_.end()) {
    seen->times.add(us);
  } else {
    counted->second.seen = seen;
    settle(counted->second);
  }
}

void LaunchTable::add_untimed(const ProgramKernel& kernel, int device, std::uint32_t correlation) {
  const std::lock_guard lock(mutex_);
  ++version_;
  Seen* const seen = find({device, kernel});
  if (seen == nullptr) {
    ++lost_;
    return;
  }
  ++seen->launches;
  const auto counted = expected_.find(correlation);
  if (counted == expected_.end()) return;
  counted->second.seen = seen;
  settle(counted->second);
}

void LaunchTable::add_unrecorded(const ProgramKernel& kernel, int device, std::int64_t launches) {
  const std::lock_guard lock(mutex_);
  ++version_;
  Seen* const seen = find({device, kernel});
  if (seen == nullptr) {
    lost_ += static_cast<std::size_t>(launches);
    return;
  }
  seen->launches += launches;
  for (auto& [correlation, expected] : expected_) {
    const bool is_its = expected.seen == nullptr && expected.name == kernel.name &&
                        extent_of(expected.grid) == kernel.grid && extent_of(expected.block) == kernel.block;
    if (!is_its) continue;
    expected.seen = seen;
    settle(expected);
  }
}

void LaunchTable::add_readings(std::span<const std::uint32_t> correlations, const CounterReadings& readings) {
  const std::lock_guard lock(mutex_);
  ++version_;
  for (std::size_t i = 0; i < correlations.size(); ++i) {
    const auto counted = expected_.find(correlations[i]);
    if (counted == expected_.end()) continue;
    has_readings_ = true;
    for (const auto& [metric, values] : readings) {
      counted->second.reading[metric] = i < values.size() ? values[i] : std::nan("");
    }
    settle(counted->second);
  }
}

void LaunchTable::lose(std::size_t records) {
  const std::lock_guard lock(mutex_);
  lost_ += records;
}

std::vector<ProgramEntry> LaunchTable::entries(int process,
                                               const std::function<DeviceWords(int)>& words) const {
  const std::lock_guard lock(mutex_);
  std::map<int, DeviceWords> devices;
  std::vector<ProgramEntry> result;
  result.reserve(seen_.size());
  for (const auto& [key, seen] : seen_) {
    auto device = devices.find(key.device);
    if (device == devices.end()) device = devices.emplace(key.device, words(key.device)).first;
    ProgramEntry& entry = result.emplace_back(ProgramEntry{device->second.device, key.kernel, {}});
    entry.seen.launches = seen.launches;
    entry.seen.of_graphs = seen.of_graphs;
    entry.seen.timed = seen.times.seen();
    entry.seen.total_us = seen.total_us;
    entry.seen.times_us = seen.times.kept();
    entry.seen.readings = seen.readings;
    entry.seen.processes = {process};
    entry.seen.contexts = seen.contexts;
    entry.seen.streams = seen.streams;
    entry.seen.graph_nodes = seen.graph_nodes;
    if (!seen.readings.empty()) continue;
    entry.seen.counters_status = device->second.counters_status;
    entry.seen.note = device->second.note;
    if (entry.seen.counters_status == CountersStatus::ok) {
      entry.seen.counters_status = CountersStatus::off;
      entry.seen.note = why_uncounted(seen.launches, seen.of_graphs);
    }
  }
  return result;
}

bool LaunchTable::has_readings() const {
  const std::lock_guard lock(mutex_);
  return has_readings_;
}

bool LaunchTable::has_records() const {
  const std::lock_guard lock(mutex_);
  return has_records_;
}

std::uint64_t LaunchTable::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::size_t LaunchTable::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace occbench
