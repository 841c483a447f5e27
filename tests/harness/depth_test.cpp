// Occupancy over time, per SM, by warp records, and by more metrics than the columns have.
#include "harness/depth.hpp"

#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_gpu.hpp"
#include "files/input.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "predict/prediction.hpp"
#include "record/columns.hpp"
#include "record/counter_columns.hpp"

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
  EXPECT_THAT(read_rows(csv()).at(0).note, HasSubstr("keeps no records of its warps"));
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
  EXPECT_THAT(row.note, HasSubstr("its warps were not recorded: "));
}

TEST_F(Depth, TraceAndCounterOfTheSameLaunchesAreKeptWithTheFilesPerSm) {
  run(one_case(kFake), {per_sm_flag()});
  EXPECT_EQ(instruments_.traced, 5) << "four for the file, and one of them counted";
  EXPECT_THAT(samples_of("same_launch_trace_pct"), ElementsAre(100.0 / 64));
  EXPECT_THAT(samples_of("same_launch_counter_pct"), ElementsAre(50, 51, 52));
  instruments_.status = CountersStatus::denied;
  run(one_case(kFake), {per_sm_flag()});
  EXPECT_THAT(samples_of("same_launch_trace_pct"), IsEmpty());
}

TEST_F(Depth, AchievedComesFromTheTraceWhereCountersAreClosedAndTheTraceAgrees) {
  for (const CountersStatus status :
       {CountersStatus::denied, CountersStatus::busy, CountersStatus::unsupported, CountersStatus::failed}) {
    instruments_.status = status;
    run(one_case(kTraceable));
    const Row row = read_rows(csv()).at(0);
    EXPECT_EQ(row.counters_status, to_string(status));
    EXPECT_EQ(achieved_source(row), "warp records");
    EXPECT_NEAR(row.achieved_pct.value(), 100.0 / 64, 1e-4);  // one warp of 64 all the time
    EXPECT_TRUE(row.achieved_spread_points);
    EXPECT_FALSE(row.achieved_elapsed_pct);
    EXPECT_THAT(row.note, HasSubstr("launches whose warps were recorded"));
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
  EXPECT_THAT(samples_of(metric), ElementsAre(1'000'000'000'000, 3));
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

// Whole rows, column for column: what a case's measurements become.
using Cells = std::map<std::string, std::string>;

/// The cells that are not empty, but for what differs from machine to machine and from run to run.
Cells cells_of(const Row& row) {
  Cells cells;
  for (const Column& column : columns()) {
    const std::string text = cell_text(row, column);
    if (!text.empty()) cells.emplace(column.name, text);
  }
  for (const char* name : {"recorded_at", "commit", "host", "driver", "cuda_toolkit"}) cells.erase(name);
  for (const auto& [name, value] : row.extra) cells.emplace(name, value);
  return cells;
}

const Cells kProvenance = {{"schema", std::to_string(kSchema)},
                           {"gpu", "NVIDIA H200"},
                           {"compute_capability", "9.0"},
                           {"sm_count", "132"},
                           {"gpu_state", "persistence=on"},
                           {"experiment", "fake_experiment"},
                           {"variant", "plain"}};

const Cells kCondition = {{"gpu_state",
                           "persistence=on;memory_clock_mhz=3201;temperature_c=42;power_w=118.5;"
                           "throttle_reasons=none;other_processes=0"}};

const Cells kOneBlockOf32Threads = {{"block_threads", "32"}, {"grid_blocks", "1"}};

const Cells kGivenWork = {{"work", "equal:1000"}, {"work_source", "given"}};

/// As every launch of the fake kernel has it.
const Cells kUsage = {{"cluster_blocks", "1"},         {"dynamic_shared_bytes", "0"},
                      {"registers_per_thread", "20"},  {"static_shared_bytes", "0"},
                      {"local_bytes_per_thread", "0"}, {"code_architecture", "sm_90"}};

/// Where two parts have a cell, the later one's.
Cells together(std::initializer_list<Cells> parts) {
  Cells all;
  for (const Cells& part : parts) {
    for (const auto& [name, value] : part) all[name] = value;
  }
  return all;
}

/// Of experiment_of({768}).
const Cells kCaseOf768Threads = together({kUsage,
                                          kGivenWork,
                                          {{"case", "fake/plain/block_threads=768"},
                                           {"kernel", "fake"},
                                           {"parameters", "block_threads=768"},
                                           {"block_threads", "768"},
                                           {"grid_blocks", "1056"},
                                           {"blocks_per_sm", "2"},
                                           {"limiter", "warps"},
                                           {"waves", "4"},
                                           {"theoretical_pct", "75"}}});

Cells prediction_of_768_threads(std::optional<int> first_gpc = std::nullopt) {
  const Prediction prediction = predict({{.block_threads = 768, .grid_blocks = 1056},
                                         {.registers_per_thread = 20},
                                         limits_of({9, 0}),
                                         chosen(find_profile("h200")),
                                         {.first_gpc = first_gpc}},
                                        Tasks(Work::equal(1000), 1056, 24));
  Cells cells = {{"device_profile", "h200 (calibrated_model)"},
                 {"predicted_pct", real_text(prediction.predicted_pct)},
                 {"predicted_low_pct", real_text(prediction.interval.low)},
                 {"predicted_high_pct", real_text(prediction.interval.high)},
                 {"predicted_elapsed_pct", real_text(prediction.predicted_elapsed_pct)},
                 {"predicted_cycles_active", real_text(prediction.cycles_active_mean)},
                 {"loss_small_grid_points", real_text(prediction.losses.small_grid)},
                 {"loss_tail_points", real_text(prediction.losses.tail)},
                 {"loss_between_blocks_points", real_text(prediction.losses.between_blocks)},
                 {"loss_within_block_points", real_text(prediction.losses.within_block)},
                 {"loss_overhead_points", real_text(prediction.losses.overhead)},
                 {"loss_contention_points", real_text(prediction.losses.contention)}};
  if (first_gpc) cells.emplace("first_gpc", std::to_string(*first_gpc));
  return cells;
}

/// Readings 50, 51 and 52 of each counter: over elapsed cycles, 51 warps in sum over 132 SMs of 64 warps for 51 cycles.
const Cells kCounters = {
    {"achieved_pct", "51"},         {"achieved_elapsed_pct", "0.0118"}, {"achieved_spread_points", "1"},
    {"sm_cycles_active_min", "51"}, {"sm_cycles_active_avg", "51"},     {"sm_cycles_active_max", "51"},
    {"sm_clock_mhz", "0.0001"},     {"issue_active_pct", "51"},         {"eligible_warps", "51"},
    {"resident_blocks", "51"},      {"local_sectors", "102"},           {"counters_status", "ok"}};

/// Likewise of those that the full suite reads.
const Cells kCountersOfTheFullSuite = {{"unit_use", "fma=51;alu=51;fp64=51;xu=51;tensor=51;l1=51;l2=51"},
                                       {"hardware_limiter", "blocks+registers+shared_memory+barriers"},
                                       {"dram_bytes", "51"},
                                       {"dram_busy_pct", "51"},
                                       {"atomic_requests", "102"},
                                       {"barrier_stall_warps", "51"},
                                       {"memory_stall_warps", "102"}};
// The counters' made-up values are no launch's.
const Cells kExplanationOfCounters = {
    {"explanation",
     "24 points: of a scheduler's warps 51 are eligible, 51 wait at barriers, 102 wait for memory, "
     "where at most 8.16 are active: the counters belong to another launch or to several."}};
const Cells kExplanation = {
    {"explanation",
     "25 points: theory is 75 % (768 threads are 24 warps of 32; an SM has 64: 64 / 24 = 2 blocks)."}};

/// Launches of 200 us each. How many of them, Google Benchmark decides.
const Cells kTimes = {{"time_us", "200"},
                      {"time_spread_pct", "0"},
                      {"throughput", "5000000000"},
                      {"throughput_unit", "items/s"},
                      {"check", "ok"},
                      {"time_status", "ok"}};

class WholeRow : public RunCases {
 protected:
  /// Without `repetitions`, which must be the number of samples.
  Cells cells() const {
    Cells cells = cells_of(read_rows(csv()).at(0));
    const std::map<std::string, int> counts = samples();
    const auto timed = counts.find("time_us");
    EXPECT_EQ(cells["repetitions"], timed == counts.end() ? "" : std::to_string(timed->second));
    cells.erase("repetitions");
    return cells;
  }
  /// How many samples there are of each quantity.
  std::map<std::string, int> samples() const {
    std::map<std::string, int> counts;
    for (const Sample& sample : read_samples(samples_path(csv()))) ++counts[sample.quantity];
    return counts;
  }
};

TEST_F(WholeRow, OfACaseThatWentWell) {
  instruments_.first_gpc = 3;
  run(experiment_of({768}), {"--occ_suite=full"});
  EXPECT_EQ(cells(), together({kProvenance, kCaseOf768Threads, prediction_of_768_threads(3), kCounters,
                               kCountersOfTheFullSuite, kExplanationOfCounters, kTimes, kCondition}));
  std::map<std::string, int> expected = {{"counting_ms_per_launch", 1}};
  for (const std::string& metric : instruments_.counted_metrics) expected[metric] = 3;
  std::map<std::string, int> found = samples();
  EXPECT_GE(found["time_us"], 50) << "in a minimum time of 0.01 s";
  expected["time_us"] = found["time_us"];
  EXPECT_EQ(found, expected);
  EXPECT_EQ(instruments_.counted_metrics, counters_read(CounterRead::full_suite));
}

TEST_F(WholeRow, OfACaseWhoseCountersAreDenied) {
  instruments_.status = CountersStatus::denied;
  run(experiment_of({768}));
  EXPECT_EQ(
      cells(),
      together(
          {kProvenance,
           kCaseOf768Threads,
           prediction_of_768_threads(),
           kExplanation,
           kTimes,
           kCondition,
           {{"counters_status", "denied"}, {"sm_clock_mhz", "1980"}, {"note", "because the test says so"}}}));
}

TEST_F(WholeRow, OfACaseThatFailed) {
  run(experiment_of({kFailing}));
  const Row row = read_rows(csv()).at(0);
  EXPECT_THAT(row.note, ::testing::StartsWith("launch failed: cudaErrorLaunchFailure"));
  Cells found = cells_of(row);
  for (const auto& [name, value] : prediction_of_768_threads()) found.erase(name);
  found.erase("note");
  EXPECT_THAT(found["explanation"], ::testing::HasSubstr("points: the grid has 1,056 blocks"));
  found.erase("explanation");
  const Cells of_this_case = {{"case", "fake/plain/block_threads=96"},
                              {"parameters", "block_threads=96"},
                              {"block_threads", "96"},
                              {"blocks_per_sm", "21"},
                              {"waves", "0.381"},
                              {"theoretical_pct", "98.4375"},
                              {"time_status", "failed"}};
  EXPECT_EQ(found, together({kProvenance, kCaseOf768Threads, of_this_case}));
  EXPECT_TRUE(row.predicted_pct);
}

TEST_F(WholeRow, OfACaseThatNoSmCanHold) {
  EXPECT_EQ(run(one_case(kFake, [](Case& chosen) { chosen.launch.dynamic_shared_bytes = 1'000'000; })),
            ExitStatus::done);
  Cells found = cells();
  EXPECT_THAT(found["note"], ::testing::HasSubstr("shared memory"));
  found.erase("note");
  EXPECT_EQ(found, together({kProvenance,
                             kUsage,
                             kOneBlockOf32Threads,
                             kGivenWork,
                             {{"case", "fake/plain"},
                              {"kernel", "fake"},
                              {"dynamic_shared_bytes", "1000000"},
                              {"blocks_per_sm", "0"},
                              {"limiter", "shared_memory"},
                              {"theoretical_pct", "0"},
                              {"time_status", "skipped"}}}));
  EXPECT_EQ(instruments_.launches, 0);
  EXPECT_TRUE(samples().empty());
}

TEST_F(WholeRow, OfWhatTheRuntimeLaunchesItself) {
  static const Variant unknown[] = {{"plain", nullptr}};
  static const Kernel copies{"copies", "launched by the runtime", unknown, prepare_fake};
  run(one_case(copies));
  EXPECT_EQ(cells(),
            together({kProvenance,
                      kCounters,
                      kTimes,
                      kCondition,
                      kGivenWork,
                      {{"case", "copies/plain"},
                       {"kernel", "copies"},
                       {"note", "the runtime launches it: kernel, launch and theory are not known"}}}));
}

TEST_F(WholeRow, OfACaseWhoseTraceStandsInForTheCounter) {
  instruments_.status = CountersStatus::busy;
  instruments_.event_reasons = {0, 0x4};
  run(one_case(kTraceable,
               [](Case& chosen) {
                 chosen.work.reset();
                 chosen.record_warps = true;
               }),
      {"--benchmark_min_time=0.0001", "--occ_metrics=sm__inst_executed.sum"});
  EXPECT_EQ(cells(), together({kProvenance,
                               kTimes,
                               kCondition,
                               kUsage,
                               kOneBlockOf32Threads,
                               {{"case", "traceable/plain"},
                                {"kernel", "traceable"},
                                {"blocks_per_sm", "32"},
                                {"limiter", "blocks"},
                                {"waves", "0.0002"},
                                {"theoretical_pct", "50"},
                                {"achieved_pct", "1.5625"},
                                {"achieved_spread_points", "0"},
                                {"sm_clock_mhz", "1980"},
                                {"counters_status", "busy"},
                                {"explanation", "50 points: theory is 50 % (an SM holds at most 32 blocks)."},
                                {"sm__inst_executed.sum", ""},
                                {"note",
                                 "not predicted: no work describes its blocks; "
                                 "timed twice: throttled at first; because the test says so; "
                                 "achieved_pct is that of launches whose warps were recorded, which can "
                                 "place the blocks of a partial "
                                 "last wave otherwise"}}}));
  std::map<std::string, int> expected = {
      {"time_us", 10}, {"time_us_discarded", 10}, {"achieved_pct_by_trace", 4}};
  for (const char* trace : {"trace_", "trace_again_"}) {
    for (const char* quantity : {"achieved_pct", "sm", "start_ns", "end_ns", "sm_cycles", "most_blocks"}) {
      expected[std::string(trace) + quantity] = 1;
    }
  }
  EXPECT_EQ(samples(), expected);
}

}  // namespace
}  // namespace occbench
