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

/// Every row of a CSV file ("-" = standard input) with the answers added; columns that an answer names, as in
/// a recorded run, get the answer. Sizes in bytes may be written as 12K. The rows that come out are named by
/// the file's column `case`, and have the columns schema and experiment (`batch`) where the file has none:
/// with names they are rows that `gate` and `report` read. As a table only what was asked, the occupancy and
/// its limiter. Every row is answered for each GPU of `gpu`, a list, whose columns the file must then lack; for several, their
/// names are added to the rows' names.
/// A row that cannot be answered says why in the column `note`.
/// @param remarks  gets a line where recorded rows that have no launch are left out, and tell_unanswered(), whose `status` it is
/// @throws InputError with file, line and column; for a column that calc does not know, with the nearest
/// name.
std::string answer_batch(const std::string& file, const GpuOption& gpu, AnswerFormat format,
                         std::ostream& remarks, ExitStatus& status);

/// What is asked of a binary's kernels beside what the binary says itself.
struct BinaryQuestion {
  std::optional<ComputeCapability> compute_capability =
      {};                                 ///< the GPU to run on; empty = each architecture's own
  std::optional<int> block_threads = {};  ///< empty = the kernel's own: default_block_threads
  Launch launch = {};                     ///< dynamic shared memory, carveout and cluster
};

/// Each kernel and architecture with its usage and theoretical occupancy. As CSV and JSON rows that `gate`
/// and `report` read: experiment `binary`, a row for each of case_names(). A block size that neither the question nor the kernel requires is in `assumed`. As a table one line a kernel with a few block sizes.
/// @throws InputError as theoretical_occupancy.
std::string answer_binary(std::span<const DeviceKernel> kernels, const BinaryQuestion& question,
                          AnswerFormat format);

}  // namespace occbench
