#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compared.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Gate, ARunPassesAgainstItself) {
  const Comparison comparison = against_baseline(baseline());
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_EQ(comparison.count(Verdict::pass), 4u);
  for (const ComparedCase& compared : comparison.cases)
    EXPECT_TRUE(compared.findings.empty()) << reason(compared);
}

TEST(Gate, SaysBesideAnotherLaunchHowItsTimeChanged) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    injected::two_more_registers(run.rows[1]);
    run.rows[1].grid_blocks = baseline().rows[1].grid_blocks;
    run.slow_down(1, 3);
  });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_THAT(first_reason(comparison), HasSubstr(" (+200 %"));
}

TEST(Gate, NamesRegistersAsTheCauseOfLostTheory) {
  const Comparison comparison =
      with_change([](MadeUpRun& run) { injected::two_more_registers(run.rows[1]); });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(comparison.count(Verdict::regression), 1u);
  EXPECT_EQ(comparison.cases.front().name, baseline().rows[1].case_);
  EXPECT_THAT(first_reason(comparison), StartsWith("registers_per_thread 31 -> 33; "));
  EXPECT_THAT(first_reason(comparison), HasSubstr("theoretical_pct 100 -> 75"));
  EXPECT_THAT(first_reason(comparison), testing::Not(HasSubstr("achieved")))
      << "what follows is no second finding";
}

TEST(Gate, NamesSharedMemoryAsTheCauseOfLostTheory) {
  EXPECT_THAT(first_reason(with_change([](MadeUpRun& run) { injected::a_kilobyte_more(run.rows[0]); })),
              StartsWith("dynamic_shared_bytes 32768 -> 33792; "));
}

TEST(Gate, NamesTheBlockSizeAsTheCauseOfLostTheory) {
  EXPECT_THAT(first_reason(with_change([](MadeUpRun& run) { injected::larger_blocks(run.rows[0]); })),
              StartsWith("block_threads 512 -> 768; "));
}

TEST(Gate, FewerRegistersAreANoteAndAskForANewBaseline) {
  const Comparison comparison = with_change([](MadeUpRun& run) { run.rows[0].registers_per_thread = 24; });
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_EQ(first_reason(comparison), "registers_per_thread 31 -> 24: better; record the baseline again");
}

TEST(Gate, WhatAKernelThatNeedsLessAchievesIsComparedStill) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    run.rows[0].registers_per_thread = 24;
    injected::one_slow_warp(run.rows[0]);
    run.slow_down(0, 2);
  });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(subject(comparison), "achieved_pct");
  EXPECT_THAT(first_reason(comparison), testing::Not(HasSubstr("as before")));
}

TEST(Gate, WhatFollowsFromAnImprovementIsNoRegression) {
  MadeUpRun before = baseline();
  injected::two_more_registers(before.rows[0]);
  // Back to 31 registers: another grid of as many waves, and four blocks limited by warps.
  const Comparison comparison = compare(before.run(), baseline().run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_THAT(first_reason(comparison), testing::AllOf(HasSubstr("registers_per_thread 33 -> 31: better"),
                                                       HasSubstr("limiter registers -> warps: better"),
                                                       HasSubstr("theoretical_pct 75 -> 100")));
}

TEST(Gate, MoreSpillsAreARegressionEvenWithFewerRegisters) {
  MadeUpRun before = baseline();
  before.rows[0].spill_bytes = 0;
  const MadeUpRun now = before.with([](MadeUpRun& run) {
    run.rows[0].registers_per_thread = 24;
    run.rows[0].spill_bytes = 80;
  });
  const Comparison comparison = compare(before.run(), now.run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(subject(comparison), "spill_bytes");
}

TEST(Gate, ALimiterThatChangesWithoutACauseIsARegression) {
  EXPECT_EQ(with_change([](MadeUpRun& run) { run.rows[0].limiter = "registers"; }).verdict(),
            Verdict::regression);
}

TEST(Gate, OtherWorkIsAnotherCase) {
  EXPECT_THAT(first_reason(with_change([](MadeUpRun& run) { run.rows[0].work = "equal:400000"; })),
              StartsWith("work equal:200000 -> equal:400000"));
}

TEST(Gate, AWrongResultIsARegression) {
  const Comparison comparison = with_change([](MadeUpRun& run) { run.rows[2].check = "wrong"; });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(subject(comparison), "check");
}

}  // namespace
}  // namespace occbench
