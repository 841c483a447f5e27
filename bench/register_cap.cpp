#include <algorithm>
#include <array>
#include <string>

#include "harness/experiment.hpp"
#include "kernels/register_pressure.hpp"

namespace occbench::bench_register_cap {
namespace {

/// Every case has the same total work: as many threads as fill the device this many times.
constexpr int kFullWaves = 15;
constexpr int kRounds = 8;

constexpr std::array<std::string_view, 3> kSmoke = {"uncapped", "cap_32", "cap_64"};
constexpr std::array<std::string_view, 8> kQuick = {"uncapped", "cap_32", "cap_48",  "cap_64",
                                                    "cap_80",   "cap_96", "cap_128", "maxnreg_64"};

Suite suite_of(std::string_view variant, int block_threads) {
  if (block_threads != kRegisterPressureBlockThreads) return Suite::full;
  if (std::ranges::find(kSmoke, variant) != kSmoke.end()) return Suite::smoke;
  return std::ranges::find(kQuick, variant) != kQuick.end() ? Suite::quick : Suite::full;
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const int block_threads : {kRegisterPressureBlockThreads, kRegisterPressureBlockThreads / 2}) {
    for (const Variant& variant : kRegisterPressure.variants) {
      if (variant.name.starts_with("min_blocks_")) continue;  // they belong to launch_bounds
      cases.push_back({.kernel = &kRegisterPressure,
                       .variant = variant.name,
                       .launch = {.block_threads = block_threads,
                                  .grid_blocks = on.blocks_of_full_device(block_threads, kFullWaves)},
                       .work = register_pressure_work(kRounds),
                       .suite = suite_of(variant.name, block_threads),
                       .parameters = {{"block_threads", std::to_string(block_threads)}},
                       .expected_cause = on.has_local_memory(kRegisterPressure, variant.name)
                                             ? "spills"
                                             : "register_limit"});
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "register_cap",
    "capping the registers of a kernel that wants many raises occupancy and costs "
    "spills: the fastest is in between",
    "resource-partitioning note; CUDA C++ Best Practices Guide, Register Pressure", cases};

}  // namespace occbench::bench_register_cap
