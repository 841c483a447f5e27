// What the remedy of a finding saves of the time.
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "by_numbers.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A grid of 1.25 waves, of blocks that take equally long: 87.7 % over active cycles, 62.5 % over elapsed ones.
LaunchFacts with_tail() {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 1320}, {.registers_per_thread = 32}, 87.7);
  facts.readings.achieved_elapsed_pct = 62.5;
  facts.readings.counters.issue_active_pct = 20;
  facts.readings.counters.dram_busy_pct = 10;
  facts.readings.counters.fma_use_pct = 0;
  facts.times.time_us = 800;
  return facts;
}

TEST(TimeSaved, OfAPartialWaveIsWhatWholeWavesOfTheSameWorkTakeLess) {
  LaunchFacts facts = with_tail();
  // 1.25 waves take as long as two.
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 1 - 1.25 / 2, 0.001);
  EXPECT_EQ(
      saved_by(facts, Cause::tail).sentence,
      "At most 0.3 of 0.8 ms per launch; not if L1 or L2 or another pipe is saturated, which was not read.");
  facts.program.total_time_us = 80'000;
  EXPECT_EQ(saved_by(facts, Cause::tail).sentence,
            "At most 0.3 of 0.8 ms per launch, 30.0 of 80.0 ms in the run; not if L1 or L2 or another pipe "
            "is saturated, "
            "which was "
            "not read.");
  // Half of the time no SM is active.
  facts.readings.counters.sm_clock_mhz = 1000;
  facts.readings.counters.sm_cycles_active_max = 400'000;
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 0.5 * (1 - 1.25 / 2), 0.001);
  // A caller that makes one launch of several spares the time around them as well.
  facts.library = library_of("ampere_sgemm_128x64_tn");
  ASSERT_NE(facts.library, nullptr);
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 1 - 1.25 / 2, 0.001);
}

TEST(TimeSaved, OfAKernelThatWaitsForOtherGpusIsNotKnown) {
  LaunchFacts facts =
      by_numbers("8.0", 108, {.block_threads = 544, .grid_blocks = 16}, {.registers_per_thread = 96}, 26);
  facts.library = library_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  ASSERT_NE(facts.library, nullptr);
  EXPECT_EQ(saved_by(facts, Cause::idle_sms).share, 0);
  EXPECT_THAT(saved_by(facts, Cause::idle_sms).sentence, HasSubstr("Not known: it waits for other GPUs"));
}

TEST(TimeSaved, OfSmsThatAPredictionLeavesIdleIsTold) {
  LaunchFacts facts =
      by_numbers("8.0", 108, {.block_threads = 1024, .grid_blocks = 300}, {.registers_per_thread = 40}, 0);
  facts.readings.counters.achieved_pct.reset();
  Prediction& prediction = facts.prediction.emplace();
  prediction.theoretical_pct = 50;
  prediction.predicted_pct = 50;
  prediction.predicted_elapsed_pct = 46.3;
  EXPECT_NEAR(saved_by(facts, Cause::idle_sms).share, 1 - 46.3 / 50, 0.001);
  EXPECT_EQ(the(diagnose(facts), Cause::idle_sms).confidence, Confidence::simulated);
}

TEST(TimeSaved, OfAPartialWaveIsNoMoreWhereMoreIsLostToSomethingElse) {
  LaunchFacts facts = with_tail();
  for (const bool elapsed_is_known : {true, false}) {
    for (const double part : {1.0, 0.7, 0.1}) {
      facts.readings.counters.achieved_pct = 87.7 * part;
      facts.readings.achieved_elapsed_pct = elapsed_is_known ? Real(62.5 * part) : Real();
      EXPECT_NEAR(saved_by(facts, Cause::tail).share, 1 - 1.25 / 2, 0.001) << part;
    }
  }
  // Half a wave of blocks that fill half of what they could.
  facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 528}, {.registers_per_thread = 32}, 25);
  EXPECT_NEAR(saved_by(facts, Cause::small_grid).share, 0.5, 0.001);
}

TEST(TimeSaved, OfSpillsIsNoneWhereBuildsOfMoreRegistersAreNoFaster) {
  LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 132 * 16},
                                 {.registers_per_thread = 128}, 24);
  facts.compiled->usage.local_bytes_per_thread = 64;
  facts.readings.counters.local_sectors = 1e9;
  facts.times.time_us = 776;
  facts.others.roomier =
      OtherBuild{.build = "cap_255", .registers_per_thread = 155, .least_registers = 144, .time_us = 1277};
  EXPECT_EQ(saved_by(facts, Cause::spills).sentence,
            "None found: 1.28 instead of 0.776 ms per launch were measured with 155 registers (cap_255).");
  EXPECT_EQ(saved_by(facts, Cause::spills).share, 0);
  EXPECT_THAT(the(diagnose(facts), Cause::spills).remedy,
              HasSubstr("no build of more registers that was measured is faster; the least of them has 144"));
  facts.others.roomier->time_us = 760;
  EXPECT_EQ(saved_by(facts, Cause::spills).sentence,
            "0.76 instead of 0.776 ms per launch were measured with 155 registers (cap_255).");
  EXPECT_THAT(the(diagnose(facts), Cause::spills).remedy, HasSubstr("Allow more than 128 registers"));
}

TEST(TimeSaved, IsBroughtByTheClaimOfItsCause) {
  LaunchFacts facts = with_tail();
  facts.compiled->usage.local_bytes_per_thread = 64;
  facts.readings.counters.local_sectors = 1e9;
  const Situation situation = situation_of(facts).value();
  EXPECT_EQ(spills(situation)->time->sentence, "Not known: compare with a build of more registers.");
  const Claim last_wave = tail(situation).value();
  EXPECT_NEAR(last_wave.time_ratio(last_wave, situation), 1.25 / 2, 0.001);
  EXPECT_FALSE(Claim().time_ratio) << "of what no cause explains occupancy tells no time";
}

TEST(TimeSaved, EndsWhereTheBusiestResourceWouldBeSaturated) {
  LaunchFacts facts = with_tail();
  facts.readings.counters.dram_busy_pct = 75;
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 0.25, 0.001);
  facts.readings.counters.dram_busy_pct = 93;
  EXPECT_EQ(
      saved_by(facts, Cause::tail).sentence,
      "At most 0.056 of 0.8 ms per launch, since dram_busy_pct is 93 %; not if L1 or L2 or another pipe is "
      "saturated, which "
      "was not read.");
  facts.readings.counters.dram_busy_pct = 99.5;
  EXPECT_EQ(saved_by(facts, Cause::tail).share, 0);
  EXPECT_EQ(saved_by(facts, Cause::tail).sentence, "None expected: dram_busy_pct is 100 %.");
  // Issue slots are counted while SMs are active, which they are for 62.5 / 87.7 of the time.
  facts.readings.counters.dram_busy_pct.reset();
  facts.readings.counters.issue_active_pct = 100;
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 1 - 62.5 / 87.7, 0.001);
  EXPECT_THAT(
      saved_by(facts, Cause::tail).sentence,
      HasSubstr("; not if device memory or L1 or L2 or another pipe is saturated, which was not read"));
  // As much where a pipe that was not read keeps its warps waiting while they are eligible.
  facts.readings.counters.issue_active_pct = 40;
  facts.readings.counters.eligible_warps = 5;
  EXPECT_NEAR(saved_by(facts, Cause::tail).share, 1 - 62.5 / 87.7, 0.001);
  facts.readings.achieved_elapsed_pct = 87.7;
  EXPECT_EQ(saved_by(facts, Cause::tail).sentence, "None expected: eligible_warps is 5.");
}

TEST(TimeSaved, OfContentionIsByOccupancyAlone) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 256, .grid_blocks = 1056}, {.registers_per_thread = 32}, 80);
  facts.readings.counters.dram_busy_pct = 93;
  EXPECT_THAT(saved_by(facts, Cause::memory_contention).sentence,
              AllOf(testing::StartsWith("At most 7 % of it, since dram_busy_pct is 93 %"),
                    HasSubstr("less work for what is contended for can save more")));
}

TEST(TimeSaved, IsNotKnownWhereOtherKernelsRunBesideIt) {
  LaunchFacts facts = with_tail();
  facts.program.streams = "7";
  EXPECT_GT(saved_by(facts, Cause::tail).share, 0);
  facts.program.streams = "7+13";
  EXPECT_EQ(saved_by(facts, Cause::tail).share, 0);
  EXPECT_THAT(saved_by(facts, Cause::tail).sentence, HasSubstr("Not known: launches run in several streams"));
  EXPECT_FALSE(saved_by(facts, Cause::tail).is_known);
}

TEST(TimeSaved, OfALimitIsByTheHighestOccupancyOfOneStep) {
  LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 512, .grid_blocks = 132 * 12},
                                 {.registers_per_thread = 33}, 75);
  facts.times.time_us = 400;
  EXPECT_EQ(saved_by(facts, Cause::register_limit).sentence,
            "At most 0.1 of 0.4 ms per launch, if warps wait for latency rather than for memory, issue slots "
            "or a pipe.");
  facts.compiled->usage.local_bytes_per_thread = 64;
  facts.compiled->spill_bytes = 64;
  facts.readings.counters.local_sectors = 1e9;
  EXPECT_THAT(saved_by(facts, Cause::register_limit).sentence,
              HasSubstr("None expected: registers are spilled"));
  // More registers can make warps faster: what that saves is not told by occupancy.
  facts.readings.counters.achieved_pct = 60;
  EXPECT_EQ(saved_by(facts, Cause::spills).sentence, "Not known: compare with a build of more registers.");
}

TEST(TimeSaved, OfALimitIsNoneWhereTheGridFillsNoPlaces) {
  const LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 128, .grid_blocks = 90}, {.registers_per_thread = 64}, 6);
  EXPECT_EQ(saved_by(facts, Cause::register_limit).share, 0);
  EXPECT_THAT(saved_by(facts, Cause::register_limit).sentence,
              HasSubstr("the grid does not fill the places"));
}

TEST(TimeSaved, OfIdleSmsIsNoneWhereWarpsWaitForAnAddress) {
  const auto findings = findings_of("atomic_operations/atomic_operations/add/addresses=one/operation=add");
  const auto atomics = find(findings, Cause::atomics);
  ASSERT_TRUE(atomics && atomics->time);
  // Sums in a block take 1/198 of the time, which no occupancy tells.
  EXPECT_THAT(atomics->time->sentence, HasSubstr("Not known: compare with sums in a block first"));
  const auto idle = find(findings, Cause::idle_sms);
  ASSERT_TRUE(idle && idle->time);
  EXPECT_EQ(idle->time->share, 0);
  EXPECT_THAT(idle->time->sentence, HasSubstr("wait for an address"));
}

TEST(TimeSaved, OfAKernelThatItsCallerCanSpareIsAllOfIt) {
  LaunchFacts facts = with_tail();
  facts.times.time_us = 44;
  facts.library =
      library_of("void cudnn::ops::nhwcToNchwKernel<float, float>(cudnn::ops::nhwc2nchw_params_t<float>)");
  ASSERT_TRUE(facts.library);
  EXPECT_EQ(saved_by(facts, Cause::tail).share, 1);
  EXPECT_EQ(saved_by(facts, Cause::tail).sentence,
            "At most 0.044 of 0.044 ms per launch: what its caller can do spares it.");
}

TEST(TimeSaved, OfAKernelThatUsesSharedMemorySaysThatItWasNotRead) {
  const auto said = [](const std::string& name) {
    const auto findings = findings_of(name, "nvidia-h100-80gb-hbm3");
    return find(findings, Cause::shared_memory_limit)->time->sentence;
  };
  // The same kernel with 8 blocks on an SM takes 1.3 % less.
  EXPECT_THAT(
      said("lower_occupancy_faster/results_per_thread/product_4/body=product/results=4/blocks_per_sm=6"),
      testing::EndsWith("; not if shared memory or another pipe is saturated, which was not read."));
}

TEST(TimeSaved, OfRegistersIsWhatABuildOfFewerWasMeasuredToSave) {
  LaunchFacts facts = by_numbers("9.0", 132, {.block_threads = 128, .grid_blocks = 132 * 12},
                                 {.registers_per_thread = 155}, 18);
  facts.times.time_us = 835;
  facts.others.leaner =
      OtherBuild{.build = "cap_128", .registers_per_thread = 128, .achieved_pct = 24, .time_us = 748};
  EXPECT_EQ(saved_by(facts, Cause::register_limit).sentence,
            "0.748 instead of 0.835 ms per launch were measured with 128 registers (cap_128).");
  facts.others.faster = std::exchange(facts.others.leaner, std::nullopt);
  EXPECT_THAT(saved_by(facts, Cause::register_limit).sentence, testing::Not(HasSubstr("were measured")));
}

TEST(TimeSaved, OfWarpsThatEndAtOnceInALibrarysKernelForTensorCoresIsNotKnown) {
  // As nvjet kernels of an H200: 9 of the 12 warps of its one block stay.
  const auto time_of = [](const char* compute_capability, int threads, const char* kernel) {
    LaunchFacts facts = by_numbers(compute_capability, 132, {.block_threads = threads, .grid_blocks = 1320},
                                   {.registers_per_thread = 168}, 9.0 / 64 * 100);
    facts.readings.counters.resident_blocks = 1;
    facts.times.time_us = 800;
    facts.library = library_of(kernel);
    return saved_by(facts, Cause::uneven_warps);
  };
  constexpr const char* kNvjet = "nvjet_sm90_hsh_8x64_64x16_2x1_v_bz_TNN";
  ASSERT_NE(library_of(kNvjet), nullptr);
  EXPECT_THAT(time_of("9.0", 384, kNvjet).sentence, HasSubstr("by design (warp specialization)"));
  EXPECT_FALSE(time_of("9.0", 384, kNvjet).is_known);
  EXPECT_TRUE(time_of("9.0", 384, "product").is_known);
  EXPECT_TRUE(time_of("8.0", 384, kNvjet).is_known);
  EXPECT_TRUE(time_of("9.0", 352, kNvjet).is_known);
}

}  // namespace
}  // namespace occbench
