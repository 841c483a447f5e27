#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "kernels/assembled.hpp"
#include "kernels/multiply_add.hpp"
#include "kernels/register_pressure.hpp"
#include "kernels/register_pressure_capped.hpp"
#include "kernels/register_pressure_kernel.cuh"

namespace occbench {
namespace {

__global__ void uncapped_kernel(MultiplyAddArguments arguments) {
  register_pressure_rounds(arguments);
}

template <int kRegisters>
__global__ void __maxnreg__(kRegisters) maxnreg_kernel(MultiplyAddArguments arguments) {
  register_pressure_rounds(arguments);
}

/// Warps that an SM of the compiled architecture can hold: `max_warps_per_sm` of the limits table, which
/// launch bounds cannot read. The host pass only needs some bounds.
constexpr int max_warps_per_sm() {
#ifndef __CUDA_ARCH__
  return 64;
#elif __CUDA_ARCH__ == 750
  return 32;
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1100
  return 48;
#else
  return 64;
#endif
}

/// At most the blocks that an SM can hold: beyond that, ptxas would ignore the bound.
constexpr int possible_blocks(int blocks) {
  return std::min(blocks, max_warps_per_sm() * 32 / kRegisterPressureBlockThreads);
}

template <int kMinBlocks>
__global__ void __launch_bounds__(kRegisterPressureBlockThreads, possible_blocks(kMinBlocks))
    bounded_kernel(MultiplyAddArguments arguments) {
  register_pressure_rounds(arguments);
}

using RegisterCaps = std::integer_sequence<int,
#include "register_pressure_register_caps.inc"
                                           >;

/// Variants whose names end in a number. The names are static, because the variants point into them.
template <int... kNumbers, typename Make>
void add_variants(std::vector<Variant>& variants, const std::string& prefix,
                  std::integer_sequence<int, kNumbers...>, Make make) {
  static const std::array<std::string, sizeof...(kNumbers)> names{prefix + std::to_string(kNumbers)...};
  std::size_t i = 0;
  (variants.push_back(make(std::integral_constant<int, kNumbers>(), names[i++])), ...);
}

std::vector<Variant> register_pressure_variants() {
  std::vector<Variant> variants{make_variant("uncapped", uncapped_kernel)};
  add_variants(variants, "cap_", RegisterCaps(), [](auto cap, std::string_view name) {
    return make_variant(name, register_pressure_capped<cap()>());
  });
  add_variants(variants, "maxnreg_", std::integer_sequence<int, 32, 64, 128>(),
               [](auto most, std::string_view name) { return make_variant(name, maxnreg_kernel<most()>); });
  add_variants(
      variants, "min_blocks_", std::integer_sequence<int, 1, 2, 3, 4, 5, 6, 7, 8>(),
      [](auto blocks, std::string_view name) { return make_variant(name, bounded_kernel<blocks()>); });
  return variants;
}

const std::vector<Variant> kRegisterPressureVariants = register_pressure_variants();

std::unique_ptr<Prepared> prepare_register_pressure(const Case& chosen, const Variant& variant,
                                                    const Device&) {
  return prepare_multiply_add(kRegisterPressureShape, chosen, variant);
}

}  // namespace

Work register_pressure_work(int rounds) {
  return multiply_add_work(kRegisterPressureShape, rounds);
}

const Kernel kRegisterPressure{"register_pressure", "multiply-adds over 144 values that want 150 registers",
                               kRegisterPressureVariants, prepare_register_pressure};

}  // namespace occbench
