#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "measure/program_events.hpp"
#include "record/program.hpp"
#include "trace/launch_table.hpp"

namespace occbench {

struct SamplingRules {
  int counted = 3;     ///< launches of each kernel and configuration, after its first
  bool paced = false;  ///< all but the first of these only while counting takes a small share of the time
  std::optional<std::int64_t>
      after;  ///< launches before any is counted; empty = until the program repeats itself
  std::function<bool(std::string_view)> wanted;  ///< by mangled name; empty = all
};

/// What may be counted when a launch is looked at.
enum class Countable {
  none,   ///< a stream captures, and the launch may be captured
  first,  ///< one whose kernel and configuration has not been counted
  any,
};

/// What a launch is to Sampling.
enum class Look {
  pass,
  first,  ///< of a kernel and configuration that is not described yet, and not captured: describe() is to follow
  count,  ///< to be counted
};

/// Which launches of a process are counted. Counting one takes a millisecond or more: a program that times
/// its kernels to choose among them (XLA's, cuDNN's and Triton's tuners) must have chosen before, which it is
/// taken to have done once it launches nothing new. Thread-safe.
class Sampling {
 public:
  explicit Sampling(SamplingRules rules) : rules_(std::move(rules)) {}

  /// Says of each launch whether it is to be counted.
  Look look(const LaunchCall& call, Countable countable = Countable::any);

  /// What a launch asks for, for looked_at().
  void describe(const LaunchCall& call, int device, ProgramKernel kernel);

  /// The driver did not take a launch.
  void refused(const LaunchCall& call);

  /// A launch that look() said was to be counted was not.
  void failed(const LaunchCall& call);

  /// The program says that it begins what matters.
  void begin() {
    begun_.store(true);
  }

  std::int64_t launches() const;
  /// All that was described, with the launches that the driver took and no capture.
  std::vector<LookedAt> looked_at() const;
  std::size_t configurations() const;

 private:
  struct Key {
    const void* context;
    const void* function;
    EventExtent grid, block, cluster;
    std::uint32_t dynamic_shared_bytes;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Seen {
    std::string name;  ///< a handle is used again for another kernel when its module is unloaded
    std::int64_t launches = 0;
    int counted = 0;
    int tried = 0;
    bool wanted = false;
    LookedAt looked_at{};
  };

  static Key key_of(const LaunchCall& call);
  bool warmed_up() const;

  const SamplingRules rules_;
  std::atomic<bool> begun_{false};
  mutable std::mutex mutex_;
  std::unordered_map<Key, Seen, Hash> seen_;
  std::vector<LookedAt> gone_;  ///< whose handles other kernels have now
  std::int64_t launches_ = 0;
  std::int64_t since_new_ = 0;  ///< launches since one of a new configuration
};

/// Kernels that wait for other GPUs: counting one of them could keep it from ever ending.
bool communicates(std::string_view mangled_name);

/// Kinds of the nodes of a graph, as far as counting it needs to know.
enum class GraphNode { kernel, empty, other };

/// Whether a launch of a graph is a launch of one kernel and nothing else that an SM does.
bool is_one_kernel(std::span<const GraphNode> nodes);

}  // namespace occbench
