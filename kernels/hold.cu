#include <algorithm>
#include <cstdint>
#include <limits>

#include "gpu/launch.hpp"
#include "gpu/resources.hpp"
#include "kernels/hold.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// What a warp may exceed its cycles by before the check calls the hold wrong: a sleep overshoots by up to
/// its own length, and a warp waits its turn among the others of its scheduler.
constexpr std::int64_t kSlackCycles = 20'000;
constexpr std::uint32_t kNeverRan = 0xffffffffU;

/// @param cycles a value for each unit; a unit is a block, or a warp where `warp_stride` is 1
/// @param held null when timed or counted: writing would make another launch of it
__global__ void hold_kernel(const std::uint32_t* cycles, std::int64_t block_stride, int warp_stride,
                            std::uint32_t* held) {
  const long long start = clock64();
  const unsigned warp = threadIdx.x / 32;
  const long long wanted = cycles[blockIdx.x * block_stride + warp * warp_stride];
  while (clock64() - start < wanted) __nanosleep(20);
  if (held != nullptr && threadIdx.x % 32 == 0) {
    held[static_cast<std::int64_t>(blockIdx.x) * ((blockDim.x + 31) / 32) + warp] =
        static_cast<std::uint32_t>(clock64() - start);
  }
}

const Variant kVariants[] = {{"plain", reinterpret_cast<const void*>(&hold_kernel)}};

class PreparedHold final : public Prepared {
 public:
  PreparedHold(const Case& chosen, const Variant& variant)
      : function_(variant.function),
        launch_(chosen.launch),
        warps_per_block_((chosen.launch.block_threads + 31) / 32),
        work_(chosen.work.value()) {
    // One value serves all units of equal work; a stride of 0 makes each of them read it.
    const bool one_value = std::holds_alternative<EqualWork>(work_.distribution);
    const std::int64_t units = one_value ? 1 : work_.unit_count(launch_.grid_blocks, warps_per_block_);
    block_stride_ = one_value ? 0 : work_.unit_of(1, 0, warps_per_block_);
    warp_stride_ = one_value ? 0 : static_cast<int>(work_.unit_of(0, 1, warps_per_block_));
    std::vector<std::uint32_t> cycles(static_cast<std::size_t>(units));
    for (std::int64_t unit = 0; unit < units; ++unit) {
      const std::int64_t value = work_.cycles_of(unit, units);
      if (value >= kNeverRan) throw InputError("hold: a unit of work is longer than 4,294,967,294 cycles");
      cycles[static_cast<std::size_t>(unit)] = static_cast<std::uint32_t>(value);
    }
    cycles_ = DeviceBuffer<std::uint32_t>(std::span<const std::uint32_t>(cycles));
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_writing_to(nullptr, stream);
  }

  Check check(cudaStream_t stream) override {
    DeviceBuffer<std::uint32_t> held(static_cast<std::size_t>(launch_.grid_blocks * warps_per_block_));
    held.fill_bytes(0xff);
    launch_writing_to(held.data(), stream);
    occbench::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const std::vector<std::uint32_t> cycles = held.to_host();
    for (std::int64_t i = 0; i < launch_.grid_blocks * warps_per_block_; ++i) {
      const std::int64_t wanted =
          work_.cycles_of_warp(i / warps_per_block_, static_cast<int>(i % warps_per_block_),
                               launch_.grid_blocks, warps_per_block_);
      const std::uint32_t got = cycles[static_cast<std::size_t>(i)];
      if (got == kNeverRan || got < wanted || got > wanted + kSlackCycles) return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    double warp_cycles = 0;
    for (std::int64_t block = 0; block < launch_.grid_blocks; ++block) {
      for (int warp = 0; warp < warps_per_block_; ++warp) {
        warp_cycles +=
            static_cast<double>(work_.cycles_of_warp(block, warp, launch_.grid_blocks, warps_per_block_));
      }
    }
    return {warp_cycles, "warp-cycles"};
  }

 private:
  void launch_writing_to(std::uint32_t* held, cudaStream_t stream) {
    const std::uint32_t* cycles = cycles_.data();
    launch_kernel(function_, launch_, stream, cycles, block_stride_, warp_stride_, held);
  }

  const void* function_;
  Launch launch_;
  int warps_per_block_;
  Work work_;
  DeviceBuffer<std::uint32_t> cycles_;
  std::int64_t block_stride_ = 0;
  int warp_stride_ = 0;
};

std::unique_ptr<Prepared> prepare(const Case& chosen, const Variant& variant, const Device&) {
  return std::make_unique<PreparedHold>(chosen, variant);
}

}  // namespace

const Kernel kHold{"hold", "each warp stays resident for its number of cycles", kVariants, prepare};

}  // namespace occbench
