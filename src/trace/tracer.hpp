#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "trace/attribution.hpp"
#include "trace/captures.hpp"
#include "trace/context_counter.hpp"
#include "trace/counting_plan.hpp"
#include "trace/driver.hpp"
#include "trace/entry_file.hpp"
#include "trace/gpu_samplers.hpp"
#include "trace/launch_table.hpp"

namespace occbench {

/// Numbers that launches of one stream share, except for LoggedLaunch::kEarly. Lock-free; any thread may call.
class StreamNumbers {
 public:
  explicit StreamNumbers(Driver& driver) : driver_(driver) {}

  /// The stream's number, with kEarly if the launch may begin early; kBeside if others may run beside it.
  /// @param may_ask whether the driver can be asked about a new stream; if not, the stream is taken as non-blocking
  std::uint16_t of(const LaunchCall& call, bool may_ask) {
    if (call.begins == Begins::beside) return LoggedLaunch::kBeside;
    return static_cast<std::uint16_t>(of_stream(call, may_ask) |
                                      (call.begins == Begins::early ? LoggedLaunch::kEarly : 0));
  }
  /// A new stream may reuse this handle.
  void forget(void* stream) {
    slot(reinterpret_cast<std::uintptr_t>(stream)) = 0;
  }

 private:
  static constexpr std::uint64_t kBlocking = 1;  ///< handles are multiples of 8

  std::uint16_t of_stream(const LaunchCall& call, bool may_ask) {
    const auto handle = reinterpret_cast<std::uintptr_t>(call.stream);
    if (handle <= 1) return LoggedLaunch::kLegacyStream;
    // Each thread has its own default stream, with the same handle.
    if (handle == 2) return hash(handle ^ std::hash<std::thread::id>()(std::this_thread::get_id()));
    const bool blocks = is_blocking(call.stream, handle, may_ask);
    return static_cast<std::uint16_t>(hash(handle) | (blocks ? 0 : LoggedLaunch::kNonBlocking));
  }
  static std::uint16_t hash(std::uint64_t handle) {
    return static_cast<std::uint16_t>((handle * 0x9E3779B97F4A7C15u) >> 50 | 1);
  }
  std::atomic<std::uint64_t>& slot(std::uint64_t handle) {
    return slots_[(handle * 0x9E3779B97F4A7C15u) >> 54];
  }
  bool is_blocking(void* stream, std::uint64_t handle, bool may_ask) {
    std::atomic<std::uint64_t>& known = slot(handle);
    const std::uint64_t value = known;
    if ((value & ~kBlocking) == handle) return (value & kBlocking) != 0;
    if (!may_ask) return false;
    const bool blocks = driver_.is_blocking(stream);
    known = handle | (blocks ? kBlocking : 0);
    return blocks;
  }

  Driver& driver_;
  std::array<std::atomic<std::uint64_t>, 1024> slots_{};
};

struct TracerOptions {
  std::filesystem::path file;        ///< of this process
  std::vector<std::string> metrics;  ///< CUPTI's names of the counters to read
  CountingRules counting;
  /// A GPU is sampled after this time, if it can be. Before, and otherwise, its launches are counted one by one. Empty = never sampled.
  std::optional<std::chrono::milliseconds> samples_after{};
  CountingTimes times;
  std::string why_not_counted{};    ///< why nothing may be, whatever the rules say; otherwise empty
  bool regions = false;             ///< whether launches in different regions are different kernels
  std::string only{};               ///< only launches in this region get counters; empty = all do
  std::filesystem::path windows{};  ///< file for sampling windows; empty = not kept
  std::function<void()> sampling_begins = [] {};  ///< called once CUPTI is ready to sample or count
};

/// Follows a process's launches, has some of them counted, and writes the process's file. Errors are printed once on standard error and
/// never reach the program.
class Tracer : public ProgramListener {
 public:
  /// @param say prints a line
  Tracer(TracerOptions options, Driver& driver, std::function<void(const std::string&)> say);

  /// Whether launches must be reported as they are made, not only the kernels that have run.
  bool counts() const {
    return options_.counting.counted > 0 && options_.why_not_counted.empty();
  }
  /// No records will come: launches are known only from their calls.
  void do_without_records() {
    has_records_ = false;
  }

  /// Call it every fraction of a second: it reads counted launches and writes changes.
  void poll();
  /// Ends windows and counting. Waits at most 2 s for windows and another 2 s for each counted context. Launches are still followed.
  void stop_sampling();
  /// The last call, when the process ends. Waits for counted kernels, with a deadline.
  /// @param last_records asks CUPTI for them, after counting has ended
  void finish(const std::function<void()>& last_records);
  /// Does nothing from now on, as in a forked child process.
  void abandon() {
    abandoned_ = true;
  }

  void launch_begins(const LaunchCall& call) override;
  void launch_ends(void* handle, std::uint32_t correlation, const std::uint64_t* state,
                   bool launched) override;
  void memory_call_begins(void* context, std::uint32_t correlation) override;
  void capture_begins(void* stream) override;
  void capture_has_begun(void* stream, bool capturing) override;
  void capture_has_ended(void* stream) override;
  void graph_gets_conditional() override;
  void graph_instantiated(void* exec, void* graph) override;
  void graph_destroyed(void* exec) override;
  void graph_kernel_changed(void* exec, void* node, const LaunchCall& kernel) override;
  void graph_in_graph_changed(void* exec, void* node, void* graph) override;
  void graph_node_enabled(void* exec, void* node, bool enabled) override;
  void stream_created(void* context, void* stream) override;
  void stream_destroyed(void* context, void* stream) override;
  void context_destroyed(void* context) override;
  void profiler_started() override;
  void kernel_ran(const KernelRecord& record) override;
  void records_lost(std::size_t count) override;

 private:
  /// One context of the program.
  struct Context {
    void* handle = nullptr;
    UsedGpu* gpu = nullptr;                   ///< none if the driver does not say
    std::unique_ptr<ContextCounter> counter;  ///< none if another context of the GPU is counted
    /// Correlation of the latest launch that should get a record; 0 before one.
    std::atomic<std::uint32_t> latest{0};
  };
  /// The kernel or graph of a call; both null if not known.
  struct Launched {
    TracedKernel* kernel = nullptr;
    TracedGraph* graph = nullptr;
  };
  /// An executable graph, its kernels as launch calls.
  struct Graph {
    std::mutex mutex;
    std::vector<GraphNode> nodes;                ///< in order
    std::map<std::uint32_t, Launched> launched;  ///< by region; cleared when a node changes
  };
  struct Begun;
  /// Why nothing is counted on a GPU any more.
  struct CountingEnd {
    CountersStatus status;
    std::string why;
  };

  Context* find_context(void* handle) const;
  Context& context_of(void* handle);
  Context& make_context(void* handle);
  std::vector<std::shared_ptr<Context>> counted_contexts() const;

  bool release_counters(const UsedGpu& gpu);
  void reclaim_counters(const UsedGpu& gpu);
  void keep_records(const UsedGpu& gpu, bool kept);
  bool resume_records(void* handle);
  void keep_records_if_needed();
  void sampling_begins(const UsedGpu& gpu);
  Launched launched_by(const LaunchCall& call, const Context& context);
  TracedKernel* kernel_of(const LaunchCall& call, const Context& context);
  Launched launched_by(Graph& graph, const LaunchCall& call, const Context& context);
  std::shared_ptr<Graph> find_graph(void* exec) const;
  template <typename Change>
  void change_graph(void* exec, Change change);
  Launched find_launched(const std::vector<GraphNode>& nodes, const LaunchCall& call, const Context& context,
                         std::string_view& why_not);
  void name_region(const Launched& launched);
  void note(const LaunchCall& call, const Context& context, const Launched& launched);
  bool count_if_due(const LaunchCall& call, Context& context, const Launched& launched);
  bool begin_to_count(const LaunchCall& call, Context& context, TracedKernel& kernel);
  void end_counted(const Begun& begun, std::uint32_t correlation, Context& context, bool launched);
  bool check_records(const Context& context);
  void add_readings(std::span<const std::optional<std::uint32_t>> kernels, const CounterReadings& readings);
  void counting_ended(int device, CountersStatus status, const std::string& why);

  bool write();
  void append_process(std::string& file, bool all);
  void say_what_has_no_record();
  void say_why_nothing_was_counted();
  void say_once(const std::string& line);
  /// Counting was requested and is impossible.
  bool may_not_count() const {
    return options_.counting.counted > 0 && !options_.why_not_counted.empty();
  }
  bool is_over() const {
    return abandoned_ || finished_;
  }
  template <typename Step>
  bool attempt(Step step, std::string_view what = "something of the program was not looked at: ",
               std::string_view then = "");

  const TracerOptions options_;
  Driver& driver_;
  const std::function<void(const std::string&)> say_;
  std::atomic<bool> has_records_{true};
  std::mutex has_records_mutex_;                   ///< no context's records resume while all end
  std::atomic<bool> records_go_elsewhere_{false};  ///< they were requested, and none came since
  std::mutex keeps_records_mutex_;
  bool keeps_records_ = true;  ///< of any context
  std::atomic<bool> abandoned_{false};
  std::atomic<bool> finished_{false};

  CountingPlan plan_;
  LaunchTable table_;
  Captures captures_;
  StreamNumbers streams_;

  mutable std::shared_mutex contexts_mutex_;
  std::map<void*, std::shared_ptr<Context>> contexts_;
  std::multimap<void*, std::shared_ptr<Context>> gone_contexts_;  ///< kept for threads that still use them
  mutable std::atomic<Context*> latest_context_{nullptr};         ///< one of contexts_
  std::map<int, void*> counted_of_device_;                        ///< the context whose launches are counted

  mutable std::shared_mutex graphs_mutex_;
  std::unordered_map<void*, std::shared_ptr<Graph>> graphs_;  ///< executable ones

  std::mutex words_mutex_;
  std::map<int, CountingEnd> counting_ends_;  ///< by device
  std::set<std::string> said_;

  std::mutex write_mutex_;
  EntryFile file_;
  std::optional<bool> has_records_written_;
  std::set<int> devices_written_;
  std::set<int> ends_written_;
  std::map<int, std::int64_t> windows_written_;  ///< by device

  GpuSamplers gpus_;  ///< last: its threads use all others
};

}  // namespace occbench
