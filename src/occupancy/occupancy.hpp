#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"

namespace occbench {

/// A resource that an SM has too little left of for one more block.
enum class Limiter : unsigned char { warps, blocks, registers, shared_memory, barriers };

inline constexpr Limiter kAllLimiters[] = {Limiter::warps, Limiter::blocks, Limiter::registers,
                                           Limiter::shared_memory, Limiter::barriers};

/// "warps", "blocks", "registers", "shared_memory" or "barriers"
std::string_view to_string(Limiter limiter);

/// A set of limiters, in the order of Limiter.
class Limiters {
 public:
  constexpr Limiters() = default;
  constexpr Limiters(std::initializer_list<Limiter> limiters) {
    for (const Limiter limiter : limiters) add(limiter, true);
  }

  constexpr void add(Limiter limiter, bool if_true) {
    bits_ |= static_cast<unsigned>(if_true) << static_cast<unsigned>(limiter);
  }
  constexpr bool contains(Limiter limiter) const {
    return (bits_ >> static_cast<unsigned>(limiter) & 1u) != 0;
  }

  constexpr int size() const {
    return std::popcount(bits_);
  }

  bool operator==(const Limiters&) const = default;

 private:
  unsigned bits_ = 0;
};

/// As the column `limiter` shows it: "warps+registers".
std::string to_string(Limiters limiters);

/// A resource that does not limit a configuration allows this many blocks.
inline constexpr int kUnlimited = std::numeric_limits<int>::max();

/// Blocks that each resource alone would let an SM hold.
struct BlockLimits {
  int warps = 0;
  int blocks = 0;
  int registers = kUnlimited;
  int shared_memory = kUnlimited;
  int barriers = kUnlimited;

  int of(Limiter limiter) const;

  bool operator==(const BlockLimits&) const = default;
};

/// The answer of an occupancy calculator for one launch on one SM. All sizes are those that the hardware allocates.
struct Occupancy {
  int blocks_per_sm = 0;  ///< 0: no SM can hold such a block; why_it_cannot_launch says why
  int warps_per_block = 0;
  BlockLimits block_limits;
  Limiters limiters;            ///< every resource whose limit is blocks_per_sm
  double theoretical_pct = 0;   ///< resident warps over the SM's maximum, percent
  int registers_per_block = 0;  ///< registers allocated for a block, rounding included
  std::int64_t shared_bytes_per_block =
      0;                        ///< shared memory allocated for a block, reserve and rounding included
  int shared_bytes_per_sm = 0;  ///< shared memory that the carveout leaves an SM, bytes

  int warps_per_sm() const {
    return blocks_per_sm * warps_per_block;
  }
};

/// Block slots of an SM for blocks of clusters, however many it has for others. No documentation says so. In 52
/// launches on an H200 (driver 580.159.04, CUDA 13.0) of clusters of 1 to 16 small blocks, at most 8 blocks were
/// resident on any SM; without clusters, up to 32 blocks of the same kernel were. cudaOccupancyMaxActiveClusters counts
/// so too; cudaOccupancyMaxActiveBlocksPerMultiprocessor, which does not know of clusters, does not.
inline constexpr int kMaxClusterBlocksPerSm = 8;

/// The largest cluster without opting in: cudaFuncSetAttribute(kernel,
/// cudaFuncAttributeNonPortableClusterSizeAllowed, 1). Source: CUDA C++ Programming Guide, "Thread Block Clusters".
inline constexpr int kMostPortableClusterBlocks = 8;

inline constexpr int kMaxBarriersPerBlock = 16;  ///< bar.sync names barriers 0 to 15 (PTX ISA)

/// Theoretical occupancy: resident warps that the launch's resources allow.
///
/// The rules are those of NVIDIA's cuda_occupancy.h (CUDA 13.0) from compute capability 5.0 on and those of the
/// occupancy calculator spreadsheet before. As in the CUDA runtime's answers, a kernel is assumed to have opted in to
/// the shared memory that it asks for, and an empty carveout to leave shared memory its largest size. A configuration
/// that no SM can hold is an answer (0 blocks), not an error. `grid_blocks` is ignored. Clusters of more than one block
/// are assumed to find room beside others of their size: on an SM they only take the block slots
/// (kMaxClusterBlocksPerSm); see max_active_clusters.
/// @throws InputError if an input is outside what any launch can ask for: block_threads below 1 or above the compute
/// capability's maximum, registers above its maximum, a carveout that is not a percentage, more than 16 barriers, a
/// cluster larger than the compute capability allows, sizes below 0 or above 2 GiB.
Occupancy theoretical_occupancy(const Limits& limits, const Launch& launch, const Usage& usage);

/// Whether a kernel must opt in to a block's shared memory, as most GPUs require beyond 48 KB:
/// cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_shared_bytes).
bool must_opt_in(const Limits& limits, const Launch& launch, const Usage& usage);

/// The most registers per thread with which an SM's registers are enough for so many blocks; 0 = none.
/// @throws InputError as theoretical_occupancy
int registers_left(const Limits& limits, int block_threads, std::int64_t blocks);

/// Threads per block that launch bounds allow, fewest and most: "256" is 1 and 256, "192:256" both.
/// @throws InputError; for CUDA's pair, "192,5", it says what that means
std::pair<int, int> parse_launch_bounds(std::string_view text, const Limits& limits);

/// Refuses more static shared memory than a block may use without opting in; no compiler makes it.
/// @throws InputError with the remedy.
void check_static_shared(const Limits& limits, const Usage& usage);

/// CUDA launches whole clusters. If a grid's blocks are a multiple of the cluster's, some shape of the cluster divides
/// the grid along each dimension.
/// @throws InputError with the nearest grids for a grid of other blocks.
void check_whole_clusters(const Launch& launch);

/// The resources of an SM that resident blocks leave.
struct Idle {
  int warps;
  int threads;  ///< thread slots without a thread, those of partial warps among them
  int blocks;
  int registers;
  std::int64_t shared_bytes;  ///< of what the carveout leaves
};

Idle idle_resources(const Limits& limits, const Launch& launch, const Occupancy& occupancy);

/// Blocks that all SMs hold at once: a full wave, and the largest grid of a cooperative launch. With clusters fewer can
/// be resident: full_wave_of_clusters (runtime_answers.hpp).
std::int64_t full_wave_blocks(const Occupancy& occupancy, int sm_count);

/// Full waves in a grid, a fraction if the last is partial; empty if a wave has no block.
std::optional<double> waves(std::int64_t grid_blocks, std::int64_t full_wave);

/// The share that a grid of so many waves fills of the time of its rounds of equal blocks; 1 = whole waves.
double filled_rounds(double waves);

/// Why blocks_per_sm is 0, as a sentence with the figures; empty if it is not.
std::string why_it_cannot_launch(const Limits& limits, const Launch& launch, const Usage& usage);

}  // namespace occbench
