#include <algorithm>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compared.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;

// Time decides only where it can.

TEST(Gate, SlowerOnTheSameGpuWithinTheHourIsARegression) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    run.slow_down(0, 1.05);
    run.rows[0].recorded_at = "2026-03-01T12:59:59Z";
  });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(subject(comparison), "time_us");
  EXPECT_THAT(first_reason(comparison), HasSubstr("slower"));
  EXPECT_THAT(first_reason(comparison), HasSubstr("occupancy, launch and resources are as before"));
}

TEST(Gate, SaysInWholeNumbersHowMuchSlowerWhatTakesTwiceAsLongIs) {
  EXPECT_THAT(first_reason(with_change([](MadeUpRun& run) { run.slow_down(0, 2.1); })),
              HasSubstr(": 110 % slower"));
}

/// Where an address lies in L2 differs from process to process, and adds wait for it.
TEST(Gate, LaunchesWithAtomicsMayBeThreeAndAHalfPercentSlowerInAnotherProcess) {
  const auto verdict = [](double factor, Real counted, std::string_view expected_cause) {
    MadeUpRun before = baseline();
    before.rows[0].atomic_requests = counted;
    before.rows[0].expected_cause = expected_cause;
    MadeUpRun now = before;
    now.slow_down(0, factor);
    return compare(before.run("a"), now.run("b"), {}).verdict();
  };
  EXPECT_EQ(verdict(1.03, 0.0, "overhead"), Verdict::regression);
  EXPECT_EQ(verdict(1.03, 100.0, ""), Verdict::pass) << "counted";
  EXPECT_EQ(verdict(1.03, {}, "overhead+atomics"), Verdict::pass) << "declared: the smoke suite counts none";
  EXPECT_EQ(verdict(1.04, 100.0, ""), Verdict::regression);
  EXPECT_EQ(verdict(1.04, {}, "atomics"), Verdict::regression);
}

TEST(Gate, SlowerOnAnotherGpuOrDayIsAdvice) {
  const auto check = [](const std::function<void(Row&)>& change, std::string_view why) {
    const Comparison comparison = with_change([&](MadeUpRun& run) {
      run.slow_down(0, 1.5);
      change(run.rows[0]);
    });
    EXPECT_EQ(comparison.verdict(), Verdict::pass);
    EXPECT_EQ(comparison.cases.front().findings.front().grade, Grade::advisory);
    EXPECT_THAT(first_reason(comparison), HasSubstr(std::string(why)));
  };
  check([](Row& row) { row.gpu_uuid = "GPU-2"; }, "not of the same GPU");
  check([](Row& row) { row.recorded_at = "2026-03-01T13:00:01Z"; }, "more than an hour apart");
  check([](Row& row) { row.recorded_at = "yesterday"; }, "not known to be recorded within an hour");
}

TEST(Gate, FasterIsNoted) {
  const Comparison comparison = with_change([](MadeUpRun& run) { run.slow_down(0, 0.8); });
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_THAT(first_reason(comparison), HasSubstr("faster"));
}

TEST(Gate, TimesThatHaveBecomeUnstableGiveNoVerdictWhereTimesDecide) {
  const auto unstable = [](double spread_pct, const char* recorded_at) {
    return with_change([&](MadeUpRun& run) {
      run.rows[0].time_status = "unstable";
      run.rows[0].time_spread_pct = spread_pct;
      run.rows[0].recorded_at = recorded_at;
    });
  };
  EXPECT_EQ(unstable(6, "2026-03-01T12:00:00Z").verdict(), Verdict::no_verdict);
  EXPECT_EQ(unstable(6, "2026-03-02T12:00:00Z").verdict(), Verdict::pass) << "times do not decide here";
}

TEST(Gate, TimesThatWereUnstableBeforeAreNotJudged) {
  MadeUpRun varying = baseline();
  varying.rows[0].time_status = "unstable";
  varying.rows[0].time_spread_pct = 6;
  for (const double factor : {1.0, 1.5}) {
    const MadeUpRun now = varying.with([&](MadeUpRun& run) { run.slow_down(0, factor); });
    const Comparison comparison = compare(varying.run(), now.run(), {});
    EXPECT_EQ(comparison.verdict(), Verdict::pass);
    EXPECT_EQ(first_reason(comparison), "times are unstable in the baseline");
    EXPECT_FALSE(comparison.cases.front().caught_time_pct);
  }
}

/// Launches of 2 us of which an event timer that steps by 32 ns says that they scatter by 10 %.
TEST(Gate, WhatTheTimerScattersByIsNeitherUnstableNorSlower) {
  MadeUpRun before = baseline();
  before.rows[0].time_us = 2;
  before.rows[0].time_status = "unstable";
  before.rows[0].time_spread_pct = 10;
  const auto verdict = [&](double time_us) {
    return compare(before.run(), before.with([&](MadeUpRun& run) { run.rows[0].time_us = time_us; }).run(),
                   {})
        .verdict();
  };
  EXPECT_EQ(verdict(2.9), Verdict::pass);
  EXPECT_EQ(verdict(3.1), Verdict::regression);
}

TEST(Gate, TooFewLaunchesGiveNoVerdictWhereTimesDecide) {
  MadeUpRun few = baseline();
  for (Row& row : few.rows) row.repetitions = 4;
  EXPECT_EQ(compare(few.run(), few.run(), {}).verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(compare(baseline().run(), few.run(), {})),
            "4 timed launches in the candidate are too few; 5 are needed");
}

TEST(Gate, TheSmallestSlowdownThatItStatesIsTheSmallestItFinds) {
  MadeUpRun scattered = baseline();
  scattered.rows[0].time_spread_pct = 2;
  const Comparison pass = compare(scattered.run(), scattered.run(), {});
  ASSERT_EQ(pass.verdict(), Verdict::pass);
  const auto stated = std::ranges::find(pass.cases, scattered.rows[0].case_, &ComparedCase::name);
  EXPECT_EQ(*stated->caught_time_pct, 6) << "wide quartiles hide more than the tolerance";
  const auto verdict_at = [&](double pct) {
    const MadeUpRun slower = scattered.with([&](MadeUpRun& run) { run.slow_down(0, 1 + pct / 100); });
    return compare(scattered.run(), slower.run(), {}).verdict();
  };
  EXPECT_EQ(verdict_at(0.99 * *stated->caught_time_pct), Verdict::pass);
  EXPECT_EQ(verdict_at(1.01 * *stated->caught_time_pct), Verdict::regression);
}

}  // namespace
}  // namespace occbench
