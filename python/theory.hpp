#pragma once

#include <cstdint>

// The C ABI of the Python package, called by ctypes: one file for every Python. It has what a call a launch would make
// slow; all else the package asks the command. It keeps no state. A text that it hands over is freed by occbench_free.
extern "C" {

void occbench_free(char* text);

/// The table of GPUs: a line each, with tabs between name, driver_name, compute_capability, sm_count, clock_mhz,
/// bandwidth_gb_s, memory_bus_bits and l2_kb (units: occupancy/gpus.hpp).
char* occbench_gpus();

/// What is asked of a launch and answered of it, in the order of the arrays' rows.
enum OccbenchAsked : std::int32_t {
  kOccbenchComputeCapability,  ///< 90, 121
  kOccbenchBlockThreads,
  kOccbenchRegistersPerThread,
  kOccbenchStaticSharedBytes,
  kOccbenchDynamicSharedBytes,
  kOccbenchCarveoutPct,  ///< -1 = the driver's default
  kOccbenchBarriers,
  kOccbenchClusterBlocks,
  kOccbenchAsked,
};
enum OccbenchAnswered : std::int32_t {
  kOccbenchBlocksPerSm,
  kOccbenchWarpsPerSm,
  kOccbenchLimiters,     ///< bit 1 << Limiter (occupancy/occupancy.hpp)
  kOccbenchBlockLimits,  ///< five rows in the order of Limiter; -1 = does not limit
  kOccbenchRegistersPerBlock = kOccbenchBlockLimits + 5,
  kOccbenchSharedBytesPerBlock,
  kOccbenchSharedBytesPerSm,
  kOccbenchAnswered,
};

/// Theoretical occupancy of `count` launches.
/// @param asked     kOccbenchAsked rows of `count`
/// @param answered  kOccbenchAnswered rows of `count`
/// @param theoretical_pct  a row of `count`
/// @returns nullptr, or what is wrong with the first launch that cannot be answered: "launch 3: ..." (counted from 0)
char* occbench_theory(std::int64_t count, const std::int64_t* asked, std::int64_t* answered,
                      double* theoretical_pct);
}
