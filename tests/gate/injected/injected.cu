// An experiment that no product has: four cases, of which OCC_INJECT makes one worse. Built once for each
// value into a folder of its own; occbench gate --pair must name the case and the cause. See
// tests/gate/injected/CMakeLists.txt.
#include <string>
#include <string_view>

#include "gpu/launch.hpp"
#include "harness/experiment.hpp"
#include "kernels/assembled.hpp"
#include "kernels/live_registers.hpp"
#include "kernels/multiply_add.cuh"
#include "kernels/multiply_add.hpp"
#include "kernels/spin.hpp"
#include "kernels/warp_cycles.hpp"

namespace occbench {
namespace {

constexpr std::string_view kFault = OCC_INJECT;

/// What a kernel that stays is made to add; arguments, so that its machine code is the same in every build.
struct Longer {
  long long first_warp_times = kFault == "slow_warp" ? 2 : 1;
  long long all_pct = kFault == "slower" ? 103 : 100;
};

constexpr double kCycles = 200'000;
constexpr int kWaves = 4;
constexpr int kRounds = 400;

/// As many registers as the values of live_registers and what is left of them to the kernel come to.
constexpr int kRegisters = kFault == "registers" ? 33 : 31;
constexpr MultiplyAddShape kShape{kRegisters - 6, 128, 0};

__global__ void __maxnreg__(kRegisters) arithmetic_kernel(MultiplyAddArguments arguments) {
  multiply_add_rounds<kShape.values, kShape.steps, kShape.steps_per_load>(arguments);
}

/// Holds longer than it was told, unlike the kernel hold, whose check would notice.
__global__ void stay_kernel(WarpCyclesView cycles, Longer longer, long long* held) {
  const long long start = clock64();
  const unsigned warp = threadIdx.x / 32;
  long long wanted = cycles.of(blockIdx.x, warp) * longer.all_pct / 100;
  if (warp == 0) wanted *= longer.first_warp_times;
  while (clock64() - start < wanted) __nanosleep(20);
  *held = clock64() - start;
}

class PreparedStay final : public Prepared {
 public:
  PreparedStay(const Case& chosen, const Variant& variant)
      : function_(variant.function),
        launch_(chosen.launch),
        cycles_(chosen.work.value(), launch_.grid_blocks, launch_.block_threads / 32),
        held_(1) {
    configure(function_, launch_);
  }
  void launch(cudaStream_t stream) override {
    launch_kernel(function_, launch_, stream, cycles_.view(), Longer{}, held_.data());
  }
  Check check(cudaStream_t stream) override {
    held_.fill_bytes(0);
    launch(stream);
    occbench::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return held_.to_host().front() >= cycles_.of(0, 0) ? Check::ok : Check::wrong;
  }
  Amount useful() const override {
    return {cycles_.total(), "warp-cycles"};
  }

 private:
  const void* function_;
  Launch launch_;
  WarpCycles cycles_;
  DeviceBuffer<long long> held_;  ///< by whichever warp wrote last, cycles
};

std::unique_ptr<Prepared> prepare(const Case& chosen, const Variant& variant, const Device&) {
  if (variant.name == "arithmetic") return prepare_multiply_add(kShape, chosen, variant);
  return std::make_unique<PreparedStay>(chosen, variant);
}

const Variant kVariants[] = {make_variant("arithmetic", arithmetic_kernel),
                             make_variant("stay", stay_kernel)};
const Kernel kInjected{"injected", "what the gate's own test makes worse", kVariants, prepare};

Case make_case(const Kernel& kernel, std::string_view variant, Launch launch, const Work& work,
               std::string name) {
  return {.kernel = &kernel,
          .variant = variant,
          .launch = launch,
          .work = work,
          .suite = Suite::smoke,
          .parameters = {{"may_be_worse_in", std::move(name)}}};
}

/// Just below the step from four blocks to three.
std::int64_t shared_bytes(const Planner& on) {
  constexpr std::int64_t kKilobyte = 1024;
  const auto three = on.shared_bytes_for(kSpin, "plain", {.block_threads = 256}, 3);
  const std::int64_t four = three.value() - kKilobyte / 2;
  return kFault == "shared_memory" ? four + kKilobyte : four;
}

std::vector<Case> cases(const Planner& on) {
  const std::int64_t blocks_of_256 = on.blocks_of_full_device(256, kWaves);
  const std::int64_t blocks_of_512 = on.blocks_of_full_device(512, kWaves);
  const Work hold = Work::equal(kCycles);
  return {
      make_case(kInjected, "arithmetic", {.block_threads = 256, .grid_blocks = blocks_of_256},
                live_registers_work(LiveRegistersBody::throughput, 31, kRounds), "registers"),
      make_case(
          kSpin, "plain",
          {.block_threads = 256, .grid_blocks = blocks_of_256 / 2, .dynamic_shared_bytes = shared_bytes(on)},
          hold, "shared_memory"),
      make_case(kSpin, "plain",
                {.block_threads = kFault == "block_size" ? 768 : 512, .grid_blocks = blocks_of_512}, hold,
                "block_size"),
      make_case(kInjected, "stay", {.block_threads = 256, .grid_blocks = blocks_of_256}, hold,
                "slow_warp_or_slower"),
  };
}

}  // namespace

const Experiment experiment{"injected", "the gate finds what was made worse, and its cause", "this test",
                            cases};

}  // namespace occbench
