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

/// What the assembler (ptxas -v) reported at build of one function for one architecture.
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
                                              ///< null where the runtime launches what only it knows
  std::span<const Assembled> assembled = {};  ///< where to look for the assembler's report
  const void* recording_function =
      nullptr;  ///< what Prepared::record_warps launches, where it is another function
  std::optional<Compiled> compiled = {};  ///< where it is known without asking the runtime
};

/// Which suites a case belongs to: its own and every larger one.
enum class Suite { smoke, quick, full };

struct Kernel;
struct Case;
class Prepared;

/// Makes a case ready on the device. @throws CannotRun, CudaError, InputError
using Prepare = std::function<std::unique_ptr<Prepared>(const Case& chosen, const Variant& variant,
                                                        const Device& device)>;

/// Work that a family hands out by itself, so that blocks are not its units: `count` units, each of which
/// keeps a block busy.
struct Items {
  std::int64_t count = 0;
  Work work;
};

/// One launch configuration of one variant: what a row is about.
struct Case {
  const Kernel* kernel = nullptr;
  std::string_view variant = {};
  Launch launch = {};
  std::optional<Work> work = {};    ///< empty where no single `Work` describes it: then nothing is predicted
  std::optional<Items> items = {};  ///< instead of `work`, for families that say so
  std::int64_t extent = 0;          ///< how much data it works on, for families that say in what unit
  Suite suite = Suite::full;
  std::vector<std::pair<std::string, std::string>> parameters =
      {};              ///< what the experiment varies: names the case
  bool small = false;  ///< made small for a tool that slows kernels down: how long they take says nothing
  bool cold = false;   ///< each launch finds nothing of its data in L2; else the one before left it there
  bool record_warps =
      false;  ///< placement is of interest: its warps are recorded too, in a launch of its own
  std::string expected_cause = {};            ///< as the column; declared from what the case is made to do
  std::shared_ptr<const Variant> built = {};  ///< instead of one of the kernel's variants: made for this case
  Prepare prepare = {};                       ///< instead of the kernel's
  std::string note = {};                      ///< for its row
  std::uint64_t code = 0;  ///< the same for equal machine code with equal arguments; 0: not known
};

/// Useful work of one launch; throughput = quantity over time, in `unit` a second.
struct Amount {
  double quantity = 0;
  std::string_view unit;
};

/// A case made ready on the device: it owns its buffers and its reference. Its destructor frees them.
class Prepared {
 public:
  virtual ~Prepared() = default;

  /// Queues one launch of the case on `stream`, and nothing else: it is what is timed and counted.
  /// @throws CudaError
  virtual void launch(cudaStream_t stream) = 0;

  /// Launches once more with poisoned outputs and compares with the reference. @throws CudaError
  virtual Check check(cudaStream_t stream) = 0;

  /// For the row's note: more on the last check where that was wrong; empty where there is no more.
  virtual std::string why_wrong() const {
    return {};
  }

  /// Launches once more. @returns how many of the launch's updates its result lacks, in %; empty where the
  /// family is not about lost updates. @throws CudaError
  virtual std::optional<double> lost_updates_pct(cudaStream_t) {
    return std::nullopt;
  }

  /// Launches once more, with a record kept by each warp, block by block; empty where the family keeps none.
  /// Recording makes it another launch than the one that is timed and counted. What is queued before it is
  /// no launch whose blocks wait for room (FirstGpc); up to 1 MiB of memory may be filled, while filling 16
  /// MiB is such a launch. @throws CudaError
  virtual std::vector<WarpRecord> record_warps(cudaStream_t) {
    return {};
  }

  virtual Amount useful() const = 0;
};

/// A family of kernels: one thing that fills or empties an SM.
struct Kernel {
  std::string_view name;
  std::string_view description;  ///< one sentence
  std::span<const Variant> variants;
  std::unique_ptr<Prepared> (*prepare)(const Case& chosen, const Variant& variant, const Device& device);

  /// Achieved occupancy by Prepared::record_warps was shown to be the counter's, so that it can stand in for it
  /// where the counters cannot be read.
  bool warp_records_agree_with_counter = false;

  /// Its warps wait for a clock: Tasks::poll_cycles_per_warp of every case of it.
  double poll_cycles_per_warp = 0;

  /// @throws std::out_of_range if the family has no such variant.
  const Variant& find(std::string_view variant) const;
};

/// What the compiler decided for a variant, as the runtime reports it, and the code that this device runs.
/// @throws GpuUnavailable if the binary has no code for the current device; CudaError.
Compiled inspect(const Variant& variant);

}  // namespace occbench
