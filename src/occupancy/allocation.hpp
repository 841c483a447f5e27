#pragma once

#include <cstdint>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"

namespace occbench {

// Resources that an SM allocates for a block: shared by the calculation of occupancy and the rules that explain it.

// The units of the limits table are powers of two (asserted there).
template <typename Integer>
constexpr Integer rounded_up(Integer value, int unit) {
  return (value + (unit - 1)) & ~static_cast<Integer>(unit - 1);
}

/// Registers that an allocation is rounded up to: on 2.x a coarser unit for 21, 22, 29, 30, 37, 38, 45 and 46
/// per thread.
constexpr int register_unit(const Limits& limits, int registers_per_thread) {
  const bool coarse = registers_per_thread >= 21 && registers_per_thread <= 46 &&
                      (registers_per_thread % 8 == 5 || registers_per_thread % 8 == 6);
  return coarse ? limits.coarse_register_allocation_unit : limits.register_allocation_unit;
}

/// Registers of a warp or a block, rounding included.
struct RegisterDemand {
  int of_warp = 0;   ///< from 2.0 on
  int of_block = 0;  ///< what is allocated
  int checked = 0;   ///< the launch check compares it with the limit
};

inline RegisterDemand register_demand(const Limits& limits, int registers_per_thread, int warps_per_block) {
  const int of_warp = registers_per_thread * limits.threads_per_warp;
  if (limits.registers_by_block) {
    const int warps = rounded_up(warps_per_block, limits.warp_allocation_granularity);
    const int of_block = rounded_up(of_warp * warps, limits.register_allocation_unit);
    return {of_warp, of_block, of_block};
  }
  const int allocated = rounded_up(of_warp, register_unit(limits, registers_per_thread));
  return {allocated, allocated * warps_per_block,
          allocated * rounded_up(warps_per_block, limits.launch_check_granularity)};
}

/// Bytes of shared memory that a block takes, reserve and rounding included.
inline std::int64_t shared_demand(const Limits& limits, const Launch& launch, const Usage& usage) {
  return rounded_up(
      usage.static_shared_bytes + launch.dynamic_shared_bytes + limits.reserved_shared_bytes_per_block,
      limits.shared_allocation_unit);
}

/// The most that a block may take, counted the same way.
inline std::int64_t max_shared_demand(const Limits& limits) {
  return limits.max_shared_bytes_per_block + limits.reserved_shared_bytes_per_block;
}

}  // namespace occbench
