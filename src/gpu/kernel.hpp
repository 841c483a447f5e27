#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "gpu/device.hpp"
#include "gpu/warp_record.hpp"
#include "occupancy/launch.hpp"
#include "occupancy/statuses.hpp"
#include "simulate/work.hpp"

namespace occbench {

/// Report of the assembler (ptxas -v) on one function for one architecture, from the build.
struct Assembled {
  std::string_view function;      ///< mangled name
  std::string_view architecture;  ///< "sm_90"
  int registers_per_thread;
  std::int64_t spill_bytes;  ///< spill stores plus loads, bytes per thread
};

/// One compiled function of a kernel family.
struct Variant {
  std::string_view name;
  const void* function;                       ///< the `__global__` function, as cudaLaunchKernel takes it;
                                              ///< null if only the runtime knows the function
  std::span<const Assembled> assembled = {};  ///< where to find the assembler's report
  const void* recording_function = nullptr;   ///< launched by Prepared::record_warps, if different
  std::optional<Compiled> compiled = {};      ///< if known without the runtime
};

/// Smallest suite of a case; every larger one includes it, too.
enum class Suite { smoke, quick, full };

struct Kernel;
struct Case;
class Prepared;

/// Prepares a case on the device. @throws CannotRun, CudaError, InputError
using Prepare = std::function<std::unique_ptr<Prepared>(const Case& chosen, const Variant& variant,
                                                        const Device& device)>;

/// Work that a family distributes itself, so blocks are not its units: `count` units, and each keeps a block
/// busy.
struct Items {
  std::int64_t count = 0;
  Work work;
};

/// One launch configuration of one variant: the subject of a row.
struct Case {
  const Kernel* kernel = nullptr;
  std::string_view variant = {};
  Launch launch = {};
  std::optional<Work> work = {};    ///< empty if no single `Work` describes it: then nothing is predicted
  std::optional<Items> items = {};  ///< instead of `work`, for families whose comment says so
  std::int64_t extent = 0;          ///< size of its data, in the unit that the family's comment gives
  Suite suite = Suite::full;
  std::vector<std::pair<std::string, std::string>> parameters =
      {};                     ///< varied by the experiment: they name the case
  bool small = false;         ///< made small for a tool that slows kernels down: its durations mean nothing
  bool cold = false;          ///< L2 has none of its data before a launch; else the last one left it there
  bool record_warps = false;  ///< records warps in a separate launch, because placement is of interest
  std::string expected_cause = {};            ///< as the column; declared by the design of the case
  std::shared_ptr<const Variant> built = {};  ///< instead of a kernel's variant; made for this case
  Prepare prepare = {};                       ///< instead of the kernel's
  std::string note = {};                      ///< for its row
  std::uint64_t code = 0;  ///< the same for equal machine code with equal arguments; 0: not known
};

/// Useful work of one launch; throughput = quantity over time, in `unit` a second.
struct Amount {
  double quantity = 0;
  std::string_view unit;
};

/// A case prepared on the device. It owns its buffers and its reference; its destructor frees them.
class Prepared {
 public:
  virtual ~Prepared() = default;

  /// Queues one launch of the case on `stream`, and nothing else: this launch is timed and counted.
  /// @throws CudaError
  virtual void launch(cudaStream_t stream) = 0;

  /// Launches once more with poisoned outputs and compares with the reference. @throws CudaError
  virtual Check check(cudaStream_t stream) = 0;

  /// For the row's note: details if the last check was wrong; empty if there are none.
  virtual std::string why_wrong() const {
    return {};
  }

  /// Launches once more. @returns the launch's updates that its result lacks, in %; empty if the family does
  /// not test lost updates. @throws CudaError
  virtual std::optional<double> lost_updates_pct(cudaStream_t) {
    return std::nullopt;
  }

  /// Launches once more, with one record per warp, block by block; empty if the family keeps none. Recording
  /// makes it differ from the launch that is timed and counted. No launch whose blocks wait for room
  /// (FirstGpc) is queued before it: up to 1 MiB of memory may be filled, but filling 16 MiB is such a
  /// launch. @throws CudaError
  virtual std::vector<WarpRecord> record_warps(cudaStream_t) {
    return {};
  }

  virtual Amount useful() const = 0;
};

/// A family of kernels: one cause of full or empty SMs.
struct Kernel {
  std::string_view name;
  std::string_view description;  ///< one sentence
  std::span<const Variant> variants;
  std::unique_ptr<Prepared> (*prepare)(const Case& chosen, const Variant& variant, const Device& device);

  /// Achieved occupancy by Prepared::record_warps was shown to match the counter, so it can replace it if the
  /// counters cannot be read.
  bool warp_records_agree_with_counter = false;

  /// If its warps wait for a clock: Tasks::poll_cycles_per_warp of all its cases.
  double poll_cycles_per_warp = 0;

  /// @throws std::out_of_range if the family has no such variant.
  const Variant& find(std::string_view variant) const;
};

/// The compiler's results for a variant, as the runtime reports them, and the code that this device runs.
/// @throws GpuUnavailable if the binary has no code for the current device; CudaError.
Compiled inspect(const Variant& variant);

}  // namespace occbench
