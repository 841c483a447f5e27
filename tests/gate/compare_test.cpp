#include <algorithm>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up_run.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Gate, RunsThatDifferByTheirNoiseAlonePass) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 1);
  const auto run = [&] {
    MadeUpRun made = made_up_run(40);
    for (std::size_t i = 0; i < made.rows.size(); ++i) {
      Row& row = made.rows[i];
      // Tails of equal blocks scatter by points, full waves by tenths; times drift by half a percent.
      row.achieved_spread_points = i % 4 == 0 ? 2.0 : 0.1;
      *row.achieved_pct += 2 * *row.achieved_spread_points * noise(random) - 15;
      *row.achieved_elapsed_pct += 0.1 * noise(random) - 35;
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
  const MadeUpRun tail = baseline().with([](MadeUpRun& run) {
    run.rows[0].achieved_pct = 80;
    run.rows[0].achieved_elapsed_pct = 65;
  });
  Tolerances tolerances;
  const auto with = [&](double achieved_points, double elapsed_points) {
    const MadeUpRun changed = tail.with([=](MadeUpRun& run) {
      *run.rows[0].achieved_pct += achieved_points;
      *run.rows[0].achieved_elapsed_pct += elapsed_points;
    });
    return compare(tail.run(), changed.run(), tolerances);
  };
  for (const double points : {-13.0, 13.0}) {
    const Comparison moved = with(points, 0.3);
    EXPECT_EQ(moved.verdict(), Verdict::pass);
    EXPECT_THAT(first_reason(moved), HasSubstr("the last blocks ran on other SMs"));
  }
  EXPECT_EQ(with(-13, -1.1).verdict(), Verdict::regression);
  EXPECT_EQ(with(0, -1.1).verdict(), Verdict::regression);
  EXPECT_EQ(
      first_reason(with(-1.2, -0.7)),
      "achieved_pct 80 -> 78.8, and over all SMs (achieved_elapsed_pct) 65 -> 64.3: within the 1 points "
      "allowed");
  EXPECT_THAT(first_reason(with(1.2, 0.7)), HasSubstr("within the 1 points allowed"));
  tolerances.set("", "achieved_pct", {0.4, 0});
  EXPECT_EQ(with(-0.6, -0.6).verdict(), Verdict::regression) << "what is given for one holds for both";
  EXPECT_EQ(with(-13, -0.3).verdict(), Verdict::pass);
}

TEST(Gate, AnAchievedOccupancyThatItsOwnRowContradictsIsNotExcusedByPlacement) {
  // A fifth less over active cycles at the same occupancy over elapsed cycles: then active cycles are a quarter more.
  const auto with_active_cycles = [](double factor) {
    const MadeUpRun before = baseline().with([](MadeUpRun& run) {
      for (Row& row : run.rows) {
        row.achieved_elapsed_pct = 70;
        row.sm_cycles_active_max = 1e6;
        row.sm_cycles_active_avg = 1e6 * *row.achieved_elapsed_pct / *row.achieved_pct;
      }
    });
    const MadeUpRun now = before.with([=](MadeUpRun& run) {
      *run.rows[0].achieved_pct *= 0.8;
      *run.rows[0].sm_cycles_active_avg *= factor;
    });
    return compare(before.run(), now.run(), {}).verdict();
  };
  EXPECT_EQ(with_active_cycles(1.25), Verdict::pass);
  EXPECT_EQ(with_active_cycles(1), Verdict::regression);
}

TEST(Gate, GivesNoVerdictOnOccupancyThatNoLaunchCanHave) {
  const auto with = [](double achieved, double elapsed, bool before) {
    const MadeUpRun changed = baseline().with([=](MadeUpRun& run) {
      run.rows[0].theoretical_pct = 75;
      run.rows[0].achieved_pct = achieved;
      run.rows[0].achieved_elapsed_pct = elapsed;
    });
    const MadeUpRun possible = changed.with([](MadeUpRun& run) {
      run.rows[0].achieved_pct = 75;
      run.rows[0].achieved_elapsed_pct = 75;
    });
    return before ? compare(changed.run(), possible.run(), {}) : compare(possible.run(), changed.run(), {});
  };
  EXPECT_EQ(with(75.9, 75.9, false).verdict(), Verdict::pass) << "as a counter scatters";
  for (const bool before : {true, false}) {
    EXPECT_EQ(with(777, 74, before).verdict(), Verdict::no_verdict);
    EXPECT_EQ(with(76.1, 74, before).verdict(), Verdict::no_verdict);
    EXPECT_EQ(with(73, 74.6, before).verdict(), Verdict::no_verdict);
  }
  EXPECT_EQ(first_reason(with(777, 74, false)),
            "the candidate belongs to another launch: achieved_pct is 777, and the launch can reach 75; "
            "record it again");
}

TEST(Gate, NoRecordedRowContradictsItself) {
  for (const char* model : {"nvidia-h200", "nvidia-h100-80gb-hbm3"}) {
    int compared = 0;
    for (const Row& row : read_rows(fmt::format("{}/results/{}/full.csv", OCCBENCH_SOURCE_DIR, model))) {
      if (!row.achieved_elapsed_pct) continue;
      ++compared;
      EXPECT_NEAR(*row.achieved_pct * *row.sm_cycles_active_avg /
                      (*row.achieved_elapsed_pct * *row.sm_cycles_active_max),
                  1, 0.016)
          << row.case_;
    }
    EXPECT_GT(compared, 1000) << model;
  }
}

TEST(Gate, WithoutTheLongestSmAchievedOccupancyDecidesAlone) {
  MadeUpRun before = baseline();
  before.rows[0].achieved_elapsed_pct.reset();
  MadeUpRun candidate = before;
  *candidate.rows[0].achieved_pct -= 1.1;
  EXPECT_EQ(compare(before.run(), candidate.run(), {}).verdict(), Verdict::regression);
}

TEST(Gate, HigherOccupancyPassesAndAsksForANewBaseline) {
  const MadeUpRun before = baseline().with([](MadeUpRun& run) {
    *run.rows[0].achieved_pct -= 5;
    *run.rows[0].achieved_elapsed_pct -= 5;
  });
  const Comparison comparison = compare(before.run(), baseline().run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_THAT(first_reason(comparison), HasSubstr("5 points better"));
  EXPECT_THAT(first_reason(comparison), HasSubstr("record the baseline again"));
}

TEST(Gate, JudgesWhatALaunchDoesAndNotHowItIsPredicted) {
  const MadeUpRun otherwise = baseline().with([](MadeUpRun& run) {
    *run.rows[0].predicted_pct -= 20;
    run.rows[1].device_profile = "of this unit";
    run.rows[2].predicted_pct.reset();
  });
  for (const Comparison& comparison :
       {against_baseline(otherwise), compare(otherwise.run(), baseline().run(), {})}) {
    EXPECT_EQ(comparison.verdict(), Verdict::pass);
    for (const ComparedCase& compared : comparison.cases) EXPECT_TRUE(compared.findings.empty());
  }
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
  const GateFinding& last = comparison.cases.front().findings.back();
  EXPECT_EQ(last.grade, Grade::note) << "what follows is no second finding";
  EXPECT_EQ(last.message, "achieved_pct 99.7 -> 74.8 (-24.9 points)");
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

TEST(Gate, ALossThatItsScatterHidesIsANote) {
  MadeUpRun before = made_up_run();
  before.rows[0].achieved_spread_points = 90;
  const MadeUpRun now = before.with([](MadeUpRun& run) {
    *run.rows[0].achieved_pct -= 20;
    *run.rows[0].achieved_elapsed_pct -= 20;
  });
  const Comparison comparison = compare(before.run(), now.run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  std::string said;
  for (const ComparedCase& compared : comparison.cases) {
    for (const GateFinding& finding : compared.findings) said += finding.message + "\n";
  }
  EXPECT_THAT(said, HasSubstr("20 points worse is within the scatter of its readings"));
}

TEST(Gate, WhatARowDoesNotSayIsNoRegression) {
  const RecordedRun before = made_up_run().run();
  const auto verdict_without = [&](const auto& remove) {
    return compare(before, made_up_run().with([&](MadeUpRun& made) { remove(made.rows[0]); }).run(), {})
        .verdict();
  };
  EXPECT_EQ(verdict_without([](Row& row) { row.registers_per_thread.reset(); }), Verdict::no_verdict);
  EXPECT_EQ(verdict_without([](Row& row) { row.theoretical_pct.reset(); }), Verdict::no_verdict);
  EXPECT_EQ(verdict_without([](Row& row) { row.variant.clear(); }), Verdict::no_verdict);
  EXPECT_EQ(verdict_without([](Row& row) { row.time_us.reset(); }), Verdict::no_verdict);
  EXPECT_EQ(verdict_without([](Row&) {}), Verdict::pass);
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

// What could not be measured or compared must not pass.

TEST(Gate, GivesNoVerdictOnACaseThatIsMissing) {
  const Comparison comparison = with_change([](MadeUpRun& run) { run.rows.pop_back(); });
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
  const Comparison comparison = with_change([](MadeUpRun& run) { std::ranges::reverse(run.rows); });
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
}

TEST(Gate, GivesNoVerdictOnACaseThatOccursTwice) {
  const Comparison comparison = with_change([](MadeUpRun& run) { run.rows.push_back(run.rows[0]); });
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(comparison), "2 times in the candidate: lines 2 and 6");
}

/// As `trace` names a kernel of Kokkos, whose functor its short name lacks. @param hash  where another of its file has that name
Row kokkos_row(const char* functor, const char* hash = "") {
  Row row = made_up_row(0);
  row.experiment = "trace";
  row.case_ = fmt::format("cuda_parallel<ParallelFor<...>><<<2112, 512>>>{}", hash);
  row.kernel = fmt::format("void cuda_parallel<ParallelFor<{}>>(ParallelFor<{}>)", functor, functor);
  row.variant = fmt::format("_Z{}", functor);
  return row;
}

Comparison compared(std::vector<Row> baseline, std::vector<Row> candidate) {
  return compare(MadeUpRun{std::move(baseline)}.run(), MadeUpRun{std::move(candidate)}.run(), {});
}

TEST(Gate, KernelsOfOneShortNameAreNotComparedWithEachOther) {
  const Comparison comparison = compared({kokkos_row("Flux")}, {kokkos_row("Source")});
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  ASSERT_EQ(comparison.cases.size(), 2u);
  EXPECT_EQ(comparison.cases[0].findings[0].message, "missing in the candidate");
  EXPECT_EQ(comparison.cases[1].findings[0].message, "new: the baseline has no such case");
  EXPECT_NE(comparison.cases[0].name, comparison.cases[1].name);
  EXPECT_THAT(comparison.cases[0].name, StartsWith(kokkos_row("").case_ + " #"));
}

TEST(Gate, AKernelIsTheSameWhateverOthersItsFileHas) {
  const std::vector<Row> both = {kokkos_row("Flux", " #4253f982"), kokkos_row("Source", " #0a1b2c3d")};
  const Comparison more = compared({kokkos_row("Flux")}, both);
  EXPECT_EQ(more.verdict(), Verdict::pass);
  ASSERT_EQ(more.cases.size(), 2u);
  EXPECT_EQ(std::ranges::count(more.cases, true, &ComparedCase::compared), 1);
  const Comparison less = compared(both, {kokkos_row("Flux")});
  EXPECT_EQ(less.verdict(), Verdict::no_verdict);
  EXPECT_EQ(less.count(Verdict::no_verdict), 1u);
  EXPECT_EQ(less.count(Verdict::pass), 1u);
  // The hash of a kernel that needs more registers is another.
  std::vector<Row> changed = {kokkos_row("Flux", " #77777777"), both[1]};
  injected::two_more_registers(changed[0]);
  EXPECT_EQ(compared(both, changed).verdict(), Verdict::regression);
}

TEST(Gate, KernelsOfOneWholeNameAreToldApartByWhatTheyNeed) {
  Row other = kokkos_row("Flux", " #0a1b2c3d");
  other.carveout_pct = 50;
  const std::vector<Row> both = {kokkos_row("Flux", " #4253f982"), other};
  EXPECT_EQ(compared(both, both).verdict(), Verdict::pass);
  EXPECT_EQ(compared({kokkos_row("Flux")}, both).verdict(), Verdict::pass);
  EXPECT_EQ(compared(both, {kokkos_row("Flux")}).count(Verdict::no_verdict), 1u);
}

TEST(Gate, KernelsInSeveralRegionsAreCasesOfTheirOwn) {
  const std::vector<Row> regions = {kokkos_row("Flux", " in forward"), kokkos_row("Flux", " in backward")};
  EXPECT_EQ(compared(regions, regions).cases.size(), 2u);
  EXPECT_EQ(compared({regions[0]}, {regions[1]}).verdict(), Verdict::no_verdict);
}

TEST(Gate, TolerancesAreOfAKernelsWholeName) {
  Row slower = kokkos_row("Source");
  *slower.time_us *= 10;
  const RecordedRun runs[] = {MadeUpRun{{kokkos_row("Flux")}}.run(), MadeUpRun{{slower}}.run()};
  EXPECT_THROW(tolerances_from(runs), InputError);
}

TEST(Gate, GivesNoVerdictOnAFileThatWasBeingWritten) {
  const std::string text = baseline().rows_text();
  const RecordedRun whole = baseline().run();
  for (const std::size_t cut : {std::size_t{1}, std::size_t{20}, text.size() / 2}) {
    const RecordedRun torn = parse_run(text.substr(0, text.size() - cut), "", "torn.csv");
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
    MadeUpRun run = baseline();
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
              AllOf(HasSubstr("the baseline"), HasSubstr("schema 1 instead of 3"),
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
  for (const char* status : {"denied", "sampled"}) {
    const Comparison comparison = with_change([&](MadeUpRun& run) { run.rows[0].counters_status = status; });
    EXPECT_EQ(comparison.verdict(), Verdict::no_verdict) << status;
    EXPECT_EQ(subject(comparison), "counters_status") << status;
  }
}

TEST(Gate, ComparesSampledOccupancyWithCountedWhereAskedTo) {
  const auto verdict = [](const char* status, bool any_source) {
    const MadeUpRun candidate =
        baseline().with([&](MadeUpRun& run) { run.rows[0].counters_status = status; });
    Tolerances tolerances;
    tolerances.any_source = any_source;
    return compare(baseline().run("baseline.csv"), candidate.run("candidate.csv"), tolerances).verdict();
  };
  EXPECT_EQ(verdict("sampled", false), Verdict::no_verdict);
  EXPECT_EQ(verdict("sampled", true), Verdict::pass);
  EXPECT_EQ(verdict("denied", true), Verdict::no_verdict);
}

TEST(Gate, GivesNoVerdictOnAThrottledOrFailedCaseOfEitherSide) {
  for (const char* status : {"throttled", "failed", "skipped", ""}) {
    MadeUpRun broken = baseline();
    broken.rows[0].time_status = status;
    const bool throttled = status == std::string_view("throttled");
    broken.rows[0].note = throttled ? "not predicted" : "why";
    if (throttled) broken.rows[0].gpu_state = "temperature_c=84;throttle_reasons=why";
    EXPECT_EQ(compare(baseline().run(), broken.run(), {}).verdict(), Verdict::no_verdict) << status;
    EXPECT_EQ(compare(broken.run(), baseline().run(), {}).verdict(), Verdict::no_verdict) << status;
    EXPECT_THAT(first_reason(compare(baseline().run(), broken.run(), {})),
                HasSubstr("(why) in the candidate"));
  }
}

TEST(Gate, ACaseThatNeitherSideCanRunIsNoted) {
  MadeUpRun run = baseline();
  run.rows[0].time_status = "skipped";
  EXPECT_EQ(compare(run.run(), run.run(), {}).verdict(), Verdict::pass);
  for (Row& row : run.rows) row.time_status = "skipped";
  EXPECT_EQ(compare(run.run(), run.run(), {}).verdict(), Verdict::no_verdict) << "then nothing was compared";
}

TEST(Gate, GivesNoVerdictOnEmptyFiles) {
  const RecordedRun whole = baseline().run();
  for (const char* text : {"", "\n", "schema,exper"}) {
    const RecordedRun empty = parse_run(text, "", "empty.csv");
    EXPECT_EQ(compare(whole, empty, {}).verdict(), Verdict::no_verdict) << text;
    EXPECT_EQ(compare(empty, whole, {}).verdict(), Verdict::no_verdict) << text;
    EXPECT_EQ(compare(empty, empty, {}).verdict(), Verdict::no_verdict) << text;
  }
  const RecordedRun header_only = parse_run(csv_header(), "", "header.csv");
  EXPECT_EQ(compare(header_only, header_only, {}).verdict(), Verdict::no_verdict);
}

TEST(Gate, AColumnThatOneFileLacksIsNamedAndGivesNoVerdictWhereMoreOfItIsWorse) {
  std::string text = baseline().rows_text();
  text.replace(text.find("spill_bytes"), 11, "spilled_old");
  const Comparison comparison = compare(parse_run(text, "", "old.csv"), baseline().run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  ASSERT_EQ(comparison.general.size(), 1u);
  EXPECT_EQ(comparison.general[0].subject, "spill_bytes");
  text = baseline().rows_text();
  text.replace(text.find("carveout_pct"), 12, "carveout_old");
  EXPECT_EQ(compare(parse_run(text, "", "old.csv"), baseline().run(), {}).verdict(), Verdict::pass);
}

}  // namespace
}  // namespace occbench
