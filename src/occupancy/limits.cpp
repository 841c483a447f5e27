#include "occupancy/limits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <utility>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

// Sizes that shared memory can be configured to, KB. Fermi and Kepler: cudaFuncSetCacheConfig moves the
// border to the L1 cache; 7.0 on: cudaFuncAttributePreferredSharedMemoryCarveout; one size: shared memory has
// a store of its own.
constexpr int kTesla[] = {16};
constexpr int kFermi[] = {16, 48};
constexpr int kKepler[] = {16, 32, 48};
constexpr int kGk210[] = {80, 96, 112};
constexpr int k64[] = {64};
constexpr int k96[] = {96};
constexpr int kVolta[] = {0, 8, 16, 32, 64, 96};
constexpr int kTuring[] = {32, 64};
constexpr int kUpTo100[] = {0, 8, 16, 32, 64, 100};
constexpr int kUpTo164[] = {0, 8, 16, 32, 64, 100, 132, 164};
constexpr int kUpTo228[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

// Sources, by key:
//   X21, X51, X75, X111  NVIDIA's CUDA occupancy calculator spreadsheet, versions 2.1, 5.1, 7.5 and 11.1
//   H13                  cuda_occupancy.h of CUDA 13.0
//   G11, G13             CUDA C++ Programming Guide 11.x and 13.x, technical specifications per compute capability
//   GOLD                 the guide from the time when the compute capability was current
//   T                    device table of Trevor McDonell's cuda package for Haskell
//   W                    NVIDIA Warp's documentation of get_cuda_max_cluster_dim
// Where they disagree, H13 decides from 5.0 on and the newest spreadsheet before that.
//
//   1.x   X21 X51 T. Registers per block: T. GOLD allows 128 registers per thread. Warp schedulers: GOLD.
//   2.x   X75 X111 T. For 21, 22, 29, 30, 37, 38, 45 and 46 registers the spreadsheets allocate by 128, not 64.
//   3.0   X75 X111 T. H13 allows 255 registers per thread on all of 3.x; the spreadsheets and GOLD say 63.
//   3.2   X75 X111. T: 32768 registers per block. GOLD: 63 registers per thread.
//   3.5   X111 G11 T.
//   3.7   X111 G11 T. Twice the registers of a block: the spreadsheets fill two halves of 65536 one by one, H13 shares
//         131072 out over four sub-partitions.
//   5.0   X111 G11 H13 T.
//   5.2   X75 G11 H13. X111 and T: 32768 registers per block and warp granularity 2.
//   5.3   X75 X111 G11 H13 T. X111 and T: warp granularity 2.
//   6.0   X111 G11 H13 T. H13 refuses a block that the four sub-partitions of 6.1 would refuse: launch check by 4.
//   6.1   X111 G11 H13 T.
//   6.2   X111 G11 H13 T. X75: 128 warps. X75 and X111: 65536 registers per block.
//   7.x   X111 (not 7.2) G11 G13 H13 T. H13 allows 256 registers per thread from 7.0 on; the instruction set names 255.
//   8.x   X111 (8.0, 8.6) G13 H13 T. X111 and T count the reserved 1 KB into the shared memory of a block.
//   9.0   G13 H13 T. Clusters of up to 8 blocks are portable, of 16 opt-in: G13.
//   10.x  G13 (not 10.1) H13 T (not 10.3). 10.1 became 11.0 with CUDA 13.
//   11.0  G13 H13. Integrated, so clusters of 8 at most: W.
//   12.x  G13 H13 T (12.0). Clusters of 16 on desktop GPUs, of 8 on the integrated 12.1: W. NVIDIA's Blackwell
//         tuning guide has been quoted with 32 blocks and 128 KB of shared memory per SM.
// Named barriers limit from 9.0 on; H13 knows their number from 5.0 on but does not apply it before.
// Virtual resources, which H13 limits to 128 per SM on 10.0 and later, are not reported for any kernel.

// clang-format off
constexpr auto kLimits = std::to_array<Limits>({
    // cc,   thr, wrp, blk, block, clu,  registers                            allocated by        shared                              rsv., carveouts, sub, bar, fp32
    //                                   SM    pools block thr unit coarse by block warps check   SM     default  opt-in  unit
    {{1, 0},  32, 24,  8,  512,  1,   8192, 1,  8192, 124, 256, 256,  true, 2, 2,  16384, 16384,  16384, 512,    0, kTesla,   1,  0,   8},
    {{1, 1},  32, 24,  8,  512,  1,   8192, 1,  8192, 124, 256, 256,  true, 2, 2,  16384, 16384,  16384, 512,    0, kTesla,   1,  0,   8},
    {{1, 2},  32, 32,  8,  512,  1,  16384, 1, 16384, 124, 512, 512,  true, 2, 2,  16384, 16384,  16384, 512,    0, kTesla,   1,  0,   8},
    {{1, 3},  32, 32,  8,  512,  1,  16384, 1, 16384, 124, 512, 512,  true, 2, 2,  16384, 16384,  16384, 512,    0, kTesla,   1,  0,   8},
    {{2, 0},  32, 48,  8, 1024,  1,  32768, 1, 32768,  63,  64, 128, false, 2, 2,  49152, 49152,  49152, 128,    0, kFermi,   2,  0,  32},
    {{2, 1},  32, 48,  8, 1024,  1,  32768, 1, 32768,  63,  64, 128, false, 2, 2,  49152, 49152,  49152, 128,    0, kFermi,   2,  0,  48},
    {{3, 0},  32, 64, 16, 1024,  1,  65536, 1, 65536,  63, 256, 256, false, 4, 4,  49152, 49152,  49152, 256,    0, kKepler,  4,  0, 192},
    {{3, 2},  32, 64, 16, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4,  49152, 49152,  49152, 256,    0, kKepler,  4,  0, 192},
    {{3, 5},  32, 64, 16, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4,  49152, 49152,  49152, 256,    0, kKepler,  4,  0, 192},
    {{3, 7},  32, 64, 16, 1024,  1, 131072, 2, 65536, 255, 256, 256, false, 4, 4, 114688, 49152,  49152, 256,    0, kGk210,   4,  0, 192},
    {{5, 0},  32, 64, 32, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4,  65536, 49152,  49152, 256,    0, k64,      4,  0, 128},
    {{5, 2},  32, 64, 32, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4,  98304, 49152,  49152, 256,    0, k96,      4,  0, 128},
    {{5, 3},  32, 64, 32, 1024,  1,  65536, 1, 32768, 255, 256, 256, false, 4, 4,  65536, 49152,  49152, 256,    0, k64,      4,  0, 128},
    {{6, 0},  32, 64, 32, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 2, 4,  65536, 49152,  49152, 256,    0, k64,      2,  0,  64},
    {{6, 1},  32, 64, 32, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4,  98304, 49152,  49152, 256,    0, k96,      4,  0, 128},
    {{6, 2},  32, 64, 32, 1024,  1,  65536, 1, 32768, 255, 256, 256, false, 4, 4,  65536, 49152,  49152, 256,    0, k64,      4,  0, 128},
    {{7, 0},  32, 64, 32, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4,  98304, 49152,  98304, 256,    0, kVolta,   4,  0,  64},
    {{7, 2},  32, 64, 32, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4,  98304, 49152,  98304, 256,    0, kVolta,   4,  0,  64},
    {{7, 5},  32, 32, 16, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4,  65536, 49152,  65536, 256,    0, kTuring,  4,  0,  64},
    {{8, 0},  32, 64, 32, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 167936, 49152, 166912, 128, 1024, kUpTo164, 4,  0,  64},
    {{8, 6},  32, 48, 16, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 102400, 49152, 101376, 128, 1024, kUpTo100, 4,  0, 128},
    {{8, 7},  32, 48, 16, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 167936, 49152, 166912, 128, 1024, kUpTo164, 4,  0, 128},
    {{8, 9},  32, 48, 24, 1024,  1,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 102400, 49152, 101376, 128, 1024, kUpTo100, 4,  0, 128},
    {{9, 0},  32, 64, 32, 1024, 16,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 233472, 49152, 232448, 128, 1024, kUpTo228, 4, 64, 128},
    {{10, 0}, 32, 64, 32, 1024, 16,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 233472, 49152, 232448, 128, 1024, kUpTo228, 4, 64, 128},
    {{10, 1}, 32, 48, 24, 1024,  8,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 233472, 49152, 232448, 128, 1024, kUpTo228, 4, 24, 128},
    {{10, 3}, 32, 64, 32, 1024, 16,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 233472, 49152, 232448, 128, 1024, kUpTo228, 4, 64, 128},
    {{11, 0}, 32, 48, 24, 1024,  8,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 233472, 49152, 232448, 128, 1024, kUpTo228, 4, 24, 128},
    {{12, 0}, 32, 48, 24, 1024, 16,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 102400, 49152, 101376, 128, 1024, kUpTo100, 4, 24, 128},
    {{12, 1}, 32, 48, 24, 1024,  8,  65536, 1, 65536, 255, 256, 256, false, 4, 4, 102400, 49152, 101376, 128, 1024, kUpTo100, 4, 24, 128},
});
// clang-format on

constexpr bool is_power_of_two(int value) {
  return std::has_single_bit(static_cast<unsigned>(value));
}

// The arithmetic of occupancy.cpp rounds with masks.
static_assert(std::ranges::all_of(kLimits, [](const Limits& of) {
  return of.threads_per_warp == 32 && is_power_of_two(of.register_allocation_unit) &&
         is_power_of_two(of.coarse_register_allocation_unit) &&
         is_power_of_two(of.warp_allocation_granularity) && is_power_of_two(of.launch_check_granularity) &&
         is_power_of_two(of.shared_allocation_unit) &&
         of.carveouts_kb.back() * 1024 == of.shared_bytes_per_sm;
}));
static_assert(std::ranges::is_sorted(kLimits, {}, &Limits::compute_capability));

template <auto Member>
constexpr std::int64_t value_of(const Limits& limits) {
  return limits.*Member;
}

constexpr std::int64_t max_threads_per_sm(const Limits& limits) {
  return limits.max_threads_per_sm();
}

/// The data cache that contains shared memory; the rest of it is L1 cache. 0 if shared memory has a store of its own.
/// Sources: GOLD for 2.x and 3.x, G13 from 7.0 on.
std::int64_t unified_data_cache_bytes(const Limits& limits) {
  constexpr std::pair<const int*, int> kKilobytes[] = {{kFermi, 64},    {kKepler, 64},  {kGk210, 128},
                                                       {kVolta, 128},   {kTuring, 96},  {kUpTo100, 128},
                                                       {kUpTo164, 192}, {kUpTo228, 256}};
  const auto* const found =
      std::ranges::find(kKilobytes, limits.carveouts_kb.data(), &std::pair<const int*, int>::first);
  return found == std::end(kKilobytes) ? 0 : 1024 * found->second;
}

constexpr std::int64_t max_cluster_blocks_per_sm(const Limits& limits) {
  return limits.max_cluster_blocks > 1 ? kMaxClusterBlocksPerSm : 0;
}

// clang-format off
constexpr LimitColumn kLimitColumns[] = {
    {"max_warps_per_sm", "warps", "warps that an SM holds", value_of<&Limits::max_warps_per_sm>},
    {"max_threads_per_sm", "threads", "threads that an SM holds", max_threads_per_sm},
    {"max_blocks_per_sm", "blocks", "blocks that an SM holds", value_of<&Limits::max_blocks_per_sm>},
    {"max_cluster_blocks_per_sm", "blocks", "blocks of clusters that an SM holds, as found on 9.0; 0 without clusters", max_cluster_blocks_per_sm},
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
    {"warp_allocation_granularity", "warps", "1.x: a block's warps are rounded up to this; later: parts of an SM, each of which has so many registers of its own", value_of<&Limits::warp_allocation_granularity>},
    {"launch_check_granularity", "warps", "a block's warps, rounded up to this, must fit max_registers_per_block", value_of<&Limits::launch_check_granularity>},
    {"shared_bytes_per_sm", "B", "shared memory of an SM", value_of<&Limits::shared_bytes_per_sm>},
    {"unified_data_cache_bytes", "B", "cache that shared memory is a part of, the rest is L1; 0: shared memory is apart", unified_data_cache_bytes},
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

std::span<const Limits> all_limits() {
  return kLimits;
}

const Limits* find_limits(ComputeCapability capability) {
  const auto found = std::ranges::find(kLimits, capability, &Limits::compute_capability);
  return found == kLimits.end() ? nullptr : &*found;
}

const Limits& limits_of(ComputeCapability capability) {
  if (const Limits* const found = find_limits(capability)) return *found;
  const auto nearest = std::ranges::min_element(
      kLimits, {}, [capability](const Limits& of) { return distance(of.compute_capability, capability); });
  throw InputError("the limits of compute capability {} are not known; the nearest known is {}",
                   to_string(capability), to_string(nearest->compute_capability));
}

std::span<const LimitColumn> limit_columns() {
  return kLimitColumns;
}

int distance(ComputeCapability one, ComputeCapability other) {
  return std::abs(10 * (one.major - other.major) + one.minor - other.minor);
}

std::string to_string(ComputeCapability capability) {
  return fmt::format("{}.{}", capability.major, capability.minor);
}

ComputeCapability parse_compute_capability(std::string_view text) {
  std::string_view digits = text;
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (digits.starts_with(prefix)) digits.remove_prefix(prefix.size());
  }
  if (digits.size() < text.size() && (digits.ends_with('a') || digits.ends_with('f')))
    digits.remove_suffix(1);  // code of one architecture or family
  const std::size_t dot = digits.find('.');
  const bool dotted = dot != std::string_view::npos;
  if (!dotted && digits == text && digits.size() == 2 && digits.starts_with('1'))
    throw InputError("'{0}' may be {0}.0 or {1}.{2}: write the compute capability with its dot", text,
                     digits[0], digits[1]);
  // Without a dot the last digit is the minor version: 90 = 9.0, 121 = 12.1.
  const std::size_t split = dotted ? dot : (digits.empty() ? 0 : digits.size() - 1);
  const std::string_view major_text = digits.substr(0, split);
  const std::string_view minor_text = digits.substr(split + (dotted ? 1 : 0));

  const auto number = [](std::string_view part, int& value) {
    const std::optional<int> read = read_number(part, 0, 99);
    value = read.value_or(0);
    return read && part.size() <= 2;
  };
  ComputeCapability capability;
  if (!number(major_text, capability.major) || !number(minor_text, capability.minor) ||
      minor_text.size() != 1) {
    throw InputError("'{}' is not a compute capability; write it as 9.0, 90 or sm_90", text);
  }
  return capability;
}

}  // namespace occbench
