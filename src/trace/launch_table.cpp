#include "trace/launch_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "record/kernel_name.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

/// More than a row names.
constexpr std::size_t kMostNumbers = 9;

/// Launches whose region is kept until their record comes, which it does within a second.
constexpr std::size_t kMostNamed = 1 << 18;

/// CUPTI's records, as ncu, say 16 registers where a function was compiled to fewer, and the driver says so (H100, driver
/// 580.159.04: functions of 4 to 14 registers by `ptxas -v` and cuFuncGetAttribute).
constexpr int kLeastRegistersOfRecords = 16;

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

/// What a call says of its kernel, clusters and what the kernel was compiled with left out.
ProgramKernel asked_for(const ProgramKernel& kernel) {
  return {.name = kernel.name,
          .grid = kernel.grid,
          .block = kernel.block,
          .dynamic_shared_bytes = kernel.dynamic_shared_bytes};
}

/// Why nothing was counted of a kernel on a GPU whose counters can be read.
std::string why_uncounted(std::int64_t launches, std::int64_t of_graphs) {
  if (of_graphs == launches) return "not counted: CUDA graphs of several kernels launch it";
  if (launches == 1) return "not counted: launched once";
  constexpr std::string_view kReasons =
      "not counted: its launches were in the warm-up (--after 0 does without), ";
  return fmt::format("{}{}in a second context, or left out by --kernels", kReasons,
                     of_graphs > 0 ? "in a graph of several kernels, " : "");
}

void say_why_uncounted(ProgramLaunches& seen, const LaunchTable::DeviceWords& words) {
  if (!seen.readings.empty()) return;
  seen.counters_status = words.counters_status;
  seen.note = words.note;
  if (seen.counters_status != CountersStatus::ok) return;
  seen.counters_status = CountersStatus::off;
  seen.note = why_uncounted(seen.launches, seen.of_graphs);
}

}  // namespace

std::size_t LaunchTable::Hash::operator()(const Key& key) const {
  std::size_t hash = std::hash<std::string_view>()(key.kernel.name);
  // What a launch asks for, so that all kernels like it are in one bucket.
  for (const std::int64_t value : {key.kernel.grid.x, key.kernel.grid.y, key.kernel.grid.z,
                                   key.kernel.block.volume(), key.kernel.dynamic_shared_bytes}) {
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

/// The entry of launches like one of which the call and what the driver says of its function are known. The driver may
/// say less than a record; where it says nothing, a function uses 0 registers.
const LaunchTable::Seen* LaunchTable::find_like(const Key& key) const {
  const Seen* like = nullptr;
  if (seen_.empty()) return like;
  const auto launch_of = [](const Key& one) {
    return std::tie(one.device, one.kernel.name, one.kernel.grid, one.kernel.block,
                    one.kernel.dynamic_shared_bytes);
  };
  const ProgramKernel& kernel = key.kernel;
  const int registers = kernel.registers_per_thread;
  const auto recorded = [](int of_function) { return std::max(of_function, kLeastRegistersOfRecords); };
  int most_equal = -1;
  const std::size_t bucket = seen_.bucket(key);
  for (auto entry = seen_.begin(bucket); entry != seen_.end(bucket); ++entry) {
    const ProgramKernel& other = entry->first.kernel;
    if (launch_of(entry->first) != launch_of(key)) continue;
    if (registers != 0 && recorded(other.registers_per_thread) != recorded(registers)) continue;
    const int equal = (other.registers_per_thread == registers) +
                      (other.static_shared_bytes == kernel.static_shared_bytes) +
                      (other.local_bytes_per_thread == kernel.local_bytes_per_thread) +
                      (other.cluster == kernel.cluster) + (other.carveout_pct == kernel.carveout_pct);
    if (equal <= most_equal) continue;
    most_equal = equal;
    like = &entry->second;
  }
  return like;
}

void LaunchTable::name_region(std::uint32_t correlation, const std::string& region) {
  const std::lock_guard lock(mutex_);
  if (regions_.size() >= kMostNamed) regions_.clear();
  regions_[correlation] = region;
}

void LaunchTable::add_launch(ProgramLaunches& launches, const Expected& launch) {
  for (const auto& [metric, value] : launch.reading) launches.readings[metric].push_back(value);
  if (!launch.region.empty()) launches.regions.insert(launch.region);
}

void LaunchTable::expect(const LaunchCall& call, int device) {
  const std::lock_guard lock(mutex_);
  const auto named = regions_.find(call.correlation);
  expected_[call.correlation] = {.name = std::string(call.name),
                                 .grid = call.grid,
                                 .block = call.block,
                                 .dynamic_shared_bytes = call.dynamic_shared_bytes,
                                 .region = named != regions_.end() ? named->second : "",
                                 .device = device,
                                 .of_graph = call.of_graph};
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
  Seen* const seen = find({static_cast<int>(record.device), kernel_of(record)});
  if (seen == nullptr) {
    ++lost_;
    return;
  }
  const double us = static_cast<double>(record.end_ns - record.start_ns) / 1000;
  ++seen->launches;
  seen->of_graphs += record.of_graph ? 1 : 0;
  recorded_ += record.of_graph ? 0 : 1;
  seen->total_us += us;
  if (seen->contexts.size() < kMostNumbers) seen->contexts.insert(record.context);
  if (seen->streams.size() < kMostNumbers) seen->streams.insert(record.stream);
  if (record.graph_node != 0 && seen->graph_nodes.size() < kMostNumbers)
    seen->graph_nodes.insert(static_cast<std::int64_t>(record.graph_node));
  if (const auto named = regions_.find(record.correlation); named != regions_.end()) {
    if (seen->regions.size() < kMostNumbers) seen->regions.insert(named->second);
    if (!record.of_graph) regions_.erase(named);
  }
  if (counted == expected_.end()) {
    seen->times.add(us);
  } else {
    // A record that was not to come: the launch is no second one.
    if (std::exchange(counted->second.unrecorded, std::nullopt)) --recorded_;
    counted->second.seen = seen;
    settle(counted->second);
  }
}

void LaunchTable::add_unrecorded(ProgramKernel kernel, int device, std::uint32_t correlation) {
  kernel.name = kernel_name_of_any_build(std::move(kernel.name));
  const std::lock_guard lock(mutex_);
  const auto counted = expected_.find(correlation);
  if (counted == expected_.end() || counted->second.seen != nullptr) return;
  ++version_;
  if (seen_.size() >= kMostEntries && find_like({device, kernel}) == nullptr) {
    ++lost_;
    return;
  }
  ++recorded_;
  counted->second.unrecorded = std::move(kernel);
}

/// Worked out each time: a record that is still to come may be of a launch that is more like them.
LaunchTable::Placed LaunchTable::place_unrecorded() const {
  Placed placed;
  for (const auto& [correlation, expected] : expected_) {
    if (expected.seen != nullptr || expected.of_graph) continue;
    if (!expected.unrecorded) {
      const ProgramKernel call{.name = kernel_name_of_any_build(expected.name),
                               .grid = extent_of(expected.grid),
                               .block = extent_of(expected.block),
                               .dynamic_shared_bytes = expected.dynamic_shared_bytes};
      placed.of_calls[{expected.device, call}].push_back(&expected);
      continue;
    }
    const Key key{expected.device, *expected.unrecorded};
    const Seen* const seen = find_like(key);
    (seen != nullptr ? placed.beside_records[seen] : placed.alone[key]).push_back(&expected);
  }
  return placed;
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

/// Equal ones become one, without the launches that were meant to have no record: these are placed by themselves. A program
/// may ask for another carveout from launch to launch.
std::vector<LookedAt> LaunchTable::left_to_place(const std::vector<LookedAt>& all) const {
  if (all.empty()) return all;
  const auto key_of = [](int device, ProgramKernel kernel) {
    kernel.name = kernel_name_of_any_build(std::move(kernel.name));
    kernel.carveout_pct.reset();
    return Key{device, std::move(kernel)};
  };
  std::unordered_map<Key, std::size_t, Hash> places;
  std::vector<LookedAt> left;
  for (const LookedAt& one : all) {
    const auto [place, is_new] = places.try_emplace(key_of(one.device, *one.kernel), left.size());
    if (is_new) {
      left.push_back(one);
    } else {
      left[place->second].launches += one.launches;
    }
  }
  for (const auto& [correlation, expected] : expected_) {
    if (!expected.unrecorded) continue;
    const auto place = places.find(key_of(expected.device, *expected.unrecorded));
    if (place != places.end()) --left[place->second].launches;
  }
  std::erase_if(left, [](const LookedAt& one) { return one.launches <= 0; });
  return left;
}

Unrecorded LaunchTable::set_looked_at(std::vector<LookedAt> all) {
  const auto sum_of = [](const std::vector<LookedAt>& some) {
    return std::accumulate(some.begin(), some.end(), std::int64_t{0},
                           [](std::int64_t sum, const LookedAt& one) { return sum + one.launches; });
  };
  const std::lock_guard lock(mutex_);
  Unrecorded result;
  result.of = sum_of(all);
  result.launches = result.of - recorded_;
  std::set<std::pair<int, std::string_view>> recorded;
  for (const auto& [key, seen] : seen_) recorded.emplace(key.device, key.kernel.name);
  std::erase_if(all, [&](const LookedAt& one) {
    return recorded.contains({one.device, kernel_name_of_any_build(one.kernel->name)});
  });
  all = left_to_place(all);
  // Where as many launches have records, these have them too, by another name.
  if (sum_of(all) > result.launches) all.clear();
  if (all.size() > kMostEntries) all.resize(kMostEntries);
  if (all != unrecorded_) ++version_;
  unrecorded_ = std::move(all);
  result.kernels = unrecorded_.size();
  return result;
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

ProgramLaunches LaunchTable::launches_of(const Seen& seen, const Launches& unrecorded) {
  ProgramLaunches all;
  all.launches = seen.launches + static_cast<std::int64_t>(unrecorded.size());
  all.of_graphs = seen.of_graphs;
  all.timed = seen.times.seen();
  all.total_us = seen.total_us;
  all.times_us = seen.times.kept();
  all.readings = seen.readings;
  all.contexts = seen.contexts;
  all.streams = seen.streams;
  all.graph_nodes = seen.graph_nodes;
  all.regions = seen.regions;
  for (const Expected* one : unrecorded) add_launch(all, *one);
  if (unrecorded.empty() || seen.launches == 0) return all;
  const double each_us =
      all.times_us.empty() ? seen.total_us / static_cast<double>(seen.launches) : median(all.times_us);
  all.total_us += each_us * static_cast<double>(unrecorded.size());
  return all;
}

/// A kernel without a record: its launches, and what was counted of them.
ProgramEntry LaunchTable::unrecorded_entry(const LookedAt& one, const DeviceWords& words, Placed& placed) {
  ProgramEntry entry{words.device, *one.kernel, {}};
  entry.kernel.name = kernel_name_of_any_build(one.kernel->name);
  entry.seen.launches = one.launches;
  const auto of_call = placed.of_calls.find({one.device, asked_for(entry.kernel)});
  if (of_call != placed.of_calls.end()) {
    for (const Expected* launch : of_call->second) add_launch(entry.seen, *launch);
  }
  if (const auto alone = placed.alone.extract({one.device, entry.kernel})) {
    entry.seen.launches += static_cast<std::int64_t>(alone.mapped().size());
    for (const Expected* launch : alone.mapped()) add_launch(entry.seen, *launch);
  }
  return entry;
}

std::vector<ProgramEntry> LaunchTable::entries(int process,
                                               const std::function<DeviceWords(int)>& words) const {
  const std::lock_guard lock(mutex_);
  std::map<int, DeviceWords> devices;
  const auto words_of = [&](int number) -> const DeviceWords& {
    const auto device = devices.find(number);
    return device != devices.end() ? device->second : devices.emplace(number, words(number)).first->second;
  };
  const Launches none;
  Placed placed = place_unrecorded();
  std::vector<ProgramEntry> result;
  result.reserve(seen_.size() + unrecorded_.size() + placed.alone.size());
  for (const auto& [key, seen] : seen_) {
    const auto beside = placed.beside_records.find(&seen);
    const Launches& others = beside != placed.beside_records.end() ? beside->second : none;
    result.push_back({words_of(key.device).device, key.kernel, launches_of(seen, others)});
    say_why_uncounted(result.back().seen, words_of(key.device));
  }
  for (const LookedAt& one : unrecorded_) {
    ProgramEntry& entry = result.emplace_back(unrecorded_entry(one, words_of(one.device), placed));
    say_why_uncounted(entry.seen, words_of(one.device));
  }
  for (const auto& [key, launches] : placed.alone) {
    result.push_back({words_of(key.device).device, key.kernel, launches_of({}, launches)});
    say_why_uncounted(result.back().seen, words_of(key.device));
  }
  for (ProgramEntry& entry : result) entry.seen.processes = {process};
  return result;
}

bool LaunchTable::has_readings() const {
  const std::lock_guard lock(mutex_);
  return has_readings_;
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
