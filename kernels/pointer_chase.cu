#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/pointer_chase.hpp"
#include "predict/kernel_costs.hpp"

namespace occbench {
namespace {

constexpr std::size_t kWordsPerLine = kPointerChaseLineBytes / sizeof(std::uint32_t);

/// @param next   in the first word of each line of the chain, the word index of the next line
/// @param place  where the last launch ended; receives where this one ends
__global__ void pointer_chase_kernel(const std::uint32_t* next, std::uint32_t* place, std::int64_t loads) {
  std::uint32_t here = *place;
#pragma unroll 8
  for (std::int64_t load = 0; load < loads; ++load) here = next[here];
  if (threadIdx.x == 0) *place = here;
}

const Variant kPointerChaseVariants[] = {make_variant("plain", pointer_chase_kernel)};

/// The next line of each line, in one random cycle through all of them (Sattolo's algorithm).
std::vector<std::uint32_t> random_cycle(std::size_t lines) {
  std::mt19937 generator(1);
  std::vector<std::uint32_t> follows(lines);
  std::iota(follows.begin(), follows.end(), 0U);
  for (std::size_t last = lines - 1; last > 0; --last) {
    std::swap(follows[last], follows[std::uniform_int_distribution<std::size_t>(0, last - 1)(generator)]);
  }
  return follows;
}

/// Cycles from an address to its value.
double cycles_per_load(const Device& device, std::int64_t extent) {
  constexpr std::int64_t kFitsL1 = 16 * 1024;
  const auto cost = [](std::string_view name) { return kernel_cost("pointer_chase", name); };
  if (extent <= kFitsL1) return cost("l1_load_cycles");
  return cost(extent <= static_cast<std::int64_t>(device.l2_bytes) / 2 ? "l2_load_cycles"
                                                                       : "memory_load_cycles");
}

class PreparedPointerChase final : public Prepared {
 public:
  PreparedPointerChase(const Case& chosen, const Variant& variant, const Device& device)
      : function_(variant.function),
        launch_(chosen.launch),
        loads_(std::max<std::int64_t>(
            1, std::llround(chosen.work.value().cycles / cycles_per_load(device, chosen.extent)))),
        follows_(random_cycle(static_cast<std::size_t>(chosen.extent / kPointerChaseLineBytes))),
        next_(std::span<const std::uint32_t>(lines_of(follows_))),
        place_(1) {
    place_.fill_bytes(0);
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel(function_, launch_, stream, static_cast<const std::uint32_t*>(next_.data()), place_.data(),
                  loads_);
  }

  Check check(cudaStream_t stream) override {
    std::uint32_t line = place_.to_host().front() / kWordsPerLine;
    launch(stream);
    occbench::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (std::int64_t load = 0; load < loads_; ++load) line = follows_[line];
    return place_.to_host().front() == line * kWordsPerLine ? Check::ok : Check::wrong;
  }

  Amount useful() const override {
    return {static_cast<double>(loads_), "loads"};
  }

 private:
  static std::vector<std::uint32_t> lines_of(const std::vector<std::uint32_t>& follows) {
    std::vector<std::uint32_t> words(follows.size() * kWordsPerLine);
    for (std::size_t line = 0; line < follows.size(); ++line) {
      words[line * kWordsPerLine] = follows[line] * static_cast<std::uint32_t>(kWordsPerLine);
    }
    return words;
  }

  const void* function_;
  Launch launch_;
  std::int64_t loads_;
  std::vector<std::uint32_t> follows_;
  DeviceBuffer<std::uint32_t> next_;
  DeviceBuffer<std::uint32_t> place_;
};

std::unique_ptr<Prepared> prepare_pointer_chase(const Case& chosen, const Variant& variant,
                                                const Device& device) {
  return std::make_unique<PreparedPointerChase>(chosen, variant, device);
}

}  // namespace

Work pointer_chase_work(const Device& device, std::int64_t extent, std::int64_t loads) {
  return Work::equal(static_cast<double>(loads) * cycles_per_load(device, extent));
}

const Kernel kPointerChase{"pointer_chase", "dependent loads in random order", kPointerChaseVariants,
                           prepare_pointer_chase};

}  // namespace occbench
