#include "measure/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A warp on an SM whose clock runs at 1 GHz and started with the device's.
WarpRecord warp(std::uint32_t sm, std::int64_t start, std::int64_t end) {
  return {.start_cycles = start, .end_cycles = end, .start_ns = start, .end_ns = end, .sm = sm, .slot = 0};
}

TEST(Trace, ABlockLastsFromItsFirstWarpToItsLast) {
  const std::vector<WarpRecord> records = {warp(3, 110, 500), warp(3, 100, 900), warp(7, 0, 10),
                                           warp(7, 5, 8)};
  const std::vector<BlockRecord> blocks = blocks_of(records, 2);
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(
      blocks[0],
      (BlockRecord{
          .block = 0, .sm = 3, .start_cycles = 100, .end_cycles = 900, .start_ns = 100, .end_ns = 900}));
  EXPECT_EQ(blocks[1].block, 1);
  EXPECT_EQ(blocks[1].sm, 7U);
}

TEST(Trace, RecordsThatAreNoWholeNumberOfBlocksAreRefused) {
  const std::vector<WarpRecord> records(3);
  EXPECT_THROW(blocks_of(records, 2), InputError);
  EXPECT_THROW(blocks_of(records, 0), InputError);
  EXPECT_THAT(blocks_of({}, 2), IsEmpty());
}

TEST(Trace, IdleTimeBetweenBlocksIsNotActive) {
  // Two warps from 0 to 100, nothing until 200, one warp until 300.
  const std::vector<WarpRecord> records = {warp(0, 0, 100), warp(0, 0, 100), warp(0, 200, 300)};
  const std::vector<SmRecord> sms = sms_of(records, 1);
  ASSERT_EQ(sms.size(), 1U);
  EXPECT_EQ(sms[0].active_cycles, 200);
  EXPECT_EQ(sms[0].warp_cycles, 300);
  EXPECT_DOUBLE_EQ(sms[0].achieved_pct(4), 37.5);  // 1.5 warps of 4
}

TEST(Trace, AWarpInsideAnothersTimeAddsNoActiveCycles) {
  const std::vector<WarpRecord> records = {warp(0, 0, 1000), warp(0, 100, 200), warp(0, 900, 1100)};
  EXPECT_EQ(sms_of(records, 1)[0].active_cycles, 1100);
}

TEST(Trace, OneSlowWarpInEightLeavesAnEighthOfTheBlockForTheRestOfItsTime) {
  // 8 warps of 1000 cycles, one of 16000: 8 x 1000 + 15000 warp-cycles in 16000 cycles.
  std::vector<WarpRecord> records(8, warp(0, 0, 1000));
  records[0].end_cycles = 16000;
  EXPECT_DOUBLE_EQ(sms_of(records, 8)[0].achieved_pct(8), 100.0 * 23000 / (16000 * 8));
}

TEST(Trace, ABlockIsResidentUntilItsLastWarpEnds) {
  // Blocks of two warps: on SM 0 one for 100 of 200 active cycles beside one for all 200, on SM 5 one for 50.
  const std::vector<WarpRecord> records = {warp(0, 0, 10),  warp(0, 0, 100), warp(0, 0, 200),
                                           warp(0, 0, 150), warp(5, 0, 50),  warp(5, 0, 20)};
  EXPECT_DOUBLE_EQ(resident_blocks(records, 2), (100.0 + 200 + 50) / (200 + 50));
}

TEST(Trace, OccupancyOfTheDeviceIsOverTheActiveCyclesOfAllSmsTogether) {
  // Full for 100 cycles on SM 0, half full for 300 on SM 5: 2*100 + 1*300 of 2*400.
  const std::vector<WarpRecord> records = {warp(5, 0, 300), warp(0, 0, 100), warp(0, 0, 100)};
  const std::vector<SmRecord> sms = sms_of(records, 1);
  EXPECT_EQ(sms[0].sm, 0U);
  EXPECT_EQ(sms[1].sm, 5U);
  EXPECT_DOUBLE_EQ(achieved_pct(sms, 2), 62.5);
}

TEST(Trace, ABlockThatStartsAsAnotherEndsIsNotResidentWithIt) {
  const std::vector<WarpRecord> records = {warp(0, 0, 100), warp(0, 0, 150), warp(0, 100, 200),
                                           warp(0, 150, 200)};
  EXPECT_EQ(sms_of(records, 1)[0].most_blocks, 2);
  EXPECT_EQ(sms_of(records, 1)[0].blocks, 4);
  EXPECT_EQ(sms_of(records, 2)[0].most_blocks, 2);
  EXPECT_EQ(sms_of(records, 2)[0].blocks, 2);
}

TEST(Trace, ABlockIsOutOfOrderIfALaterOneStartedBeforeIt) {
  const auto late = [](std::vector<std::int64_t> starts) {
    std::vector<WarpRecord> records;
    for (const std::int64_t start : starts) records.push_back(warp(0, start, start + 1));
    return out_of_order(blocks_of(records, 1));
  };
  EXPECT_EQ(late({0, 32, 32, 64}), 0);
  EXPECT_EQ(late({0, 64, 32, 64}), 1);
  EXPECT_EQ(late({96, 64, 32, 0}), 3);
  EXPECT_EQ(late({}), 0);
}

TEST(Trace, ReplacementLatencyIsFromTheLatestEndOnTheSameSm) {
  const std::vector<WarpRecord> records = {
      warp(0, 0, 100),    // the first of its SM takes nothing over
      warp(1, 0, 500),    // another SM
      warp(0, 0, 300),    // likewise a first
      warp(0, 140, 400),  // 40 after block 0
      warp(0, 420, 600),  // 20 after block 3, not 120 after block 2
  };
  EXPECT_THAT(replacement_latency_cycles(blocks_of(records, 1)), ElementsAre(40, 20));
}

}  // namespace
}  // namespace occbench
