#include "simulate/residency.hpp"

#include <numeric>

#include <gtest/gtest.h>

namespace occbench {
namespace {

constexpr int kMaxWarps = 64;

/// As many SMs, none of which has been active.
std::vector<Sm> idle_sms(int count) {
  return std::vector<Sm>(static_cast<std::size_t>(count), Sm({}));
}

double warp_cycles(const Timeline& timeline) {
  return timeline.step_cycles * std::accumulate(timeline.warps.begin(), timeline.warps.end(), 0.0);
}

TEST(Residency, OccupancyIsWarpCyclesOverActiveCyclesTimesTheSmsMaximum) {
  // SM 0 is active for 100 cycles, with a block of 8 warps that half of them leave after 50. SM 1 is active for 300,
  // with one block of 16 warps. Of 64 warps: (8 x 50 + 4 x 50 + 16 x 300) / (400 x 64).
  Residency residency(skipped_waves(2, 2));
  std::vector<Sm> sms = idle_sms(2);
  residency.add_warps(0, 50, 4);
  residency.add_warps(0, 100, 4);
  residency.add_warps(20, 320, 16);
  sms[0].active.add(0, 100);
  sms[1].active.add(20, 320);
  const Simulation simulation = residency.result(sms, kMaxWarps);
  EXPECT_DOUBLE_EQ(simulation.achieved_pct, 100 * 5400 / (400.0 * 64));
  EXPECT_DOUBLE_EQ(simulation.elapsed_pct, 100 * 5400 / (2 * 300.0 * 64))
      << "both SMs over the longer one's cycles";
  EXPECT_EQ(simulation.cycles_active_min, 100);
  EXPECT_EQ(simulation.cycles_active_mean, 200);
  EXPECT_EQ(simulation.cycles_active_max, 300);
  EXPECT_NEAR(warp_cycles(simulation.timeline), 5400, 1e-6);
}

TEST(Residency, AnIdleSmLowersOccupancyOverElapsedCyclesOnly) {
  Residency residency(skipped_waves(1, 2));
  std::vector<Sm> sms = idle_sms(2);
  residency.add_warps(0, 100, kMaxWarps);
  sms[0].active.add(0, 100);
  const Simulation simulation = residency.result(sms, kMaxWarps);
  EXPECT_EQ(simulation.achieved_pct, 100);
  EXPECT_EQ(simulation.elapsed_pct, 50);
  EXPECT_EQ(simulation.cycles_active_min, 0);
}

TEST(Residency, ABlockHoldsItsPlaceUntilItsLastWarpEnds) {
  // Two blocks of 2 warps on one SM, for 100 and 60 cycles of 100; one warp of each ends after 10.
  Residency residency(skipped_waves(2, 2));
  std::vector<Sm> sms = idle_sms(1);
  for (const double end : {100.0, 60.0}) {
    residency.add_warps(0, 10, 1);
    residency.add_warps(0, end, 1);
    residency.add_block({0, 0, end});
  }
  sms[0].active.add(0, 100);
  const Simulation simulation = residency.result(sms, kMaxWarps);
  EXPECT_DOUBLE_EQ(simulation.resident_blocks, 1.6);
  EXPECT_DOUBLE_EQ(simulation.achieved_pct, 100 * 180 / (100.0 * 64));
}

TEST(SkippedWaves, AreWholeWavesOfLargeGridsOnly) {
  constexpr std::int64_t kWave = 1056;
  EXPECT_EQ(skipped_waves(1 << 18, kWave).waves, 0);
  for (const std::int64_t grid : {(1 << 18) + 1, 1'000'003, 2'147'483'647}) {
    const SkippedWaves skipped = skipped_waves(grid, kWave);
    EXPECT_EQ(skipped.simulated_blocks + skipped.waves * kWave, grid);
    EXPECT_EQ(skipped.simulated_blocks % kWave, grid % kWave) << "the tail is simulated";
    EXPECT_LT(skipped.simulated_blocks, (1 << 18) + kWave) << "as few waves as can be";
    EXPECT_GE(skipped.simulated_blocks, std::min<std::int64_t>(grid, 1 << 18));
  }
  const SkippedWaves large_device = skipped_waves(10'000'000, 100'000);
  EXPECT_EQ(large_device.simulated_blocks, 16 * 100'000) << "enough waves to find their steady length";
}

/// 100 waves of a block for each of two SMs. The first three take 200 cycles, the others 100. SM 1 is idle for the
/// last tenth of each. A block has 8 warps, and half of them end half-way.
Simulation of_a_hundred_waves(const SkippedWaves& skipped) {
  Residency residency(skipped);
  std::vector<Sm> sms = idle_sms(2);
  double now = 0;
  for (std::int64_t block = 0; block < skipped.simulated_blocks; block += 2) {
    const double wave = block < 6 ? 200 : 100;
    for (std::int64_t sm = 0; sm < 2; ++sm) {
      residency.before(block + sm, now, sms);
      const double cycles = sm == 0 ? wave : 0.9 * wave;
      residency.add_warps(now, now + cycles / 2, 4);
      residency.add_warps(now, now + cycles, 4);
      residency.add_block({0, now, now + cycles});
      sms[static_cast<std::size_t>(sm)].active.add(now, now + cycles);
    }
    now += wave;
  }
  return residency.result(sms, kMaxWarps);
}

TEST(SkippedWaves, AreAsLongAsTheSteadyOnesOnEachSm) {
  const Simulation simulation =
      of_a_hundred_waves({.simulated_blocks = 2 * 16, .wave_blocks = 2, .waves = 84});
  EXPECT_DOUBLE_EQ(simulation.cycles_active_max, 3 * 200 + 97 * 100);
  EXPECT_DOUBLE_EQ(simulation.cycles_active_min, 0.9 * (3 * 200 + 97 * 100));
  EXPECT_DOUBLE_EQ(simulation.achieved_pct, 100 * 6 / 64.0) << "8 warps for one half, 4 for the other";
  EXPECT_DOUBLE_EQ(simulation.resident_blocks, 1);
}

TEST(SkippedWaves, ChangeNoCounterOfWavesThatRepeat) {
  const Simulation skipped = of_a_hundred_waves({.simulated_blocks = 2 * 16, .wave_blocks = 2, .waves = 84});
  const Simulation whole = of_a_hundred_waves({.simulated_blocks = 2 * 100, .wave_blocks = 2, .waves = 0});
  EXPECT_DOUBLE_EQ(skipped.achieved_pct, whole.achieved_pct);
  EXPECT_DOUBLE_EQ(skipped.elapsed_pct, whole.elapsed_pct);
  EXPECT_DOUBLE_EQ(skipped.cycles_active_mean, whole.cycles_active_mean);
  EXPECT_DOUBLE_EQ(skipped.resident_blocks, whole.resident_blocks);
  EXPECT_NEAR(warp_cycles(skipped.timeline), warp_cycles(whole.timeline), 1e-6 * warp_cycles(whole.timeline));
}

}  // namespace
}  // namespace occbench
