#pragma once

#include <optional>
#include <span>
#include <string>

#include "binary/device_code.hpp"
#include "cli/calc_answer.hpp"
#include "cli/calc_batch.hpp"
#include "occupancy/launch.hpp"

namespace occbench {

/// What is asked of a binary's kernels beside what the binary says itself.
struct BinaryQuestion {
  std::optional<ComputeCapability> compute_capability =
      {};                                 ///< the GPU to run on; empty = each architecture's own
  std::optional<int> block_threads = {};  ///< empty = the kernel's own: default_block_threads
  bool all_block_sizes = false;           ///< every whole warp that the launch bounds allow
  Launch launch = {};                     ///< dynamic shared memory, carveout and cluster
};

/// The block size that a kernel is answered for where none is asked for: the one that it requires, else the
/// largest that its launch bounds allow, else 256.
int default_block_threads(const DeviceKernel& kernel);

/// The question that a kernel is at its block size, or the one asked for.
Question question_of(const DeviceKernel& kernel, const BinaryQuestion& asked);

/// Each kernel and architecture with its usage and theoretical occupancy. As CSV and JSON rows that `gate`
/// and `report` read: experiment `binary`, case = the kernel's name and architecture, and the block size
/// where it has several rows; kernels that share both are numbered in the order of the file. As a table one
/// line a kernel with a few block sizes.
/// @throws InputError as theoretical_occupancy.
std::string answer_binary(std::span<const DeviceKernel> kernels, const BinaryQuestion& question,
                          AnswerFormat format);

}  // namespace occbench
