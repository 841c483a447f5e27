#pragma once

#include <string>
#include <vector>

#include "gpu/family.hpp"

namespace occbench {

/// The kernels of this library that `occbench sweep` varies, in the order in which it lists them.
std::vector<Family> kernel_families();

// One family each, with its axes in addition to those of every launch.
Family spin_family();
Family live_registers_family();
Family register_pressure_family();
Family fma_chains_family();
Family reads_family();
Family shared_staging_family();

/// Source text that includes `header`, one of this library's, for the compiler at run time.
KernelSource kernel_source(const std::string& header);

}  // namespace occbench
