#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "entries/entries.hpp"
#include "measure/program_events.hpp"
#include "trace/attribution.hpp"

namespace occbench {

/// The kind of a launch, for its record and for samples.
enum class LaunchKind : std::uint8_t {
  none,            ///< not known, or refused
  plain,           ///< of a kernel
  recorded,        ///< of a kernel, and its record has come
  counted,         ///< of a kernel, and counted
  unrecorded,      ///< counted while CUPTI kept no records
  done,            ///< counted, and its record has come: further records of its call are CUPTI's own launches
  graph,           ///< of a graph
  memory,          ///< a fill or copy of device memory
  captured,        ///< made while a stream captured: does not run now, or may not
  captured_graph,  ///< likewise, of a graph
};

struct NotedLaunch {
  LaunchKind kind = LaunchKind::none;
  std::uint32_t number = 0;  ///< of the kernel or the graph
};

/// Stream and time of a launch call.
struct LaunchMark {
  std::uint16_t stream = 0;     ///< equal for calls of one stream
  std::uint64_t called_ns = 0;  ///< on CUPTI's clock, 48 bits; 0 = not known
};

/// The latest launches of a process by CUPTI's correlation numbers, which follow the order of calls. Lock-free; any thread may call. A
/// launch is forgotten after kLaunches further calls. That takes seconds; its record comes within a fraction of one.
class LaunchSlots {
 public:
  static constexpr std::size_t kLaunches = 1 << 18;
  static constexpr std::uint32_t kMostNumbers = 1 << 24;  ///< of kernels or graphs

  /// Notes a launch before the driver gets it.
  void note(std::uint32_t correlation, NotedLaunch launch) {
    slot(correlation)
        .launch.store(std::uint64_t{correlation} << 32 | std::uint64_t{launch.number} << 8 |
                          static_cast<std::uint64_t>(launch.kind),
                      std::memory_order_release);
  }
  NotedLaunch find(std::uint32_t correlation) const {
    const std::uint64_t value = slot(correlation).launch;
    if (value >> 32 != correlation) return {};
    return {static_cast<LaunchKind>(value & 0xFF),
            static_cast<std::uint32_t>(value >> 8) & (kMostNumbers - 1)};
  }

  /// Stores when and in which stream a noted launch was called.
  /// @param is_wanted whether its samples are
  void mark(std::uint32_t correlation, LaunchMark mark, bool is_wanted = true) {
    slot(correlation).mark.store(mark.called_ns << 16 | mark.stream, std::memory_order_relaxed);
    latest_.store(correlation, std::memory_order_relaxed);
    if (is_wanted) latest_wanted_.store(correlation, std::memory_order_relaxed);
  }
  LaunchMark mark_of(std::uint32_t correlation) const {
    const std::uint64_t value = slot(correlation).mark.load(std::memory_order_relaxed);
    return {static_cast<std::uint16_t>(value), value >> 16};
  }
  /// The correlation of the latest launch, or of a concurrent one if several threads launch.
  std::uint32_t latest() const {
    return latest_.load(std::memory_order_relaxed);
  }
  std::uint32_t latest_wanted() const {
    return latest_wanted_.load(std::memory_order_relaxed);
  }

 private:
  struct Slot {
    std::atomic<std::uint64_t> launch{0};
    std::atomic<std::uint64_t> mark{0};
  };
  Slot& slot(std::uint32_t correlation) const {
    return (*slots_)[correlation % kLaunches];
  }

  std::atomic<std::uint32_t> latest_{0};
  std::atomic<std::uint32_t> latest_wanted_{0};
  std::unique_ptr<std::array<Slot, kLaunches>> slots_ = std::make_unique<std::array<Slot, kLaunches>>();
};

/// A kernel and configuration that a program launches in one context, or that a record shows. It has a number from its first launch on, and
/// lives as long as the table. Members that each launch reads come first, in two cache lines.
struct alignas(64) TracedKernel {
  TracedKernel(std::uint32_t number_, std::string_view name_, const KernelFacts& facts_,
               const LaunchKey& key_)
      : key(key_),
        name(name_),
        number(number_),
        device(static_cast<int>(facts_.device)),
        blocks(std::uint64_t{facts_.grid[0]} * facts_.grid[1] * facts_.grid[2]),
        facts(facts_) {}

  const LaunchKey key;                          ///< of its calls; empty if only records show it
  std::atomic<const char*> told_name{nullptr};  ///< address of the name in its calls
  const std::string_view name;                  ///< mangled; ends with 0
  const std::uint32_t number;
  std::atomic<Uncounted> uncounted{};
  std::atomic<std::int64_t> launched{0};            ///< accepted by the driver outside of captures
  std::atomic<std::int64_t> launched_by_graphs{0};  ///< of these
  std::atomic<std::int64_t> seen{0};                ///< calls that launch it, captured ones too
  const int device;
  const std::uint64_t blocks;  ///< of its grid
  // For the counting rules.
  std::atomic<int> counted{0};
  std::atomic<int> tried{0};

  // All below belongs to the table, under records_mutex_.
  KernelFacts facts;
  bool has_record = false;
  LaunchTotals totals{};
  TimeSample times;
  SampledTotals sampled{};
  TimeSample sampled_times;
  TimeSample sampled_pcts;
  std::array<std::set<std::int64_t>, kPlaceKinds> places{};  ///< by PlaceKind
  std::vector<std::vector<double>> readings;
  // How much of it is in the file.
  bool facts_written = false;
  bool places_changed = false;
  bool times_changed = false;
  LaunchTotals totals_written{};
  std::int64_t sampled_written = 0;  ///< launches
  std::size_t readings_written = 0;
};

/// A graph whose kernels are known.
struct alignas(64) TracedGraph {
  TracedGraph(std::uint32_t number_, std::vector<TracedKernel*> kernels_, std::vector<Begins> begins_)
      : number(number_), kernels(std::move(kernels_)), begins(std::move(begins_)) {}

  const std::uint32_t number;
  const std::vector<TracedKernel*> kernels;  ///< in execution order; null for other nodes, such as copies
  const std::vector<Begins> begins;          ///< when each may begin; empty = after the end of the one before
  std::atomic<std::int64_t> launched{0};
  std::int64_t launched_counted = 0;  ///< already added to its kernels, by the table
};

/// Launches that should have a record and have none.
struct MissingRecords {
  std::size_t kernels = 0;  ///< kernels without any record
  std::int64_t launches = 0;
  std::int64_t of = 0;  ///< launches that CUPTI reported
};

/// The kernels of a process, and all that is known of their launches. A launch finds its kernel in its callback; its record and counters
/// find it by number. Memory grows only with counted launches. Thread-safe. No lock is held while a file is written, a name is demangled,
/// or the driver or CUPTI is called; one is held while entries are copied.
class LaunchTable : public LaunchSlots {
 public:
  /// @param by_region whether launches in different regions are different kernels
  explicit LaunchTable(bool by_region = false) : by_region_(by_region) {}

  /// Most kernels and configurations.
  static constexpr std::size_t kMostKernels = 1 << 16;
  /// Most graphs plus their nodes. A program that keeps making new graphs is followed up to this number.
  static constexpr std::size_t kMostNodes = 1 << 20;

  /// The kernel that a call launches; null if it is not in the table yet.
  TracedKernel* find(const LaunchCall& call) const;
  /// Adds it. @param facts the driver's facts and the device; add() sets those that the call has
  /// @param uncounted why it may not be counted; unknown if it may
  /// @returns null if the table is full
  TracedKernel* add(const LaunchCall& call, KernelFacts facts, Uncounted uncounted);
  TracedKernel& at(std::uint32_t number);
  /// Graphs with the same kernels are one. @returns null if there is no room for more
  TracedGraph* add_graph(std::vector<TracedKernel*> kernels, std::vector<Begins> begins = {});
  TracedGraph& graph_at(std::uint32_t number);
  /// Its handles may be reused for other kernels.
  void context_is_gone(const void* context);

  /// The launches on a device between two correlations, in call order; graphs as their kernels. A graph that is launched repeatedly has
  /// only its latest launches here, some 10,000 kernels together.
  std::vector<LoggedLaunch> log(std::uint32_t first, std::uint32_t last, int device);
  /// Whether this is a plain launch whose record has not come.
  bool awaits_record(std::uint32_t correlation) const {
    return LaunchSlots::find(correlation).kind == LaunchKind::plain;
  }
  bool is_captured(std::uint32_t correlation) const {
    const LaunchKind kind = LaunchSlots::find(correlation).kind;
    return kind == LaunchKind::captured || kind == LaunchKind::captured_graph;
  }
  /// A context was idle at that time, on the clock of records.
  void was_idle(std::uint32_t context, std::uint64_t ns);
  /// A launch was counted while CUPTI kept no records.
  void add_unrecorded(TracedKernel& kernel, std::uint32_t correlation);
  /// The number of a region's name.
  std::uint32_t region_number(const std::string& region);
  /// A launch of the kernel was made in this range of its thread (regions.hpp).
  void add_region(TracedKernel& kernel, const std::string& region);
  /// Likewise for this correlation's launch; its record will name the kernel.
  void name_region(std::uint32_t correlation, const std::string& region);
  /// A kernel that ran.
  void add(const KernelRecord& record);
  void lose(std::size_t records);
  /// Counter values of one launch, one per metric.
  void add_reading(std::uint32_t kernel, std::vector<double> values);
  /// The longest kept time of its records; 0 without one.
  std::uint64_t longest_ns(const TracedKernel& kernel) const;

  /// Adds sampled launches. @param warps_per_sm that an SM can hold
  /// @returns how many of these are wanted
  std::size_t add_sampled(std::span<const SampledLaunch> launches, int warps_per_sm);
  /// How many launches of a kernel were sampled.
  std::int64_t sampled_launches(std::uint32_t kernel);

  /// Appends the entries that have changed since the last call, or all.
  void append_to(std::string& file, bool all);

  std::size_t size() const;
  /// Of all kernels.
  std::set<int> devices() const;
  bool has_readings() const {
    return has_readings_;
  }
  std::size_t lost() const;
  MissingRecords missing_records() const;

 private:
  struct Hash {
    template <typename Key>
    std::size_t operator()(const Key& key) const {
      static_assert(std::has_unique_object_representations_v<Key>);
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(&key), sizeof key});
    }
  };

  std::uint32_t name_number(std::string_view name);
  TracedKernel* make(std::string_view name, KernelFacts facts, const LaunchKey& key);
  std::vector<TracedKernel*> kernels() const;
  bool is_possible(const KernelRecord& record) const;
  TracedKernel* recorded_kernel(const KernelRecord& record, NotedLaunch launch);
  TracedKernel* kernel_of_facts(std::string_view name, KernelFacts facts);
  void count_launches_of_graphs();
  std::optional<std::uint32_t> region_of(const KernelRecord& record);
  void add_regions_of_launches();
  void append_kernel(std::string& file, TracedKernel& kernel, bool all);

  const bool by_region_;
  mutable std::shared_mutex mutex_;  ///< for finding kernels and names
  std::unordered_map<LaunchKey, TracedKernel*, Hash> by_call_;
  /// A lock-free cache of by_call_.
  mutable std::array<std::atomic<TracedKernel*>, 1 << 12> recent_{};
  std::unordered_map<KernelFacts, TracedKernel*, Hash> by_facts_;
  mutable std::deque<TracedKernel> kernels_;
  struct ByKernels {
    bool operator()(const TracedGraph* one, const TracedGraph* other) const {
      return std::tie(one->kernels, one->begins) < std::tie(other->kernels, other->begins);
    }
  };
  std::deque<TracedGraph> graphs_;
  std::set<TracedGraph*, ByKernels> graphs_by_kernels_;
  std::size_t nodes_ = 0;  ///< of graphs, and the graphs
  std::set<int> devices_;
  std::deque<std::string> names_;
  std::unordered_map<std::string_view, std::uint32_t> name_numbers_;
  std::size_t names_written_ = 0;

  /// Launching threads take it: nothing is computed or written while it is held.
  std::mutex regions_mutex_;
  std::unordered_map<std::uint32_t, std::uint32_t> regions_;  ///< names by correlation
  /// Since the last append_to().
  std::set<std::pair<TracedKernel*, std::uint32_t>> regions_of_launches_;
  mutable std::mutex records_mutex_;                             ///< for records and readings in kernels_
  std::map<std::uint32_t, std::vector<std::uint64_t>> idle_ns_;  ///< by context, in order
  std::size_t lost_ = 0;
  std::atomic<bool> has_readings_{false};  ///< or samples
};

}  // namespace occbench
