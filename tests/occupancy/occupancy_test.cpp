#include "occupancy/occupancy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Limits& hopper() {
  return limits_of({9, 0});
}

std::string refusal_of(const Limits& limits, const Launch& launch, const Usage& usage) {
  return message_of([&] { theoretical_occupancy(limits, launch, usage); });
}

TEST(Occupancy, OfABlockThatTheRegistersOfAnSmCannotHoldIsZeroAndSaysWhy) {
  const Launch launch{.block_threads = 1024};
  const Usage usage{.registers_per_thread = 255};
  const Occupancy occupancy = theoretical_occupancy(hopper(), launch, usage);
  EXPECT_EQ(occupancy.blocks_per_sm, 0);
  EXPECT_EQ(occupancy.theoretical_pct, 0);
  EXPECT_EQ(occupancy.limiters, Limiters{Limiter::registers});
  // 255 x 32 = 8160 registers a warp, rounded up to 8192; 32 warps.
  EXPECT_THAT(why_it_cannot_launch(hopper(), launch, usage), AllOf(HasSubstr("262144"), HasSubstr("65536")));
}

TEST(Occupancy, OfABlockWithMoreSharedMemoryThanABlockMayHaveIsZeroAndSaysWhy) {
  const Usage usage{.registers_per_thread = 16};
  const auto launch = [](std::int64_t bytes) {
    return Launch{.block_threads = 64, .dynamic_shared_bytes = bytes};
  };
  // 227 KB is what CUDA documents for a block of compute capability 9.0.
  EXPECT_EQ(theoretical_occupancy(hopper(), launch(227 * 1024), usage).blocks_per_sm, 1);
  EXPECT_EQ(why_it_cannot_launch(hopper(), launch(227 * 1024), usage), "");
  EXPECT_EQ(theoretical_occupancy(hopper(), launch(227 * 1024 + 1), usage).blocks_per_sm, 0);
  EXPECT_THAT(why_it_cannot_launch(hopper(), launch(227 * 1024 + 1), usage), HasSubstr("shared memory"));
  EXPECT_EQ(theoretical_occupancy(hopper(), launch(2'147'483'647), usage).blocks_per_sm, 0);
}

TEST(Occupancy, NamesEveryLimiterThatTies) {
  // 8 blocks of 8 warps fill 64 warp slots; 32 registers fill the register file too.
  const Occupancy both =
      theoretical_occupancy(hopper(), {.block_threads = 256}, {.registers_per_thread = 32});
  EXPECT_EQ(both.limiters, (Limiters{Limiter::warps, Limiter::registers}));
  EXPECT_EQ(to_string(both.limiters), "warps+registers");
  // 28 KB with the 1 KB reserve: 8 blocks in 228 KB.
  const Occupancy three = theoretical_occupancy(
      hopper(), {.block_threads = 256}, {.registers_per_thread = 32, .static_shared_bytes = 27 * 1024});
  EXPECT_EQ(to_string(three.limiters), "warps+registers+shared_memory");
}

TEST(Occupancy, OfAKernelWithoutRegistersOrSharedMemoryIsNotLimitedByThem) {
  const Occupancy occupancy = theoretical_occupancy(limits_of({7, 0}), {.block_threads = 1024}, {});
  EXPECT_EQ(occupancy.block_limits.registers, kUnlimited);
  EXPECT_EQ(occupancy.block_limits.shared_memory, kUnlimited);
  EXPECT_EQ(occupancy.block_limits.barriers, kUnlimited);
}

TEST(Occupancy, SaysWhatIsAllocatedAndWhatLiesIdle) {
  // Ada, 90 registers: 2880 -> 3072 a warp; 5 blocks of 4 warps. 5000 B + 1 KB reserve -> 6144 B.
  const Limits& ada = limits_of({8, 9});
  const Launch launch{.block_threads = 120};
  const Occupancy occupancy =
      theoretical_occupancy(ada, launch, {.registers_per_thread = 90, .static_shared_bytes = 5000});
  EXPECT_EQ(occupancy.blocks_per_sm, 5);
  EXPECT_EQ(occupancy.registers_per_block, 4 * 3072);
  EXPECT_EQ(occupancy.shared_bytes_per_block, 6144);
  const Idle idle = idle_resources(ada, launch, occupancy);
  EXPECT_EQ(idle.warps, 48 - 20);
  EXPECT_EQ(idle.threads, 1536 - 600);
  EXPECT_EQ(idle.blocks, 24 - 5);
  EXPECT_EQ(idle.registers, 65536 - 5 * 4 * 3072);
  EXPECT_EQ(idle.shared_bytes, 102400 - 5 * 6144);
}

TEST(Occupancy, FollowsTheCarveoutThatKeplerCallsACachePreference) {
  const auto blocks = [](ComputeCapability capability, int carveout_pct) {
    return theoretical_occupancy(limits_of(capability), {.block_threads = 64, .carveout_pct = carveout_pct},
                                 {.registers_per_thread = 16, .static_shared_bytes = 4096})
        .blocks_per_sm;
  };
  EXPECT_EQ(blocks({3, 5}, 0), 4);     // prefer L1: 16 KB
  EXPECT_EQ(blocks({3, 5}, 50), 8);    // equal: 32 KB
  EXPECT_EQ(blocks({3, 5}, 100), 12);  // prefer shared: 48 KB
  EXPECT_EQ(blocks({2, 0}, 0), 4);
  EXPECT_EQ(blocks({2, 0}, 100), 8);  // 12 by shared memory, 8 block slots
  EXPECT_EQ(blocks({5, 2}, 0), 24);   // 96 KB of its own: no preference to follow
}

TEST(Occupancy, CountsWavesOfAGrid) {
  const Occupancy occupancy =
      theoretical_occupancy(hopper(), {.block_threads = 256}, {.registers_per_thread = 32});
  EXPECT_EQ(full_wave_blocks(occupancy, 132), 1056);
  EXPECT_EQ(waves(occupancy, 1056, 132), 1.0);
  EXPECT_EQ(waves(occupancy, 2640, 132), 2.5);
  const Occupancy none =
      theoretical_occupancy(hopper(), {.block_threads = 1024}, {.registers_per_thread = 128});
  EXPECT_EQ(waves(none, 100, 132), std::nullopt);
}

// As many were resident at once on an H200 (occupancy.hpp).
TEST(Occupancy, BlocksOfClustersHaveEightSlots) {
  const auto blocks = [](int block_threads, int cluster_blocks) {
    return theoretical_occupancy(hopper(), {.block_threads = block_threads, .cluster_blocks = cluster_blocks},
                                 {.registers_per_thread = 16})
        .blocks_per_sm;
  };
  EXPECT_EQ(blocks(32, 1), 32);
  EXPECT_EQ(blocks(32, 2), 8);
  EXPECT_EQ(blocks(128, 16), 8);
  EXPECT_EQ(blocks(512, 2), 4);
}

TEST(Occupancy, RefusesWhatNoLaunchCanAskForAndNamesTheLimit) {
  const Launch launch{.block_threads = 256};
  const Usage usage{.registers_per_thread = 32};
  EXPECT_EQ(refusal_of(hopper(), launch, usage), "nothing was thrown");
  const auto with_launch = [&](auto member, auto value) {
    Launch changed = launch;
    changed.*member = value;
    return refusal_of(hopper(), changed, usage);
  };
  const auto with_usage = [&](auto member, auto value) {
    Usage changed = usage;
    changed.*member = value;
    return refusal_of(hopper(), launch, changed);
  };
  const std::string threads = with_launch(&Launch::block_threads, 1025);
  EXPECT_THAT(threads, AllOf(HasSubstr("block_threads = 1025"), HasSubstr("1024"), HasSubstr("9.0")));
  EXPECT_THAT(with_launch(&Launch::block_threads, 0), HasSubstr("block_threads = 0"));
  EXPECT_THAT(with_launch(&Launch::dynamic_shared_bytes, -1), HasSubstr("dynamic_shared_bytes = -1"));
  EXPECT_THAT(with_launch(&Launch::dynamic_shared_bytes, std::int64_t{1} << 40), HasSubstr("2147483647"));
  EXPECT_THAT(with_launch(&Launch::carveout_pct, 101), HasSubstr("carveout_pct = 101"));
  EXPECT_THAT(with_launch(&Launch::carveout_pct, -1), HasSubstr("carveout_pct = -1"));
  EXPECT_THAT(with_launch(&Launch::cluster_blocks, 17), HasSubstr("cluster_blocks = 17"));
  EXPECT_THAT(with_usage(&Usage::registers_per_thread, 300), HasSubstr("registers_per_thread = 300"));
  EXPECT_THAT(with_usage(&Usage::static_shared_bytes, -5), HasSubstr("static_shared_bytes = -5"));
  EXPECT_THAT(with_usage(&Usage::barriers, 17), HasSubstr("barriers = 17"));
  EXPECT_THAT(refusal_of(limits_of({1, 3}), {.block_threads = 513}, usage), HasSubstr("1 to 512"));
  EXPECT_THAT(refusal_of(limits_of({3, 0}), launch, {.registers_per_thread = 64}), HasSubstr("0 to 63"));
  EXPECT_THAT(refusal_of(limits_of({8, 9}), {.block_threads = 64, .cluster_blocks = 2}, usage),
              HasSubstr("8.9 allows 1 to 1"));
}

}  // namespace
}  // namespace occbench
