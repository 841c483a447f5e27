#include "kernels/atomics.hpp"

#include <string>

#include "harness/experiment.hpp"

namespace occbench::bench_atomics {
namespace {

/// Values of each case, over the threads that fill the device.
constexpr int kFullWaves = 15;
constexpr std::int64_t kAddresses[] = {1, 8, 64, 512, 4096, 65'536};

/// Atomics of many threads on few addresses wait for each other; on many, blocks are so short that their
/// launches dominate the time. If one thread sums for its block, the other warps exit.
std::string cause_of(std::string_view variant, std::int64_t addresses) {
  if (variant == "thread") return addresses <= 512 ? "atomics" : "atomics+overhead";
  if (variant == "warp") return addresses <= 64 ? "atomics" : "atomics+overhead";
  return "overhead+uneven_warps";
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const std::string_view variant : {"thread", "warp", "serial", "block"}) {
    for (const std::int64_t addresses : kAddresses) {
      const bool quick = addresses == 1 || addresses == 4096;
      cases.push_back(
          {.kernel = &kAtomics,
           .variant = variant,
           .launch = {.block_threads = kAtomicsBlockThreads,
                      .grid_blocks = on.blocks_of_full_device(kAtomicsBlockThreads, kFullWaves)},
           .extent = addresses,
           .suite = addresses == 1 ? Suite::smoke
                    : quick        ? Suite::quick
                                   : Suite::full,
           .parameters = {{"sum", std::string(variant)}, {"addresses", std::to_string(addresses)}},
           .expected_cause = cause_of(variant, addresses)});
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "atomics",
    "atomics that many threads make to one address cost more than summing in a warp or block first",
    "atomics and occupancy note; CUDA C++ Best Practices Guide, atomic functions", cases};

}  // namespace occbench::bench_atomics
