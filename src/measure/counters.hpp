#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.hpp"

namespace occbench {

/// What became of the hardware counters of a case; the words of the column `counters_status`.
enum class CountersStatus { ok, denied, busy, unsupported, off, failed };

std::string_view to_string(CountersStatus status);

/// The hardware counters could not be read. The message has the remedy.
class CountersUnavailable : public std::runtime_error {
 public:
  CountersUnavailable(CountersStatus status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  CountersStatus status() const {
    return status_;
  }

 private:
  CountersStatus status_;
};

/// Readings by metric name: a value for each reading, in order. NaN or infinite values are left out.
using CounterReadings = std::map<std::string, std::vector<double>, std::less<>>;

/// Takes the place of every CUPTI call, for tests without a GPU: is given the call's name, returns its
/// CUptiResult.
using CuptiInterceptor = std::function<int(std::string_view call)>;

/// Reads hardware counters of launches through CUPTI's Range Profiler: one user range a launch, all launches
/// of a reading in one Start and Stop. The GPU is only observed between those two, so that launches outside
/// are undisturbed. One object a process and device; not thread-safe.
class Counters {
 public:
  /// @param readings launches that `read` makes in one session.
  /// @throws CountersUnavailable
  Counters(const Device& device, int readings, CuptiInterceptor intercept = {});
  ~Counters();
  Counters(Counters&&) noexcept;
  Counters& operator=(Counters&&) noexcept;

  /// Calls `launch` once for each reading and pass; it must queue the launch and wait until it has ended.
  /// Starting and stopping a session takes longer the more units of the chip `metrics` come from.
  /// @param metrics CUPTI metric names, all collected together; those that this GPU does not have are left
  /// out.
  /// @throws CountersUnavailable; whatever `launch` throws, after which the object is still usable.
  CounterReadings read(const std::vector<std::string>& metrics, const std::function<void()>& launch);

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace occbench
