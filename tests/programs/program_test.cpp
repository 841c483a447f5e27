#include "programs/program.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const ProgramDevice kH100{"NVIDIA H100 80GB HBM3", "GPU-11111111-2222", 0, "9.0", 132, 1980};

/// 256 threads and 40 registers: 6 blocks of 8 warps, 75 % (worked out by hand: 40 registers x 32 lanes =
/// 1,280, x 8 warps = 10,240 of 65,536).
ProgramEntry reduction(std::int64_t blocks = 1584) {
  ProgramEntry entry{kH100, {.name = "_Z6reducePKfPfi"}, {}};
  entry.kernel.grid = {blocks, 1, 1};
  entry.kernel.block = {256, 1, 1};
  entry.kernel.registers_per_thread = 40;
  entry.seen = {.launches = 10, .timed = 7, .total_us = 120, .times_us = {11, 12, 13}};
  entry.seen.counters_status = CountersStatus::off;
  entry.seen.processes = {41};
  entry.seen.contexts = {1};
  entry.seen.streams = {7, 13};
  entry.seen.graph_nodes = {21474836480, 21474836481};
  return entry;
}

/// Counters of three launches, by name.
void count(ProgramLaunches& seen, double achieved_pct, double resident_blocks) {
  seen.readings = {{"sm__warps_active.avg.pct_of_peak_sustained_active",
                    {achieved_pct - 1, achieved_pct, achieved_pct + 1}},
                   {"sm__ctas_active.avg.per_cycle_active", {resident_blocks, resident_blocks, 1.0}},
                   {"sm__warps_active.sum", {4e6, 4e6, 4e6}},
                   {"sm__cycles_active.max", {1000, 1000, 2000}},
                   {"sm__cycles_elapsed.avg.per_second", {1.7e9, 1.8e9, 1.9e9}}};
}

std::vector<Row> rows_of(std::span<const ProgramEntry> entries) {
  std::vector<Row> rows;
  for (const CaseRecord& record : program_cases(entries)) rows.push_back(row_of(record));
  return rows;
}

TEST(ProgramRow, HasTheLaunchAndItsTheory) {
  const Row row = row_of(program_case(reduction()));
  EXPECT_EQ(row.experiment, "trace");
  EXPECT_EQ(row.case_, "reduce<<<1584, 256>>>");
  EXPECT_EQ(row.kernel, "reduce(float const*, float*, int)");
  EXPECT_EQ(row.variant, "_Z6reducePKfPfi");
  EXPECT_EQ(row.parameters, "grid=1584;block=256");
  EXPECT_EQ(row.blocks_per_sm, 6);
  EXPECT_EQ(row.theoretical_pct, 75);
  EXPECT_EQ(row.limiter, "registers");
  EXPECT_EQ(row.waves, 2);
  EXPECT_EQ(row.launches, 10);
  EXPECT_EQ(row.total_time_us, 120);
  EXPECT_EQ(row.time_us, 12);
  EXPECT_EQ(row.repetitions, 7);
  EXPECT_EQ(row.origin,
            "process=41;context=1;stream=7+13;graph_launches=0;graph_node=21474836480+21474836481");
  EXPECT_EQ(row.counters_status, "off");
  EXPECT_FALSE(row.achieved_pct);
}

TEST(ProgramRow, SaysWhereTheCountersSawTheOccupancyGo) {
  ProgramEntry entry = reduction();
  count(entry.seen, 60, 5.2);
  const Row row = row_of(program_case(entry));
  EXPECT_EQ(row.achieved_pct, 60);
  EXPECT_EQ(row.achieved_spread_points, 1);
  EXPECT_EQ(row.counters_status, "ok");
  EXPECT_EQ(row.sm_clock_mhz, 1800);
  EXPECT_EQ(row.resident_blocks, 5.2);
  // 4e6 warp cycles of 132 SMs x 64 warps x 1,000 cycles.
  EXPECT_NEAR(*row.achieved_elapsed_pct, 47.35, 0.01);
}

TEST(ProgramRow, WithoutTimesHasNone) {
  ProgramEntry entry = reduction();
  entry.seen.times_us.clear();
  const Row row = row_of(program_case(entry));
  EXPECT_FALSE(row.time_us);
  EXPECT_EQ(row.launches, 10);
}

TEST(ProgramRow, OfAGpuThatTheTableLacksHasNoTheoryAndSaysSo) {
  ProgramEntry entry = reduction();
  entry.device.compute_capability = "17.5";
  const Row row = row_of(program_case(entry));
  EXPECT_FALSE(row.theoretical_pct);
  EXPECT_THAT(row.note, HasSubstr("17.5"));
  EXPECT_EQ(row.time_us, 12);
}

TEST(ProgramRow, OfABlockThatFitsNoSmSaysWhy) {
  ProgramEntry entry = reduction();
  entry.kernel.static_shared_bytes = 300'000;
  const Row row = row_of(program_case(entry));
  EXPECT_EQ(row.blocks_per_sm, 0);
  EXPECT_THAT(row.note, HasSubstr("shared memory"));
}

TEST(ProgramRow, CountsInOnePassOnlyWhatItsColumnsNeed) {
  const std::vector<std::string> metrics = program_metrics();
  EXPECT_THAT(metrics, testing::Contains("sm__ctas_active.avg.per_cycle_active"));
  EXPECT_THAT(metrics, testing::Contains("sm__warps_active.sum"));
  EXPECT_THAT(metrics, testing::Each(testing::MatchesRegex("sms?p?__.*")));
  EXPECT_EQ(metrics.size(), 9);
}

TEST(ProgramRows, AreNamedByKernelAndConfiguration) {
  std::vector<ProgramEntry> entries(3, reduction());
  entries[1].kernel.grid = {66, 2, 3};
  entries[1].kernel.block = {16, 16, 1};
  entries[1].kernel.dynamic_shared_bytes = 49152;
  entries[2].kernel.cluster = {2, 1, 1};
  const std::vector<Row> rows = rows_of(entries);
  EXPECT_EQ(rows[1].case_, "reduce<<<66x2x3, 16x16, 49152>>>");
  EXPECT_EQ(rows[1].grid_blocks, 396);
  EXPECT_EQ(rows[2].case_, "reduce<<<1584, 256, cluster 2>>>");
}

TEST(ProgramRows, OfOneShortNameAreToldApartAlikeInEveryRun) {
  // Two kernels of one name in two modules, as Triton compiles them.
  std::vector<ProgramEntry> entries(3, reduction());
  entries[1].kernel.registers_per_thread = 48;
  entries[2].kernel.grid = {7, 1, 1};
  const std::vector<Row> rows = rows_of(entries);
  std::ranges::reverse(entries);
  const std::vector<Row> again = rows_of(entries);
  EXPECT_NE(rows[0].case_, rows[1].case_);
  EXPECT_THAT(rows[0].case_, testing::StartsWith("reduce<<<1584, 256>>> #"));
  EXPECT_EQ(rows[2].case_, "reduce<<<7, 256>>>");
  EXPECT_EQ(again[1].case_, rows[1].case_);
}

TEST(ProgramRows, OfSeveralGpusNameTheGpu) {
  std::vector<ProgramEntry> entries(2, reduction());
  entries[1].device.uuid = "GPU-99999999-2222";
  const std::vector<Row> rows = rows_of(entries);
  EXPECT_EQ(rows[0].case_, "reduce<<<1584, 256>>> on GPU-11111111");
  EXPECT_EQ(rows[1].case_, "reduce<<<1584, 256>>> on GPU-99999999");
}

TEST(Merged, AreLaunchesOfOneKernelOnOneGpuInSeveralProcesses) {
  std::vector<ProgramEntry> entries = {reduction(5), reduction(), reduction()};
  entries[2].seen.processes = {99};
  entries[2].seen.times_us = {20};
  entries[2].device.index = 3;  // the process sees other GPUs
  count(entries[2].seen, 70, 5);
  const std::vector<ProgramEntry> all = merged(entries);
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[0].seen.launches, 20);
  EXPECT_EQ(all[0].seen.total_us, 240);
  EXPECT_THAT(all[0].seen.times_us, ElementsAre(11, 12, 13, 20));
  EXPECT_THAT(all[0].seen.processes, ElementsAre(41, 99));
  EXPECT_EQ(row_of(program_case(all[0])).achieved_pct, 70);
  EXPECT_EQ(all[1].kernel.grid.x, 5);
}

TEST(Merged, KeepGpusApart) {
  std::vector<ProgramEntry> entries(2, reduction());
  entries[1].device.uuid = "GPU-99999999-2222";
  EXPECT_EQ(merged(entries).size(), 2);
}

TEST(ObservedCase, IsPredictedFromCyclesAndSaysSo) {
  CaseRecord record = program_case(reduction());
  record.times.time_us.reset();
  record.readings.counters.sm_cycles_active_avg = 40'000;
  infer_and_predict(record);
  EXPECT_EQ(record.identity.work_source, "inferred from cycles");
  ASSERT_TRUE(record.prediction);
  EXPECT_TRUE(std::holds_alternative<EqualWork>(record.identity.work->distribution));
  EXPECT_LE(record.prediction->predicted_pct, 75);
  EXPECT_GE(record.prediction->predicted_pct, 70);
}

TEST(ObservedCase, IsReconstructedWhereOnlyItsOwnCyclesAreKnown) {
  CaseRecord record = program_case(reduction());
  record.times.time_us.reset();
  record.readings.counters.sm_cycles_active_avg = 40'000;
  record.readings.counters.achieved_pct = 70;
  infer_and_predict(record);
  EXPECT_EQ(record.identity.work_source, "reconstructed from cycles");
  EXPECT_TRUE(is_reconstructed_work(record.identity.work_source));
  EXPECT_TRUE(is_inferred_work(record.identity.work_source));
  EXPECT_THAT(prediction_text(record), testing::StartsWith("reconstructed "));
}

TEST(ObservedCase, ThatWasCountedIsPredictedFromTheTimeOfOtherLaunches) {
  CaseRecord record = program_case(reduction());
  record.readings.counters.achieved_pct = 70;
  record.readings.counters.sm_cycles_active_avg = 40'000;
  record.readings.counters.sm_clock_mhz = 1000;
  infer_and_predict(record);
  EXPECT_EQ(record.identity.work_source, "inferred from time");
  const double cycles = record.identity.work->cycles;
  record.readings.counters.sm_clock_mhz = 500;
  record.readings.counters.sm_cycles_active_avg = 80'000;
  infer_and_predict(record);
  EXPECT_EQ(record.identity.work->cycles, cycles) << "what counting read does not matter";
}

TEST(ObservedCase, IsPredictedFromItsTimeWhereThereAreNoCounters) {
  CaseRecord record = program_case(reduction());
  record.provenance.gpu = "a GPU that the table lacks";
  infer_and_predict(record);
  EXPECT_FALSE(record.prediction) << "no clock";
  record.readings.counters.sm_clock_mhz = 1980;
  infer_and_predict(record);
  EXPECT_EQ(record.identity.work_source, "inferred from time");
  EXPECT_TRUE(record.prediction);
}

}  // namespace
}  // namespace occbench
