#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <fstream>
#include <set>
#include <unistd.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fake_gpu.hpp"
#include "files/input.hpp"
#include "harness/run.hpp"
#include "occupancy/input_error.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

using ::testing::HasSubstr;

TEST_F(RunCases, CountersAreReadOnceACaseHoweverOftenGoogleBenchmarkTimesIt) {
  const fs::path json = folder_ / "out.json";
  EXPECT_EQ(
      run(experiment_of({64, 256}), {"--benchmark_min_time=0.02", "--benchmark_repetitions=3",
                                     "--benchmark_out=" + json.string(), "--benchmark_out_format=json"}),
      ExitStatus::done);
  EXPECT_EQ(instruments_.counted, 2);
  // 0.02 s of 200 us launches, three times over, for two cases, beside what it took to find the number.
  EXPECT_GT(instruments_.timed, 2 * 3 * 100);
}

TEST_F(RunCases, ARowHasTheTimesOfTheRepetitionsAndNotOfTheSearchForTheirLength) {
  run(experiment_of({256}), {"--benchmark_min_time=0.02", "--benchmark_repetitions=3"});
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].repetitions.value() % 3, 0);
  EXPECT_LT(rows[0].repetitions.value(), instruments_.timed);
  EXPECT_DOUBLE_EQ(rows[0].time_us.value(), kMicroseconds);
  EXPECT_DOUBLE_EQ(rows[0].throughput.value(), 1e6 / (1e-6 * kMicroseconds));
}

TEST_F(RunCases, WhatTheDeviceCannotDoIsSkippedWithTheReasonAndNoFailure) {
  EXPECT_EQ(run(experiment_of({kUnsupported, 256})), ExitStatus::done);
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].time_status, "skipped");
  EXPECT_EQ(rows[0].note, "this device has no such thing");
  EXPECT_EQ(rows[0].check, "");
  EXPECT_EQ(rows[1].time_status, "ok");
  EXPECT_EQ(run(experiment_of({kUnsupported}), {"--occ_profile"}), ExitStatus::done);
}

TEST_F(RunCases, ACaseIsTracedTwiceAndOnlyWhereItsPlacementIsOfInterest) {
  run({"fake_experiment", "a claim", "a source", [](const Planner&) {
         Case chosen{.kernel = &kFake, .variant = "plain", .launch = {.block_threads = 32, .grid_blocks = 1}};
         chosen.suite = Suite::smoke;
         Case traced = chosen;
         traced.parameters = {{"traced", "yes"}};
         traced.record_warps = true;
         return std::vector<Case>{chosen, traced};
       }});
  EXPECT_EQ(instruments_.traced, 2);
  int sms = 0;
  for (const Sample& sample : read_samples(samples_path(csv()))) {
    if (!sample.quantity.starts_with("trace_")) continue;
    EXPECT_EQ(sample.case_name, "fake/plain/traced=yes");
    sms += sample.quantity.ends_with("_sm") && sample.value == 7 ? 1 : 0;
  }
  EXPECT_EQ(sms, 2);
  EXPECT_THAT(read_rows(csv()).at(1).note, HasSubstr("not predicted"));
}

TEST_F(RunCases, AReportThatCannotBeWrittenIsRefusedBeforeACaseIsMeasured) {
  for (const char* out : {"/dev/full", "/nowhere/at/all.json"})
    EXPECT_THROW(run(experiment_of({64}), {std::string("--benchmark_out=") + out}), InputError);
  EXPECT_EQ(instruments_.launches, 0);
}

TEST_F(RunCases, GoogleBenchmarksJsonCarriesTheRowsNumbers) {
  const fs::path json = folder_ / "out.json";
  run(experiment_of({768}), {"--benchmark_out=" + json.string()});
  std::ifstream stream(json);
  const nlohmann::json benchmark = nlohmann::json::parse(stream).at("benchmarks").at(0);
  EXPECT_DOUBLE_EQ(benchmark.at("theoretical_pct"), 75);
  EXPECT_DOUBLE_EQ(benchmark.at("achieved_pct"), 51);
  EXPECT_DOUBLE_EQ(benchmark.at("registers_per_thread"), 20);
}

TEST_F(RunCases, AMissingPermissionIsNotAskedForAgain) {
  instruments_.status = CountersStatus::denied;
  EXPECT_EQ(run(experiment_of({64, 256})), ExitStatus::done);
  EXPECT_EQ(instruments_.set_up.size(), 1U);
  EXPECT_EQ(instruments_.counted, 0);
}

TEST_F(RunCases, TheFullSuiteReadsMoreCountersTogetherWithThoseOfEveryCase) {
  instruments_.readings_of["tpc__warp_launch_cycles_stalled_shader_cs_reason_shmem_allocation.sum"] = {9000};
  run(experiment_of({64, 256}), {"--occ_suite=full"});
  EXPECT_EQ(instruments_.counted, 2);
  EXPECT_THAT(instruments_.counted_metrics, ::testing::Contains(kOfTheFullSuite));
  EXPECT_EQ(read_rows(csv()).at(0).hardware_limiter, "shared_memory");
  run(experiment_of({64, 256}), {"--occ_suite=quick"});
  EXPECT_THAT(instruments_.counted_metrics, ::testing::Not(::testing::Contains(kOfTheFullSuite)));
}

/// To set a profiler up takes some 0.4 s, and again where the next case has another list.
TEST_F(RunCases, TheCountersOfARunAreSetUpOnceAndEveryCaseReadsTheSame) {
  for (const char* suite : {"--occ_suite=quick", "--occ_suite=full"}) {
    instruments_.set_up.clear();
    std::set<std::vector<std::string>> read;
    Experiment of = experiment_of({64, 256, 512});
    of.cases = [&, inner = of.cases](const Planner& on) {
      std::vector<Case> cases = inner(on);
      for (Case& each : cases) {
        each.prepare = [&](const Case& chosen, const Variant& variant, const Device& device) {
          read.insert(instruments_.counted_metrics);  // of the case before
          return prepare_fake(chosen, variant, device);
        };
      }
      return cases;
    };
    instruments_.counted_metrics = {};
    run(of, {suite});
    read.erase(std::vector<std::string>());
    EXPECT_THAT(instruments_.set_up, ::testing::ElementsAre(instruments_.counted_metrics));
    EXPECT_THAT(read, ::testing::ElementsAre(instruments_.counted_metrics));
  }
}

TEST_F(RunCases, CountersOfTheFullSuiteThatCannotBeHadCostTheCasesNoneOfTheOthers) {
  instruments_.full_suite_status = CountersStatus::unsupported;
  EXPECT_EQ(run(experiment_of({64, 256}), {"--occ_suite=full"}), ExitStatus::done);
  EXPECT_EQ(instruments_.set_up.size(), 2U) << "what is unsupported is not asked for again";
  for (const Row& row : read_rows(csv())) {
    EXPECT_EQ(row.counters_status, "ok");
    EXPECT_EQ(row.achieved_pct, 51);
    EXPECT_EQ(row.hardware_limiter, "");
    EXPECT_THAT(row.note, HasSubstr("the test refuses them"));
  }
}

TEST_F(RunCases, ARowSaysWhereItsOccupancyWentByCountersAndInASentence) {
  instruments_.readings_of["sm__ctas_active.avg.per_cycle_active"] = {20};
  run(experiment_of({64}), {"--occ_suite=full"});
  const Row row = read_rows(csv()).at(0);
  // 20 blocks of 2 warps, of 64 warps: 62.5 %.
  EXPECT_THAT(row.explanation, HasSubstr("an achieved 51 % belongs to another launch"));
}

TEST_F(RunCases, RequiredCountersThatAreDeniedGiveNoVerdictAndKeepTheTimes) {
  instruments_.status = CountersStatus::denied;
  EXPECT_EQ(run(experiment_of({64}), {"--occ_counters=require"}), ExitStatus::no_verdict);
  EXPECT_TRUE(read_rows(csv()).at(0).time_us);
}

TEST_F(RunCases, BusyCountersAreTriedAgainWithTheNextCase) {
  instruments_.status = CountersStatus::busy;
  run(experiment_of({64, 256, 512}));
  EXPECT_EQ(instruments_.counted, 3);
}

TEST_F(RunCases, CountersThatAreOffAreNotAskedFor) {
  run(experiment_of({64}), {"--occ_counters=off"});
  EXPECT_TRUE(instruments_.set_up.empty());
  EXPECT_EQ(instruments_.counted, 0);
  EXPECT_EQ(read_rows(csv()).at(0).counters_status, "off");
}

TEST_F(RunCases, AFailedCaseHasItsRowAndTheOthersRun) {
  EXPECT_EQ(run(experiment_of({64, kFailing, 256})), ExitStatus::no_verdict);
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].time_status, "failed");
  EXPECT_THAT(rows[1].note, HasSubstr("cudaErrorLaunchFailure"));
  EXPECT_EQ(rows[2].time_status, "ok");
}

TEST_F(RunCases, AKernelThatTakesTheContextEndsTheRunAndResumingRunsTheRest) {
  const Experiment experiment = experiment_of({64, kFatal, 256});
  EXPECT_EQ(run(experiment), ExitStatus::no_verdict);
  EXPECT_EQ(read_rows(csv()).size(), 2U);
  instruments_.lost = false;
  EXPECT_EQ(run(experiment, {"--occ_resume"}), ExitStatus::done);
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].time_status, "ok");
  EXPECT_EQ(rows[1].time_status, "failed");
  EXPECT_EQ(rows[2].time_status, "ok");
}

TEST_F(RunCases, AGpuThatVanishesLeavesTheRowsBeforeItAndTheCaseThatItVanishedIn) {
  for (const auto& [block_threads, code] :
       {std::pair(kGone, "cudaErrorDevicesUnavailable"), std::pair(kNoDevice, "cudaErrorNoDevice")}) {
    instruments_.lost = false;
    EXPECT_EQ(run(experiment_of({64, block_threads, 256})), ExitStatus::no_verdict);
    const std::vector<Row> rows = read_rows(csv());
    ASSERT_EQ(rows.size(), 2U) << code;
    EXPECT_EQ(rows[0].time_status, "ok");
    EXPECT_EQ(rows[1].time_status, "failed");
    EXPECT_THAT(rows[1].note, HasSubstr(code));
  }
}

TEST_F(RunCases, ACaseThatWasUnstableIsTimedOnceMore) {
  // The first 10 launches, which are all that a minimum time of nothing asks for, spread widely.
  instruments_.times = {100, 100, 100, 200, 200, 200, 300, 300, 300, 400};
  run(experiment_of({64}), {"--benchmark_min_time=0.0001"});
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.time_status, "ok");
  EXPECT_DOUBLE_EQ(row.time_us.value(), kMicroseconds);
  EXPECT_THAT(row.note, HasSubstr("timed twice: unstable at first"));
  EXPECT_EQ(std::ssize(samples_of("time_us_discarded")), row.repetitions.value()) << "no time is lost";
}

TEST_F(RunCases, ACaseThatStaysUnstableIsMarked) {
  for (int i = 0; i < 1000; ++i) instruments_.times.push_back(i % 2 == 0 ? 100 : 300);
  run(experiment_of({64}), {"--benchmark_min_time=0.0001"});
  EXPECT_EQ(read_rows(csv()).at(0).time_status, "unstable");
}

TEST_F(RunCases, ASpreadThatEventsDoNotResolveMakesNoTimesUnstable) {
  for (int i = 0; i < 1000; ++i) instruments_.times.push_back(i % 2 == 0 ? 1.6 : 2.0);
  run(experiment_of({64}), {"--benchmark_min_time=0.0001"});
  EXPECT_EQ(read_rows(csv()).at(0).time_status, "ok");
  EXPECT_GT(read_rows(csv()).at(0).time_spread_pct.value(), 5);
}

TEST_F(RunCases, AThrottleThatPassesCostsOneMoreTimingAndOneThatStaysMarksTheRow) {
  constexpr std::uint64_t kPowerCap = 0x4;
  instruments_.event_reasons = {0, kPowerCap};
  run(experiment_of({64}));
  EXPECT_EQ(read_rows(csv()).at(0).time_status, "ok");
  EXPECT_THAT(read_rows(csv()).at(0).gpu_state, HasSubstr("throttle_reasons=none"));
  instruments_.event_reasons = {0, kPowerCap, 0, kPowerCap};
  run(experiment_of({64}));
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.time_status, "throttled");
  EXPECT_THAT(row.gpu_state, HasSubstr("throttle_reasons=sw_power_cap"));
  EXPECT_EQ(row.counters_status, "ok") << "counters do not depend on the clock";
}

TEST_F(RunCases, OnlyAColdCaseFindsL2Flushed) {
  run(one_case(kFake), {"--benchmark_min_time=0.001"});
  EXPECT_EQ(instruments_.flushed, 0);
  EXPECT_EQ(instruments_.cold_timed, 0);
  const int timed = instruments_.timed;
  run(one_case(kFake, [](Case& chosen) { chosen.cold = true; }),
      {"--benchmark_min_time=0.001", "--occ_suite=full"});
  EXPECT_EQ(instruments_.cold_timed, instruments_.timed - timed);
  EXPECT_EQ(instruments_.flushed, 1) << "before each counted launch";
}

TEST_F(RunCases, EachLaunchThatIsCountedOrTracedIsMadeReadyFor) {
  run(one_case(kFake, [](Case& chosen) { chosen.record_warps = true; }), {"--occ_suite=full"});
  EXPECT_EQ(instruments_.counted, 1);
  EXPECT_EQ(instruments_.traced, 2);
  EXPECT_EQ(instruments_.made_ready, 3);
}

TEST_F(RunCases, AReadingThatIsNoNumberMovesNoOther) {
  instruments_.readings_of["sm__warps_active.sum"] = {std::nan(""), 132 * 64 * 10, 132 * 64 * 30};
  instruments_.readings_of["sm__cycles_active.max"] = {1, 100, 100};
  run(experiment_of({64}));
  // Of the second and the third launch: 10 % and 30 %. Shifted by one place it would be 1000 and 30 %.
  EXPECT_DOUBLE_EQ(read_rows(csv()).at(0).achieved_elapsed_pct.value(), 20);
}

TEST_F(RunCases, CasesInRandomOrderAreTheSameCasesAndASeedRepeatsTheOrder) {
  const Experiment experiment = experiment_of({32, 64, 192, 224, 256, 288, 320, 352, 384, 416});
  const auto order = [&](const std::string& flag) {
    run(experiment, {"--benchmark_min_time=0.0001", flag});
    std::vector<std::int64_t> threads;
    for (const Row& row : read_rows(csv())) threads.push_back(row.block_threads.value());
    return threads;
  };
  const auto first = order("--occ_shuffle=7");
  EXPECT_EQ(order("--occ_shuffle=7"), first);
  EXPECT_NE(order("--occ_shuffle=8"), first);
  const auto declared = order("--occ_suite=smoke");
  EXPECT_TRUE(std::ranges::is_sorted(declared));
  EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(declared));
}

TEST_F(RunCases, ProgressIsToldAsCasesBeginAndEnd) {
  const fs::path told = folder_ / "told";
  const int descriptor = ::open(told.c_str(), O_WRONLY | O_CREAT, 0600);
  run(experiment_of({64, kFailing}), {fmt::format("--occ_progress_fd={}", descriptor)});
  ::close(descriptor);
  const std::vector<Row> rows = read_rows(csv());
  std::ifstream lines(told);
  std::string line;
  for (const Row& row : rows) {
    std::getline(lines, line);
    EXPECT_EQ(line, "begun fake_experiment/" + row.case_);
    std::getline(lines, line);
    EXPECT_EQ(line, "ended fake_experiment/" + row.case_);
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(RunCases, ProgressThatNobodyReadsCostsNothing) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  EXPECT_EQ(run(experiment_of({64, 256}), {fmt::format("--occ_progress_fd={}", ends[1])}), ExitStatus::done);
  ::close(ends[1]);
  EXPECT_EQ(read_rows(csv()).size(), 2U);
}

TEST_F(RunCases, ProgressThroughADescriptorThatIsNotOpenIsWrongUseAndLeavesTheFileAlone) {
  run(experiment_of({64}));
  const int launches = instruments_.launches;
  EXPECT_THROW(run(experiment_of({64}), {"--occ_progress_fd=987"}), InputError);
  EXPECT_EQ(instruments_.launches, launches);
  EXPECT_EQ(read_rows(csv()).size(), 1U);
}

TEST_F(RunCases, AFileThatIsThereIsKeptUnderAnotherName) {
  std::ofstream(csv()) << "somebody's";
  run(experiment_of({64}));
  EXPECT_EQ(read_rows(csv()).size(), 1U);
  int kept = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
    if (entry.path() != csv() && read_text(entry.path()) == "somebody's") ++kept;
  EXPECT_EQ(kept, 1);
}

TEST_F(RunCases, OnlyTheCasesThatAreNamedAreMeasured) {
  std::ofstream(folder_ / "names") << "fake_experiment/fake/plain/block_threads=256\nanother/case\n";
  run(experiment_of({64, 256}), {"--occ_cases=" + (folder_ / "names").string()});
  ASSERT_EQ(read_rows(csv()).size(), 1U);
  EXPECT_EQ(read_rows(csv())[0].block_threads, 256);
}

TEST_F(RunCases, CasesAreListedAsRowsInANewFile) {
  const fs::path list = folder_ / "list.csv";
  run(experiment_of({64, 768}), {"--occ_list=" + list.string()});
  const std::vector<Row> rows = read_rows(list);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].theoretical_pct, 75);
  EXPECT_EQ(rows[1].time_status, "");
  EXPECT_FALSE(fs::exists(csv())) << "a list touches no file of rows";
  EXPECT_THROW(run(experiment_of({64}), {"--occ_list=" + list.string()}), InputError);
  EXPECT_EQ(read_rows(list).size(), 2U);
  EXPECT_EQ(instruments_.launches, 0);
}

TEST_F(RunCases, TheExperimentsOfAProgramAreMeasuredInTheirOrder) {
  Experiment other = experiment_of({256});
  other.name = "another_experiment";
  const Experiment first = experiment_of({64});
  const Options options = parse_options({"--benchmark_min_time=0.0001", "--occ_csv=" + csv().string()});
  static const std::string program = "test";
  initialize_google_benchmark(program, options);
  const Experiment* const experiments[] = {&first, &other};
  EXPECT_EQ(run_experiments(experiments, options, device_, instruments_), ExitStatus::done);
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].experiment, "fake_experiment");
  EXPECT_EQ(rows[1].experiment, "another_experiment");
  EXPECT_EQ(instruments_.set_up.size(), 1U);
}

TEST_F(RunCases, AFilterThatMatchesNothingIsWrongUseAndLeavesTheFileAlone) {
  run(experiment_of({64}));
  EXPECT_THROW(run(experiment_of({64}), {"--benchmark_filter=nothing_like_it"}), InputError);
  EXPECT_EQ(read_rows(csv()).size(), 1U);
}

}  // namespace
}  // namespace occbench
