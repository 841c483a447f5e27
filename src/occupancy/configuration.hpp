#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "occupancy/occupancy.hpp"

namespace occbench {

/// Everything that decides an SM's theoretical occupancy.
struct Configuration {
  Launch launch;
  Usage usage;
};

inline Occupancy theoretical_occupancy(const Limits& limits, const Configuration& configuration) {
  return theoretical_occupancy(limits, configuration.launch, configuration.usage);
}

/// The settings that change it.
enum class Axis : unsigned char {
  block_threads,
  registers_per_thread,
  shared_bytes_per_block,  ///< static and dynamic together
  carveout_pct,            ///< kDefaultCarveout if none is asked for
  barriers,
};

inline constexpr Axis kAllAxes[] = {Axis::block_threads, Axis::registers_per_thread,
                                    Axis::shared_bytes_per_block, Axis::carveout_pct, Axis::barriers};

/// The driver's default on the carveout axis (CUDA's cudaSharedmemCarveoutDefault).
inline constexpr std::int64_t kDefaultCarveout = -1;

/// "block_threads" and so on
std::string_view to_string(Axis axis);

std::int64_t value_on(Axis axis, const Configuration& configuration);

/// The configuration with another value on one axis. Less shared memory is first taken from the dynamic part.
Configuration with(Axis axis, std::int64_t value, Configuration configuration);

/// Ascending values of an axis that a launch can ask for, close enough that occupancy is constant between
/// neighbours: shared memory only just below and just above every allocation boundary.
std::vector<std::int64_t> values_of(Axis axis, const Limits& limits);

/// A point of one of the classic curves.
struct CurvePoint {
  std::int64_t value;  ///< on the curve's axis
  bool current;        ///< the configuration's own value
  int blocks_per_sm;
  int warps_per_sm;
  double theoretical_pct;
};

/// The axes of an occupancy calculator's three classic curves.
inline constexpr Axis kCurveAxes[] = {Axis::block_threads, Axis::registers_per_thread,
                                      Axis::shared_bytes_per_block};

/// Occupancy along one of kCurveAxes with all else as in the configuration: block sizes of whole warps, every
/// register count, shared memory in steps of the allocation unit. The largest value of each step of the curve
/// is among them.
std::vector<CurvePoint> curve(const Limits& limits, const Configuration& configuration, Axis axis);

}  // namespace occbench
