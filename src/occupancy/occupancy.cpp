#include "occupancy/occupancy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/core.h>

#include "occupancy/allocation.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

constexpr std::int64_t kMaxAskedBytes = std::numeric_limits<int>::max();

constexpr int divide_by_unit(int value, int unit) {
  return value >> std::countr_zero(static_cast<unsigned>(unit));
}

constexpr bool within(std::int64_t value, std::int64_t low, std::int64_t high) {
  return (low <= value) & (value <= high);
}

/// @throws InputError for values that no launch can ask for
void require_askable(const Limits& limits, const Launch& launch, const Usage& usage) {
  const auto capability = [&] { return "compute capability " + to_string(limits.compute_capability); };
  const auto check = [&](std::string_view what, std::int64_t value, std::int64_t low, std::int64_t high,
                         std::string_view of) {
    if (low <= value && value <= high) [[likely]]
      return;
    throw InputError("{} = {} is out of range: {} allows {} to {}", what, value,
                     of.empty() ? capability() : std::string(of), low, high);
  };
  check("block_threads", launch.block_threads, 1, limits.max_threads_per_block, "");
  check("registers_per_thread", usage.registers_per_thread, 0, limits.max_registers_per_thread, "");
  check("static_shared_bytes", usage.static_shared_bytes, 0, kMaxAskedBytes, "CUDA");
  check("dynamic_shared_bytes", launch.dynamic_shared_bytes, 0, kMaxAskedBytes, "CUDA");
  check("carveout_pct", launch.carveout_pct.value_or(0), 0, 100, "a percentage");
  check("barriers", usage.barriers, 0, kMaxBarriersPerBlock, "CUDA");
  if (launch.cluster_blocks > 1 && limits.max_cluster_blocks == 1)
    throw InputError("cluster_blocks = {} is out of range: {} has no clusters", launch.cluster_blocks,
                     capability());
  check("cluster_blocks", launch.cluster_blocks, 1, limits.max_cluster_blocks, "");
}

int register_block_limit(const Limits& limits, const RegisterDemand& demand, int warps_per_block) {
  if (demand.of_warp == 0) return kUnlimited;
  int blocks = 0;
  if (limits.registers_by_block) {
    blocks = limits.registers_per_sm / demand.of_block;
  } else {
    // Every sub-partition of a pool hands out registers of its own, to whole warps.
    const int sub_partitions = limits.warp_allocation_granularity;
    const int warps_of_each =
        limits.registers_per_sm / (limits.register_pools * sub_partitions * demand.of_warp);
    blocks = warps_of_each * sub_partitions / warps_per_block * limits.register_pools;
  }
  return demand.checked > limits.max_registers_per_block ? 0 : blocks;
}

// No early exit: the number of sizes can be foreseen, the size that fits cannot.
int smallest_carveout_bytes(const Limits& limits, int at_least) {
  int smallest = limits.shared_bytes_per_sm;
  for (std::size_t index = limits.carveouts_kb.size(); index > 0; --index) {
    const int bytes = limits.carveouts_kb[index - 1] * 1024;
    smallest = bytes >= at_least ? bytes : smallest;
  }
  return smallest;
}

// Shared memory that an SM is configured to for blocks that take `of_block` bytes, at most its maximum.
int configured_shared_bytes(const Limits& limits, std::optional<int> carveout_pct, int of_block) {
  const int most = limits.shared_bytes_per_sm;
  if (!carveout_pct) return most;
  // From 7.0 on the preference is a share of the maximum, and a block that needs more gets the next size that
  // holds it.
  if (limits.compute_capability.major >= 7) {
    return smallest_carveout_bytes(limits, std::max(most * *carveout_pct / 100, of_block));
  }
  // Before 7.0 it is a choice between the ends (prefer L1, prefer shared) and the middle; a block that needs more gets
  // all.
  const int least = limits.carveouts_kb.front() * 1024;
  const int preferred = smallest_carveout_bytes(limits, least + (most - least) * *carveout_pct / 100);
  return preferred >= of_block ? preferred : most;
}

}  // namespace

std::string_view to_string(Limiter limiter) {
  static constexpr std::string_view kWords[] = {"warps", "blocks", "registers", "shared_memory", "barriers"};
  return kWords[static_cast<std::size_t>(limiter)];
}

std::string to_string(Limiters limiters) {
  std::string text;
  for (const Limiter limiter : kAllLimiters) {
    if (!limiters.contains(limiter)) continue;
    if (!text.empty()) text += '+';
    text += to_string(limiter);
  }
  return text;
}

int BlockLimits::of(Limiter limiter) const {
  const int in_order[] = {warps, blocks, registers, shared_memory, barriers};
  return in_order[static_cast<std::size_t>(limiter)];
}

Occupancy theoretical_occupancy(const Limits& limits, const Launch& launch, const Usage& usage) {
  require_askable(limits, launch, usage);

  Occupancy occupancy;
  const int warps_per_block =
      divide_by_unit(launch.block_threads + limits.threads_per_warp - 1, limits.threads_per_warp);
  occupancy.warps_per_block = warps_per_block;
  BlockLimits& block_limits = occupancy.block_limits;
  block_limits.warps = limits.max_warps_per_sm / warps_per_block;
  block_limits.blocks = launch.cluster_blocks > 1 ? std::min(limits.max_blocks_per_sm, kMaxClusterBlocksPerSm)
                                                  : limits.max_blocks_per_sm;

  const RegisterDemand registers = register_demand(limits, usage.registers_per_thread, warps_per_block);
  occupancy.registers_per_block = registers.of_block;
  block_limits.registers = register_block_limit(limits, registers, warps_per_block);

  const std::int64_t shared = shared_demand(limits, launch, usage);
  const bool shared_fits = shared <= max_shared_demand(limits);
  const int shared_of_block = shared_fits ? static_cast<int>(shared) : 0;
  occupancy.shared_bytes_per_block = shared;
  occupancy.shared_bytes_per_sm = configured_shared_bytes(limits, launch.carveout_pct, shared_of_block);
  if (!shared_fits) {
    block_limits.shared_memory = 0;
  } else if (shared_of_block > 0) {
    block_limits.shared_memory = occupancy.shared_bytes_per_sm / shared_of_block;
  }

  if (limits.max_barriers_per_sm > 0 && usage.barriers > 0) {
    block_limits.barriers = limits.max_barriers_per_sm / usage.barriers;
  }

  const int blocks = std::min({block_limits.warps, block_limits.blocks, block_limits.registers,
                               block_limits.shared_memory, block_limits.barriers});
  occupancy.blocks_per_sm = blocks;
  occupancy.limiters.add(Limiter::warps, block_limits.warps == blocks);
  occupancy.limiters.add(Limiter::blocks, block_limits.blocks == blocks);
  occupancy.limiters.add(Limiter::registers, block_limits.registers == blocks);
  occupancy.limiters.add(Limiter::shared_memory, block_limits.shared_memory == blocks);
  occupancy.limiters.add(Limiter::barriers, block_limits.barriers == blocks);
  occupancy.theoretical_pct = 100.0 * occupancy.warps_per_sm() / limits.max_warps_per_sm;
  return occupancy;
}

int registers_left(const Limits& limits, int block_threads, std::int64_t blocks) {
  int registers = limits.max_registers_per_thread;
  const auto is_enough = [&] {
    return theoretical_occupancy(limits, {.block_threads = block_threads},
                                 {.registers_per_thread = registers})
               .block_limits.registers >= blocks;
  };
  while (registers > 0 && !is_enough()) --registers;
  return registers;
}

std::pair<int, int> parse_launch_bounds(std::string_view text, const Limits& limits) {
  constexpr int kMost = 1024;
  const std::size_t mark = std::min(text.find_first_of(":,"), text.size());
  const std::optional<int> first = read_number(text.substr(0, mark), 1, kMost);
  const std::optional<int> second = mark < text.size() ? read_number(text.substr(mark + 1), 1, kMost) : first;
  if (!first || !second)
    throw InputError("--launch-bounds = '{}' is not the most threads per block, or FEWEST:MOST, of 1 to {}",
                     text, kMost);
  if (mark == text.size()) return {1, *first};
  if (text[mark] == ':' && *first <= *second) return {*first, *second};
  const int registers = registers_left(limits, *first, *second);
  const bool fits = registers > 0 && theoretical_occupancy(limits, {.block_threads = *first},
                                                           {.registers_per_thread = registers})
                                             .blocks_per_sm >= *second;
  throw InputError(
      "--launch-bounds = '{}': a pair is FEWEST:MOST threads per block. The second number of CUDA's launch "
      "bounds is the fewest blocks per SM, which cap registers: with {} of {} threads {}",
      text, counted(*second, "block"), *first,
      fits ? fmt::format("{} are left a thread (--launch-bounds {} --registers {})", registers, *first,
                         registers)
           : "no SM has room");
}

bool must_opt_in(const Limits& limits, const Launch& launch, const Usage& usage) {
  return usage.static_shared_bytes + launch.dynamic_shared_bytes > limits.max_shared_bytes_per_block_default;
}

void check_static_shared(const Limits& limits, const Usage& usage) {
  const int most = limits.max_shared_bytes_per_block_default;
  if (usage.static_shared_bytes <= most) return;
  std::string remedy = "use less";
  if (usage.static_shared_bytes <= limits.max_shared_bytes_per_block) {
    remedy = fmt::format(
        "declare it extern __shared__, give it at launch as dynamic shared memory (--dynamic-smem {0}, "
        "column dynamic_shared_bytes) and opt in: cudaFuncSetAttribute(kernel, "
        "cudaFuncAttributeMaxDynamicSharedMemorySize, {0})",
        usage.static_shared_bytes);
  }
  throw InputError("static_shared_bytes = {} is more than the {} that compute capability {} allows; {}",
                   usage.static_shared_bytes, most, to_string(limits.compute_capability), remedy);
}

void check_whole_clusters(const Launch& launch) {
  const std::int64_t cluster = launch.cluster_blocks;
  if (cluster <= 1 || launch.grid_blocks % cluster == 0) return;
  const std::int64_t below = launch.grid_blocks / cluster * cluster;
  throw InputError(
      "grid_blocks = {} is not a multiple of cluster_blocks = {}: CUDA launches whole clusters; use {}{} "
      "blocks",
      launch.grid_blocks, cluster, below > 0 ? fmt::format("{} or ", below) : "", below + cluster);
}

std::int64_t full_wave_blocks(const Occupancy& occupancy, int sm_count) {
  return std::int64_t{occupancy.blocks_per_sm} * sm_count;
}

std::optional<double> waves(std::int64_t grid_blocks, std::int64_t full_wave) {
  if (full_wave == 0) return std::nullopt;
  return static_cast<double>(grid_blocks) / static_cast<double>(full_wave);
}

double filled_rounds(double waves) {
  return waves / std::ceil(waves);
}

Idle idle_resources(const Limits& limits, const Launch& launch, const Occupancy& occupancy) {
  const int blocks = occupancy.blocks_per_sm;
  return {.warps = limits.max_warps_per_sm - occupancy.warps_per_sm(),
          .threads = limits.max_threads_per_sm() - blocks * launch.block_threads,
          .blocks = limits.max_blocks_per_sm - blocks,
          .registers = limits.registers_per_sm - blocks * occupancy.registers_per_block,
          .shared_bytes = occupancy.shared_bytes_per_sm - blocks * occupancy.shared_bytes_per_block};
}

std::string why_it_cannot_launch(const Limits& limits, const Launch& launch, const Usage& usage) {
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  std::string reasons;
  if (occupancy.block_limits.registers == 0) {
    const RegisterDemand demand =
        register_demand(limits, usage.registers_per_thread, occupancy.warps_per_block);
    reasons = fmt::format(
        "a block of {} threads with {} registers each needs {} registers; a block may have {}",
        launch.block_threads, usage.registers_per_thread, demand.checked, limits.max_registers_per_block);
  }
  if (occupancy.block_limits.shared_memory == 0) {
    if (!reasons.empty()) reasons += ", and ";
    reasons += fmt::format("a block asks {} bytes of shared memory; a block may have {}",
                           usage.static_shared_bytes + launch.dynamic_shared_bytes,
                           limits.max_shared_bytes_per_block);
  }
  return reasons;
}

}  // namespace occbench
