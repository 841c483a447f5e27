#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/limits.hpp"
#include "simulate/device_model.hpp"

namespace occbench {

/// Scheduling properties of a device that no data sheet has, and the device's identity. A profile is a text
/// file of lines `name = value`; `#` begins a comment. `occbench calibrate` writes one, and those in
/// src/predict/profiles/ are part of the program.
struct DeviceProfile {
  std::string name;
  std::string gpu;          ///< model, as the driver names it ("NVIDIA H200"); empty = of no particular GPU
  std::string gpu_uuid;     ///< the one GPU on which it was made; empty = of a model
  int memory_bus_bits = 0;  ///< width of the memory bus, which differs between models of one name; 0 = any
  ComputeCapability compute_capability;
  DeviceModel model;

  int sm_count() const {
    return model.topology.sm_count();
  }

  bool operator==(const DeviceProfile&) const = default;
};

/// A missing parameter gets its typical value; missing GPCs are made even.
/// @throws InputError that names `source` and the unknown, malformed or out-of-range line, or the missing or
/// inconsistent field.
DeviceProfile parse_profile(std::string_view text, std::string_view source);
std::string to_string(const DeviceProfile& profile);

/// The profiles that are part of the program, by name.
std::vector<std::string_view> built_in_profiles();

/// A built-in profile by name, or else a file of that name. @throws InputError if there is neither.
DeviceProfile find_profile(const std::string& name_or_file);

/// The same parameters for a device with another number of SMs and unknown GPCs and clocks; the profile
/// itself if it has that many SMs.
DeviceProfile resized(DeviceProfile profile, int sm_count);

inline constexpr std::uint64_t kDefaultSeed = 1;

/// The random part of a launch's simulations, and its first GPC if known.
struct Chance {
  std::uint64_t seed = kDefaultSeed;  ///< of the first run
  /// The launch's first GPC, by its place in the profile's `gpc_sms`; empty = not known: runs begin with each
  /// in turn.
  std::optional<int> first_gpc = {};
  /// Most simulations of which a figure is the median: an odd number, so that each of eight GPCs begins.
  std::int64_t most_runs = 9;
};

/// The seeds of a launch's simulations, one run after another.
class Seeds {
 public:
  /// @throws InputError if the profile has no such GPC
  Seeds(const Chance& chance, const DeviceProfile& profile);

  /// Of runs 0, 1, ...: for simulate(), whose first GPC is the seed modulo the number of GPCs.
  std::uint64_t of_run(std::uint64_t run) const {
    const std::uint64_t seed = chance_.seed + run;
    return chance_.first_gpc ? seed * gpcs_ + static_cast<std::uint64_t>(*chance_.first_gpc) : seed;
  }

 private:
  Chance chance_;
  std::uint64_t gpcs_;
};

}  // namespace occbench
