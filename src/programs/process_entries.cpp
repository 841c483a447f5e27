#include "programs/process_entries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/ostream.h>

#include "files/input.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"
#include "record/kernel_name.hpp"

namespace occbench {
namespace {

struct ReadKernel {
  std::optional<KernelFacts> facts;
  LaunchTotals totals;
  std::array<std::set<std::int64_t>, kPlaceKinds> places;
  std::vector<double> times_us;
  std::vector<std::vector<double>> readings;
  SampledTotals sampled;
  std::vector<double> sampled_us;
  std::vector<double> sampled_pcts;
};

struct ReadDevice {
  ProgramDevice device;
  CountersStatus status = CountersStatus::off;
  std::string note;
  WindowTotals windows;
};

/// The text of a zero-padded array.
template <std::size_t N>
std::string text_of(const std::array<char, N>& characters) {
  return {characters.begin(), std::find(characters.begin(), characters.end(), '\0')};
}

Shape extent_of(const EntryExtent& extent) {
  return {extent[0], extent[1], extent[2]};
}

/// Whether a launch can be like this: a broken file may name anything.
bool is_possible(const KernelFacts& facts) {
  const auto fits = [](const EntryExtent& extent, double most) {
    const double volume = static_cast<double>(extent[0]) * extent[1] * extent[2];
    return volume > 0 && volume <= most;
  };
  return facts.device <= kMostOfInt && fits(facts.grid, kMostOfInt) && fits(facts.block, 1024) &&
         fits(facts.cluster, 1024) && facts.registers_per_thread <= 255 &&
         facts.static_shared_bytes <= kMostOfInt && facts.dynamic_shared_bytes <= kMostOfInt &&
         facts.local_bytes_per_thread <= kMostOfInt && facts.carveout_pct >= -1 && facts.carveout_pct <= 100;
}

bool is_possible(const SampledTotals& totals) {
  const double all[] = {totals.warp_cycles, totals.active_cycles, totals.longest_cycles,
                        totals.active_ns,   totals.tensor_cycles, totals.dram_busy_ns};
  return totals.launches > 0 && totals.samples >= 0 &&
         (totals.active_cycles > 0) == (totals.longest_cycles > 0) &&
         std::ranges::all_of(all, [](double value) { return std::isfinite(value) && value >= 0; });
}

std::string why_uncounted(const LaunchTotals& totals, const ProgramLaunches& seen) {
  if (seen.of_graphs == seen.launches)
    return "CUDA graphs of several kernels launch it, which only windows of samples count, and none held it: "
           "by default they begin half a second after a program's first graph";
  if (seen.launches == 1) return "launched once";
  static constexpr std::string_view kInOrder[] = {
      "",
      "left out by --kernels",
      "it waits for other GPUs",
      "launched in a second context of its GPU",
      "launched only while a stream captured",
      "launched only in the warm-up (--after 0 does without)",
      "it was tried, and could not be",
      "counting had taken its share of the run time (--counters 1 counts one of each)"};
  const auto place = static_cast<std::size_t>(totals.uncounted);
  return std::string(place < std::size(kInOrder) ? kInOrder[place] : "");
}

constexpr double kNsPerUs = 1000;

/// The entries of one file.
class ProcessEntries {
 public:
  void add(const EntryView& entry) {
    switch (entry.head.kind) {
      case EntryKind::process:
        static_cast<void>(entry.read(process_));
        return;
      case EntryKind::metric:
        at(metrics_, entry.head.number) = entry.payload;
        return;
      case EntryKind::device:
        add_device(entry);
        return;
      case EntryKind::counting:
        devices_[entry.head.number].status = status_of(entry.head.other);
        devices_[entry.head.number].note = entry.payload;
        return;
      case EntryKind::windows:
        static_cast<void>(entry.read(devices_[entry.head.number].windows));
        return;
      case EntryKind::name:
        add_name(entry);
        return;
      default:
        add_of_kernel(entry);
    }
  }

  TracedProcess result() const {
    TracedProcess result;
    result.impossible = impossible_;
    for (const auto& [number, kernel] : kernels_) {
      const auto name = kernel.facts ? names_.find(kernel.facts->name) : names_.end();
      if (name == names_.end()) continue;
      result.entries.push_back(entry_of(kernel, name->second));
      result.numbers.push_back(number);
    }
    result.process = process_.process;
    for (const auto& [number, device] : devices_) {
      result.windows += device.windows;
    }
    return result;
  }

 private:
  /// An element that a file names; a broken file adds only few.
  template <typename Value>
  static Value& at(std::vector<Value>& values, std::uint32_t place) {
    constexpr std::uint32_t kMost = 1000;
    if (place >= values.size()) values.resize(std::min(place, kMost) + 1);
    return values[std::min(place, kMost)];
  }
  static CountersStatus status_of(std::uint32_t number) {
    return number <= static_cast<std::uint32_t>(CountersStatus::failed) ? static_cast<CountersStatus>(number)
                                                                        : CountersStatus::failed;
  }

  /// Only valid times and shares: a broken file may hold any.
  static std::vector<double> not_negative(const EntryView& entry, double over = 1) {
    std::vector<double> numbers;
    for (const float number : entry.values<float>())
      if (std::isfinite(number) && number >= 0) numbers.push_back(number / over);
    return numbers;
  }

  void add_device(const EntryView& entry) {
    DeviceFacts facts;
    if (!entry.read(facts) || facts.sm_count < 0 || facts.sm_count > kMostSmsOfGpu ||
        facts.highest_clock_khz < 0)
      return;
    devices_[entry.head.number].device = {
        .name = text_of(facts.name),
        .uuid = text_of(facts.uuid),
        .index = static_cast<int>(entry.head.number),
        .compute_capability =
            fmt::format("{}.{}", facts.compute_capability_major, facts.compute_capability_minor),
        .sm_count = facts.sm_count,
        .highest_clock_mhz = facts.highest_clock_khz / 1000.0};
  }

  /// Pieces come in order, or all again.
  void add_name(const EntryView& entry) {
    std::string& name = names_[entry.head.number];
    if (entry.head.other > name.size()) return;
    name.resize(entry.head.other);
    name += entry.payload;
  }

  /// Unless they are a broken file's.
  static void add_totals(const EntryView& entry, LaunchTotals& into) {
    constexpr std::int64_t kMost = std::int64_t{1} << 53;
    LaunchTotals totals;
    if (!entry.read(totals)) return;
    for (const std::int64_t launches : {totals.launched, totals.recorded, totals.unrecorded, totals.timed,
                                        totals.of_graphs, totals.launched_by_graphs}) {
      if (launches < 0 || launches > kMost) return;
    }
    into = totals;
  }

  void add_facts(const EntryView& entry, ReadKernel& kernel) {
    KernelFacts facts;
    if (!entry.read(facts)) return;
    if (is_possible(facts)) {
      kernel.facts = facts;
    } else {
      ++impossible_;
    }
  }

  void add_of_kernel(const EntryView& entry) {
    ReadKernel& kernel = kernels_[entry.head.number];
    switch (entry.head.kind) {
      case EntryKind::kernel:
        add_facts(entry, kernel);
        return;
      case EntryKind::totals:
        add_totals(entry, kernel.totals);
        return;
      case EntryKind::places:
        if (entry.head.other < kernel.places.size()) {
          const auto numbers = entry.values<std::int64_t>();
          kernel.places[entry.head.other] = {numbers.begin(), numbers.end()};
        }
        return;
      case EntryKind::times:
        kernel.times_us = not_negative(entry, kNsPerUs);
        return;
      case EntryKind::sampled:
        if (SampledTotals totals; entry.read(totals) && is_possible(totals)) kernel.sampled = totals;
        return;
      case EntryKind::sampled_times:
        kernel.sampled_us = not_negative(entry, kNsPerUs);
        return;
      case EntryKind::sampled_pcts:
        kernel.sampled_pcts = not_negative(entry);
        return;
      case EntryKind::reading:
        kernel.readings.push_back(entry.values<double>());
        return;
      default:
        return;  // of a later version
    }
  }

  /// Some launches have no valid record: counted without one, with one that cannot be true, or sampled instead. They are taken to last as
  /// long as the others.
  ProgramLaunches launches_of(const ReadKernel& kernel) const {
    const LaunchTotals& totals = kernel.totals;
    const std::int64_t placed = totals.recorded + totals.unrecorded;
    ProgramLaunches seen;
    const bool all_recorded = placed > 0 && process_.has_records != 0;
    seen.launches = all_recorded ? placed : std::max(totals.launched, placed);
    seen.of_graphs = all_recorded ? totals.of_graphs : std::max(totals.of_graphs, totals.launched_by_graphs);
    const bool is_sampled = !kernel.sampled_us.empty() && kernel.sampled.launches > 0;
    seen.times_us = is_sampled ? kernel.sampled_us : kernel.times_us;
    seen.timed = is_sampled ? kernel.sampled.launches : totals.timed;
    seen.total_us = static_cast<double>(totals.total_ns) / 1000;
    if (!seen.times_us.empty() || totals.recorded > 0) {
      const double each_us =
          seen.times_us.empty() ? seen.total_us / static_cast<double>(totals.recorded)
          : is_sampled ? kernel.sampled.active_ns / 1000 / static_cast<double>(kernel.sampled.launches)
                       : median(seen.times_us);
      seen.total_us += each_us * static_cast<double>(seen.launches - totals.recorded);
    }
    seen.sampled = kernel.sampled;
    seen.sampled_pcts = kernel.sampled_pcts;
    for (const std::vector<double>& reading : kernel.readings) {
      for (std::size_t i = 0; i < std::min(reading.size(), metrics_.size()); ++i)
        seen.readings[metrics_[i]].push_back(reading[i]);
    }
    seen.processes = {process_.process};
    seen.contexts = kernel.places[static_cast<std::size_t>(PlaceKind::context)];
    seen.streams = kernel.places[static_cast<std::size_t>(PlaceKind::stream)];
    seen.graph_nodes = kernel.places[static_cast<std::size_t>(PlaceKind::graph_node)];
    for (const std::int64_t number : kernel.places[static_cast<std::size_t>(PlaceKind::region)]) {
      const auto name = names_.find(static_cast<std::uint32_t>(number));
      if (name != names_.end()) seen.regions.insert(name->second);
    }
    return seen;
  }

  ProgramEntry entry_of(const ReadKernel& kernel, const std::string& name) const {
    const KernelFacts& facts = *kernel.facts;
    ProgramEntry entry;
    entry.kernel = {.name = kernel_name_of_any_build(name),
                    .grid = extent_of(facts.grid),
                    .block = extent_of(facts.block),
                    .cluster = extent_of(facts.cluster),
                    .registers_per_thread = static_cast<int>(facts.registers_per_thread),
                    .static_shared_bytes = facts.static_shared_bytes,
                    .dynamic_shared_bytes = facts.dynamic_shared_bytes,
                    .local_bytes_per_thread = facts.local_bytes_per_thread};
    if (facts.carveout_pct >= 0) entry.kernel.carveout_pct = facts.carveout_pct;
    if (const auto region = names_.find(facts.region - 1); facts.region > 0 && region != names_.end())
      entry.kernel.region = region->second;
    entry.seen = launches_of(kernel);
    const auto device = devices_.find(facts.device);
    if (device == devices_.end()) {
      entry.device.index = static_cast<int>(facts.device);
      return entry;
    }
    entry.device = device->second.device;
    if (!entry.seen.readings.empty() || entry.seen.sampled.launches > 0) return entry;
    entry.seen.counters_status = device->second.status;
    entry.seen.note = device->second.note;
    if (entry.seen.counters_status == CountersStatus::ok) {
      entry.seen.counters_status = CountersStatus::off;
      const bool is_sampled = device->second.windows.windows > 0;
      const std::string why = is_sampled && kernel.totals.uncounted != Uncounted::left_out
                                  ? "no window of samples has a whole launch of it that can be told apart"
                                  : why_uncounted(kernel.totals, entry.seen);
      entry.seen.note = why.empty() ? "not counted" : fmt::format("not counted: {}", why);
    }
    return entry;
  }

  ProcessFacts process_;
  std::int64_t impossible_ = 0;
  std::vector<std::string> metrics_;
  std::map<std::uint32_t, ReadDevice> devices_;
  std::map<std::uint32_t, std::string> names_;
  std::map<std::uint32_t, ReadKernel> kernels_;
};

}  // namespace

TracedProcess parse_process_entries(std::string_view bytes, std::string_view source) {
  ProcessEntries entries;
  if (!for_each_entry(bytes, [&](const EntryView& entry) { entries.add(entry); }))
    throw InputError("{} is no file of a traced process, or one of another version of occbench", source);
  return entries.result();
}

TracedProcess read_entry_file(const std::filesystem::path& file) {
  return parse_process_entries(read_text(file), file.string());
}

MergedProcesses merged_processes(const std::vector<std::filesystem::path>& files, std::ostream& err) {
  MergedProcesses merged;
  for (const std::filesystem::path& file : files) {
    try {
      TracedProcess process = read_entry_file(file);
      std::ranges::move(process.entries, std::back_inserter(merged.entries));
      merged.windows += process.windows;
      if (process.impossible > 0)
        fmt::print(err, "occbench trace: {} is damaged: {} left out that no GPU can launch\n", file.string(),
                   counted(process.impossible, "kernel"));
      merged.files.push_back(file);
    } catch (const InputError& unreadable) {
      fmt::print(err, "occbench trace: {}; {} stays, and its launches are in no row\n", unreadable.what(),
                 file.string());
    }
  }
  if (merged.entries.empty() && !merged.files.empty()) {
    const std::size_t count = merged.files.size();
    fmt::print(err,
               "occbench trace: {} initialized CUDA, and no kernel launch was traced: it launched none, or "
               "it says above why it is not traced\n",
               count == 1 ? "a process" : fmt::format("{} processes", count));
  }
  merged.entries = occbench::merged(std::move(merged.entries));
  return merged;
}

}  // namespace occbench
