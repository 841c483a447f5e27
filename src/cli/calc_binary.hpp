#pragma once

#include <optional>
#include <span>
#include <string>

#include "cli/calc_batch.hpp"
#include "cli/device_code.hpp"
#include "occupancy/launch.hpp"

namespace occbench {

/// What is asked of a binary's kernels beside what the binary says itself.
struct BinaryQuestion {
  std::optional<ComputeCapability>
      compute_capability;            ///< the GPU to run on; empty = each architecture's own
  std::optional<int> block_threads;  ///< empty = a range of block sizes
  Launch launch;                     ///< dynamic shared memory, carveout and cluster
};

/// The code of each kernel that a GPU runs: of the same major compute capability the newest that is not newer
/// than it. Without a GPU all of them. @throws InputError if there is none.
std::vector<DeviceKernel> kernels_for(std::span<const DeviceKernel> kernels,
                                      std::optional<ComputeCapability> compute_capability);

/// Each kernel and architecture with its usage and theoretical occupancy over block sizes: as CSV and JSON
/// one row for every whole warp that the launch bounds allow, as a table one line a kernel with a few block
/// sizes.
/// @throws InputError as theoretical_occupancy.
std::string answer_binary(std::span<const DeviceKernel> kernels, const BinaryQuestion& question,
                          AnswerFormat format);

}  // namespace occbench
