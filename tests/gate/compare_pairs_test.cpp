#include <random>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "compared.hpp"

namespace occbench {
namespace {

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

}  // namespace
}  // namespace occbench
