#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "measure/program_events.hpp"
#include "measure/range_profiler.hpp"
#include "record/program.hpp"
#include "record/time_sample.hpp"

namespace occbench {

/// Launches of one kernel and configuration on one GPU, as the program made them.
struct LookedAt {
  int device = -1;
  std::shared_ptr<const ProgramKernel> kernel;  ///< never null where it is given away
  std::int64_t launches = 0;

  bool operator==(const LookedAt&) const = default;
};

/// What no record tells of.
struct Unrecorded {
  std::size_t kernels = 0;    ///< kernels and configurations whose kernel has no record at all
  std::int64_t launches = 0;  ///< below 0 where records tell of launches that were not looked at
  std::int64_t of = 0;        ///< launches that were looked at
};

/// Everything that was seen of the launches of a process: an entry for each distinct kernel and configuration
/// on each GPU, whose memory does not grow with the launches. Thread-safe.
class LaunchTable {
 public:
  /// A launch that is counted: its record is not one of an ordinary launch, and other records of its call are
  /// of what CUPTI launches to read counters.
  void expect(const LaunchCall& call, int device);

  /// What the launch of this correlation, which is yet to be made, is part of (regions.hpp).
  void name_region(std::uint32_t correlation, const std::string& region);

  /// A kernel that ran. Those of unknown kernels beyond the most that a table has are only counted.
  void add(const KernelRecord& record);

  /// An expected launch that was made while no records were kept. It is one of the entry whose records are of such
  /// launches, once they have come, and is taken to last as long as their median; without any it has an entry
  /// without time.
  void add_unrecorded(ProgramKernel kernel, int device, std::uint32_t correlation);

  /// A launch in a process of which there will be no records.
  void add_untimed(const ProgramKernel& kernel, int device, std::uint32_t correlation);

  /// What was launched, in the place of what was told before. Kernels of which there is no record have entries
  /// of it, without time.
  Unrecorded set_looked_at(std::vector<LookedAt> all);

  /// What counters read in launches that were expected, by their correlation.
  void add_readings(std::span<const std::uint32_t> correlations, const CounterReadings& readings);

  void lose(std::size_t records);

  /// What the table says of a GPU: what it is, and its counters' status and note where there are no readings.
  struct DeviceWords {
    ProgramDevice device;
    std::optional<CountersStatus> counters_status;
    std::string note;
  };
  std::vector<ProgramEntry> entries(int process, const std::function<DeviceWords(int)>& words) const;

  bool has_readings() const;
  /// Grows with each change.
  std::uint64_t version() const;
  /// Launches that are in no entry: records that CUPTI lost, and kernels that found no more room.
  std::size_t lost() const;

  static constexpr std::size_t kMostEntries = 20'000;

 private:
  struct Key {
    int device;
    ProgramKernel kernel;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Seen {
    std::int64_t launches = 0;
    std::int64_t of_graphs = 0;
    double total_us = 0;
    TimeSample times;
    std::map<std::string, std::vector<double>, std::less<>> readings;
    std::set<std::int64_t> contexts;
    std::set<std::int64_t> streams;
    std::set<std::int64_t> graph_nodes;
    std::set<std::string> regions;
  };
  struct Expected {
    std::string name;
    EventExtent grid, block;
    std::uint32_t dynamic_shared_bytes = 0;
    std::string region{};
    int device = -1;
    bool of_graph = false;
    Seen* seen = nullptr;  ///< the entry, once its record has come
    std::map<std::string, double, std::less<>> reading{};
    std::optional<ProgramKernel> unrecorded{};  ///< where there will be no record
  };
  using Launches = std::vector<const Expected*>;
  /// Launches without records.
  struct Placed {
    std::unordered_map<const Seen*, Launches> beside_records;
    std::unordered_map<Key, Launches, Hash> alone;
    std::unordered_map<Key, Launches, Hash>
        of_calls;  ///< whose record is still to come, by what the call says
  };

  Seen* find(Key key);
  const Seen* find_like(const Key& key) const;
  Placed place_unrecorded() const;
  static void add_launch(ProgramLaunches& launches, const Expected& launch);
  static bool is_of(const Expected& expected, const KernelRecord& record);
  static void settle(Expected& expected);
  static ProgramLaunches launches_of(const Seen& seen, const Launches& unrecorded);
  std::vector<LookedAt> left_to_place(const std::vector<LookedAt>& all) const;
  static ProgramEntry unrecorded_entry(const LookedAt& one, const DeviceWords& words, Placed& placed);

  mutable std::mutex mutex_;
  std::unordered_map<Key, Seen, Hash> seen_;
  std::unordered_map<std::uint32_t, Expected> expected_;
  std::unordered_map<std::uint32_t, std::string> regions_;  ///< of launches whose record is still to come
  std::vector<LookedAt> unrecorded_;                        ///< of kernels without any record
  std::int64_t recorded_ = 0;  ///< launches with a record or meant to have none, not those of graphs
  std::size_t lost_ = 0;
  std::uint64_t version_ = 0;
  bool has_readings_ = false;
};

}  // namespace occbench
