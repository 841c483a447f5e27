#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrate/devices.hpp"
#include "predict/profile_choice.hpp"

namespace occbench {

/// Why this program cannot measure here: no GPU, no driver, or built without CUDA. Empty where it can.
std::string why_no_gpu();

/// The GPU that `choice` names (a number, or auto); empty where why_no_gpu() says something.
/// @throws InputError if there are GPUs, and none of that number
std::optional<GpuIdentity> gpu_here(const std::string& choice);

/// In the order of their numbers, from 0; none where why_no_gpu() says something.
std::vector<GpuHere> gpus_here();

}  // namespace occbench
