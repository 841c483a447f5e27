#include "occupancy/runtime_answers.hpp"

#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

TEST(BestBlockSize, IsTheLargestOfThoseThatFillTheSm) {
  const Limits& limits = limits_of({9, 0});
  EXPECT_EQ(best_block_size(limits, {}, {.registers_per_thread = 32}, 1024).block_threads, 1024);
  // 40 registers: 48 warps fit at most; 768 threads make two blocks of 24 warps.
  const BestBlockSize of_40 = best_block_size(limits, {}, {.registers_per_thread = 40}, 1024);
  EXPECT_EQ(of_40.block_threads, 768);
  EXPECT_EQ(of_40.blocks_per_sm, 2);
  EXPECT_EQ(best_block_size(limits, {}, {.registers_per_thread = 40}, 256).block_threads, 256);
}

TEST(BestBlockSize, FollowsSharedMemoryThatGrowsWithTheBlock) {
  // 120 bytes a thread in 228 KB with 1 KB reserved a block: two blocks of up to 964 threads, three of up to
  // 640.
  const Limits& limits = limits_of({9, 0});
  const auto bytes = [](int threads) { return std::int64_t{threads} * 120; };
  const BestBlockSize best = best_block_size(limits, {}, {.registers_per_thread = 32}, 1024, bytes);
  EXPECT_EQ(best.block_threads, 960);
  EXPECT_EQ(best.blocks_per_sm, 2);
}

TEST(BestBlockSize, IsZeroWhereNothingCanLaunch) {
  const Launch launch{.dynamic_shared_bytes = 300'000};
  EXPECT_EQ(best_block_size(limits_of({9, 0}), launch, {.registers_per_thread = 32}, 1024).block_threads, 0);
}

TEST(BestBlockSize, RefusesALaunchBoundBeyondTheDevice) {
  EXPECT_THROW(best_block_size(limits_of({9, 0}), {}, {}, 1025), InputError);
  EXPECT_THROW(best_block_size(limits_of({9, 0}), {}, {}, 0), InputError);
}

// What it promises: with so much the blocks fit, with one byte more they do not.
TEST(AvailableDynamicSharedMemory, IsTheMostWithWhichSoManyBlocksFit) {
  for (const Limits& limits : all_limits()) {
    for (const int blocks : {1, 2, 3, 5, 8}) {
      for (const std::int64_t static_bytes : {0, 1, 1000}) {
        const Usage usage{.registers_per_thread = 16, .static_shared_bytes = static_bytes};
        Launch launch{.block_threads = 32};
        const auto most = available_dynamic_shared_bytes(limits, launch, usage, blocks);
        ASSERT_TRUE(most) << to_string(limits.compute_capability);
        launch.dynamic_shared_bytes = *most;
        EXPECT_GE(theoretical_occupancy(limits, launch, usage).blocks_per_sm, blocks);
        ++launch.dynamic_shared_bytes;
        EXPECT_LT(theoretical_occupancy(limits, launch, usage).blocks_per_sm, blocks)
            << to_string(limits.compute_capability) << ", " << blocks << " blocks, " << static_bytes
            << " bytes";
      }
    }
  }
}

TEST(AvailableDynamicSharedMemory, IsNoneWhereTheBlocksDoNotFitAtAll) {
  const Launch launch{.block_threads = 1024};
  EXPECT_EQ(available_dynamic_shared_bytes(limits_of({9, 0}), launch, {.registers_per_thread = 32}, 3),
            std::nullopt);
  EXPECT_THROW(available_dynamic_shared_bytes(limits_of({9, 0}), launch, {}, 0), InputError);
}

TEST(AvailableDynamicSharedMemory, OfTheRuntimeForgetsTheReserve) {
  // 228 KB for two; each block has 1 KB reserved, which two blocks of 114 KB would not find.
  const Usage usage{.registers_per_thread = 32};
  EXPECT_EQ(runtime_available_dynamic_shared_bytes(limits_of({9, 0}), {.block_threads = 256}, usage, 2),
            116'736);
  EXPECT_EQ(available_dynamic_shared_bytes(limits_of({9, 0}), {.block_threads = 256}, usage, 2), 115'712);
  EXPECT_EQ(runtime_available_dynamic_shared_bytes(limits_of({9, 0}), {.block_threads = 256}, usage, 1),
            232'448);
  EXPECT_EQ(runtime_available_dynamic_shared_bytes(limits_of({7, 5}), {.block_threads = 256}, usage, 2),
            32'768);
}

TEST(ActiveClusters, ShareTheSmsOfOneGpc) {
  const Occupancy one_block =
      theoretical_occupancy(limits_of({9, 0}), {.block_threads = 1024}, {.registers_per_thread = 64});
  ASSERT_EQ(one_block.blocks_per_sm, 1);
  // 132 SMs hold 33 times 4, but GPCs of 18 and 16 only 4 clusters each.
  const int gpcs[] = {18, 18, 16, 16, 16, 16, 16, 16};
  EXPECT_EQ(max_active_clusters(one_block, 1, gpcs), 132);
  EXPECT_EQ(max_active_clusters(one_block, 2, gpcs), 66);
  EXPECT_EQ(max_active_clusters(one_block, 4, gpcs), 32);
  EXPECT_EQ(max_active_clusters(one_block, 16, gpcs), 8);
  EXPECT_THROW(max_active_clusters(one_block, 0, gpcs), InputError);
}

// What cudaOccupancyMaxActiveClusters answered on an H200 with these GPCs, and four TPCs outside of them.
TEST(ActiveClusters, AreThoseOfAnH200) {
  const int gpcs[] = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  const auto clusters = [&](int block_threads, int cluster_blocks) {
    const Occupancy occupancy = theoretical_occupancy(
        limits_of({9, 0}), {.block_threads = block_threads, .cluster_blocks = cluster_blocks}, {});
    return max_active_clusters(occupancy, cluster_blocks, gpcs);
  };
  // 2 blocks per SM
  EXPECT_EQ(clusters(1024, 1), 264);
  EXPECT_EQ(clusters(1024, 2), 132);
  EXPECT_EQ(clusters(1024, 3), 79) << "two SMs could hold one of 3, but have no SM for each block";
  EXPECT_EQ(clusters(1024, 8), 30);
  EXPECT_EQ(clusters(1024, 9), 23) << "nor have 8 SMs for one of 9";
  EXPECT_EQ(clusters(1024, 16), 14);
  // 5, 8 and 32
  EXPECT_EQ(clusters(384, 7), 84);
  EXPECT_EQ(clusters(256, 1), 1056);
  EXPECT_EQ(clusters(256, 5), 193);
  EXPECT_EQ(clusters(32, 1), 1056) << "more than 8 blocks per SM do not count";
  EXPECT_EQ(clusters(32, 5), 193);
}

}  // namespace
}  // namespace occbench
