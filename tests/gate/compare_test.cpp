#include "gate/compare.hpp"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/outputs.hpp"
#include "made_up_run.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const MadeUpRun kBaseline = made_up_run();

Comparison against_baseline(const MadeUpRun& candidate) {
  return compare(kBaseline.run("baseline.csv"), candidate.run("candidate.csv"), {});
}

Comparison with_change(const std::function<void(MadeUpRun&)>& change) {
  return against_baseline(kBaseline.with(change));
}

/// Of the worst case.
std::string first_reason(const Comparison& comparison) {
  return reason(comparison.cases.front());
}

std::string subject(const Comparison& comparison) {
  return comparison.cases.front().findings.front().subject;
}

TEST(Gate, ARunPassesAgainstItself) {
  const Comparison comparison = against_baseline(kBaseline);
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_EQ(comparison.count(Verdict::pass), 4u);
  for (const ComparedCase& compared : comparison.cases)
    EXPECT_TRUE(compared.findings.empty()) << reason(compared);
}

TEST(Gate, RunsThatDifferByTheirNoiseAlonePass) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 1);
  const auto run = [&](unsigned seed) {
    MadeUpRun made = made_up_run(40, seed);
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
  RecordedRun before = run(100);
  for (unsigned seed = 101; seed < 120; ++seed) {
    RecordedRun now = run(seed);
    EXPECT_EQ(compare(before, now, {}).verdict(), Verdict::pass) << seed;
    before = std::move(now);
  }
}

TEST(Gate, NamesRegistersAsTheCauseOfLostTheory) {
  const Comparison comparison =
      with_change([](MadeUpRun& run) { injected::two_more_registers(run.rows[1]); });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(comparison.count(Verdict::regression), 1u);
  EXPECT_EQ(comparison.cases.front().name, kBaseline.rows[1].case_);
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
  MadeUpRun before = kBaseline;
  injected::two_more_registers(before.rows[0]);
  // Back to 31 registers: another grid of as many waves, and four blocks limited by warps.
  const Comparison comparison = compare(before.run(), kBaseline.run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_THAT(first_reason(comparison), testing::AllOf(HasSubstr("registers_per_thread 33 -> 31: better"),
                                                       HasSubstr("limiter registers -> warps: better"),
                                                       HasSubstr("theoretical_pct 75 -> 100")));
}

TEST(Gate, MoreSpillsAreARegressionEvenWithFewerRegisters) {
  MadeUpRun before = kBaseline;
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

/// As occbench trace writes it: work inferred, the last two kernels launched once, the last one not counted.
MadeUpRun traced_program(unsigned seed) {
  MadeUpRun run = made_up_run(4, seed);
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    Row& row = run.rows[i];
    row.experiment = "trace";
    row.launches = i < 2 ? 500 : 1;
    row.work = fmt::format("equal:{}", 40000 + seed);
    row.work_source = "inferred from cycles";
    if (i >= 2) run.times[i].resize(1);
  }
  run.times[3].clear();
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

TEST(Gate, DoesNotJudgePredictionsOfInferredWork) {
  const MadeUpRun otherwise_predicted = traced_program(2).with([](MadeUpRun& run) {
    for (Row& row : run.rows) row.predicted_pct = row.predicted_pct.value_or(50) / 2;
  });
  const Comparison comparison = compare(traced_program(1).run(), otherwise_predicted.run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::pass) << first_reason(comparison);
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
    MadeUpRun baseline = kBaseline;
    baseline.rows[0].achieved_elapsed_pct = 90;
    baseline.rows[0].predicted_pct.reset();
    // The longest SM's cycles, and with them achieved_elapsed_pct, have an interquartile range of 2 points.
    std::string samples = baseline.samples_text();
    for (int reading = 0; reading < 5; ++reading) {
      const Row& row = baseline.rows[0];
      samples += csv_record(
          Sample{row.experiment, row.case_, "sm__warps_active.sum", reading, 900.0 + 10 * reading});
      samples += csv_record(Sample{row.experiment, row.case_, "sm__cycles_active.max", reading, 1000});
    }
    MadeUpRun candidate = baseline;
    *candidate.rows[0].achieved_elapsed_pct -= points;
    return compare(parse_run(baseline.rows_text(), samples, "baseline.csv"), candidate.run(), {}).verdict();
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
  MadeUpRun baseline = kBaseline;
  baseline.rows[0].achieved_elapsed_pct.reset();
  MadeUpRun candidate = baseline;
  *candidate.rows[0].achieved_pct -= 1.1;
  EXPECT_EQ(compare(baseline.run(), candidate.run(), {}).verdict(), Verdict::regression);
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
  MadeUpRun run = kBaseline;
  run.rows[0].predicted_pct.reset();
  EXPECT_EQ(compare(run.run(), run.run(), {}).verdict(), Verdict::pass);
  EXPECT_EQ(against_baseline(run).verdict(), Verdict::no_verdict) << "it was predicted before";
}

TEST(Gate, AWrongResultIsARegression) {
  const Comparison comparison = with_change([](MadeUpRun& run) { run.rows[2].check = "wrong"; });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(subject(comparison), "check");
}

// What could not be measured or compared must not pass.

TEST(Gate, GivesNoVerdictOnACaseThatIsMissing) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    run.rows.pop_back();
    run.times.pop_back();
  });
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(comparison), "missing in the candidate");
}

TEST(Gate, NotesACaseThatTheBaselineDoesNotHave) {
  const Comparison comparison = against_baseline(made_up_run(5));
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_EQ(comparison.cases.size(), 5u);
  EXPECT_EQ(first_reason(comparison), "new: the baseline has no such case");
}

TEST(Gate, TheOrderOfRowsDoesNotMatter) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    std::ranges::reverse(run.rows);
    std::ranges::reverse(run.times);
  });
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
}

TEST(Gate, GivesNoVerdictOnACaseThatOccursTwice) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    run.rows.push_back(run.rows[0]);
    run.times.emplace_back();
  });
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(comparison), "2 times in the candidate: lines 2 and 6");
}

TEST(Gate, GivesNoVerdictOnAFileThatWasBeingWritten) {
  const std::string text = kBaseline.rows_text();
  const RecordedRun whole = kBaseline.run();
  for (const std::size_t cut : {std::size_t{1}, std::size_t{20}, text.size() / 2}) {
    const RecordedRun torn =
        parse_run(text.substr(0, text.size() - cut), kBaseline.samples_text(), "torn.csv");
    EXPECT_EQ(compare(whole, torn, {}).verdict(), Verdict::no_verdict) << cut;
    EXPECT_EQ(compare(torn, whole, {}).verdict(), Verdict::no_verdict) << cut;
  }
}

TEST(Gate, GivesNoVerdictAgainstAnotherGpu) {
  const auto refusal = [](const std::function<void(Row&)>& change) {
    const Comparison comparison =
        with_change([&](MadeUpRun& run) { std::ranges::for_each(run.rows, change); });
    EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
    EXPECT_EQ(comparison.count(Verdict::no_verdict), 4u);
    return first_reason(comparison);
  };
  EXPECT_EQ(refusal([](Row& row) { row.gpu = "NVIDIA A100"; }),
            "cannot be compared: gpu NVIDIA H200 -> NVIDIA A100");
  EXPECT_EQ(refusal([](Row& row) { row.sm_count = 114; }), "cannot be compared: sm_count 132 -> 114");
}

TEST(Gate, GivesNoVerdictOnAnotherSchemaAndSaysWhichVersionReadsIt) {
  const auto of_schema = [](Integer schema) {
    MadeUpRun run = kBaseline;
    for (Row& row : run.rows) row.schema = schema;
    return run.run();
  };
  const auto reason = [&](const RecordedRun& baseline, const RecordedRun& candidate) {
    const Comparison comparison = compare(baseline, candidate, {});
    EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
    EXPECT_TRUE(comparison.cases.empty());
    return comparison.general.empty() ? "" : comparison.general.front().message;
  };
  EXPECT_THAT(reason(of_schema(1), of_schema(kSchema)),
              AllOf(HasSubstr("the baseline"), HasSubstr("schema 1 instead of 2"),
                    HasSubstr("occbench up to commit 2128df7 reads it")));
  EXPECT_THAT(reason(of_schema(kSchema), of_schema(kSchema + 1)),
              AllOf(HasSubstr("the candidate"), HasSubstr("a newer occbench wrote it")));
  EXPECT_THAT(reason(of_schema({}), of_schema(kSchema)), HasSubstr("schema missing"));
}

TEST(Gate, GivesNoVerdictWhereCountersWereDenied) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    for (Row& row : run.rows) {
      row.achieved_pct.reset();
      row.achieved_elapsed_pct.reset();
      row.achieved_source.clear();
      row.counters_status = "denied";
    }
  });
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(comparison.count(Verdict::no_verdict), 4u);
  EXPECT_EQ(first_reason(comparison), "no achieved occupancy in the candidate: counters denied");
}

TEST(Gate, FindsARegressionInTheoryEvenWhereCountersWereDenied) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    injected::two_more_registers(run.rows[0]);
    run.rows[0].achieved_pct.reset();
    run.rows[0].counters_status = "denied";
  });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
}

TEST(Gate, GivesNoVerdictOnOccupancyThatWasReadByOtherMeans) {
  const Comparison comparison = with_change([](MadeUpRun& run) { run.rows[0].achieved_source = "trace"; });
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(subject(comparison), "achieved_source");
}

TEST(Gate, GivesNoVerdictOnAThrottledOrFailedCaseOfEitherSide) {
  for (const char* status : {"throttled", "failed", "skipped", ""}) {
    MadeUpRun broken = kBaseline;
    broken.rows[0].time_status = status;
    broken.rows[0].note = "why";
    EXPECT_EQ(compare(kBaseline.run(), broken.run(), {}).verdict(), Verdict::no_verdict) << status;
    EXPECT_EQ(compare(broken.run(), kBaseline.run(), {}).verdict(), Verdict::no_verdict) << status;
    EXPECT_THAT(first_reason(compare(kBaseline.run(), broken.run(), {})),
                HasSubstr("(why) in the candidate"));
  }
}

TEST(Gate, ACaseThatNeitherSideCanRunIsNoted) {
  MadeUpRun run = kBaseline;
  run.rows[0].time_status = "skipped";
  EXPECT_EQ(compare(run.run(), run.run(), {}).verdict(), Verdict::pass);
  for (Row& row : run.rows) row.time_status = "skipped";
  EXPECT_EQ(compare(run.run(), run.run(), {}).verdict(), Verdict::no_verdict) << "then nothing was compared";
}

TEST(Gate, GivesNoVerdictOnEmptyFiles) {
  const RecordedRun whole = kBaseline.run();
  for (const char* text : {"", "\n", "schema,exper"}) {
    const RecordedRun empty = parse_run(text, "", "empty.csv");
    EXPECT_EQ(compare(whole, empty, {}).verdict(), Verdict::no_verdict) << text;
    EXPECT_EQ(compare(empty, whole, {}).verdict(), Verdict::no_verdict) << text;
    EXPECT_EQ(compare(empty, empty, {}).verdict(), Verdict::no_verdict) << text;
  }
  const RecordedRun header_only = parse_run(csv_header(), "", "header.csv");
  EXPECT_EQ(compare(header_only, header_only, {}).verdict(), Verdict::no_verdict);
}

TEST(Gate, AColumnThatOneFileLacksIsNotedAndNotCompared) {
  std::string text = kBaseline.rows_text();
  text.replace(text.find("spill_bytes"), 11, "spilled_old");
  const Comparison comparison =
      compare(parse_run(text, kBaseline.samples_text(), "old.csv"), kBaseline.run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  ASSERT_EQ(comparison.general.size(), 1u);
  EXPECT_EQ(comparison.general[0].subject, "spill_bytes");
}

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
  MadeUpRun few = kBaseline;
  for (std::vector<double>& times : few.times) times.resize(4);
  const Comparison comparison = compare(few.run(), few.run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(comparison), "4 and 4 times are too few to tell a difference from chance");
  for (std::vector<double>& times : few.times) times.clear();
  EXPECT_EQ(first_reason(compare(kBaseline.run(), few.run(), {})),
            "there are no samples of time_us in the candidate");
}

// Pairs of runs.

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
  const MadeUpRun slower = kBaseline.with([](MadeUpRun& run) { run.slow_down(1, 1.03); });
  const Comparison comparison =
      compare_pairs(runs_of(kBaseline, 6, 0.02, 0.002, 1), runs_of(slower, 6, 0.02, 0.002, 2), {});
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(comparison.count(Verdict::regression), 1u);
  EXPECT_EQ(comparison.cases.front().name, kBaseline.rows[1].case_);
  EXPECT_EQ(subject(comparison), "time_us");
}

TEST(GatePairs, OfOneBuildPass) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Comparison comparison = compare_pairs(runs_of(kBaseline, 6, 0.01, 0.004, seed),
                                                runs_of(kBaseline, 6, 0.01, 0.004, 1000 + seed), {});
    EXPECT_EQ(comparison.verdict(), Verdict::pass) << seed;
  }
}

TEST(GatePairs, SayHowManyRunsThereWere) {
  const std::vector<RecordedRun> runs = runs_of(kBaseline, 6, 0, 0.002, 1);
  EXPECT_EQ(compare_pairs(runs, runs, {}).baseline, "run 0 and 5 more");
  EXPECT_EQ(against_baseline(kBaseline).candidate, "candidate.csv");
}

TEST(GatePairs, TooFewDecideNothing) {
  const std::vector<RecordedRun> runs = runs_of(kBaseline, 4, 0, 0.002, 1);
  EXPECT_EQ(compare_pairs(runs, runs, {}).verdict(), Verdict::no_verdict);
}

TEST(GatePairs, LeaveOutUnstableOnes) {
  std::vector<RecordedRun> runs = runs_of(kBaseline, 6, 0, 0.002, 1);
  runs[2].cases[0].row.time_status = "unstable";
  EXPECT_EQ(compare_pairs(runs, runs_of(kBaseline, 6, 0, 0.002, 2), {}).verdict(), Verdict::pass);
  runs[3].cases[0].row.time_status = "throttled";
  const Comparison comparison = compare_pairs(runs, runs_of(kBaseline, 6, 0, 0.002, 2), {});
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(comparison),
            "times of 4 pairs are too few to tell a difference from chance; in another "
            "times are unstable in the baseline");
}

TEST(GatePairs, ACaseThatOneRunLacksHasNoVerdict) {
  const std::vector<RecordedRun> whole = runs_of(kBaseline, 6, 0, 0.002, 1);
  std::vector<RecordedRun> holed = whole;
  holed[4].cases.pop_back();
  const Comparison comparison = compare_pairs(whole, holed, {});
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(comparison), "missing in the candidate (run 4)");
}

TEST(GatePairs, ABuildThatDiffersFromItselfHasNoVerdict) {
  std::vector<RecordedRun> runs = runs_of(kBaseline, 6, 0, 0.002, 1);
  runs[5].cases[0].row.registers_per_thread = 40;
  EXPECT_EQ(first_reason(compare_pairs(runs, runs, {})),
            "registers_per_thread differs between runs of the baseline");
}

// The gate says how good it was.

TEST(Gate, TheSmallestLossOfOccupancyThatItStatesIsTheSmallestItFinds) {
  const Comparison pass = against_baseline(kBaseline);
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

TEST(Gate, TheSmallestSlowdownThatItStatesIsTheSmallestItFinds) {
  MadeUpRun scattered = kBaseline;
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
