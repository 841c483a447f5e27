#pragma once

#include <string>

namespace occbench {

/// Version of the NVIDIA driver, as "580.159.04"; empty if NVML cannot be loaded.
std::string driver_version();

}  // namespace occbench
