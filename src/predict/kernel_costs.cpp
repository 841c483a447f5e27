#include "predict/kernel_costs.hpp"

#include <stdexcept>

#include <fmt/core.h>

namespace occbench {
namespace {

struct KernelCost {
  std::string_view kernel;
  std::string_view cost;
  double value;
};

// Sources:
//   guide    CUDA C++ Programming Guide, multiprocessor level, from 7.0 on
//   lanes    the same, arithmetic throughput: lanes per SM
//   nominal  the prediction does not depend on it
//   round    a round number between the generations; all blocks take equally long, so occupancy hardly depends on it
//   code     counted in the machine code for sm_90
//   H200     latency_hiding with one block per SM on an H200
//   reading  explains the counter for 16 warps per sub-partition of 400,000 instructions on an H200 (70.70 and 80.73 %)
constexpr KernelCost kCosts[] = {
    {"fma_chains", "fma_cycles", 4},                  // guide
    {"fma_chains", "exponential_cycles", 17},         // nominal
    {"fma_chains", "xu_lanes", 16},                   // lanes
    {"fma_chains", "loop_slots", 4},                  // code
    {"fma_chains", "lockstep_cycles_of_4", 126'000},  // reading
    {"fma_chains", "lockstep_cycles_of_8", 219'000},  // reading
    {"multiply_add", "fma_cycles", 4},                // guide
    {"multiply_add", "l2_load_cycles", 285},          // nominal: 200 to 300, by the distance to the L2 slice
    {"multiply_add", "slots_per_load", 4},            // code
    {"multiply_add", "slots_per_round", 3},           // code
    {"multiply_add", "slots_once", 20},               // code
    {"grid_barrier", "cycles_per_round", 2000},       // round
    {"pointer_chase", "l1_load_cycles", 35},          // round
    {"pointer_chase", "l2_load_cycles", 270},         // round
    {"pointer_chase", "memory_load_cycles", 800},     // round
    {"reductions", "additions_per_cycle",
     0.27},                         // 0.25 to 0.29 floats, on an H200 and an H100 (experiment reductions)
    {"reads", "read_cycles", 725},  // H200
    {"reads", "cycles_per_doubling",
     75},                            // 708, 773, 864, 976 cycles for 1, 2, 4, 8 loads on it, slots included
    {"reads", "slots_per_load", 3},  // code
    {"reads", "slots_per_wait", 6},  // code
};

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
