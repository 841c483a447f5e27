#include "occupancy/rules.hpp"

#include <fmt/core.h>

#include "occupancy/allocation.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

RegisterFigures register_figures(const Limits& limits, const Launch& launch, const Usage& usage,
                                 int warps_per_block) {
  const RegisterDemand demand = register_demand(limits, usage.registers_per_thread, warps_per_block);
  RegisterFigures of{};
  of.asked_per_thread = usage.registers_per_thread;
  of.block_threads = launch.block_threads;
  of.warps_per_block = warps_per_block;
  of.by_block = limits.registers_by_block;
  of.unit = of.by_block ? limits.register_allocation_unit : register_unit(limits, of.asked_per_thread);
  of.allocated_warps =
      of.by_block ? rounded_up(warps_per_block, limits.warp_allocation_granularity) : warps_per_block;
  of.allocated_per_thread = demand.of_warp / limits.threads_per_warp;
  of.allocated_per_block = demand.of_block;
  of.pools = limits.register_pools;
  of.registers_per_pool = limits.registers_per_sm / limits.register_pools;
  of.sub_partitions = of.by_block ? 1 : limits.warp_allocation_granularity;
  if (!of.by_block && demand.of_warp > 0)
    of.warps_per_sub_partition = of.registers_per_pool / of.sub_partitions / demand.of_warp;
  of.checked_per_block = demand.checked;
  of.max_per_block = limits.max_registers_per_block;
  return of;
}

SharedMemoryFigures shared_memory_figures(const Limits& limits, const Launch& launch, const Usage& usage,
                                          const Occupancy& occupancy) {
  return {.asked_bytes = usage.static_shared_bytes + launch.dynamic_shared_bytes,
          .reserved_bytes = limits.reserved_shared_bytes_per_block,
          .unit = limits.shared_allocation_unit,
          .allocated_bytes = occupancy.shared_bytes_per_block,
          .max_bytes_per_block = max_shared_demand(limits),
          .carveout_pct = launch.carveout_pct,
          .configured_bytes_per_sm = occupancy.shared_bytes_per_sm,
          .max_bytes_per_sm = limits.shared_bytes_per_sm};
}

std::string blocks_text(int blocks) {
  return blocks == 1 ? "1 block" : fmt::format("{} blocks", grouped(blocks));
}

/// "64 / 16 = 4 blocks"
std::string quotient(std::int64_t all, std::int64_t of_block, int blocks) {
  return fmt::format("{} / {} = {}", grouped(all), grouped(of_block), blocks_text(blocks));
}

std::string sentence(const WarpFigures& of, int blocks) {
  const int last = of.block_threads % of.threads_per_warp;
  const std::string partial = last == 0 ? "" : fmt::format(", the last with {} threads", last);
  return fmt::format("{} threads are {} warp{} of {}{}; an SM has {}: {}", of.block_threads,
                     of.warps_per_block, of.warps_per_block == 1 ? "" : "s", of.threads_per_warp, partial,
                     of.max_warps_per_sm, quotient(of.max_warps_per_sm, of.warps_per_block, blocks));
}

std::string sentence(const BlockSlotFigures& of, int) {
  return fmt::format("an SM holds at most {}{}", blocks_text(of.slots), of.of_clusters ? " of clusters" : "");
}

/// From a thread's registers to a block's.
std::string block_registers(const RegisterFigures& of) {
  std::string text = fmt::format("{} registers x {} threads: ", of.asked_per_thread, of.block_threads);
  if (of.by_block) {
    if (of.allocated_warps != of.warps_per_block)
      text += fmt::format("{} -> {} warps, ", of.warps_per_block, of.allocated_warps);
    return text + fmt::format("{} registers a block by the {}-register unit per block",
                              grouped(of.allocated_per_block), of.unit);
  }
  const bool rounded = of.allocated_per_thread != of.asked_per_thread;
  text += rounded ? fmt::format("{} -> {} per thread by", of.asked_per_thread, of.allocated_per_thread)
                  : std::string("no rounding by");
  return text + fmt::format(" the {}-register unit per warp, {} registers a block", of.unit,
                            grouped(of.allocated_per_block));
}

std::string sentence(const RegisterFigures& of, int blocks) {
  if (of.asked_per_thread == 0) return "no registers given: any number of blocks";
  std::string text = block_registers(of) + "; ";
  if (of.checked_per_block > of.max_per_block) {
    const bool by_more_warps = of.checked_per_block != of.allocated_per_block;
    return text + fmt::format("{}a block may have {}: 0 blocks",
                              by_more_warps ? fmt::format("{} counted by whole sub-partitions, and ",
                                                          grouped(of.checked_per_block))
                                            : "",
                              grouped(of.max_per_block));
  }
  if (of.pools > 1) text += fmt::format("each of {} equal parts of an SM's registers: ", of.pools);
  const int of_pool = blocks / of.pools;
  if (of.registers_per_pool / of.allocated_per_block != of_pool) {
    text +=
        fmt::format("each of {} sub-partitions has room for {} whole warps, {} together: ", of.sub_partitions,
                    of.warps_per_sub_partition, of.sub_partitions * of.warps_per_sub_partition);
    text += quotient(of.sub_partitions * of.warps_per_sub_partition, of.warps_per_block, of_pool);
  } else {
    text += quotient(of.registers_per_pool, of.allocated_per_block, of_pool);
  }
  return of.pools > 1 ? text + fmt::format(", {} in all", blocks_text(blocks)) : text;
}

std::string sentence(const SharedMemoryFigures& of, int blocks) {
  if (of.allocated_bytes == 0) return "no shared memory: any number of blocks";
  std::string text = grouped(of.asked_bytes) + " B";
  if (of.reserved_bytes > 0)
    text += fmt::format(" + {} B that the driver reserves", grouped(of.reserved_bytes));
  const std::int64_t sum = of.asked_bytes + of.reserved_bytes;
  if (of.allocated_bytes != sum) {
    text +=
        fmt::format(", {} -> {} B by the {}-byte unit", grouped(sum), grouped(of.allocated_bytes), of.unit);
  } else if (of.reserved_bytes > 0) {
    text += fmt::format(" = {} B a block", grouped(sum));
  } else {
    text += " a block";
  }
  if (of.allocated_bytes > of.max_bytes_per_block)
    return text + fmt::format("; a block may have {} B: 0 blocks", grouped(of.max_bytes_per_block));
  if (of.carveout_pct) {
    text += fmt::format("; the carveout of {} % leaves an SM {} of {} B", *of.carveout_pct,
                        grouped(of.configured_bytes_per_sm), grouped(of.max_bytes_per_sm));
  }
  return text + "; " + quotient(of.configured_bytes_per_sm, of.allocated_bytes, blocks);
}

std::string sentence(const BarrierFigures& of, int blocks) {
  return fmt::format("{} named barrier{} a block; {}", of.barriers_per_block,
                     of.barriers_per_block == 1 ? "" : "s",
                     quotient(of.max_barriers_per_sm, of.barriers_per_block, blocks));
}

}  // namespace

std::vector<AppliedRule> applied_rules(const Limits& limits, const Configuration& configuration) {
  const auto& [launch, usage] = configuration;
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  std::vector<AppliedRule> rules;
  const auto add = [&](Limiter resource, auto figures) {
    rules.push_back(
        {resource, figures, occupancy.block_limits.of(resource), occupancy.limiters.contains(resource)});
  };
  add(Limiter::warps, WarpFigures{launch.block_threads, limits.threads_per_warp, occupancy.warps_per_block,
                                  limits.max_warps_per_sm});
  add(Limiter::blocks, BlockSlotFigures{occupancy.block_limits.blocks, launch.cluster_blocks > 1});
  add(Limiter::registers, register_figures(limits, launch, usage, occupancy.warps_per_block));
  add(Limiter::shared_memory, shared_memory_figures(limits, launch, usage, occupancy));
  if (occupancy.block_limits.barriers != kUnlimited)
    add(Limiter::barriers, BarrierFigures{usage.barriers, limits.max_barriers_per_sm});
  return rules;
}

std::string to_string(const AppliedRule& rule) {
  return std::visit([&](const auto& figures) { return sentence(figures, rule.blocks); }, rule.figures);
}

}  // namespace occbench
