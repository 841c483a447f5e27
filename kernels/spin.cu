#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/spin.hpp"
#include "kernels/spin_kernel.cuh"
#include "kernels/spin_variants.hpp"
#include "kernels/warp_cycles.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

const Variant kSpinVariants[] = {spin_plain(), spin_as_ptx()};

class PreparedSpin final : public Prepared {
 public:
  PreparedSpin(const Case& chosen, const Variant& variant)
      : case_(chosen),
        function_(variant.function),
        launch_(chosen.launch),
        warps_per_block_(warps_of_block(chosen.launch.block_threads)),
        cycles_(chosen.work.value(), launch_.grid_blocks, warps_per_block_) {
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_recording_to(nullptr, stream);
  }

  Check check(cudaStream_t stream) override {
    const std::vector<WarpRecord> records = record_warps(stream);
    for (std::size_t i = 0; i < records.size(); ++i) {
      const auto warp = static_cast<std::int64_t>(i);
      const std::int64_t wanted =
          cycles_.of(warp / warps_per_block_, static_cast<int>(warp % warps_per_block_));
      if (!stayed_as_asked(case_, wanted, records[i].end_cycles - records[i].start_cycles))
        return Check::wrong;
    }
    return Check::ok;
  }

  std::vector<WarpRecord> record_warps(cudaStream_t stream) override {
    DeviceBuffer<WarpRecord> records(static_cast<std::size_t>(launch_.grid_blocks * warps_per_block_));
    records.fill_bytes(0xff);
    launch_recording_to(records.data(), stream);
    occbench::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return records.to_host();
  }

  Amount useful() const override {
    return {cycles_.total(), "warp-cycles"};
  }

 private:
  void launch_recording_to(WarpRecord* records, cudaStream_t stream) {
    launch_kernel(function_, launch_, stream, cycles_.view(), records);
  }

  Case case_;
  const void* function_;
  Launch launch_;
  int warps_per_block_;
  WarpCycles cycles_;
};

std::unique_ptr<Prepared> prepare_spin(const Case& chosen, const Variant& variant, const Device&) {
  return std::make_unique<PreparedSpin>(chosen, variant);
}

}  // namespace

Variant spin_plain() {
  return make_variant("plain", spin_kernel);
}

const Kernel kSpin{"spin",
                   "each warp stays resident for its number of cycles",
                   kSpinVariants,
                   prepare_spin,
                   /*warp_records_agree_with_counter=*/true,
                   kPollCyclesPerWarp};

}  // namespace occbench
