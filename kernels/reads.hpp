#pragma once

#include "gpu/kernel.hpp"
#include "kernels/reads_arguments.hpp"

namespace occbench {

/// Reads of device memory: each thread has N loads of B bytes in flight before it needs the first. Every
/// launch reads a part of its buffer that L2 cannot hold from the previous launch.
///
/// Variants: `bytes_B_in_flight_N`, B of 4, 8 and 16, N of 1, 2, 4 and 8. The case's work decides the bytes.
/// `copy` is the reference: the runtime's own copy from device to device, which reads `extent` bytes and
/// writes as many. Its throughput counts both.
extern const Kernel kReads;

inline constexpr int kReadBytes[] = {4, 8, 16};
inline constexpr int kReadsInFlight[] = {1, 2, 4, 8};

/// "bytes_16_in_flight_4". @throws std::out_of_range if there is none.
std::string_view reads_variant(int bytes, int in_flight);

/// Each warp waits `waits` times for all its loads at once. A wait for twice as many loads is longer, because
/// it ends with the last of them (predict/kernel_costs.hpp).
Work reads_work(int bytes, int in_flight, std::int64_t waits);

/// Most waits per warp with which a launch reads no more than `l2_times` the size of L2; at least one.
std::int64_t most_waits(const Device& device, const Launch& launch, int bytes, int in_flight, int l2_times);

/// As the kernel's own, for any number of loads in flight: for a variant compiled at run time.
std::unique_ptr<Prepared> prepare_reads(int bytes, int in_flight, const Case& chosen, const Variant& variant,
                                        const Device& device);

}  // namespace occbench
