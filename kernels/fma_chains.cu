#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/fma_chains.hpp"
#include "kernels/fma_chains_kernel.cuh"
#include "kernels/result_of_launch.hpp"
#include "occupancy/warps.hpp"
#include "predict/kernel_costs.hpp"

namespace occbench {
namespace {

/// One variant with everything known before it runs.
struct ChainBuild {
  ChainBody body;
  int chains;
  std::string name;
  void (*function)(ChainArguments);
};

template <ChainBody kBody, std::size_t... kIndex>
void add_builds(std::vector<ChainBuild>& builds, const std::string& name, std::index_sequence<kIndex...>) {
  (builds.push_back({kBody, kChainCounts[kIndex], name + "_" + std::to_string(kChainCounts[kIndex]),
                     fma_chains_kernel<kBody, kChainCounts[kIndex]>}),
   ...);
}

const std::vector<ChainBuild>& fma_chains_builds() {
  static const auto all = [] {
    constexpr auto kIndices = std::make_index_sequence<std::size(kChainCounts)>();
    std::vector<ChainBuild> both;
    add_builds<ChainBody::fma>(both, "multiply_add", kIndices);
    add_builds<ChainBody::exponential>(both, "exponential", kIndices);
    return both;
  }();
  return all;
}

const std::vector<Variant> kFmaChainsVariants = [] {
  std::vector<Variant> variants;
  for (const ChainBuild& build : fma_chains_builds())
    variants.push_back(make_variant(build.name, build.function));
  return variants;
}();

class PreparedFmaChains final : public Prepared {
 public:
  PreparedFmaChains(const Case& chosen, ChainBody body, int chains, const Variant& variant,
                    const Limits& limits)
      : build_{body, chains},
        function_(variant.function),
        launch_(chosen.launch),
        rounds_(std::max(1, static_cast<int>(std::lround(chosen.work.value().cycles /
                                                         fma_chains_round(limits, body, chains).cycles)))),
        inputs_(random_inputs(body)),
        device_inputs_(std::span<const float>(inputs_)),
        sums_(static_cast<std::size_t>(launch_.grid_blocks * launch_.block_threads)) {
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel(function_, launch_, stream, ChainArguments{device_inputs_.data(), rounds_, sums_.data()});
  }

  Check check(cudaStream_t stream) override {
    const std::vector<float> sums = result_of_launch(*this, stream, sums_);
    std::array<float, kChainInputSets> reference{};
    for (unsigned set = 0; set < kChainInputSets; ++set) reference[set] = reference_sum(set);
    for (std::size_t thread = 0; thread < sums.size(); ++thread) {
      if (!agrees(sums[thread], reference[thread % kChainInputSets])) return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    const double instructions =
        static_cast<double>(sums_.size()) * rounds_ * build_.chains * steps(build_.body, build_.chains);
    return {instructions, build_.body == ChainBody::fma ? "multiply-adds" : "exponentials"};
  }

 private:
  static std::vector<float> random_inputs(ChainBody body) {
    std::mt19937 generator(1);
    const auto fill = [&](auto first, auto last, float low, float high) {
      std::uniform_real_distribution<float> values(low, high);
      std::generate(first, last, [&] { return values(generator); });
    };
    std::vector<float> inputs((kMostChains + 1) * kChainInputSets);
    const auto addends = inputs.begin() + kMostChains * kChainInputSets;
    const bool exponential = body == ChainBody::exponential;
    fill(inputs.begin(), addends, exponential ? 1.25F : -0.5F, exponential ? 2.0F : 0.5F);
    fill(addends, inputs.end(), 1e-5F, 1e-4F);
    return inputs;
  }

  /// The host's multiply-add rounds as the device's does; a power and its logarithm return the value except
  /// for the last places.
  bool agrees(float sum, float reference) const {
    if (build_.body == ChainBody::fma) return sum == reference;
    return std::abs(sum - reference) < 1e-3F * std::abs(reference);
  }

  float reference_sum(unsigned set) const {
    const auto input = [&](int i) { return inputs_[static_cast<std::size_t>(i) * kChainInputSets + set]; };
    std::array<float, kMostChains> values{};
    for (int chain = 0; chain < build_.chains; ++chain)
      values[static_cast<std::size_t>(chain)] = input(chain);
    const std::span<float> chains(values.data(), static_cast<std::size_t>(build_.chains));
    if (build_.body == ChainBody::exponential)
      return rounds_ * std::accumulate(chains.begin(), chains.end(), 0.0F);
    const std::int64_t count = static_cast<std::int64_t>(rounds_) * steps(build_.body, build_.chains);
    for (std::int64_t step = 0; step < count; ++step) {
      for (float& value : chains) value = std::fma(value, kFactor, input(kMostChains));
    }
    return std::accumulate(chains.begin(), chains.end(), 0.0F);
  }

  struct {
    ChainBody body;
    int chains;
  } build_;
  const void* function_;
  Launch launch_;
  int rounds_;
  std::vector<float> inputs_;
  DeviceBuffer<float> device_inputs_;
  DeviceBuffer<float> sums_;
};

/// Lockstep time of warps that can issue in every cycle, if known for the compute capability.
std::optional<double> lockstep_cycles(const Limits& limits, ChainBody body, int chains) {
  if (body != ChainBody::fma || limits.compute_capability != kCostsOf) return std::nullopt;
  return known_cost("fma_chains", "lockstep_cycles_of_" + std::to_string(chains));
}

std::unique_ptr<Prepared> prepare_compiled_chains(const Case& chosen, const Variant& variant,
                                                  const Device& device) {
  const auto build = std::ranges::find(fma_chains_builds(), variant.name, &ChainBuild::name);
  return prepare_fma_chains(build->body, build->chains, chosen, variant, device);
}

}  // namespace

std::unique_ptr<Prepared> prepare_fma_chains(ChainBody body, int chains, const Case& chosen,
                                             const Variant& variant, const Device& device) {
  return std::make_unique<PreparedFmaChains>(chosen, body, chains, variant, device.limits);
}

std::string_view fma_chains_variant(ChainBody body, int chains) {
  for (const ChainBuild& build : fma_chains_builds()) {
    if (build.body == body && build.chains == chains) return build.name;
  }
  throw std::out_of_range("chains has no variant of " + std::to_string(chains) + " chains");
}

ChainRound fma_chains_round(const Limits& limits, ChainBody body, int chains) {
  const auto cost = [](std::string_view name) { return kernel_cost("fma_chains", name); };
  const double loop = cost("loop_slots");
  const bool is_fma = body == ChainBody::fma;
  const double latency = cost(is_fma ? "fma_cycles" : "exponential_cycles");
  const double lanes = (is_fma ? limits.fp32_lanes : cost("xu_lanes")) / limits.sub_partitions;
  const double pipe_cycles = std::max(1.0, kThreadsPerWarp / lanes);
  const double steps_in_round = steps(body, chains);
  const double instructions = steps_in_round * chains;
  return {.cycles = steps_in_round * std::max(latency, chains * pipe_cycles) + loop,
          .issue_slots = instructions + loop,
          .pipe_cycles = pipe_cycles > 1 ? instructions * pipe_cycles : 0};
}

Work fma_chains_work(const Limits& limits, ChainBody body, int chains, int warps, double cycles) {
  const ChainRound round = fma_chains_round(limits, body, chains);
  const double together = std::max(round.cycles, warps * std::max(round.issue_slots, round.pipe_cycles));
  const double rounds = std::max(1.0, std::round(cycles / together));
  return {.cycles = rounds * round.cycles,
          .issue_slots = rounds * round.issue_slots,
          .pipe_cycles = rounds * round.pipe_cycles,
          .lockstep_cycles = lockstep_cycles(limits, body, chains)};
}

const Kernel kFmaChains{"fma_chains", "independent chains of dependent arithmetic", kFmaChainsVariants,
                        prepare_compiled_chains};

}  // namespace occbench
