#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/assembled.hpp"
#include "kernels/live_values.hpp"
#include "kernels/multiply_add.cuh"
#include "kernels/multiply_add.hpp"

namespace occbench {
namespace {

constexpr int kSteps = 128;

/// Values that fill so many registers: what is left of them holds the sum, the thread's number, an address,
/// and with loads the addend.
constexpr MultiplyAddShape shape_of(LiveValuesBody body, int registers) {
  return body == LiveValuesBody::latency ? MultiplyAddShape{registers - 7, kSteps, 1}
                                         : MultiplyAddShape{registers - 6, kSteps, 0};
}

template <LiveValuesBody kBody, int kRegisters>
__global__ void __maxnreg__(kRegisters) live_values_kernel(MultiplyAddArguments arguments) {
  constexpr MultiplyAddShape kShape = shape_of(kBody, kRegisters);
  multiply_add_rounds<kShape.values, kShape.steps, kShape.steps_per_load>(arguments);
}

/// One variant with all that is known of it before it runs.
struct LiveValuesBuild {
  LiveValuesBody body;
  int registers;
  std::string name;
  void (*function)(MultiplyAddArguments);
};

constexpr auto kBuildCount = std::size(kLiveValuesRegisters);

template <LiveValuesBody kBody, std::size_t... kIndex>
std::array<LiveValuesBuild, kBuildCount> builds_of(const std::string& body_name,
                                                   std::index_sequence<kIndex...>) {
  return {LiveValuesBuild{kBody, kLiveValuesRegisters[kIndex],
                          body_name + "_" + std::to_string(kLiveValuesRegisters[kIndex]),
                          live_values_kernel<kBody, kLiveValuesRegisters[kIndex]>}...};
}

/// Throughput first, then latency.
const std::array<LiveValuesBuild, 2 * kBuildCount>& live_values_builds() {
  static const auto all = [] {
    constexpr auto kIndices = std::make_index_sequence<kBuildCount>();
    std::array<LiveValuesBuild, 2 * kBuildCount> both;
    std::ranges::move(builds_of<LiveValuesBody::throughput>("throughput", kIndices), both.begin());
    std::ranges::move(builds_of<LiveValuesBody::latency>("latency", kIndices), both.begin() + kBuildCount);
    return both;
  }();
  return all;
}

std::array<Variant, 2 * kBuildCount> live_values_variants() {
  std::array<Variant, 2 * kBuildCount> variants;
  std::ranges::transform(live_values_builds(), variants.begin(), [](const LiveValuesBuild& build) {
    return make_variant(build.name, build.function);
  });
  return variants;
}

const std::array<Variant, 2 * kBuildCount> kLiveValuesVariants = live_values_variants();

std::unique_ptr<Prepared> prepare_live_values(const Case& chosen, const Variant& variant, const Device&) {
  const auto build = std::ranges::find(live_values_builds(), variant.name, &LiveValuesBuild::name);
  return prepare_multiply_add(shape_of(build->body, build->registers), chosen, variant);
}

}  // namespace

std::string_view live_values_variant(LiveValuesBody body, int registers) {
  for (const LiveValuesBuild& build : live_values_builds()) {
    if (build.body == body && build.registers == registers) return build.name;
  }
  throw std::out_of_range("live_values has no variant of " + std::to_string(registers) + " registers");
}

Work live_values_work(LiveValuesBody body, int registers, int rounds) {
  return multiply_add_work(shape_of(body, registers), rounds);
}

const Kernel kLiveValues{"live_values", "the same multiply-adds with more values alive in registers",
                         kLiveValuesVariants, prepare_live_values};

}  // namespace occbench
