#include <algorithm>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "occupancy/theory_advice.hpp"

namespace occbench {
namespace {

Cliffs on(Axis axis, ComputeCapability capability, const Configuration& configuration) {
  for (const Cliffs& cliffs : cliffs(limits_of(capability), configuration)) {
    if (cliffs.axis == axis) return cliffs;
  }
  return {axis, {}, {}};
}

double pct(ComputeCapability capability, const Configuration& configuration) {
  return theoretical_occupancy(limits_of(capability), configuration.launch, configuration.usage)
      .theoretical_pct;
}

// 65536 registers over 64 warps are 32 a thread; over 48 warps 40 (42 less rounding); over 32 warps 64.
TEST(Cliffs, OneMoreRegisterCostsAWaveOfBlocksWhereTheRegisterFileIsJustFull) {
  struct Edge {
    ComputeCapability capability;
    int block_threads, registers;
    double before, after;
  };
  for (const Edge& edge : {Edge{{8, 0}, 512, 32, 100, 75}, Edge{{9, 0}, 512, 32, 100, 75},
                           Edge{{8, 6}, 256, 40, 100, 250.0 / 3}, Edge{{8, 9}, 256, 40, 100, 250.0 / 3},
                           Edge{{12, 0}, 256, 40, 100, 250.0 / 3}, Edge{{7, 5}, 256, 64, 100, 75}}) {
    const Configuration full{{.block_threads = edge.block_threads}, {.registers_per_thread = edge.registers}};
    ASSERT_EQ(pct(edge.capability, full), edge.before);
    const Cliffs cliffs = on(Axis::registers_per_thread, edge.capability, full);
    ASSERT_TRUE(cliffs.down);
    EXPECT_EQ(to_string(cliffs.down->change),
              fmt::format("{} registers per thread instead of {}", edge.registers + 1, edge.registers));
    EXPECT_DOUBLE_EQ(cliffs.down->theoretical_pct, edge.after);
    EXPECT_FALSE(cliffs.up);
  }
}

TEST(Cliffs, OneMoreThreadPerBlockTakesAWarpMore) {
  const Configuration full{{.block_threads = 512}, {.registers_per_thread = 32}};
  const Cliffs cliffs = on(Axis::block_threads, {9, 0}, full);
  ASSERT_TRUE(cliffs.down);
  EXPECT_EQ(to_string(cliffs.down->change), "513 threads per block instead of 512");
  EXPECT_EQ(cliffs.down->blocks_per_sm, 3);  // 17 warps
  EXPECT_DOUBLE_EQ(cliffs.down->theoretical_pct, 100 * 51.0 / 64);
}

TEST(Cliffs, SharedMemoryStepsAtAllocationBoundaries) {
  // 30000 + 1024 -> 31104 bytes: 7 blocks in 233472. For 8 blocks 29184 with the reserve: 28160.
  const Configuration seven{{.block_threads = 256},
                            {.registers_per_thread = 32, .static_shared_bytes = 30'000}};
  const Cliffs cliffs = on(Axis::shared_bytes_per_block, {9, 0}, seven);
  ASSERT_TRUE(cliffs.up);
  EXPECT_EQ(to_string(cliffs.up->change), "28160 B of shared memory per block instead of 30000 B");
  EXPECT_EQ(cliffs.up->change.to, 28'160);
  EXPECT_EQ(cliffs.up->theoretical_pct, 100);
  // For 6 blocks more than 233472 / 7 = 33353.1, so 33280 with the reserve is the last that fits 7.
  ASSERT_TRUE(cliffs.down);
  EXPECT_EQ(cliffs.down->change.to, 33'280 - 1024 + 1);
  EXPECT_EQ(to_string(cliffs.down->change), "32257 B of shared memory per block instead of 30000 B");
}

TEST(Cliffs, ACarveoutThatIsTooSmallIsRaisedNoFurtherThanNeeded) {
  // 15 KB + 1 KB: 25 % of 228 KB is 57, so 64 KB and 4 blocks; 29 % is 66, so 100 KB and 6 blocks.
  const Configuration small{{.block_threads = 256, .carveout_pct = 25},
                            {.registers_per_thread = 32, .static_shared_bytes = 15 * 1024}};
  const Cliffs cliffs = on(Axis::carveout_pct, {9, 0}, small);
  ASSERT_TRUE(cliffs.up);
  EXPECT_EQ(to_string(cliffs.up->change), "29 % as the carveout instead of 25 %");
  EXPECT_EQ(cliffs.up->blocks_per_sm, 6);
  ASSERT_TRUE(cliffs.down);
  EXPECT_EQ(cliffs.down->change.to, 14);  // 31.9 KB, so 32
  const Configuration by_default{{.block_threads = 256}, small.usage};
  EXPECT_EQ(to_string(on(Axis::carveout_pct, {9, 0}, by_default).down->change),
            "43 % as the carveout instead of the default");
  EXPECT_FALSE(on(Axis::carveout_pct, {5, 2}, small).down);
}

TEST(Cliffs, BarriersStepFromHopperOn) {
  const Configuration many{{.block_threads = 32}, {.registers_per_thread = 32, .barriers = 3}};
  const Cliffs cliffs = on(Axis::barriers, {9, 0}, many);
  ASSERT_TRUE(cliffs.up);
  EXPECT_EQ(to_string(cliffs.up->change), "2 barriers per block instead of 3");
  EXPECT_EQ(cliffs.up->blocks_per_sm, 32);
  EXPECT_FALSE(on(Axis::barriers, {8, 0}, many).up);
}

TEST(Cliffs, RaisingOccupancyTakesWholeWarps) {
  // 32 block slots hold 32 warps; 33 threads would hold 64 warps of which half idle.
  const Configuration tiny{{.block_threads = 32}, {.registers_per_thread = 32}};
  const Cliffs cliffs = on(Axis::block_threads, {9, 0}, tiny);
  ASSERT_TRUE(cliffs.up);
  EXPECT_EQ(cliffs.up->change.to, 64);
}

// By exhaustion over all values, not the candidates that the search looks at.
TEST(Cliffs, AreTheNearestThatThereAre) {
  const Limits& limits = limits_of({8, 6});
  for (int shared = 0; shared < 40'000; shared += 1999) {
    for (const int registers : {24, 40, 63, 100}) {
      const Configuration at{{.block_threads = 192},
                             {.registers_per_thread = registers, .static_shared_bytes = shared}};
      const Cliffs cliffs = on(Axis::shared_bytes_per_block, {8, 6}, at);
      const auto warps = [&](int bytes) {
        const auto [launch, usage] = with(Axis::shared_bytes_per_block, bytes, at);
        return theoretical_occupancy(limits, launch, usage).warps_per_sm();
      };
      int up = shared;
      while (up >= 0 && warps(up) <= warps(shared)) --up;
      int down = shared;
      while (down <= limits.max_shared_bytes_per_block && warps(down) >= warps(shared)) ++down;
      ASSERT_EQ(cliffs.up.has_value(), up >= 0);
      if (cliffs.up) {
        EXPECT_EQ(cliffs.up->change.to, up);
      }
      ASSERT_TRUE(cliffs.down);
      EXPECT_EQ(cliffs.down->change.to, down);
    }
  }
}

TEST(CheapestPair, LowersBothOfTwoResourcesThatTie) {
  // 4 blocks by registers (64 x 256) and by shared memory: neither alone makes room for a fifth.
  const Configuration tied{{.block_threads = 256},
                           {.registers_per_thread = 64, .static_shared_bytes = 57'000}};
  const Limits& limits = limits_of({9, 0});
  ASSERT_EQ(pct({9, 0}, tied), 50);
  for (const Axis axis : {Axis::registers_per_thread, Axis::shared_bytes_per_block}) {
    EXPECT_FALSE(on(axis, {9, 0}, tied).up);
  }
  const std::optional<PairOfChanges> pair = cheapest_pair(limits, tied);
  ASSERT_TRUE(pair);
  const Configuration changed =
      with(pair->second.axis, pair->second.to, with(pair->first.axis, pair->first.to, tied));
  EXPECT_EQ(pct({9, 0}, changed), pair->theoretical_pct);
  EXPECT_GT(pair->theoretical_pct, 50);
}

// By exhaustion over every pair of register count and shared memory, at the two axes that always tie.
TEST(CheapestPair, IsNoDearerThanAnyPairOfFewerRegistersAndLessSharedMemory) {
  const Limits& limits = limits_of({8, 0});
  const Configuration tied{{.block_threads = 512},
                           {.registers_per_thread = 40, .static_shared_bytes = 41'000}};
  const std::optional<PairOfChanges> pair = cheapest_pair(limits, tied);
  ASSERT_TRUE(pair);
  double least = 2;
  for (int registers = 1; registers < 40; ++registers) {
    for (int shared = 0; shared < 41'000; shared += 8) {
      const Usage usage{.registers_per_thread = registers, .static_shared_bytes = shared};
      if (theoretical_occupancy(limits, tied.launch, usage).theoretical_pct <= pct({8, 0}, tied)) continue;
      least = std::min(least, cost_of({Axis::registers_per_thread, 40, registers}) +
                                  cost_of({Axis::shared_bytes_per_block, 41'000, shared}));
    }
  }
  EXPECT_LE(cost_of(pair->first) + cost_of(pair->second), least);
  EXPECT_LT(least, 2);
}

TEST(Curves, TouchTheCurrentPointAndFallWithRegistersAndSharedMemory) {
  const Limits& limits = limits_of({8, 9});
  const Configuration at{{.block_threads = 128}, {.registers_per_thread = 51, .static_shared_bytes = 4096}};
  for (const Axis axis : kCurveAxes) {
    const std::vector<CurvePoint> points = curve(limits, at, axis);
    const auto current = std::ranges::find(points, value_on(axis, at), &CurvePoint::value);
    ASSERT_NE(current, points.end());
    EXPECT_EQ(current->theoretical_pct, pct({8, 9}, at));
    EXPECT_TRUE(axis == Axis::block_threads ||
                std::ranges::is_sorted(points, std::ranges::greater(), &CurvePoint::theoretical_pct));
  }
  EXPECT_EQ(curve(limits, at, Axis::block_threads).size(), 32u);
  EXPECT_EQ(curve(limits, at, Axis::registers_per_thread).size(), 255u);
}

}  // namespace
}  // namespace occbench
