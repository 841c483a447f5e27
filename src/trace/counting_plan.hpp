#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "trace/launch_table.hpp"

namespace occbench {

struct CountingRules {
  int counted = 3;     ///< launches of each kernel and configuration, after its first
  bool paced = false;  ///< only while counting takes a small share of the time
  std::optional<std::int64_t>
      after;  ///< launches before any is counted; empty = until the program repeats itself
  std::function<bool(std::string_view)> wanted;  ///< by mangled name; empty = all
};

/// Which launches may be counted now, fewest first.
enum class Countable {
  none,  ///< a stream captures, and the launch may be captured
  beyond_budget,
  first,  ///< only kernels and configurations not counted yet
  any,
};

/// Which launches of a process are counted. Counting one takes a millisecond or more. A program that times its kernels to choose among them
/// (XLA's, cuDNN's and Triton's tuners) must have chosen before. It is assumed to have once it launches nothing new. Thread-safe, and
/// nothing waits.
class CountingPlan {
 public:
  explicit CountingPlan(CountingRules rules) : rules_(std::move(rules)) {}

  /// Why a kernel of this mangled name may not be counted; unknown if it may.
  Uncounted why_not(std::string_view name) const;

  /// A call launches a new kernel and configuration. @param kernels in the table by now
  void is_new(std::size_t kernels);

  /// Says for each launch whether it is to be counted, and reserves its place if so.
  bool take(TracedKernel& kernel, Countable countable);
  /// A launch that take() reserved was not counted. Retries are limited.
  void give_back(TracedKernel& kernel);
  /// As give_back(), for a launch delayed in vain: it is tried less often.
  void give_back_disturbed(TracedKernel& kernel);
  std::int64_t disturbed() const {
    return disturbed_;
  }

  /// The program started the profiler.
  void begin() {
    begun_ = true;
  }

  std::int64_t launches() const {
    return launches_;
  }

 private:
  bool warmed_up() const;

  const CountingRules rules_;
  std::atomic<bool> begun_{false};
  std::atomic<bool> several_{false};  ///< kernels and configurations
  std::atomic<std::int64_t> launches_{0};
  std::atomic<std::int64_t> disturbed_{0};
  std::atomic<std::int64_t> new_at_{0};  ///< launches at the latest new configuration
};

}  // namespace occbench
