#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "occupancy/limits.hpp"

namespace occbench {

/// One GPU as NVIDIA sells it, or one GPU of a board with several. One line of the table in gpus.cpp, which names the
/// sources of every line.
struct Gpu {
  std::string_view name;         ///< key for the command line: lower case, dashes, as in a100-sxm4-80gb
  std::string_view driver_name;  ///< what the driver calls it; empty if unknown. Two lines may share it
  ComputeCapability compute_capability;
  int sm_count;           ///< SMs enabled in the product, which are often fewer than on the die
  int clock_mhz;          ///< boost clock; the shader clock of 1.x and 2.x; the highest GPU clock of a Jetson
  double bandwidth_gb_s;  ///< peak bandwidth of device memory, 10^9 bytes a second
  int memory_bus_bits;
  int l2_kb;  ///< L2 cache, 1024 bytes; 0 = none for global memory (1.x)
};

/// All GPUs of the table, oldest compute capability first.
std::span<const Gpu> all_gpus();

/// The GPU with this key or driver's name, or nullptr. Upper and lower case are alike, as are spaces and
/// dashes.
const Gpu* find_gpu(std::string_view name);

/// The GPUs that a name may mean: that of find_gpu() alone, or those whose keys continue it (a100, 3080) or contain its
/// words (titan-x). "rtx-" and "gtx-" may be missing. If all of these keys have a word that makes another product
/// (gtx-1660-ti), the table lacks the name.
/// @throws InputError for a name that the table lacks, naming the nearest keys
std::vector<const Gpu*> gpus_of(std::string_view name);

/// The one GPU that a name means. @throws InputError if it may mean several, which the message lists, and as gpus_of().
const Gpu& gpu_of(std::string_view name);

/// The message if a name may mean GPUs that differ: their keys and SMs, and to name one.
std::string which_of(std::string_view name, std::span<const Gpu* const> gpus);

/// The first GPU with this driver name, or nullptr. Upper and lower case are alike. A leading "NVIDIA", "GeForce" or
/// "Tesla" may be missing, since drivers of different years write different ones.
const Gpu* find_gpu_by_driver_name(std::string_view driver_name);

/// The highest clock of the GPU with this driver name or key, MHz; empty if the table lacks it.
std::optional<double> highest_clock_mhz(std::string_view name);

}  // namespace occbench
