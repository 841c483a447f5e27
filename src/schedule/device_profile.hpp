#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "occupancy/compute_capability.hpp"

namespace occbench {

/// The few properties of a GPU that its block scheduling depends on and that no data sheet has. Cycles are
/// those of the SM clock. A profile is a text file of lines `name = value`, `#` begins a comment; `occbench
/// calibrate` writes one, and those in src/schedule/profiles/ are part of the program.
struct DeviceProfile {
  std::string name;
  ComputeCapability compute_capability;
  int sm_count = 0;
  int singleton_sms = 0;     ///< SMs that have their turn apart from those of their GPC
  std::vector<int> gpc_sms;  ///< SMs of each GPC without those, in the order in which they have their turn
  /// What a block replacement takes longer on each TPC (pair of SMs): those of each of these GPCs, then the
  /// singleton ones. Which TPCs are far away is a property of the unit, how far they differ one of its kind.
  std::vector<int> tpc_replacement_latency_cycles;
  /// Each GPC has a clock of its own: how much faster than the mean it runs under load, in each of these GPCs
  /// and then in that of each pair of singleton SMs. A property of the unit, not of its kind.
  std::vector<int> gpc_clock_ppm;
  double gpc_clock_spread_ppm = 0;  ///< and by up to so much more or less, by chance
  double initial_dispatch_cycles_per_block =
      0;  ///< between two blocks while the device first fills, device-wide
  double replacement_dispatch_cycles_per_block =
      0;                           ///< between two blocks that take the place of others, device-wide
  double block_launch_cycles = 0;  ///< an SM starts two blocks at least this far apart
  double warp_launch_cycles = 0;   ///< and at least this for each warp of the first
  /// While the device first fills: this for each warp beyond half of those that an SM holds.
  double busy_sm_warp_launch_cycles = 0;
  /// An SM is done with two blocks that have ended at least this far apart for each warp of the first, of at
  /// most two.
  double warp_retire_cycles = 0;
  double second_sm_delay_cycles = 0;      ///< a TPC's second SM starts its first block up to this much later
  double gpc_delay_cycles = 0;            ///< a GPC's first blocks start up to this much later than another's
  double sm_delay_cycles = 0;             ///< an SM's first block starts up to this much later than another's
  double replacement_latency_cycles = 0;  ///< from the end of a block to the start of the one in its place
  double launch_overhead_cycles = 0;      ///< a warp is resident this much longer than its work takes
  /// A warp that waits for its time to come looks at the clock once in so many cycles for each warp of its
  /// SM, and is late by up to that. (A property of kernels that hold, not of those that compute.)
  double poll_cycles_per_warp = 0;
  double jitter_cycles = 0;    ///< and up to half of this longer or shorter, alike for blocks side by side
  double bytes_per_cycle = 0;  ///< device memory can move this much, device-wide

  /// How many values tpc_replacement_latency_cycles and gpc_clock_ppm have.
  std::size_t tpc_count() const;
  std::size_t clock_count() const;
  /// Whether it says what GPCs a device of that many SMs has.
  bool knows_gpcs_of(int sms) const;

  bool operator==(const DeviceProfile&) const = default;
};

/// @throws InputError naming `source` and the line of what is unknown, missing, malformed or out of range.
DeviceProfile parse_profile(std::string_view text, std::string_view source);
std::string to_string(const DeviceProfile& profile);

/// The profiles that are part of the program, by name.
std::vector<std::string_view> built_in_profiles();

/// A built-in profile by name, or else a file of that name. @throws InputError if there is neither.
DeviceProfile find_profile(const std::string& name_or_file);

/// As few GPCs as can be of at most 18 SMs (the most there are up to compute capability 9.0), as even as
/// pairs of SMs go.
std::vector<int> even_gpcs(int sm_count);

/// Those of the profile if it is one of that many SMs, or else even ones.
std::vector<int> gpcs_of(const DeviceProfile& profile, int sm_count);

/// For a GPU that nobody has calibrated: the overheads of the H200 (the GPU they were first measured on), the
/// given compute capability and number of SMs, and the name `default`, so that predictions say what they
/// used.
DeviceProfile default_profile(ComputeCapability compute_capability, int sm_count);

/// The built-in profile of this GPU, told by compute capability and number of SMs, or else the default.
DeviceProfile profile_of_device(ComputeCapability compute_capability, int sm_count);

}  // namespace occbench
