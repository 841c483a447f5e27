#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/generic_profile.hpp"

namespace occbench {

/// Why this program cannot measure here: no GPU, no driver, or built without CUDA. Empty where it can.
std::string why_no_gpu();

/// The GPU that `choice` names (a number, or auto); empty where why_no_gpu() says something.
/// @throws InputError if there are GPUs, and none of that number
std::optional<GpuIdentity> gpu_here(const std::string& choice);

/// A GPU of this machine, as far as it takes to start a process for it.
struct GpuHere {
  int index = 0;           ///< the CUDA runtime's number
  std::string uuid;        ///< empty where it is not known
  std::string pci_bus_id;  ///< "0000:3b:00.0", as in /sys/bus/pci/devices; empty where it is not known
};

/// In the order of their numbers, from 0; none where why_no_gpu() says something.
std::vector<GpuHere> gpus_here();

}  // namespace occbench
