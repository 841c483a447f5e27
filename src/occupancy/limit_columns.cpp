#include "occupancy/limit_columns.hpp"

#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

template <auto Member>
constexpr std::int64_t value_of(const Limits& limits) {
  return limits.*Member;
}

constexpr std::int64_t max_threads_per_sm(const Limits& limits) {
  return limits.max_threads_per_sm();
}

constexpr std::int64_t max_cluster_blocks_per_sm(const Limits& limits) {
  return limits.max_cluster_blocks > 1 ? kMaxClusterBlocksPerSm : 0;
}

// clang-format off
constexpr LimitColumn kLimitColumns[] = {
    {"max_warps_per_sm", "warps", "warps that an SM holds", value_of<&Limits::max_warps_per_sm>},
    {"max_threads_per_sm", "threads", "threads that an SM holds", max_threads_per_sm},
    {"max_blocks_per_sm", "blocks", "blocks that an SM holds", value_of<&Limits::max_blocks_per_sm>},
    {"max_cluster_blocks_per_sm", "blocks", "blocks of clusters that an SM holds, 0 without clusters", max_cluster_blocks_per_sm},
    {"max_cluster_blocks", "blocks", "blocks of a cluster, non-portable sizes included; 1 without clusters", value_of<&Limits::max_cluster_blocks>},
    {"max_threads_per_block", "threads", "threads of a block", value_of<&Limits::max_threads_per_block>},
    {"threads_per_warp", "threads", "threads of a warp", value_of<&Limits::threads_per_warp>},
    {"registers_per_sm", "registers", "32-bit registers of an SM", value_of<&Limits::registers_per_sm>},
    {"register_pools", "", "equal parts of the registers that no block straddles", value_of<&Limits::register_pools>},
    {"max_registers_per_block", "registers", "registers of a block", value_of<&Limits::max_registers_per_block>},
    {"max_registers_per_thread", "registers", "registers of a thread", value_of<&Limits::max_registers_per_thread>},
    {"registers_by_block", "", "1: registers are allocated for a whole block, 0: for each warp", [](const Limits& of) -> std::int64_t { return of.registers_by_block ? 1 : 0; }},
    {"register_allocation_unit", "registers", "an allocation is rounded up to this", value_of<&Limits::register_allocation_unit>},
    {"coarse_register_allocation_unit", "registers", "the same for 21, 22, 29, 30, 37, 38, 45 and 46 registers per thread", value_of<&Limits::coarse_register_allocation_unit>},
    {"warp_allocation_granularity", "warps", "warps get registers in multiples of this", value_of<&Limits::warp_allocation_granularity>},
    {"launch_check_granularity", "warps", "a block's warps, rounded up to this, must fit max_registers_per_block", value_of<&Limits::launch_check_granularity>},
    {"shared_bytes_per_sm", "B", "shared memory of an SM", value_of<&Limits::shared_bytes_per_sm>},
    {"max_shared_bytes_per_block_default", "B", "shared memory of a block without opting in to more; also the most static shared memory", value_of<&Limits::max_shared_bytes_per_block_default>},
    {"max_shared_bytes_per_block", "B", "shared memory of a block that opted in, the reserved bytes not counted", value_of<&Limits::max_shared_bytes_per_block>},
    {"reserved_shared_bytes_per_block", "B", "shared memory that the driver takes of each block", value_of<&Limits::reserved_shared_bytes_per_block>},
    {"shared_allocation_unit", "B", "a block's shared memory is rounded up to this", value_of<&Limits::shared_allocation_unit>},
    {"max_barriers_per_sm", "barriers", "named barriers of an SM, 0 where they do not limit", value_of<&Limits::max_barriers_per_sm>},
    {"sub_partitions", "", "warp schedulers of an SM", value_of<&Limits::sub_partitions>},
    {"fp32_lanes", "", "FP32 fused multiply-adds of an SM per cycle", value_of<&Limits::fp32_lanes>},
};
// clang-format on

}  // namespace

std::span<const LimitColumn> limit_columns() {
  return kLimitColumns;
}

}  // namespace occbench
