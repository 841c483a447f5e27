#include <string>

#include "harness/experiment.hpp"
#include "kernels/register_pressure.hpp"

namespace occbench::bench_launch_bounds {
namespace {

/// As in register_cap.
constexpr int kFullWaves = 15;
constexpr int kRounds = 8;

std::vector<Case> cases(const Planner& on) {
  constexpr int kBlockThreads = kRegisterPressureBlockThreads;
  const auto make = [&](const Variant& variant, const std::string& way, int min_blocks) {
    return Case{
        .kernel = &kRegisterPressure,
        .variant = variant.name,
        .launch = {.block_threads = kBlockThreads,
                   .grid_blocks = on.blocks_of_full_device(kBlockThreads, kFullWaves)},
        .work = register_pressure_work(kRounds),
        .suite = min_blocks == 1 || min_blocks == 4 ? Suite::quick : Suite::full,
        .parameters = {{"way", way}, {"min_blocks", std::to_string(min_blocks)}},
        .expected_cause = on.has_local_memory(kRegisterPressure, variant.name) ? "spills" : "register_limit"};
  };
  std::vector<Case> cases;
  for (int blocks = 1; blocks <= on.limits().max_threads_per_sm() / kBlockThreads && blocks <= 8; ++blocks) {
    const Variant& bounded = kRegisterPressure.find("min_blocks_" + std::to_string(blocks));
    cases.push_back(make(bounded, "launch_bounds", blocks));
    // The same limit by the compiler's option: the largest register cap with which so many blocks fit.
    const Variant* capped = nullptr;
    int most = 0;
    for (const Variant& variant : kRegisterPressure.variants) {
      if (!variant.name.starts_with("cap_")) continue;
      const int cap = std::stoi(std::string(variant.name.substr(4)));
      const Usage usage{.registers_per_thread = cap};
      const int fit =
          theoretical_occupancy(on.limits(), {.block_threads = kBlockThreads}, usage).blocks_per_sm;
      if (fit < blocks || cap <= most) continue;
      most = cap;
      capped = &variant;
    }
    if (capped != nullptr) cases.push_back(make(*capped, "maxrregcount", blocks));
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "launch_bounds",
    "launch bounds find the balance of occupancy and registers as well as a cap on registers does, and some "
    "spills can pay",
    "achieved-occupancy translation, registers and launch bounds; CUDA C++ Programming Guide, launch bounds",
    cases};

}  // namespace occbench::bench_launch_bounds
