#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "occupancy/limits.hpp"

namespace occbench {

/// What the machine code of one of our kernels costs on a compute capability: for a warp that has its SM to
/// itself, cycles; or instructions, as compiled for that capability; or what a whole device does in a cycle. The
/// work that a case declares is made of these, and a diagnosis compares other kernels with them.
struct KernelCost {
  std::string_view kernel;  ///< family
  std::string_view cost;
  ComputeCapability compute_capability;
  double value;
  std::string_view source;
};

/// The table; a kernel that is measured on another capability is a line more.
std::span<const KernelCost> kernel_costs();

/// Empty where nobody has measured it on that capability.
std::optional<double> known_cost(std::string_view kernel, std::string_view cost,
                                 ComputeCapability compute_capability);

/// The same, from the nearest capability where nobody has measured it on that one. @throws std::out_of_range
/// if the table has no such kernel and cost.
double nearest_cost(std::string_view kernel, std::string_view cost, ComputeCapability compute_capability);

/// Floats that a device adds to one address in a cycle, of the nearest capability that was measured.
double additions_to_one_address_per_cycle(ComputeCapability compute_capability);

}  // namespace occbench
