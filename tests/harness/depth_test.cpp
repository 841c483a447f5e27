#include "harness/depth.hpp"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_gpu.hpp"
#include "files/input.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"

// Occupancy over time, per SM, by trace, and by more metrics than the columns have.
namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Kernel kTraceable{"traceable", "its trace agrees", kVariants, prepare_fake, true};
const Variant kHeavierWhenTraced[] = {{"plain", &kFunction, {}, &kHeavyFunction}};
const Kernel kHeavier{"heavier", "its traced variant has another occupancy", kHeavierWhenTraced, prepare_fake,
                      true};

class Traceless final : public Prepared {
 public:
  void launch(cudaStream_t) override {}
  Check check(cudaStream_t) override {
    return Check::ok;
  }
  Amount useful() const override {
    return {1, "items"};
  }
};

std::unique_ptr<Prepared> prepare_traceless(const Case&, const Variant&, const Device&) {
  return std::make_unique<Traceless>();
}

CsvTable table_of(const fs::path& file) {
  return parse_csv(read_text(file), file.string());
}

CaseIdentity case_named(const std::string& name) {
  CaseIdentity identity;
  identity.experiment = "waves";
  identity.name = name;
  return identity;
}

/// 1 us at 1000 MHz with `warps` of 100 resident.
ActivitySample sample(std::uint64_t start_us, double warps) {
  return {1000 * start_us, 1000 * (start_us + 1), 1000 * warps, warps > 0 ? 1000.0 : 0.0, 1000};
}

TEST(TimelineFile, HasMeasuredAndPredictedOccupancyFromTheFirstWarpOn) {
  const Activity measured =
      activity_of({{sample(0, 0), sample(1, 0), sample(2, 50), sample(3, 25)}, {}}, 100);
  const Timeline predicted{500, {40, 60, 30, 10}};  // cycles of 1 ns: four times half a microsecond
  const CsvTable table =
      parse_csv(timeline_csv(case_named("spin/plain"), measured, &predicted, 100), "the timeline");
  EXPECT_THAT(table.names,
              ElementsAre("experiment", "case", "time_us", "active_warps_pct", "predicted_active_warps_pct"));
  EXPECT_THAT(table.rows, ElementsAre(ElementsAre("waves", "spin/plain", "0", "50", "50"),
                                      ElementsAre("waves", "spin/plain", "1", "25", "20"),
                                      ElementsAre("waves", "spin/plain", "2", "0", "0")));
}

TEST(TimelineFile, GoesOnUntilTheLongerOfTheTwoHasEnded) {
  const Activity measured = activity_of({{sample(0, 0), sample(1, 50)}, {}}, 100);
  const Timeline longer{1000, {40, 30, 20}};
  const CsvTable table = parse_csv(timeline_csv(case_named("a"), measured, &longer, 100), "the timeline");
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[2][3], "0");
  EXPECT_EQ(table.rows[2][4], "20");
  EXPECT_EQ(table.rows[3][2], "3");
}

TEST(TimelineFile, IsEmptyWhereNothingWasMeasuredOrPredicted) {
  Activity measured = activity_of({{sample(0, 0), sample(1, 50), sample(3, 50)}, {}}, 100);
  const CsvTable table = parse_csv(timeline_csv(case_named("a"), measured, nullptr, 100), "the timeline");
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[1][3], "") << "a sample was lost";
  for (const auto& line : table.rows) EXPECT_EQ(line[4], "");
}

TEST(CaseFile, IsNamedAfterTheCaseInLettersThatEveryFileSystemTakes) {
  EXPECT_EQ(case_file("folder", case_named("spin/plain/waves=0.75/a b"), "timeline"),
            fs::path("folder") / "waves.spin_plain_waves=0.75_a_b.timeline.csv");
}

TEST(PerSmFile, SaysWhatEachSmDidInEachLaunch) {
  // One warp a block, 1 cycle = 1 ns: SM 3 runs two blocks with 20 ns in between, SM 5 one.
  const auto warp = [](std::uint32_t sm, std::int64_t start, std::int64_t end) {
    return WarpRecord{
        .start_cycles = start, .end_cycles = end, .start_ns = 7000 + start, .end_ns = 7000 + end, .sm = sm};
  };
  const std::vector<std::vector<WarpRecord>> launches = {
      {warp(3, 1000, 2000), warp(5, 1500, 4000), warp(3, 2020, 3000)}, {warp(3, 0, 10)}};
  const CsvTable table = parse_csv(per_sm_csv(case_named("a"), launches, 1, 4), "per SM");
  EXPECT_THAT(table.names,
              ElementsAre("experiment", "case", "launch", "sm", "blocks", "achieved_pct", "start_order",
                          "first_start_us", "last_end_us", "replacement_latency_median_us", "replacements"));
  EXPECT_THAT(table.rows,
              ElementsAre(ElementsAre("waves", "a", "0", "3", "2", "25", "1", "0", "2", "0.02", "1"),
                          ElementsAre("waves", "a", "0", "5", "1", "25", "2", "0.5", "3", "", "0"),
                          ElementsAre("waves", "a", "1", "3", "1", "25", "1", "0", "0.01", "", "0")));
}

class Depth : public RunCases {
 protected:
  fs::path folder() const {
    return folder_ / "depth";
  }
  std::string timeline_flag() const {
    return "--occ_timeline=" + folder().string();
  }
  std::string per_sm_flag() const {
    return "--occ_per_sm=" + folder().string();
  }
};

TEST_F(Depth, ATimelineIsWrittenForEachCaseInALaunchOfItsOwn) {
  instruments_.samples = {{sample(0, 0), sample(1, 4000), sample(2, 0)}, {}};
  run(experiment_of({64, 256}), {timeline_flag()});
  for (const std::string threads : {"64", "256"}) {
    const CsvTable table =
        table_of(folder() / ("fake_experiment.fake_plain_block_threads=" + threads + ".timeline.csv"));
    EXPECT_GE(table.rows.size(), 2U);
  }
}

TEST_F(Depth, WhatATimelineLacksStandsInTheRow) {
  instruments_.samples = {{sample(0, 0), sample(1, 4000), sample(5, 4000)}, {"the buffer overflowed"}};
  run(experiment_of({64}), {timeline_flag()});
  const Row row = read_rows(csv()).at(0);
  EXPECT_THAT(row.note, HasSubstr("timeline: the buffer overflowed"));
  EXPECT_THAT(row.note, HasSubstr("are missing"));
}

TEST_F(Depth, ATimelineThatCannotBeHadCostsNothingElse) {
  instruments_.sampling_status = CountersStatus::unsupported;
  EXPECT_EQ(run(experiment_of({64}), {timeline_flag()}), ExitStatus::no_verdict);
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.counters_status, "ok");
  EXPECT_DOUBLE_EQ(row.achieved_pct.value(), 51);
  EXPECT_THAT(row.note, HasSubstr("no timeline: because the test says so"));
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(Depth, AFolderThatCannotBeMadeIsWrongUse) {
  std::ofstream(folder_ / "depth") << "a file";
  EXPECT_THROW(run(experiment_of({64}), {timeline_flag()}), InputError);
  EXPECT_THROW(run(experiment_of({64}), {per_sm_flag()}), InputError);
  EXPECT_EQ(instruments_.launches, 0);
}

TEST_F(Depth, PerSmFilesAreWrittenForCasesThatCanBeTraced) {
  run(one_case(kFake), {per_sm_flag()});
  const CsvTable table = table_of(folder() / "fake_experiment.fake_plain.per_sm.csv");
  ASSERT_EQ(table.rows.size(), 4U) << "a line a launch and SM";
  EXPECT_EQ(table.rows[0][3], "7");
}

TEST_F(Depth, AKernelThatKeepsNoTraceHasNoFilePerSmAndItsRowSaysSo) {
  const Kernel traceless{"traceless", "as most are", kVariants, prepare_traceless};
  run(one_case(traceless), {per_sm_flag()});
  EXPECT_TRUE(fs::is_empty(folder()));
  EXPECT_THAT(read_rows(csv()).at(0).note, HasSubstr("keeps no trace"));
  run(one_case(traceless));
  EXPECT_EQ(read_rows(csv()).at(0).note, "");
}

TEST_F(Depth, ATraceThatFailsCostsItsFileAndNothingElse) {
  // The fake's trace has one record, which is no whole block of two warps.
  const auto two_warps = [](Case& chosen) { chosen.launch.block_threads = 64; };
  EXPECT_EQ(run(one_case(kFake, two_warps), {per_sm_flag()}), ExitStatus::no_verdict);
  EXPECT_TRUE(fs::is_empty(folder()));
  const Row row = read_rows(csv()).at(0);
  EXPECT_DOUBLE_EQ(row.achieved_pct.value(), 51);
  EXPECT_THAT(row.note, HasSubstr("not traced: "));
}

TEST_F(Depth, TraceAndCounterOfTheSameLaunchesAreKeptWithTheFilesPerSm) {
  const auto samples = [&](std::string_view quantity) {
    std::vector<double> values;
    for (const Sample& sample : read_samples(samples_path(csv()))) {
      if (sample.quantity == quantity) values.push_back(sample.value);
    }
    return values;
  };
  run(one_case(kFake), {per_sm_flag()});
  EXPECT_EQ(instruments_.traced, 5) << "four for the file, and one of them counted";
  EXPECT_THAT(samples("same_launch_trace_pct"), ElementsAre(100.0 / 64));
  EXPECT_THAT(samples("same_launch_counter_pct"), ElementsAre(50, 51, 52));
  instruments_.status = CountersStatus::denied;
  run(one_case(kFake), {per_sm_flag()});
  EXPECT_THAT(samples("same_launch_trace_pct"), IsEmpty());
}

TEST_F(Depth, AchievedComesFromTheTraceWhereCountersAreClosedAndTheTraceAgrees) {
  for (const CountersStatus status :
       {CountersStatus::denied, CountersStatus::busy, CountersStatus::unsupported, CountersStatus::failed}) {
    instruments_.status = status;
    run(one_case(kTraceable));
    const Row row = read_rows(csv()).at(0);
    EXPECT_EQ(row.counters_status, to_string(status));
    EXPECT_EQ(achieved_source(row), "trace");
    EXPECT_NEAR(row.achieved_pct.value(), 100.0 / 64, 1e-4);  // one warp of 64 all the time
    EXPECT_TRUE(row.achieved_spread_points);
    EXPECT_FALSE(row.achieved_elapsed_pct);
    EXPECT_THAT(row.note, HasSubstr("traced launches"));
  }
}

TEST_F(Depth, NoTraceStandsInForCountersThatCouldBeReadOrThatTheUserTurnedOff) {
  run(one_case(kTraceable));
  EXPECT_EQ(achieved_source(read_rows(csv()).at(0)), "counter");
  run(one_case(kTraceable), {"--occ_counters=off"});
  EXPECT_EQ(achieved_source(read_rows(csv()).at(0)), "");
  EXPECT_EQ(instruments_.traced, 0);
}

TEST_F(Depth, ATraceThatWasNotShownToAgreeOrRunsAtAnotherOccupancyStandsInForNothing) {
  instruments_.status = CountersStatus::denied;
  for (const Kernel* kernel : {&kFake, &kHeavier}) {
    run(one_case(*kernel));
    const Row row = read_rows(csv()).at(0);
    EXPECT_EQ(achieved_source(row), "") << kernel->name;
    EXPECT_FALSE(row.achieved_pct) << kernel->name;
  }
  EXPECT_EQ(instruments_.traced, 0);
}

TEST_F(Depth, MetricsAskedForByNameAreColumnsAndSamples) {
  const std::string metric = "sm__inst_executed.sum";
  instruments_.readings_of[metric] = {1'000'000'000'000, 3, std::nan("")};
  run(experiment_of({64}), {"--occ_metrics=" + metric + ",lts__t_sectors.sum"});
  const Row row = read_rows(csv()).at(0);
  ASSERT_EQ(row.extra.size(), 2U);
  EXPECT_EQ(row.extra[0].first, metric);
  EXPECT_DOUBLE_EQ(std::stod(row.extra[0].second), 500'000'000'001.5);
  EXPECT_EQ(row.extra[1].second, "51");
  std::vector<double> samples;
  for (const Sample& sample : read_samples(samples_path(csv()))) {
    if (sample.quantity == metric) samples.push_back(sample.value);
  }
  EXPECT_THAT(samples, ElementsAre(1'000'000'000'000, 3));
}

TEST_F(Depth, ARunWithMetricsIsResumedWithThem) {
  const Experiment experiment = experiment_of({64, kFatal, 256});
  run(experiment, {"--occ_metrics=sm__inst_executed.sum"});
  instruments_.lost = false;
  EXPECT_EQ(run(experiment, {"--occ_metrics=sm__inst_executed.sum", "--occ_resume"}), ExitStatus::done);
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].extra.at(0).second, "51");
  EXPECT_THROW(run(experiment, {"--occ_resume"}), InputError) << "the file has a column more";
}

TEST_F(Depth, AMetricThatDoesNotExistIsWrongUseAndTheNearestOnesAreNamed) {
  const std::string message = message_of(
      [&] { run(experiment_of({64}), {"--occ_metrics=sm__inst_executed.sum,sm__warp_active.sum"}); });
  EXPECT_THAT(message, HasSubstr("no metric sm__warp_active.sum"));
  EXPECT_THAT(message, HasSubstr("sm__warps_active.sum"));
  EXPECT_THAT(message, HasSubstr("GH100"));
  EXPECT_FALSE(fs::exists(csv()));
  EXPECT_EQ(instruments_.launches, 0);
}

TEST_F(Depth, MetricsOfClosedCountersAreEmptyColumns) {
  instruments_.status = CountersStatus::denied;
  EXPECT_EQ(run(experiment_of({64}), {"--occ_metrics=sm__inst_executed.sum"}), ExitStatus::no_verdict);
  const Row row = read_rows(csv()).at(0);
  ASSERT_EQ(row.extra.size(), 1U);
  EXPECT_EQ(row.extra[0].second, "");
}

}  // namespace
}  // namespace occbench
