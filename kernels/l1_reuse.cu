#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/l1_reuse.hpp"
#include "kernels/random_words.hpp"
#include "kernels/result_of_launch.hpp"

namespace occbench {
namespace {

constexpr int kLoads = kL1ReuseStepBytes / kL1ReuseBlockThreads / static_cast<int>(sizeof(uint4));

struct L1ReuseArguments {
  const uint4* words;
  int steps;  ///< of kL1ReuseStepBytes
  int rounds;
  std::uint32_t* sums;  ///< one per thread
};

__global__ void __launch_bounds__(kL1ReuseBlockThreads) l1_reuse_kernel(L1ReuseArguments arguments) {
  std::uint32_t sum = 0;
#pragma unroll 1
  for (int round = 0; round < arguments.rounds; ++round) {
    const uint4* place = arguments.words + threadIdx.x;
#pragma unroll 1
    for (int step = 0; step < arguments.steps; ++step) {
      uint4 words[kLoads];
#pragma unroll
      for (int load = 0; load < kLoads; ++load) words[load] = __ldg(place + load * kL1ReuseBlockThreads);
#pragma unroll
      for (const uint4& four : words) sum += four.x + four.y + four.z + four.w;
      place += kLoads * kL1ReuseBlockThreads;
    }
    // A value that depends on the round, so that the compiler cannot replace rounds by a multiplication.
    sum ^= static_cast<std::uint32_t>(round);
  }
  arguments.sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

const Variant kL1ReuseVariants[] = {make_variant("plain", l1_reuse_kernel)};

class PreparedL1Reuse final : public Prepared {
 public:
  PreparedL1Reuse(const Case& chosen, const Variant& variant)
      : function_(variant.function),
        launch_(chosen.launch),
        steps_(static_cast<int>(chosen.extent / kL1ReuseStepBytes)),
        rounds_(chosen.small ? 2 : std::max(1, static_cast<int>(kL1ReuseBlockBytes / chosen.extent))),
        words_(random_words(static_cast<std::size_t>(chosen.extent) / sizeof(std::uint32_t))),
        device_words_(std::span<const std::uint32_t>(words_)),
        sums_(static_cast<std::size_t>(launch_.grid_blocks * launch_.block_threads)) {
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    const L1ReuseArguments arguments{reinterpret_cast<const uint4*>(device_words_.data()), steps_, rounds_,
                                     sums_.data()};
    launch_kernel(function_, launch_, stream, arguments);
  }

  Check check(cudaStream_t stream) override {
    const std::vector<std::uint32_t> sums = result_of_launch(*this, stream, sums_);
    const std::vector<std::uint32_t> reference = sums_of_a_block();
    for (std::size_t thread = 0; thread < sums.size(); ++thread) {
      if (sums[thread] != reference[thread % kL1ReuseBlockThreads]) return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    return {static_cast<double>(launch_.grid_blocks) * rounds_ * steps_ * kL1ReuseStepBytes, "bytes"};
  }

 private:
  std::vector<std::uint32_t> sums_of_a_block() const {
    constexpr std::size_t kWords = sizeof(uint4) / sizeof(std::uint32_t);
    std::vector<std::uint32_t> once(kL1ReuseBlockThreads);
    for (std::size_t i = 0; i < words_.size(); ++i) once[i / kWords % kL1ReuseBlockThreads] += words_[i];
    std::vector<std::uint32_t> sums(kL1ReuseBlockThreads);
    for (std::size_t thread = 0; thread < sums.size(); ++thread) {
      for (int round = 0; round < rounds_; ++round) {
        sums[thread] = (sums[thread] + once[thread]) ^ static_cast<std::uint32_t>(round);
      }
    }
    return sums;
  }

  const void* function_;
  Launch launch_;
  int steps_;
  int rounds_;
  std::vector<std::uint32_t> words_;
  DeviceBuffer<std::uint32_t> device_words_;
  DeviceBuffer<std::uint32_t> sums_;
};

std::unique_ptr<Prepared> prepare_l1_reuse(const Case& chosen, const Variant& variant, const Device&) {
  return std::make_unique<PreparedL1Reuse>(chosen, variant);
}

}  // namespace

const Kernel kL1Reuse{"l1_reuse", "blocks that read the same bytes again and again", kL1ReuseVariants,
                      prepare_l1_reuse};

}  // namespace occbench
