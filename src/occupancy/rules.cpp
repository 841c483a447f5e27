#include "occupancy/rules.hpp"

#include <utility>

#include <fmt/core.h>

#include "occupancy/allocation.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

/// The compute capability on which kMaxClusterBlocksPerSm was seen.
constexpr ComputeCapability kClusterSlotsOf{9, 0};

/// "64 / 16 = 4 blocks"
std::string quotient(std::int64_t all, std::int64_t of_block, int blocks) {
  return fmt::format("{} / {} = {}", grouped(all), grouped(of_block), blocks_text(blocks));
}

/// Threads fill whole warps, and an SM holds a limited number of warps.
std::string rule_of_warps(const Limits& limits, int block_threads, const Occupancy& of) {
  const int last = block_threads % limits.threads_per_warp;
  const std::string partial = last == 0 ? "" : ", the last with " + counted(last, "thread");
  return fmt::format("{} {} {} of {}{}; an SM has {}: {}", counted(block_threads, "thread"),
                     block_threads == 1 ? "is" : "are", counted(of.warps_per_block, "warp"),
                     limits.threads_per_warp, partial, limits.max_warps_per_sm,
                     quotient(limits.max_warps_per_sm, of.warps_per_block, of.block_limits.warps));
}

/// From a thread's registers to a block's, which are allocated in units: per warp from 2.0 on, per block on 1.x.
std::string block_registers(const Limits& limits, int per_thread, int warps_per_block,
                            const RegisterDemand& demand) {
  if (limits.registers_by_block) {
    const int charged = rounded_up(warps_per_block, limits.warp_allocation_granularity);
    return fmt::format(
        "{}{} registers a block by the {}-register unit per block",
        charged == warps_per_block ? "" : fmt::format("{} -> {} warps, ", warps_per_block, charged),
        grouped(demand.of_block), limits.register_allocation_unit);
  }
  const int allocated = demand.of_warp / limits.threads_per_warp;
  return fmt::format(
      "{} by the {}-register unit per warp, {} registers a block",
      allocated == per_thread ? "no rounding" : fmt::format("{} -> {} per thread", per_thread, allocated),
      register_unit(limits, per_thread), grouped(demand.of_block));
}

std::string rule_of_registers(const Limits& limits, int block_threads, int per_thread, const Occupancy& of) {
  if (per_thread == 0) return "no registers given: any number of blocks";
  const RegisterDemand demand = register_demand(limits, per_thread, of.warps_per_block);
  std::string text = fmt::format("{} registers x {} threads: {}; ", per_thread, block_threads,
                                 block_registers(limits, per_thread, of.warps_per_block, demand));
  // A launch is checked by its warps rounded up to whole sub-partitions.
  if (demand.checked > limits.max_registers_per_block) {
    if (demand.checked != demand.of_block)
      text += fmt::format("{} counted by whole sub-partitions, and ", grouped(demand.checked));
    return text + fmt::format("a block may have {}: 0 blocks", grouped(limits.max_registers_per_block));
  }
  const int pools = limits.register_pools;
  if (pools > 1) text += fmt::format("each of {} equal parts of an SM's registers: ", pools);
  const int blocks = of.block_limits.registers;
  const int registers_of_pool = limits.registers_per_sm / pools;
  if (registers_of_pool / demand.of_block == blocks / pools) {
    text += quotient(registers_of_pool, demand.of_block, blocks / pools);
  } else {
    const int sub_partitions = limits.warp_allocation_granularity;
    const int warps_of_each = registers_of_pool / sub_partitions / demand.of_warp;
    text += fmt::format("each of {} sub-partitions has room for {} whole warps, {} together: {}",
                        sub_partitions, warps_of_each, sub_partitions * warps_of_each,
                        quotient(sub_partitions * warps_of_each, of.warps_per_block, blocks / pools));
  }
  return pools > 1 ? text + fmt::format(", {} in all", blocks_text(blocks)) : text;
}

/// The driver reserves part of each block's shared memory, and the sum is allocated in units.
std::string rule_of_shared_memory(const Limits& limits, const Configuration& configuration,
                                  const Occupancy& of) {
  const auto& [launch, usage] = configuration;
  const std::int64_t allocated = of.shared_bytes_per_block;
  if (allocated == 0) return "no shared memory: any number of blocks";
  const std::int64_t asked = usage.static_shared_bytes + launch.dynamic_shared_bytes;
  const std::int64_t reserved = limits.reserved_shared_bytes_per_block;
  std::string text = grouped(asked) + " B";
  if (reserved > 0) text += fmt::format(" + {} B that the driver reserves", grouped(reserved));
  if (allocated != asked + reserved) {
    text += fmt::format(", {} -> {} B by the {}-byte unit", grouped(asked + reserved), grouped(allocated),
                        limits.shared_allocation_unit);
  } else if (reserved > 0) {
    text += fmt::format(" = {} B a block", grouped(allocated));
  } else {
    text += " a block";
  }
  if (allocated > max_shared_demand(limits))
    return text + fmt::format("; a block may have {} B{}: 0 blocks", grouped(max_shared_demand(limits)),
                              reserved > 0 ? ", these included" : "");
  if (launch.carveout_pct) {
    text += fmt::format("; the carveout of {} % leaves an SM {} of {} B", *launch.carveout_pct,
                        grouped(of.shared_bytes_per_sm), grouped(limits.shared_bytes_per_sm));
  }
  return text + "; " + quotient(of.shared_bytes_per_sm, allocated, of.block_limits.shared_memory);
}

}  // namespace

std::vector<AppliedRule> applied_rules(const Limits& limits, const Configuration& configuration) {
  const auto& [launch, usage] = configuration;
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  const BlockLimits& of = occupancy.block_limits;
  std::vector<AppliedRule> rules;
  const auto add = [&](Limiter resource, std::string sentence) {
    rules.push_back({resource, std::move(sentence), of.of(resource), occupancy.limiters.contains(resource)});
  };
  add(Limiter::warps, rule_of_warps(limits, launch.block_threads, occupancy));
  add(Limiter::blocks,
      fmt::format(
          "an SM holds at most {}{}", blocks_text(of.blocks),
          launch.cluster_blocks == 1
              ? ""
              : fmt::format(" of clusters, as found on compute capability {}{}", to_string(kClusterSlotsOf),
                            limits.compute_capability == kClusterSlotsOf ? "" : " alone")));
  add(Limiter::registers,
      rule_of_registers(limits, launch.block_threads, usage.registers_per_thread, occupancy));
  add(Limiter::shared_memory, rule_of_shared_memory(limits, configuration, occupancy));
  if (of.barriers != kUnlimited) {
    add(Limiter::barriers, fmt::format("{} a block; {}", counted(usage.barriers, "named barrier"),
                                       quotient(limits.max_barriers_per_sm, usage.barriers, of.barriers)));
  }
  return rules;
}

std::string assumed_cluster_slots(const Limits& limits, const Configuration& configuration) {
  if (limits.compute_capability == kClusterSlotsOf) return "";
  Configuration alone = configuration;
  alone.launch.cluster_blocks = 1;
  if (theoretical_occupancy(limits, alone).blocks_per_sm ==
      theoretical_occupancy(limits, configuration).blocks_per_sm)
    return "";
  return fmt::format("{} of clusters an SM assumed, as found on compute capability {} alone",
                     blocks_text(kMaxClusterBlocksPerSm), to_string(kClusterSlotsOf));
}

}  // namespace occbench
