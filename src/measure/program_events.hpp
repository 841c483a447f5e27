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

// CUPTI's events of a program's launches, as plain values, for a library inside the program. CUPTI's own
// headers stay in the .cpp file.

/// The key by which a launch finds its kernel.
struct LaunchKey {
  void* context = nullptr;   ///< CUcontext
  void* function = nullptr;  ///< CUfunction or CUkernel; for a graph its CUgraphExec
  EntryExtent grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t region = 0;  ///< as in KernelFacts; set by the receiver of the call
  std::uint32_t unused = 0;  ///< padding, so that all bytes have a value
  bool operator==(const LaunchKey&) const = default;
};

/// When a launch may begin.
enum class Begins : std::uint8_t {
  after_end,  ///< after the previous launch in its stream or graph has ended
  early,      ///< perhaps before that, by programmatic dependent launch
  beside,     ///< at any time, possibly concurrently with others
};

/// A call of the driver that launches a kernel or a graph.
struct LaunchCall : LaunchKey {
  void* stream = nullptr;  ///< CUstream
  std::uint32_t correlation = 0;
  bool of_graph = false;
  const char* name = "";  ///< mangled; empty for graphs. Valid during the call
  Begins begins = Begins::after_end;
  /// Storage for a value from the call's begin to its end, initially 0.
  std::uint64_t* state = nullptr;
};

/// A kernel that has run, from an activity record.
struct KernelRecord {
  std::string_view name;  ///< mangled. Valid during the call
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;  ///< of the call that launched it
  bool of_graph = false;
  std::uint64_t graph_node = 0;  ///< 0 if no graph launched it
  KernelFacts facts;             ///< without the numbers of its name and region
};

/// Receives a program's launches. Called on the program's threads and on one of CUPTI's, concurrently; must
/// not throw.
class ProgramListener {
 public:
  virtual ~ProgramListener() = default;

  virtual void launch_begins(const LaunchCall& call) = 0;
  /// @param state    the call's, as launch_begins() left it
  /// @param launched whether the driver accepted the launch
  virtual void launch_ends(void* context, std::uint32_t correlation, const std::uint64_t* state,
                           bool launched) = 0;
  /// A call that fills or copies the device's memory begins. The driver may launch its own kernel for it.
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
  // Changes of an executable graph's node, identified by the node of the original graph.

  /// @param kernel its new launch, without context, cluster and name
  virtual void graph_kernel_changed(void* exec, void* node, const LaunchCall& kernel) = 0;
  /// @param graph the new graph of this child graph node; valid during the call
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

/// Makes CUPTI deliver its records of kernels that have ended.
void flush_kernel_records();

/// Sets whether CUPTI records the kernels of a context (CUcontext) from now on, if it records kernels;
/// without a context, whether it records any. Does not wait for running kernels. @returns false if CUPTI
/// refuses
bool keep_kernel_records(void* context, bool kept);

/// The number of a context (CUcontext) in records; 0 if CUPTI does not give it.
std::uint32_t number_in_records(void* context);

/// CUPTI's subscription to a process's launches, and its records of the kernels that ran. One per process;
/// CUPTI may call it until the process ends.
class ProgramEvents {
 public:
  /// @param listener  must outlive the events
  /// @param callbacks whether to receive launch calls, not only kernels that have run
  /// @throws CountersUnavailable (busy) if the process has a subscriber already
  ProgramEvents(ProgramListener& listener, bool callbacks, CuptiInterceptor intercept = {});
  ~ProgramEvents();
  ProgramEvents(const ProgramEvents&) = delete;
  ProgramEvents& operator=(const ProgramEvents&) = delete;

  /// Empty if kernel_ran() will be called; otherwise the reason why not.
  const std::string& why_no_records() const {
    return why_no_records_;
  }

  /// Receives launch calls from now on, if it did not yet. Any thread may call it.
  void hear_launches();
  /// Also receives calls that fill or copy the device's memory, except those that CUPTI does not know.
  void hear_memory_calls();

  /// Delivers the records of kernels that have ended.
  /// @param all also from buffers that CUPTI still fills: at the end of a program
  void flush(bool all);

  /// Called by CUPTI, with a callback's domain, number and data, or an activity record.
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
