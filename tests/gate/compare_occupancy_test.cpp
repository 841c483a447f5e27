#include <algorithm>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compared.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;

TEST(Gate, RunsThatDifferByTheirNoiseAlonePass) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 1);
  const auto run = [&] {
    MadeUpRun made = made_up_run(40);
    for (std::size_t i = 0; i < made.rows.size(); ++i) {
      Row& row = made.rows[i];
      // Tails of equal blocks scatter by points, full waves by tenths; times drift by half a percent.
      row.achieved_spread_points = i % 4 == 0 ? 2.0 : 0.1;
      *row.achieved_pct += 2 * *row.achieved_spread_points * noise(random) - 5;
      *row.achieved_elapsed_pct += 0.1 * noise(random);
      made.slow_down(i, 1 + 0.005 * noise(random));
    }
    return made.run();
  };
  RecordedRun before = run();
  for (int pair = 0; pair < 19; ++pair) {
    RecordedRun now = run();
    EXPECT_EQ(compare(before, now, {}).verdict(), Verdict::pass) << pair;
    before = std::move(now);
  }
}

TEST(Gate, NamesUnevenWorkWhereOccupancyFallsAtUnchangedResources) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    injected::one_slow_warp(run.rows[0]);
    run.slow_down(0, 2);
  });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(subject(comparison), "achieved_pct") << "not the time, which follows";
  EXPECT_THAT(first_reason(comparison), HasSubstr("achieved_pct 99.7 -> 53.4"));
  EXPECT_THAT(first_reason(comparison), HasSubstr("registers, shared memory and theory are as before"));
  EXPECT_THAT(first_reason(comparison),
              HasSubstr("2.00 times as long: some warps or blocks take longer than others"));
}

TEST(Gate, SaysWhereTheOccupancyGoesNow) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    run.rows[0].achieved_pct = 60;
    run.rows[0].achieved_elapsed_pct = 59.5;
    run.rows[0].resident_blocks = 3.98;
  });
  EXPECT_EQ(subject(comparison), "achieved_pct");
  const std::vector<GateFinding>& findings = comparison.cases.front().findings;
  const auto explanation = std::ranges::find(findings, "explanation", &GateFinding::subject);
  ASSERT_NE(explanation, findings.end());
  EXPECT_EQ(explanation->grade, Grade::note);
  EXPECT_THAT(explanation->message,
              HasSubstr("warps have exited or not begun while others of their block run"));
}

TEST(Gate, OccupancyMayFallByNoMoreThanItsTolerance) {
  const auto lower_by = [](double points) {
    return with_change([points](MadeUpRun& run) {
      *run.rows[0].achieved_pct -= points;
      *run.rows[0].achieved_elapsed_pct -= points;
    });
  };
  EXPECT_EQ(lower_by(0.9).verdict(), Verdict::pass);
  EXPECT_EQ(lower_by(1.1).verdict(), Verdict::regression);
  EXPECT_EQ(subject(lower_by(1.1)), "achieved_pct");
}

TEST(Gate, ACaseWhoseReadingsScatterMayFallFurther) {
  const auto verdict = [](double points) {
    MadeUpRun before = baseline();
    before.rows[0].achieved_elapsed_pct = 90;
    before.rows[0].predicted_pct.reset();
    MadeUpRun candidate = before;
    *candidate.rows[0].achieved_elapsed_pct -= points;
    return compare(parse_run(before.rows_text(), scattering_samples(before.rows[0]), "baseline.csv"),
                   candidate.run(), {})
        .verdict();
  };
  const double range = 90 * 20.0 / 920;
  EXPECT_EQ(verdict(3 * range - 0.1), Verdict::pass);
  EXPECT_EQ(verdict(3 * range + 0.1), Verdict::regression);
}

TEST(Gate, BlocksOfATailThatFallOnOtherSmsAreNoRegression) {
  const auto with = [](double achieved_points, double elapsed_points) {
    return with_change([=](MadeUpRun& run) {
      *run.rows[0].achieved_pct += achieved_points;
      *run.rows[0].achieved_elapsed_pct += elapsed_points;
    });
  };
  for (const double points : {-13.0, 13.0}) {
    const Comparison moved = with(points, 0.3);
    EXPECT_EQ(moved.verdict(), Verdict::pass);
    EXPECT_THAT(first_reason(moved), HasSubstr("the last blocks ran on other SMs"));
  }
  EXPECT_EQ(with(-13, -1.1).verdict(), Verdict::regression);
  EXPECT_EQ(with(0, -1.1).verdict(), Verdict::regression);
}

TEST(Gate, ReadingsThatOnlyMovedSayNothingOfThePrediction) {
  const auto with_prediction = [](double points) {
    return with_change([=](MadeUpRun& run) {
      *run.rows[0].achieved_pct -= 5;
      *run.rows[0].predicted_pct += points;
    });
  };
  EXPECT_EQ(with_prediction(0).verdict(), Verdict::pass);
  EXPECT_EQ(with_prediction(-5).verdict(), Verdict::regression) << "it was right about the baseline";
}

TEST(Gate, WithoutTheLongestSmAchievedOccupancyDecidesAlone) {
  MadeUpRun before = baseline();
  before.rows[0].achieved_elapsed_pct.reset();
  MadeUpRun candidate = before;
  *candidate.rows[0].achieved_pct -= 1.1;
  EXPECT_EQ(compare(before.run(), candidate.run(), {}).verdict(), Verdict::regression);
}

TEST(Gate, HigherOccupancyPassesAndAsksForANewBaseline) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    *run.rows[0].achieved_pct += 5;
    *run.rows[0].achieved_elapsed_pct += 5;
    *run.rows[0].predicted_pct += 5;
  });
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_THAT(first_reason(comparison), HasSubstr("5 points better"));
  EXPECT_THAT(first_reason(comparison), HasSubstr("record the baseline again"));
}

TEST(Gate, APredictionThatMissesByMoreThanBeforeIsARegression) {
  const Comparison comparison = with_change([](MadeUpRun& run) { *run.rows[0].predicted_pct -= 4; });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(subject(comparison), "prediction_error_points");
}

TEST(Gate, PredictionsByDifferentProfilesAreNotCompared) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    for (Row& row : run.rows) row.device_profile = "of this unit";
    *run.rows[0].predicted_pct -= 4;
  });
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_THAT(first_reason(comparison), HasSubstr("device_profile"));
}

TEST(Gate, ACaseThatWasNeverPredictedIsComparedWithoutAPrediction) {
  MadeUpRun run = baseline();
  run.rows[0].predicted_pct.reset();
  EXPECT_EQ(compare(run.run(), run.run(), {}).verdict(), Verdict::pass);
  EXPECT_EQ(against_baseline(run).verdict(), Verdict::no_verdict) << "it was predicted before";
}

TEST(Gate, TheSmallestLossOfOccupancyThatItStatesIsTheSmallestItFinds) {
  const Comparison pass = against_baseline(baseline());
  const ComparedCase& stated = pass.cases.front();
  const auto row = static_cast<std::size_t>(stated.name.back() - '0');
  const auto verdict_at = [&](double share) {
    return with_change([&](MadeUpRun& run) {
             *run.rows[row].achieved_pct -= share * *stated.caught_points;
             *run.rows[row].achieved_elapsed_pct -= share * *stated.caught_points;
           })
        .verdict();
  };
  EXPECT_EQ(verdict_at(0.99), Verdict::pass);
  EXPECT_EQ(verdict_at(1.01), Verdict::regression);
}

}  // namespace
}  // namespace occbench
