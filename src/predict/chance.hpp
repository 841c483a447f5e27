#pragma once

#include <cstdint>
#include <optional>

#include "predict/device_profile.hpp"

namespace occbench {

inline constexpr std::uint64_t kDefaultSeed = 1;

/// What decides how ties fall in simulations of a launch, and what is known of it.
struct Chance {
  std::uint64_t seed = kDefaultSeed;  ///< of the first run
  /// The GPC that the launch begins with, by its place in the profile's `gpc_sms`; empty = not known: runs
  /// begin with one after another.
  std::optional<int> first_gpc = {};
  /// Simulations of which a figure is the median, at most: an odd number, in which each of eight GPCs begins.
  std::int64_t most_runs = 9;
};

/// The seeds of a launch's simulations, one run after another.
class Seeds {
 public:
  /// @throws InputError if it has no such GPC
  Seeds(const Chance& chance, const DeviceProfile& profile);

  /// Of runs 0, 1, ...: for simulate(), which begins with the GPC that is the seed modulo their number.
  std::uint64_t of_run(std::uint64_t run) const {
    const std::uint64_t seed = chance_.seed + run;
    return chance_.first_gpc ? seed * gpcs_ + static_cast<std::uint64_t>(*chance_.first_gpc) : seed;
  }

 private:
  Chance chance_;
  std::uint64_t gpcs_;
};

}  // namespace occbench
