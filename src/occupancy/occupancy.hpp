#pragma once

#include <limits>
#include <string>
#include <vector>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"

namespace occbench {

/// A resource of which one more block would need more than the SM has left.
enum class Limiter { warps, blocks, registers, shared_memory, barriers };

std::string_view to_string(Limiter limiter);

/// A resource that does not limit a configuration allows this many blocks.
inline constexpr int kUnlimited = std::numeric_limits<int>::max();

/// Blocks that each resource alone would let an SM hold.
struct BlockLimits {
  int warps = 0;
  int blocks = 0;
  int registers = kUnlimited;
  int shared_memory = kUnlimited;
  int barriers = kUnlimited;

  bool operator==(const BlockLimits&) const = default;
};

/// What an occupancy calculator says of one launch on one SM.
struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_block = 0;
  BlockLimits block_limits;
  std::vector<Limiter> limiters;  ///< every resource whose limit is blocks_per_sm, in the order of Limiter
  double theoretical_pct = 0;     ///< resident warps over the SM's maximum, percent
  std::string cannot_launch;      ///< why no block fits, empty where one does

  int warps_per_sm() const {
    return blocks_per_sm * warps_per_block;
  }
};

/// Theoretical occupancy: resident warps that the launch's resources allow.
/// A configuration that no SM can hold is an answer (0 blocks, and why), not an error.
/// @throws InputError where an input is outside what any launch can ask for: block_threads below 1 or above
/// the compute capability's maximum, registers above its maximum, negative sizes.
Occupancy theoretical_occupancy(const Limits& limits, const Launch& launch, const Usage& usage);

}  // namespace occbench
