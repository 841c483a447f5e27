#include <vector>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/warp_cycles.hpp"
#include "kernels/work_queue.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

/// Zero before and after a launch: the last block to leave resets it.
struct WorkQueueState {
  unsigned next_item;
  unsigned finished_blocks;
};

/// For one thread of each block: the last block to leave resets the queue.
__device__ void leave_queue(WorkQueueState* state) {
  __threadfence();
  if (atomicAdd(&state->finished_blocks, 1U) == gridDim.x - 1) {
    atomicExch(&state->next_item, 0U);
    atomicExch(&state->finished_blocks, 0U);
  }
}

/// @param held null when timed or counted; else the first warp of the block (or the warp) that took an item
/// adds its cycles here
__global__ void work_queue_kernel(WarpCyclesView cycles, unsigned item_count, WorkQueueState* state,
                                  unsigned* held) {
  __shared__ unsigned taken;
  while (true) {
    if (threadIdx.x == 0) taken = atomicAdd(&state->next_item, 1U);
    __syncthreads();
    const unsigned item = taken;
    __syncthreads();
    if (item >= item_count) break;
    const long long start = clock64();
    stay(start, cycles.of(item, threadIdx.x / kThreadsPerWarp));
    if (held != nullptr && threadIdx.x == 0) atomicAdd(&held[item], static_cast<unsigned>(clock64() - start));
  }
  if (threadIdx.x == 0) leave_queue(state);
}

/// The same, with one item per warp.
__global__ void work_queue_of_warps_kernel(WarpCyclesView cycles, unsigned item_count, WorkQueueState* state,
                                           unsigned* held) {
  constexpr unsigned kAllLanes = 0xffffffffU;
  const bool takes = threadIdx.x % kThreadsPerWarp == 0;
  while (true) {
    const unsigned item = __shfl_sync(kAllLanes, takes ? atomicAdd(&state->next_item, 1U) : 0, 0);
    if (item >= item_count) break;
    const long long start = clock64();
    stay(start, cycles.of(item, 0));
    if (held != nullptr && takes) atomicAdd(&held[item], static_cast<unsigned>(clock64() - start));
  }
  __syncthreads();
  if (threadIdx.x == 0) leave_queue(state);
}

constexpr std::string_view kQueueOfWarps = "of_warps";

const Variant kQueueVariants[] = {make_variant("plain", work_queue_kernel),
                                  make_variant(kQueueOfWarps, work_queue_of_warps_kernel)};

class PreparedWorkQueue final : public Prepared {
 public:
  PreparedWorkQueue(const Case& chosen, const Variant& variant)
      : case_(chosen),
        function_(variant.function),
        launch_(chosen.launch),
        item_count_(chosen.items.value().count),
        cycles_(chosen.items->work, item_count_,
                variant.name == kQueueOfWarps ? 1 : warps_of_block(launch_.block_threads)),
        state_(1) {
    state_.fill_bytes(0);
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_adding_to(nullptr, stream);
  }

  /// An item that was not taken stays at 0 cycles; one that two blocks took has twice its cycles.
  Check check(cudaStream_t stream) override {
    DeviceBuffer<unsigned> held(static_cast<std::size_t>(item_count_));
    held.fill_bytes(0);
    launch_adding_to(held.data(), stream);
    occbench::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const std::vector<unsigned> cycles = held.to_host();
    for (std::int64_t item = 0; item < item_count_; ++item) {
      if (!stayed_as_asked(case_, cycles_.of(item, 0), cycles[static_cast<std::size_t>(item)]))
        return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    return {cycles_.total(), "warp-cycles"};
  }

 private:
  void launch_adding_to(unsigned* held, cudaStream_t stream) {
    launch_kernel(function_, launch_, stream, cycles_.view(), static_cast<unsigned>(item_count_),
                  state_.data(), held);
  }

  Case case_;
  const void* function_;
  Launch launch_;
  std::int64_t item_count_;
  WarpCycles cycles_;
  DeviceBuffer<WorkQueueState> state_;
};

std::unique_ptr<Prepared> prepare_queue(const Case& chosen, const Variant& variant, const Device&) {
  return std::make_unique<PreparedWorkQueue>(chosen, variant);
}

}  // namespace

const Kernel kWorkQueue{"work_queue", "persistent blocks that take items from an atomic queue",
                        kQueueVariants, prepare_queue};

}  // namespace occbench
