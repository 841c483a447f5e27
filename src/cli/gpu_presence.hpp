#pragma once

#include <string>

namespace occbench {

/// Why this program cannot measure here: no GPU, no driver, or built without CUDA. Empty where it can.
std::string why_no_gpu();

}  // namespace occbench
