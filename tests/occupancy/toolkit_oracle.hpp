#pragma once

#include <climits>
#include <cuda_occupancy.h>

#include "occupancy/configuration.hpp"

namespace occbench {

/// The toolkit's calculator on the same question. The device's figures come from the limits table: what the
/// header keeps to itself (units, sub-partitions, block slots, carveout sizes, barriers) is what a comparison
/// shows.
inline cudaOccDeviceProp oracle_device(const Limits& limits) {
  cudaOccDeviceProp device;
  device.computeMajor = limits.compute_capability.major;
  device.computeMinor = limits.compute_capability.minor;
  device.maxThreadsPerBlock = limits.max_threads_per_block;
  device.maxThreadsPerMultiprocessor = limits.max_threads_per_sm();
  device.regsPerBlock = limits.max_registers_per_block;
  device.regsPerMultiprocessor = limits.registers_per_sm;
  device.warpSize = limits.threads_per_warp;
  device.sharedMemPerBlock = static_cast<std::size_t>(limits.max_shared_bytes_per_block_default);
  device.sharedMemPerMultiprocessor = static_cast<std::size_t>(limits.shared_bytes_per_sm);
  device.numSms = 1;
  device.sharedMemPerBlockOptin = static_cast<std::size_t>(limits.max_shared_bytes_per_block);
  device.reservedSharedMemPerBlock = static_cast<std::size_t>(limits.reserved_shared_bytes_per_block);
  return device;
}

/// A kernel that has opted in to whatever it asks for. Partitioned global caching (some of 5.x and 6.x) is
/// off, as in what the header makes of the runtime's cudaFuncAttributes.
inline cudaOccFuncAttributes oracle_kernel(const Usage& usage) {
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = INT_MAX;
  kernel.numRegs = usage.registers_per_thread;
  kernel.sharedSizeBytes = static_cast<std::size_t>(usage.static_shared_bytes);
  kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = INT_MAX;
  kernel.numBlockBarriers = usage.barriers;
  return kernel;
}

/// From 7.0 on the carveout; before, the cache preferences that the ends and the middle of it stand for.
inline cudaOccDeviceState oracle_state(const Limits& limits, const Launch& launch) {
  cudaOccDeviceState state;
  if (!launch.carveout_pct) return state;
  if (limits.compute_capability.major >= 7) {
    state.carveoutConfig = *launch.carveout_pct;
  } else {
    state.cacheConfig = *launch.carveout_pct == 0    ? CACHE_PREFER_L1
                        : *launch.carveout_pct == 50 ? CACHE_PREFER_EQUAL
                                                     : CACHE_PREFER_SHARED;
  }
  return state;
}

}  // namespace occbench
