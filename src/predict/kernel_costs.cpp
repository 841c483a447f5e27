#include "predict/kernel_costs.hpp"

#include <array>
#include <stdexcept>

#include <fmt/core.h>

namespace occbench {
namespace {

constexpr std::string_view kGuide = "CUDA C++ Programming Guide, multiprocessor level, from 7.0 on";
constexpr std::string_view kNominal = "nominal; the prediction does not depend on it";
constexpr std::string_view kRound =
    "nominal, a round number between the generations; all blocks take equally long, so occupancy hardly "
    "depends on it";
constexpr std::string_view kSass = "counted in the machine code for sm_90";
constexpr std::string_view kH200 = "latency_hiding with one block per SM on an H200";
constexpr std::string_view kReading =
    "explains what 16 warps per sub-partition of 400,000 instructions read on an H200 (70.70 and 80.73 %); "
    "occbench predict --achieved finds it";

struct KernelCost {
  std::string_view kernel;
  std::string_view cost;
  double value;
  std::string_view source;
};

// clang-format off
constexpr std::array kCosts{
    KernelCost{"fma_chains", "fma_cycles", 4, kGuide},
    KernelCost{"fma_chains", "exponential_cycles", 17, kNominal},
    KernelCost{"fma_chains", "xu_lanes", 16, "CUDA C++ Programming Guide, arithmetic throughput: lanes per SM"},
    KernelCost{"fma_chains", "loop_slots", 4, kSass},
    KernelCost{"fma_chains", "lockstep_cycles_of_4", 126'000, kReading},
    KernelCost{"fma_chains", "lockstep_cycles_of_8", 219'000, kReading},
    KernelCost{"multiply_add", "fma_cycles", 4, kGuide},
    KernelCost{"multiply_add", "l2_load_cycles", 285, "nominal: 200 to 300, by the distance to the L2 slice"},
    KernelCost{"multiply_add", "slots_per_load", 4, kSass},
    KernelCost{"multiply_add", "slots_per_round", 3, kSass},
    KernelCost{"multiply_add", "slots_once", 20, kSass},
    KernelCost{"grid_barrier", "cycles_per_round", 2000, kRound},
    KernelCost{"pointer_chase", "l1_load_cycles", 35, kRound},
    KernelCost{"pointer_chase", "l2_load_cycles", 270, kRound},
    KernelCost{"pointer_chase", "memory_load_cycles", 800, kRound},
    KernelCost{"reductions", "additions_per_cycle", 0.27, "0.25 to 0.29 floats added to one address on an H200 and an H100 (experiment reductions)"},
    KernelCost{"reads", "read_cycles", 725, kH200},
    KernelCost{"reads", "cycles_per_doubling", 75, "708, 773, 864, 976 cycles for 1, 2, 4, 8 loads there, slots included"},
    KernelCost{"reads", "slots_per_load", 3, kSass},
    KernelCost{"reads", "slots_per_wait", 6, kSass},
};
// clang-format on

}  // namespace

std::optional<double> known_cost(std::string_view kernel, std::string_view cost) {
  for (const KernelCost& line : kCosts) {
    if (line.kernel == kernel && line.cost == cost) return line.value;
  }
  return std::nullopt;
}

double kernel_cost(std::string_view kernel, std::string_view cost) {
  if (const std::optional<double> known = known_cost(kernel, cost)) return *known;
  throw std::out_of_range(fmt::format("no cost {} of the kernel {}", cost, kernel));
}

double additions_to_one_address_per_cycle() {
  return kernel_cost("reductions", "additions_per_cycle");
}

}  // namespace occbench
