#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/assembled.hpp"
#include "kernels/live_registers.hpp"
#include "kernels/multiply_add.cuh"
#include "kernels/multiply_add.hpp"

namespace occbench {
namespace {

constexpr int kSteps = 128;

/// Values that fill so many registers: the rest hold the sum, the thread's number, an address, and with loads
/// the addend.
constexpr MultiplyAddShape shape_of(LiveRegistersBody body, int registers) {
  return body == LiveRegistersBody::latency ? MultiplyAddShape{registers - 7, kSteps, 1}
                                            : MultiplyAddShape{registers - 6, kSteps, 0};
}

template <LiveRegistersBody kBody, int kRegisters>
__global__ void __maxnreg__(kRegisters) live_registers_kernel(MultiplyAddArguments arguments) {
  constexpr MultiplyAddShape kShape = shape_of(kBody, kRegisters);
  multiply_add_rounds<kShape.values, kShape.steps, kShape.steps_per_load>(arguments);
}

/// One variant with everything known before it runs.
struct LiveRegistersBuild {
  LiveRegistersBody body;
  int registers;
  std::string name;
  void (*function)(MultiplyAddArguments);
};

constexpr auto kBuildCount = std::size(kLiveRegisterCounts);

template <LiveRegistersBody kBody, std::size_t... kIndex>
std::array<LiveRegistersBuild, kBuildCount> builds_of(const std::string& body_name,
                                                      std::index_sequence<kIndex...>) {
  return {LiveRegistersBuild{kBody, kLiveRegisterCounts[kIndex],
                             body_name + "_" + std::to_string(kLiveRegisterCounts[kIndex]),
                             live_registers_kernel<kBody, kLiveRegisterCounts[kIndex]>}...};
}

/// Throughput first, then latency.
const std::array<LiveRegistersBuild, 2 * kBuildCount>& live_registers_builds() {
  static const auto all = [] {
    constexpr auto kIndices = std::make_index_sequence<kBuildCount>();
    std::array<LiveRegistersBuild, 2 * kBuildCount> both;
    std::ranges::move(builds_of<LiveRegistersBody::throughput>("throughput", kIndices), both.begin());
    std::ranges::move(builds_of<LiveRegistersBody::latency>("latency", kIndices), both.begin() + kBuildCount);
    return both;
  }();
  return all;
}

std::array<Variant, 2 * kBuildCount> live_registers_variants() {
  std::array<Variant, 2 * kBuildCount> variants;
  std::ranges::transform(live_registers_builds(), variants.begin(), [](const LiveRegistersBuild& build) {
    return make_variant(build.name, build.function);
  });
  return variants;
}

const std::array<Variant, 2 * kBuildCount> kLiveRegistersVariants = live_registers_variants();

std::unique_ptr<Prepared> prepare_live_registers(const Case& chosen, const Variant& variant, const Device&) {
  const auto build = std::ranges::find(live_registers_builds(), variant.name, &LiveRegistersBuild::name);
  return prepare_multiply_add(shape_of(build->body, build->registers), chosen, variant);
}

}  // namespace

std::string_view live_registers_variant(LiveRegistersBody body, int registers) {
  for (const LiveRegistersBuild& build : live_registers_builds()) {
    if (build.body == body && build.registers == registers) return build.name;
  }
  throw std::out_of_range("live_registers has no variant of " + std::to_string(registers) + " registers");
}

Work live_registers_work(LiveRegistersBody body, int registers, int rounds) {
  return multiply_add_work(shape_of(body, registers), rounds);
}

const Kernel kLiveRegisters{"live_registers", "the same multiply-adds with more values alive in registers",
                            kLiveRegistersVariants, prepare_live_registers};

}  // namespace occbench
