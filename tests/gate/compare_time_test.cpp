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
TEST(Gate, LaunchesWithAtomicsMayBeSixPercentSlowerInAnotherProcess) {
  const auto verdict = [](double factor, Real atomics) {
    MadeUpRun before = baseline();
    before.rows[0].global_atomics = atomics;
    MadeUpRun now = before;
    now.slow_down(0, factor);
    return compare(before.run("a"), now.run("b"), {}).verdict();
  };
  EXPECT_EQ(verdict(1.05, 0.0), Verdict::regression);
  EXPECT_EQ(verdict(1.05, 100.0), Verdict::pass);
  EXPECT_EQ(verdict(1.07, 100.0), Verdict::regression);
}

/// The smoke and quick suites do not read those counters.
TEST(Gate, KernelsThatAddInL2MayBeSixPercentSlowerWithoutCountersOfAtomics) {
  const auto verdict = [](double factor, std::string_view kernel) {
    MadeUpRun before = baseline();
    before.rows[0].kernel = kernel;
    MadeUpRun now = before;
    now.slow_down(0, factor);
    return compare(before.run("a"), now.run("b"), {}).verdict();
  };
  for (const std::string_view kernel : {"atomics", "atomic_forms", "data_race"}) {
    EXPECT_EQ(verdict(1.05, kernel), Verdict::pass) << kernel;
    EXPECT_EQ(verdict(1.07, kernel), Verdict::regression) << kernel;
  }
  EXPECT_EQ(verdict(1.05, "spin"), Verdict::regression);
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

TEST(Gate, UnstableTimesGiveNoVerdictWhereTimesDecide) {
  const auto unstable = [](const char* recorded_at) {
    return with_change([&](MadeUpRun& run) {
      run.rows[0].time_status = "unstable";
      run.rows[0].recorded_at = recorded_at;
    });
  };
  EXPECT_EQ(unstable("2026-03-01T12:00:00Z").verdict(), Verdict::no_verdict);
  EXPECT_EQ(unstable("2026-03-02T12:00:00Z").verdict(), Verdict::pass) << "times do not decide here";
}

TEST(Gate, TooFewTimesGiveNoVerdictWhereTimesDecide) {
  MadeUpRun few = baseline();
  for (std::vector<double>& times : few.times) times.resize(4);
  const Comparison comparison = compare(few.run(), few.run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(comparison), "4 and 4 times are too few to tell a difference from chance");
  for (std::vector<double>& times : few.times) times.clear();
  EXPECT_EQ(first_reason(compare(baseline().run(), few.run(), {})),
            "there are no samples of time_us in the candidate");
}

TEST(Gate, TheSmallestSlowdownThatItStatesIsTheSmallestItFinds) {
  MadeUpRun scattered = baseline();
  for (std::size_t i = 0; i < scattered.times[0].size(); ++i)
    scattered.times[0][i] = 404 + 2.5 * static_cast<double>(i);
  const Comparison pass = compare(scattered.run(), scattered.run(), {});
  ASSERT_EQ(pass.verdict(), Verdict::pass);
  const auto stated = std::ranges::find(pass.cases, scattered.rows[0].case_, &ComparedCase::name);
  ASSERT_GT(*stated->caught_time_pct, 3.1) << "wide quartiles hide more than the tolerance";
  const auto verdict_at = [&](double pct) {
    const MadeUpRun slower = scattered.with([&](MadeUpRun& run) { run.slow_down(0, 1 + pct / 100); });
    return compare(scattered.run(), slower.run(), {}).verdict();
  };
  EXPECT_EQ(verdict_at(0.99 * *stated->caught_time_pct), Verdict::pass);
  EXPECT_EQ(verdict_at(1.01 * *stated->caught_time_pct), Verdict::regression);
}

}  // namespace
}  // namespace occbench
