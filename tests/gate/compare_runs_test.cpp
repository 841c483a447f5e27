#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/compare.hpp"
#include "gate/outputs.hpp"
#include "gate/run.hpp"
#include "made_up_run.hpp"
#include "packed_runs.hpp"

namespace occbench {
namespace {

using ::testing::HasSubstr;

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
  check([](Row& row) { row.gpu_uuid = ""; }, "which GPU it was is not known");
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

std::vector<RecordedRun> runs_of(const MadeUpRun& run, int count, double drift, double scatter,
                                 unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, scatter);
  std::vector<RecordedRun> runs;
  for (int i = 0; i < count; ++i) {
    MadeUpRun copy = run;
    for (std::size_t row = 0; row < copy.rows.size(); ++row)
      copy.slow_down(row, 1 + drift * i + noise(random));
    runs.push_back(copy.run(fmt::format("run {}", i)));
  }
  return runs;
}

TEST(GatePairs, FindThreePercentMoreTimeUnderALargerDrift) {
  const MadeUpRun slower = baseline().with([](MadeUpRun& run) { run.slow_down(1, 1.03); });
  const Comparison comparison =
      compare_pairs(runs_of(baseline(), 6, 0.02, 0.002, 1), runs_of(slower, 6, 0.02, 0.002, 2), {});
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(comparison.count(Verdict::regression), 1u);
  EXPECT_EQ(comparison.cases.front().name, baseline().rows[1].case_);
  EXPECT_EQ(subject(comparison), "time_us");
}

TEST(GatePairs, OfOneBuildPass) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Comparison comparison = compare_pairs(runs_of(baseline(), 6, 0.01, 0.004, seed),
                                                runs_of(baseline(), 6, 0.01, 0.004, 1000 + seed), {});
    EXPECT_EQ(comparison.verdict(), Verdict::pass) << seed;
  }
}

TEST(GatePairs, SayHowManyRunsThereWere) {
  const std::vector<RecordedRun> runs = runs_of(baseline(), 6, 0, 0.002, 1);
  EXPECT_EQ(compare_pairs(runs, runs, {}).baseline, "run 0 and 5 more");
  EXPECT_EQ(against_baseline(baseline()).candidate, "candidate.csv");
}

TEST(GatePairs, FewerThanFiveAreHeldToTheLimitOfSingleRuns) {
  const auto verdict = [](int pairs, double factor) {
    const MadeUpRun slower = baseline().with([&](MadeUpRun& run) { run.slow_down(1, factor); });
    return compare_pairs(runs_of(baseline(), pairs, 0, 0, 1), runs_of(slower, pairs, 0, 0, 2), {}).verdict();
  };
  EXPECT_EQ(verdict(5, 1.02), Verdict::regression);
  EXPECT_EQ(verdict(4, 1.02), Verdict::pass);
  EXPECT_EQ(verdict(4, 1.03), Verdict::regression);
}

TEST(GatePairs, LeaveOutUnstableOnes) {
  const auto verdict = [](int unstable_pairs) {
    const MadeUpRun slower = baseline().with([](MadeUpRun& run) { run.slow_down(0, 1.02); });
    std::vector<RecordedRun> runs = runs_of(slower, 6, 0, 0.002, 1);
    for (int i = 0; i < unstable_pairs; ++i) {
      Row& row = runs[static_cast<std::size_t>(i)].cases[0].row;
      row.time_status = "unstable";
      row.time_spread_pct = 8;
    }
    return compare_pairs(runs_of(baseline(), 6, 0, 0.002, 2), runs, {});
  };
  EXPECT_EQ(verdict(1).verdict(), Verdict::regression);
  EXPECT_EQ(verdict(2).verdict(), Verdict::pass) << "four pairs are left";
  EXPECT_EQ(verdict(6).verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(verdict(6)), "times are unstable in the candidate");
}

TEST(GatePairs, ACaseThatOneRunLacksHasNoVerdict) {
  const std::vector<RecordedRun> whole = runs_of(baseline(), 6, 0, 0.002, 1);
  std::vector<RecordedRun> holed = whole;
  holed[4].cases.pop_back();
  const Comparison comparison = compare_pairs(whole, holed, {});
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(comparison), "missing in the candidate (run 4)");
}

TEST(GatePairs, ABuildThatDiffersFromItselfHasNoVerdict) {
  std::vector<RecordedRun> runs = runs_of(baseline(), 6, 0, 0.002, 1);
  runs[5].cases[0].row.registers_per_thread = 40;
  EXPECT_EQ(first_reason(compare_pairs(runs, runs, {})),
            "registers_per_thread differs between runs of the baseline");
}

/// As occbench trace writes it: work inferred, the last two kernels launched once, the last one not counted.
MadeUpRun traced_program(unsigned seed) {
  MadeUpRun run = made_up_run(4);
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    Row& row = run.rows[i];
    row.experiment = "trace";
    row.launches = i < 2 ? 500 : 1;
    row.work = fmt::format("equal:{}", 40000 + seed);
    row.work_source = "inferred from cycles";
    if (i >= 2) row.repetitions = 1;
  }
  run.rows[3].repetitions.reset();
  run.rows[3].time_us.reset();
  run.rows[3].achieved_pct.reset();
  run.rows[3].counters_status = "off";
  return run;
}

TEST(Gate, TwoTracesOfAProgramPassWhateverWasInferredOfItAndHoweverSeldomItLaunches) {
  const Comparison comparison = compare(traced_program(1).run(), traced_program(2).run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::pass) << first_reason(comparison);
  EXPECT_EQ(comparison.count(Verdict::pass), 4u);
}

TEST(Gate, FindsTheKernelOfAProgramThatLostOccupancyOrTime) {
  const MadeUpRun emptier = traced_program(2).with([](MadeUpRun& run) {
    *run.rows[1].achieved_pct -= 8;
    *run.rows[1].achieved_elapsed_pct -= 8;
  });
  EXPECT_EQ(compare(traced_program(1).run(), emptier.run(), {}).verdict(), Verdict::regression);
  const MadeUpRun slower = traced_program(2).with([](MadeUpRun& run) { run.slow_down(0, 1.5); });
  EXPECT_EQ(compare(traced_program(1).run(), slower.run(), {}).verdict(), Verdict::regression);
  const MadeUpRun denied = traced_program(2).with([](MadeUpRun& run) {
    run.rows[0].achieved_pct.reset();
    run.rows[0].counters_status = "denied";
  });
  EXPECT_EQ(compare(traced_program(1).run(), denied.run(), {}).verdict(), Verdict::no_verdict);
}

/// What a build was made worse in, and what the gate has to name.
struct Injection {
  std::string name;   ///< of the files in tests/data/gate
  std::string case_;  ///< the end of the case's name
  std::string cause;
};

/// Six pairs of runs that tests/gate/on_gpu.py recorded on an H200: a build with one thing made worse in turn
/// with the one in which nothing was. The runs of the latter end in -a.
Comparison recorded(const std::string& injection) {
  std::vector<RecordedRun> unchanged;
  std::vector<RecordedRun> injected;
  for (auto& [run, recorded] : recorded_runs("gate/" + injection))
    (run.ends_with("-a") ? unchanged : injected).push_back(std::move(recorded));
  EXPECT_EQ(unchanged.size(), 6u);
  EXPECT_EQ(injected.size(), 6u);
  return compare_pairs(unchanged, injected, {});
}

TEST(RecordedPairs, OfOneBuildPass) {
  const Comparison comparison = recorded("none");
  EXPECT_EQ(headline(comparison), "pass: 4 cases, 4 pass");
  for (const ComparedCase& compared : comparison.cases) {
    EXPECT_TRUE(compared.findings.empty()) << reason(compared);
    EXPECT_LT(*compared.caught_time_pct, 3) << compared.name;
  }
}

TEST(RecordedPairs, OfABuildThatIsWorseNameTheCaseAndTheCause) {
  const Injection injections[] = {{"registers", "=registers", "registers_per_thread"},
                                  {"shared_memory", "=shared_memory", "dynamic_shared_bytes"},
                                  {"block_size", "=block_size", "block_threads"},
                                  {"slow_warp", "=slow_warp_or_slower", "achieved_pct"},
                                  {"slower", "=slow_warp_or_slower", "time_us"}};
  for (const Injection& injection : injections) {
    const Comparison comparison = recorded(injection.name);
    EXPECT_EQ(headline(comparison), "regression: 4 cases, 1 regression, 3 pass") << injection.name;
    const ComparedCase& worst = comparison.cases.front();
    EXPECT_TRUE(worst.name.ends_with(injection.case_)) << worst.name;
    ASSERT_FALSE(worst.findings.empty()) << injection.name;
    EXPECT_EQ(worst.findings.front().subject, injection.cause);
  }
}

}  // namespace
}  // namespace occbench
