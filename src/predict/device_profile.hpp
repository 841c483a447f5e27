#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/limits.hpp"
#include "simulate/device_model.hpp"

namespace occbench {

/// What a device's block scheduling depends on and no data sheet has, and of which device it is. A profile is
/// a text file of lines `name = value`; `#` begins a comment. `occbench calibrate` writes one, and those in
/// src/predict/profiles/ are part of the program.
struct DeviceProfile {
  std::string name;
  std::string gpu;       ///< model, as the driver names it ("NVIDIA H200"); empty = of no GPU in particular
  std::string gpu_uuid;  ///< the one GPU that it was made on; empty = of a model
  int memory_bus_bits = 0;  ///< width of the memory bus, which tells models of one name apart; 0 = any
  ComputeCapability compute_capability;
  DeviceModel model;

  int sm_count() const {
    return model.topology.sm_count();
  }

  bool operator==(const DeviceProfile&) const = default;
};

/// A profile that lacks a parameter has its typical value, and one without GPCs has even ones.
/// @throws InputError naming `source` and the line of what is unknown, malformed or out of range, or what is
/// missing or does not fit the rest.
DeviceProfile parse_profile(std::string_view text, std::string_view source);
std::string to_string(const DeviceProfile& profile);

/// The profiles that are part of the program, by name.
std::vector<std::string_view> built_in_profiles();

/// A built-in profile by name, or else a file of that name. @throws InputError if there is neither.
DeviceProfile find_profile(const std::string& name_or_file);

/// The same parameters for a device of another number of SMs, of which GPCs and clocks are not known; the
/// profile itself if it is one of that many SMs.
DeviceProfile resized(DeviceProfile profile, int sm_count);

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
