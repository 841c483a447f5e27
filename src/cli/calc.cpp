#include <optional>
#include <ostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/ostream.h>

#include "cli/commands.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

struct Options {
  std::string compute_capability;
  Launch launch;
  Usage usage;
};

ExitStatus print_occupancy(const Options& options, Console& console) {
  const Limits& limits = limits_of(parse_compute_capability(options.compute_capability));
  const Occupancy occupancy = theoretical_occupancy(limits, options.launch, options.usage);
  fmt::print(console.out, "theoretical occupancy {:.4g} %: {} blocks, {} of {} warps per SM, limited by {}\n",
             occupancy.theoretical_pct, occupancy.blocks_per_sm, occupancy.warps_per_sm(),
             limits.max_warps_per_sm, to_string(occupancy.limiters));
  if (occupancy.blocks_per_sm == 0) {
    fmt::print(console.out, "cannot launch: {}\n",
               why_it_cannot_launch(limits, options.launch, options.usage));
  }
  return ExitStatus::done;
}

}  // namespace

Action declare_calc(CLI::App& parser) {
  auto options = std::make_shared<Options>();
  parser.add_option("--cc", options->compute_capability, "compute capability: 9.0, 90 or sm_90")->required();
  parser.add_option("--block-size", options->launch.block_threads, "threads per block")->required();
  parser.add_option("--registers", options->usage.registers_per_thread, "registers per thread")->required();
  parser.add_option("--static-smem", options->usage.static_shared_bytes,
                    "static shared memory per block, bytes");
  parser.add_option("--dynamic-smem", options->launch.dynamic_shared_bytes,
                    "dynamic shared memory per block, bytes");
  parser.add_option("--carveout", options->launch.carveout_pct, "preferred shared-memory carveout, %");
  parser.add_option("--barriers", options->usage.barriers, "named barriers per block");
  parser.add_option("--cluster", options->launch.cluster_blocks, "blocks per cluster");
  return [options](Console& console) { return print_occupancy(*options, console); };
}

}  // namespace occbench
