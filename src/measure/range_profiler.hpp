#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "measure/cupti.hpp"

struct CUctx_st;
struct CUpti_RangeProfiler_Object;

namespace occbench {

/// Readings by metric name: one value per reading, in order, so the same index is the same launch in all
/// metrics. NaN or infinite if a launch gave no value.
using CounterReadings = std::map<std::string, std::vector<double>, std::less<>>;

/// Which counters of its GPU this process may read, in a context of that GPU.
/// @throws CountersUnavailable; this call detects missing permission best
std::vector<std::uint8_t> counter_availability(const Cupti& cupti, CUctx_st* context);

/// CUPTI's data for collecting one list of metrics on one kind of chip.
struct MetricSet {
  /// @param wanted names of metrics, all collected together; metrics that the chip lacks are left out
  /// @param availability from counter_availability(); must outlive the set
  /// @throws CountersUnavailable, also if the chip has none of the metrics
  MetricSet(const Cupti& cupti, const std::string& chip, const std::vector<std::uint8_t>& availability,
            const std::vector<std::string>& wanted);

  std::vector<std::string> metrics;
  std::unique_ptr<MetricHost> host;
  std::vector<std::uint8_t> config;
};

/// CUPTI's Range Profiler in one context, for one list of metrics: user ranges, collected in sessions. It
/// keeps its list for its lifetime. All calls wait for the context's queued work. Not thread-safe; any thread
/// may call.
class RangeProfiler {
 public:
  /// @param set     must outlive the profiler
  /// @param ranges  most in a session. CUPTI starts sessions of up to 32 in 5 ms, of 128 in 250 ms (H100,
  /// CUDA 13.0)
  /// @throws CountersUnavailable
  RangeProfiler(const Cupti& cupti, CUctx_st* context, const MetricSet& set, std::size_t ranges);
  ~RangeProfiler();
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  /// Drops the data of earlier sessions. Call it before each session, not before each of its passes.
  /// @throws CountersUnavailable, as all members below
  void prepare();

  void start();
  /// @param name of the range, the same in all passes and unique in the session
  void push(const std::string& name);
  void pop();
  /// @returns whether all passes have now been submitted
  bool stop();
  /// Stops as far as possible after a failure.
  void try_stop() noexcept;

  /// Decodes the data of a session.
  void decode();
  /// The readings of the first `ranges` ranges of the session, in the order in which they were pushed.
  CounterReadings readings(std::size_t ranges) const;

 private:
  void disable() noexcept;

  const Cupti* cupti_;
  const MetricSet* set_;
  std::size_t ranges_;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<std::uint8_t> data_;  ///< counter data image
};

}  // namespace occbench
