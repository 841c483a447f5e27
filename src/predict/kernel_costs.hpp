#pragma once

#include <optional>
#include <string_view>

#include "occupancy/limits.hpp"

namespace occbench {

/// The compute capability of all costs; they are not measured on any other.
inline constexpr ComputeCapability kCostsOf{9, 0};

/// Cost of the machine code of one of our kernels (a family): cycles of a warp alone on its SM, instructions,
/// or a device's rate per cycle. The work that a case declares is computed from these, and a diagnosis
/// compares other kernels with them. Empty if the table has no such kernel and cost.
std::optional<double> known_cost(std::string_view kernel, std::string_view cost);

/// The same. @throws std::out_of_range if the table has no such kernel and cost
double kernel_cost(std::string_view kernel, std::string_view cost);

/// Floats that a device adds to one address per cycle.
double additions_to_one_address_per_cycle();

}  // namespace occbench
