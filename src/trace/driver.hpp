#pragma once

#include <memory>
#include <string>
#include <vector>

#include "entries/entries.hpp"
#include "measure/program_events.hpp"
#include "trace/context_counter.hpp"
#include "trace/sampler.hpp"

namespace occbench {

/// A node of a graph.
struct GraphNode {
  enum class Kind { kernel, empty, other };
  Kind kind = Kind::other;
  void* handle = nullptr;
  /// A kernel's launch as if the program made it, without a stream. The name is valid as long as the kernel's code.
  LaunchCall launch{};
  Begins begins = Begins::after_end;
  /// The outermost graph's child-graph node that contains it; null for the graph's own.
  void* inside = nullptr;
  bool is_disabled = false;
};

/// The library's calls of the CUDA driver that the program has loaded. All but make_context() may be called from any thread and do not
/// throw.
class Driver {
 public:
  virtual ~Driver() = default;

  /// Number of a context's GPU; -1 if the driver does not say.
  virtual int device_of(void* context) = 0;
  /// Of a context, 0 if CUPTI does not say.
  virtual std::uint32_t number_in_records(void* context) = 0;
  virtual DeviceFacts describe(int device) = 0;
  /// The driver's facts about a launch's function; the rest has defaults.
  virtual KernelFacts facts_of(const LaunchCall& call) = 0;
  /// Whether the module of a launch's function has CUDA's device runtime.
  virtual bool may_launch_kernels(const LaunchCall& call) = 0;
  /// Each node after those it waits for.
  virtual std::vector<GraphNode> nodes_of(void* graph) = 0;
  /// Of the kernel that a node launches, valid as long as its code; empty if the driver does not say.
  virtual const char* name_of(void* launched) = 0;

  /// Hands over CUPTI's records of kernels that have ended.
  virtual void flush_records() = 0;
  /// Whether CUPTI records the kernels of a context from now on; without a context, of any. Recording delays the start of a kernel's
  /// blocks: kernels of short blocks are active 5 % longer (H100, CUDA 13.0). @returns false if CUPTI refuses
  virtual bool keep_records(void* context, bool kept) = 0;

  virtual std::unique_ptr<SampledGpu> make_sampled_gpu(int device) = 0;
  /// On the samples' clock.
  virtual std::uint64_t time_ns() = 0;

  /// Whether a stream of the program and the legacy default stream wait for each other.
  virtual bool is_blocking(void* stream) = 0;
  virtual void stream_created(void* context, void* stream) = 0;
  virtual void stream_destroyed(void* context, void* stream) = 0;

  /// For counting launches of a context. @param metrics CUPTI's names
  virtual std::unique_ptr<CountedContext> make_context(void* context,
                                                       const std::vector<std::string>& metrics) = 0;
};

/// The driver of this process. @throws std::runtime_error if it lacks a function
std::unique_ptr<Driver> loaded_driver();

}  // namespace occbench
