#pragma once

#include <cstdint>

namespace occbench {

// Functions that give the same bits on every machine: IEEE additions, multiplications, divisions and square
// roots only, because the C library's log and exp differ in the last place from one version to the next. (The
// module is compiled without contraction to fused multiply-adds for the same reason.)

/// Natural logarithm of a normal number above 0, within 2 units in the last place of the true value or 1e-16.
double portable_log(double x);

/// e^x for |x| <= 700, within a relative error of 1e-15 for |x| <= 40.
double portable_exp(double x);

/// The `draw`-th random number of a stream, all 64 bits of it evenly distributed; no state.
std::uint64_t random_bits(std::uint64_t stream, std::uint64_t draw);

/// `bits` as a number in (0, 1): 2^52 evenly spaced values, never 0 or 1.
double unit_interval(std::uint64_t bits);

/// A normal deviate of mean 0 and variance 1: the `draw`-th of a stream.
double random_normal(std::uint64_t stream, std::uint64_t draw);

}  // namespace occbench
