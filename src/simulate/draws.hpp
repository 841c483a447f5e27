#pragma once

#include <cstddef>
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

/// Everything that a simulation leaves to chance, from one seed: the same on every machine. Each kind of draw
/// has a stream of its own, so that drawing more of one changes none of the others. Values are in (0, 1).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t seed() const {
    return seed_;
  }

  /// How late an SM starts.
  double sm_delay(int sm) const {
    return unit_interval(random_bits(~seed_, static_cast<std::uint64_t>(sm)));
  }
  /// How fast a clock is.
  double clock(int domain) const {
    return unit_interval(random_bits(seed_ + kClockStream, static_cast<std::uint64_t>(domain)));
  }
  /// Which of `count` equally likely delays the latest warp of a block has.
  std::size_t poll(std::int64_t block, std::size_t count) const {
    return random_bits(seed_ + kPollStream, static_cast<std::uint64_t>(block)) % count;
  }
  /// How long a warp's reads take; `warp` counts over the grid.
  double memory(std::int64_t warp) const {
    return unit_interval(random_bits(seed_ + kMemoryStream, static_cast<std::uint64_t>(warp)));
  }
  /// Whether the `number`-th group of oldest warps has three.
  double greedy(std::uint64_t number) const {
    return unit_interval(random_bits(seed_ + kGreedyStream, number));
  }

 private:
  static constexpr std::uint64_t kPollStream = 0x9e3779b97f4a7c15;
  static constexpr std::uint64_t kClockStream = 0x94d049bb133111eb;
  static constexpr std::uint64_t kMemoryStream = 0xd1b54a32d192ed03;
  static constexpr std::uint64_t kGreedyStream = 0x2545f4914f6cdd1d;

  std::uint64_t seed_;
};

}  // namespace occbench
