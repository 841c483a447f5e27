#include "occupancy/rules.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

std::string rule_text(ComputeCapability capability, const Configuration& configuration, Limiter resource) {
  for (const AppliedRule& rule : applied_rules(limits_of(capability), configuration)) {
    if (rule.resource == resource) return to_string(rule);
  }
  return "";
}

TEST(Rules, OfRegistersNameTheUnitAndTheDivision) {
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 512}, {.registers_per_thread = 33}}, Limiter::registers),
            "33 registers x 512 threads: 33 -> 40 per thread by the 256-register unit per warp, 20,480 "
            "registers a block; 65,536 / 20,480 = 3 blocks");
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 512}, {.registers_per_thread = 32}}, Limiter::registers),
            "32 registers x 512 threads: no rounding by the 256-register unit per warp, 16,384 registers a "
            "block; 65,536 / 16,384 = 4 blocks");
}

// 65,536 / 2,560 = 25, but each of four sub-partitions holds 6 whole warps of 16,384 / 2,560 = 6.4.
TEST(Rules, OfRegistersNameSubPartitionsWhereTheyCostABlock) {
  EXPECT_EQ(
      rule_text({9, 0}, {{.block_threads = 32}, {.registers_per_thread = 72}}, Limiter::registers),
      "72 registers x 32 threads: no rounding by the 256-register unit per warp, 2,304 registers a block; "
      "65,536 / 2,304 = 28 blocks");
  EXPECT_EQ(
      rule_text({9, 0}, {{.block_threads = 32}, {.registers_per_thread = 80}}, Limiter::registers),
      "80 registers x 32 threads: no rounding by the 256-register unit per warp, 2,560 registers a block; "
      "each of 4 sub-partitions has room for 6 whole warps, 24 together: 24 / 1 = 24 blocks");
}

TEST(Rules, OfAGpuOfComputeCapability1CountRegistersByTheBlock) {
  EXPECT_EQ(rule_text({1, 0}, {{.block_threads = 96}, {.registers_per_thread = 10}}, Limiter::registers),
            "10 registers x 96 threads: 3 -> 4 warps, 1,280 registers a block by the 256-register unit per "
            "block; 8,192 / 1,280 = 6 blocks");
}

TEST(Rules, OfTwoRegisterFilesSayWhatEachHolds) {
  EXPECT_THAT(rule_text({3, 7}, {{.block_threads = 512}, {.registers_per_thread = 64}}, Limiter::registers),
              testing::HasSubstr("each of 2 equal parts of an SM's registers: 65,536 / 32,768 = 2 blocks, 4 "
                                 "blocks in all"));
}

TEST(Rules, OfABlockThatCannotLaunchSayWhatItMayHave) {
  EXPECT_THAT(rule_text({9, 0}, {{.block_threads = 1024}, {.registers_per_thread = 66}}, Limiter::registers),
              testing::EndsWith("73,728 registers a block; a block may have 65,536: 0 blocks"));
  EXPECT_EQ(
      rule_text({9, 0}, {{.block_threads = 64, .dynamic_shared_bytes = 240'000}, {}}, Limiter::shared_memory),
      "240,000 B + 1,024 B that the driver reserves = 241,024 B a block; a block "
      "may have 233,472 B: 0 blocks");
}

TEST(Rules, OfSharedMemoryNameReserveUnitAndCarveout) {
  EXPECT_EQ(
      rule_text({9, 0}, {{.block_threads = 64}, {.static_shared_bytes = 20'000}}, Limiter::shared_memory),
      "20,000 B + 1,024 B that the driver reserves, 21,024 -> 21,120 B by the 128-byte unit; 233,472 / "
      "21,120 = 11 blocks");
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 64, .dynamic_shared_bytes = 1'024, .carveout_pct = 50}, {}},
                      Limiter::shared_memory),
            "1,024 B + 1,024 B that the driver reserves = 2,048 B a block; the carveout of 50 % leaves an SM "
            "135,168 of 233,472 B; 135,168 / 2,048 = 66 blocks");
  EXPECT_EQ(rule_text({7, 0}, {{.block_threads = 64}, {}}, Limiter::shared_memory),
            "no shared memory: any number of blocks");
}

TEST(Rules, RoundAPartialWarpUp) {
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 500}, {}}, Limiter::warps),
            "500 threads are 16 warps of 32, the last with 20 threads; an SM has 64: 64 / 16 = 4 blocks");
}

TEST(Rules, OfClustersNameTheirOwnSlots) {
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 64, .cluster_blocks = 2}, {}}, Limiter::blocks),
            "an SM holds at most 8 blocks of clusters");
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 64}, {}}, Limiter::blocks), "an SM holds at most 32 blocks");
}

TEST(Rules, OfBarriersAreAppliedWhereBarriersLimit) {
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 64}, {.barriers = 5}}, Limiter::barriers),
            "5 named barriers a block; 64 / 5 = 12 blocks");
  EXPECT_EQ(rule_text({8, 0}, {{.block_threads = 64}, {.barriers = 5}}, Limiter::barriers), "");
}

/// What the figures alone give, by a division of their own.
int blocks_by_figures(const WarpFigures& of) {
  return of.max_warps_per_sm / ((of.block_threads + of.threads_per_warp - 1) / of.threads_per_warp);
}
int blocks_by_figures(const BlockSlotFigures& of) {
  return of.slots;
}
int blocks_by_figures(const RegisterFigures& of) {
  if (of.asked_per_thread == 0) return kUnlimited;
  if (of.checked_per_block > of.max_per_block) return 0;
  if (of.by_block) return of.registers_per_pool / of.allocated_per_block;
  return of.warps_per_sub_partition * of.sub_partitions / of.warps_per_block * of.pools;
}
int blocks_by_figures(const SharedMemoryFigures& of) {
  if (of.allocated_bytes == 0) return kUnlimited;
  if (of.allocated_bytes > of.max_bytes_per_block) return 0;
  return static_cast<int>(of.configured_bytes_per_sm / of.allocated_bytes);
}
int blocks_by_figures(const BarrierFigures& of) {
  return of.max_barriers_per_sm / of.barriers_per_block;
}

TEST(Rules, FiguresGiveTheBlocksOfTheCalculatorForRandomConfigurations) {
  std::mt19937 random(26);
  const auto up_to = [&](std::int64_t most) { return static_cast<std::int64_t>(random()) % (most + 1); };
  for (const Limits& limits : all_limits()) {
    for (int round = 0; round < 1000; ++round) {
      Configuration asked;
      asked.launch.block_threads = 1 + static_cast<int>(up_to(limits.max_threads_per_block - 1));
      asked.launch.dynamic_shared_bytes = up_to(limits.max_shared_bytes_per_block * 11 / 10);
      if (up_to(1) == 1) asked.launch.carveout_pct = static_cast<int>(up_to(100));
      if (limits.max_cluster_blocks > 1) asked.launch.cluster_blocks = 1 + static_cast<int>(up_to(1));
      asked.usage.registers_per_thread = static_cast<int>(up_to(limits.max_registers_per_thread));
      asked.usage.barriers = static_cast<int>(up_to(16));
      const Occupancy occupancy = theoretical_occupancy(limits, asked.launch, asked.usage);
      int fewest = kUnlimited;
      for (const AppliedRule& rule : applied_rules(limits, asked)) {
        const int blocks = std::visit([](const auto& of) { return blocks_by_figures(of); }, rule.figures);
        EXPECT_EQ(blocks, rule.blocks) << to_string(limits.compute_capability) << ": " << to_string(rule);
        EXPECT_EQ(rule.limits, rule.blocks == occupancy.blocks_per_sm) << to_string(rule);
        if (rule.blocks != kUnlimited) {
          EXPECT_THAT(to_string(rule), testing::HasSubstr(rule.blocks == 1 ? "1 block" : " blocks"));
        }
        fewest = std::min(fewest, rule.blocks);
      }
      EXPECT_EQ(fewest, occupancy.blocks_per_sm);
    }
  }
}

TEST(Rules, AreRefusedForWhatCannotBeAskedFor) {
  EXPECT_THROW(applied_rules(limits_of({9, 0}), {{.block_threads = 2000}, {}}), InputError);
}

TEST(Rules, FiguresAreGroupedByThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(grouped(-1'000), "-1,000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(2147483647), "2,147,483,647");
}

}  // namespace
}  // namespace occbench
