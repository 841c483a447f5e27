#pragma once

#include "gpu/kernel.hpp"

namespace occbench {

/// The same arithmetic with more values kept alive in registers: a chain of fused multiply-adds that uses its
/// values in turn (multiply_add.hpp). Only the number of values decides the registers per thread.
///
/// Variants: `throughput_N` and `latency_N` with N of 31, 32, 33, 40, 41, 64 and 66 registers: as many values
/// as fit, and a limit (__maxnreg__) so that the compiler does not use more if more cost nothing. None
/// spills.
///   throughput  multiply-adds only: four warps on a scheduler keep it busy
///   latency     each multiply-add waits for an addend from L2: warps mostly wait, and more of them get more
///   done
extern const Kernel kLiveRegisters;

inline constexpr int kLiveRegisterCounts[] = {31, 32, 33, 40, 41, 64, 66};

enum class LiveRegistersBody { throughput, latency };

/// "throughput_33". @throws std::out_of_range if there is none with so many registers.
std::string_view live_registers_variant(LiveRegistersBody body, int registers);

/// Work of each warp in `rounds` rounds of 128 multiply-adds.
Work live_registers_work(LiveRegistersBody body, int registers, int rounds);

}  // namespace occbench
