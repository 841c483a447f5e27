#pragma once

#include <optional>
#include <span>
#include <string>

#include "binary/device_code.hpp"
#include "cli/calc_answer.hpp"
#include "cli/gpu_option.hpp"
#include "occupancy/launch.hpp"
#include "occupancy/statuses.hpp"

namespace occbench {

/// Every row of a CSV file ("-" = standard input) with the answers added. Columns that an answer names, as in a
/// recorded run, get the answer. Sizes in bytes may be written as 12K. The file's column `case` names the output rows,
/// which get the columns schema and experiment (`batch`) if the file has none. With names they are rows that `gate` and
/// `report` read. A table has only the input, the occupancy and its limiter. Every row is answered for each GPU of the
/// list `gpu`, whose columns the file must then lack. With several GPUs, their names are added to the rows' names.
/// A row that cannot be answered says why in the column `note`.
/// @param remarks  gets a line if recorded rows without a launch are left out, and tell_unanswered(), which gives
/// `status`
/// @throws InputError with file, line and column; for a column that calc does not know, with the nearest
/// name.
std::string answer_batch(const std::string& file, const GpuOption& gpu, AnswerFormat format,
                         std::ostream& remarks, ExitStatus& status);

/// The question about a binary's kernels, beside what the binary says itself.
struct BinaryQuestion {
  std::optional<ComputeCapability> compute_capability =
      {};                                 ///< the GPU to run on; empty = each architecture's own
  std::optional<int> block_threads = {};  ///< empty = the kernel's own: default_block_threads
  Launch launch = {};                     ///< dynamic shared memory, carveout and cluster
};

/// Each kernel and architecture with its usage and theoretical occupancy. CSV and JSON have rows that `gate` and
/// `report` read: experiment `binary`, one row for each of case_names(). `assumed` has a block size that neither the
/// question nor the kernel requires. A table has one line per kernel with a few block sizes.
/// @throws InputError as theoretical_occupancy.
std::string answer_binary(std::span<const DeviceKernel> kernels, const BinaryQuestion& question,
                          AnswerFormat format);

}  // namespace occbench
