#pragma once

#include <cstddef>
#include <cstdint>

namespace occbench {

// Functions that give the same bits on every machine. They use only IEEE additions, multiplications,
// divisions and square roots, because the C library's log and exp differ in the last place between versions.
// (The module is compiled without contraction to fused multiply-adds for the same reason.)

/// Natural logarithm of a normal number above 0, within 2 units in the last place of the true value or 1e-16.
double portable_log(double x);

/// e^x for |x| <= 700, within a relative error of 1e-15 for |x| <= 40.
double portable_exp(double x);

/// The `draw`-th random number of a stream, 64 uniformly distributed bits; no state.
std::uint64_t random_bits(std::uint64_t stream, std::uint64_t draw);

/// `bits` as a number in (0, 1): 2^52 evenly spaced values, never 0 or 1.
double unit_interval(std::uint64_t bits);

/// A normal deviate of mean 0 and variance 1: the `draw`-th of a stream.
double random_normal(std::uint64_t stream, std::uint64_t draw);

/// All random draws of a simulation, from one seed: the same on every machine. Each kind of draw has its own
/// stream, so more draws of one kind do not change the others. Values are in (0, 1).
class Draws {
 public:
  enum class Stream : std::uint64_t {
    poll = 0x9e3779b97f4a7c15,
    clock = 0x94d049bb133111eb,   ///< how fast a clock is, by its domain
    memory = 0xd1b54a32d192ed03,  ///< how long a warp's reads take, by its number in the grid
    greedy = 0x2545f4914f6cdd1d,  ///< whether a group of oldest warps has three
  };

  explicit Draws(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t seed() const {
    return seed_;
  }

  /// How late an SM starts.
  double sm_delay(int sm) const {
    return unit_interval(random_bits(~seed_, static_cast<std::uint64_t>(sm)));
  }
  /// A uniform draw.
  double unit(Stream stream, std::int64_t draw) const {
    return unit_interval(bits(stream, draw));
  }
  /// The delay of a block's latest warp, as one of `count` equally likely ones.
  std::size_t poll(std::int64_t block, std::size_t count) const {
    return bits(Stream::poll, block) % count;
  }

 private:
  std::uint64_t bits(Stream stream, std::int64_t draw) const {
    return random_bits(seed_ + static_cast<std::uint64_t>(stream), static_cast<std::uint64_t>(draw));
  }

  std::uint64_t seed_;
};

}  // namespace occbench
