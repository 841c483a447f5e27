#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "entries/entries.hpp"
#include "measure/cupti.hpp"

namespace occbench {

// What CUPTI tells a library inside a program of the program's launches, as values: CUPTI's own headers stay
// in the .cpp file.

/// By what a launch finds its kernel.
struct LaunchKey {
  void* context = nullptr;   ///< CUcontext
  void* function = nullptr;  ///< CUfunction or CUkernel; of a graph its CUgraphExec
  EntryExtent grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t region = 0;  ///< as KernelFacts has it; whoever hears of the call sets it
  std::uint32_t unused = 0;  ///< so that all of its bytes have a value
  bool operator==(const LaunchKey&) const = default;
};

/// When a launch may begin.
enum class Begins : std::uint8_t {
  after_end,  ///< when the one before it in its stream or graph has ended
  early,      ///< perhaps before that: it depends on that one programmatically
  beside,     ///< at any time: others run beside it, perhaps
};

/// A call of the driver that launches a kernel or a graph.
struct LaunchCall : LaunchKey {
  void* stream = nullptr;  ///< CUstream
  std::uint32_t correlation = 0;
  bool of_graph = false;
  const char* name = "";  ///< mangled; empty for graphs. Valid during the call
  Begins begins = Begins::after_end;
  /// A place for a value from the call's begin to its end, 0 at first.
  std::uint64_t* state = nullptr;
};

/// A kernel that has run, as an activity record tells.
struct KernelRecord {
  std::string_view name;  ///< mangled. Valid during the call
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;  ///< of the call that launched it
  bool of_graph = false;
  std::uint64_t graph_node = 0;  ///< 0 where no graph launched it
  KernelFacts facts;             ///< all but the numbers of its name and region
};

/// Hears of a program's launches. Called on the program's threads and on one of CUPTI's, several at once, and
/// must not throw.
class ProgramListener {
 public:
  virtual ~ProgramListener() = default;

  virtual void launch_begins(const LaunchCall& call) = 0;
  /// @param state    the call's, as it was left when the call began
  /// @param launched whether the driver took the launch
  virtual void launch_ends(void* context, std::uint32_t correlation, const std::uint64_t* state,
                           bool launched) = 0;
  /// A call that fills or copies the device's memory begins. The driver may launch a kernel of its own for it.
  /// @param context CUcontext
  virtual void memory_call_begins(void* context, std::uint32_t correlation) = 0;

  virtual void capture_begins(void* stream) = 0;
  /// @param capturing whether the stream captures now
  virtual void capture_has_begun(void* stream, bool capturing) = 0;
  virtual void capture_has_ended(void* stream) = 0;

  /// A graph is about to get a conditional node, whose kernels the device launches.
  virtual void graph_gets_conditional() = 0;
  virtual void graph_instantiated(void* exec, void* graph) = 0;
  virtual void graph_destroyed(void* exec) = 0;
  // Changes of an executable graph's node, which is named as in the graph that it was made of.

  /// @param kernel what it launches now, without context, cluster and name
  virtual void graph_kernel_changed(void* exec, void* node, const LaunchCall& kernel) = 0;
  /// @param graph what the node, a graph in the graph, is now; valid during the call
  virtual void graph_in_graph_changed(void* exec, void* node, void* graph) = 0;
  virtual void graph_node_enabled(void* exec, void* node, bool enabled) = 0;

  virtual void stream_created(void* context, void* stream) = 0;
  virtual void stream_destroyed(void* context, void* stream) = 0;
  virtual void context_destroyed(void* context) = 0;

  /// cudaProfilerStart or cuProfilerStart.
  virtual void profiler_started() = 0;

  virtual void kernel_ran(const KernelRecord& record) = 0;
  virtual void records_lost(std::size_t count) = 0;
};

/// Hands over CUPTI's records of kernels that have ended.
void flush_kernel_records();

/// Whether CUPTI records the kernels of a context (CUcontext) from now on, where it records kernels; without a context, whether it
/// records any. It does not wait for kernels that run. @returns false if CUPTI does not do it
bool keep_kernel_records(void* context, bool kept);

/// The number that records have of a context (CUcontext); 0 if CUPTI does not say.
std::uint32_t number_in_records(void* context);

/// CUPTI's subscription to a process's launches, and its records of the kernels that ran. One a process;
/// CUPTI may call it until the process ends.
class ProgramEvents {
 public:
  /// @param listener  for as long as the events live
  /// @param callbacks whether to hear of launches as they are made, not only of kernels that have run
  /// @throws CountersUnavailable (busy) if the process has a subscriber already
  ProgramEvents(ProgramListener& listener, bool callbacks, CuptiInterceptor intercept = {});
  ~ProgramEvents();
  ProgramEvents(const ProgramEvents&) = delete;
  ProgramEvents& operator=(const ProgramEvents&) = delete;

  /// Empty if kernel_ran() will be called; otherwise why it will not.
  const std::string& why_no_records() const {
    return why_no_records_;
  }

  /// Hears of launches as they are made from now on, if it did not yet. Any thread may call it.
  void hear_launches();
  /// And of calls that fill or copy the device's memory; not of those that CUPTI does not know.
  void hear_memory_calls();

  /// Hands over the records of kernels that have ended.
  /// @param all also those in buffers that CUPTI still writes to: at the end of a program
  void flush(bool all);

  /// What CUPTI calls: a callback's domain, number and data, and an activity record.
  void deliver(int domain, std::uint32_t id, const void* data);
  void deliver_record(const void* activity);
  void deliver_dropped(std::size_t count);

 private:
  template <typename Function, typename... Arguments>
  int try_call(const Function& function, Arguments... arguments) const;
  void subscribe();
  void record_kernels();
  int hear(int domain, std::uint32_t id);

  ProgramListener* listener_;
  CuptiInterceptor intercept_;
  void* subscriber_ = nullptr;  ///< CUpti_SubscriberHandle
  std::once_flag hears_launches_;
  std::string why_no_records_;
};

}  // namespace occbench
