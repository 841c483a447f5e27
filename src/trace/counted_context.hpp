#pragma once

#include <cstddef>
#include <string>

#include "measure/range_profiler.hpp"

namespace occbench {

/// Ranges of a session. CUPTI takes 6 ms to start one and 8 to end it, 5 and 7 with 32 ranges, but a quarter of
/// a second to start one of 128 (H100, CUDA 13.0).
inline constexpr std::size_t kRangesOfSession = 64;

/// A context whose launches are counted, one at a time in a range of its own, many in one session. All but
/// reached() may be called only while nothing runs in the context, for they wait until it has ended. Any
/// thread may call, one at a time. Everything throws CountersUnavailable.
class CountedContext {
 public:
  virtual ~CountedContext() = default;

  /// Takes the counters and makes them ready, so that start() is quick; some 400 ms.
  virtual void set_up() = 0;
  /// Gives them back. Never throws.
  virtual void tear_down() noexcept = 0;

  /// Notes what the context has to do by now, and says later whether that is done.
  virtual void mark() = 0;
  virtual bool reached() = 0;

  virtual void start() = 0;
  virtual void push(const std::string& range) = 0;
  virtual void pop() = 0;
  /// Ends a session. @returns the readings of its ranges, in their order
  virtual CounterReadings stop(std::size_t ranges) = 0;
};

}  // namespace occbench
