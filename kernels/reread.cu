#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/launch.hpp"
#include "gpu/resources.hpp"
#include "kernels/assembled.hpp"
#include "kernels/random_words.hpp"
#include "kernels/reread.hpp"
#include "kernels/result_of_launch.hpp"

namespace occbench {
namespace {

constexpr int kLoads = kRereadStepBytes / kRereadBlockThreads / static_cast<int>(sizeof(uint4));

struct RereadArguments {
  const uint4* words;
  int steps;  ///< of kRereadStepBytes
  int rounds;
  std::uint32_t* sums;  ///< one a thread
};

__global__ void __launch_bounds__(kRereadBlockThreads) reread_kernel(RereadArguments arguments) {
  std::uint32_t sum = 0;
#pragma unroll 1
  for (int round = 0; round < arguments.rounds; ++round) {
    const uint4* place = arguments.words + threadIdx.x;
#pragma unroll 1
    for (int step = 0; step < arguments.steps; ++step) {
      uint4 words[kLoads];
#pragma unroll
      for (int load = 0; load < kLoads; ++load) words[load] = __ldg(place + load * kRereadBlockThreads);
#pragma unroll
      for (const uint4& four : words) sum += four.x + four.y + four.z + four.w;
      place += kLoads * kRereadBlockThreads;
    }
    // A number that depends on the round, so that rounds cannot be exchanged for a multiplication.
    sum ^= static_cast<std::uint32_t>(round);
  }
  arguments.sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

const Variant kRereadVariants[] = {make_variant("plain", reread_kernel)};

class PreparedReread final : public Prepared {
 public:
  PreparedReread(const Case& chosen, const Variant& variant)
      : function_(variant.function),
        launch_(chosen.launch),
        steps_(static_cast<int>(chosen.extent / kRereadStepBytes)),
        rounds_(chosen.small ? 2 : std::max(1, static_cast<int>(kRereadBlockBytes / chosen.extent))),
        words_(random_words(static_cast<std::size_t>(chosen.extent) / sizeof(std::uint32_t))),
        device_words_(std::span<const std::uint32_t>(words_)),
        sums_(static_cast<std::size_t>(launch_.grid_blocks * launch_.block_threads)) {
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    const RereadArguments arguments{reinterpret_cast<const uint4*>(device_words_.data()), steps_, rounds_,
                                    sums_.data()};
    launch_kernel(function_, launch_, stream, arguments);
  }

  Check check(cudaStream_t stream) override {
    const std::vector<std::uint32_t> sums = result_of_launch(*this, stream, sums_);
    const std::vector<std::uint32_t> reference = sums_of_a_block();
    for (std::size_t thread = 0; thread < sums.size(); ++thread) {
      if (sums[thread] != reference[thread % kRereadBlockThreads]) return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    return {static_cast<double>(launch_.grid_blocks) * rounds_ * steps_ * kRereadStepBytes, "bytes"};
  }

 private:
  std::vector<std::uint32_t> sums_of_a_block() const {
    constexpr std::size_t kWords = sizeof(uint4) / sizeof(std::uint32_t);
    std::vector<std::uint32_t> once(kRereadBlockThreads);
    for (std::size_t i = 0; i < words_.size(); ++i) once[i / kWords % kRereadBlockThreads] += words_[i];
    std::vector<std::uint32_t> sums(kRereadBlockThreads);
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

std::unique_ptr<Prepared> prepare_reread(const Case& chosen, const Variant& variant, const Device&) {
  return std::make_unique<PreparedReread>(chosen, variant);
}

}  // namespace

const Kernel kReread{"reread", "blocks that read the same bytes again and again", kRereadVariants,
                     prepare_reread};

}  // namespace occbench
