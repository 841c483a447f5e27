#pragma once

#include <optional>
#include <string_view>

#include "occupancy/limits.hpp"

namespace occbench {

/// The compute capability that all costs are of: nobody has measured them on another.
inline constexpr ComputeCapability kCostsOf{9, 0};

/// What the machine code of one of our kernels (a family) costs: for a warp that has its SM to itself, cycles; or
/// instructions; or what a whole device does in a cycle. The work that a case declares is made of these, and a diagnosis
/// compares other kernels with them. Empty if the table has no such kernel and cost.
std::optional<double> known_cost(std::string_view kernel, std::string_view cost);

/// The same. @throws std::out_of_range if the table has no such kernel and cost
double kernel_cost(std::string_view kernel, std::string_view cost);

/// Floats that a device adds to one address in a cycle.
double additions_to_one_address_per_cycle();

}  // namespace occbench
