#include "programs/program.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "entries/entries.hpp"
#include "occupancy/input_error.hpp"
#include "programs/process_entries.hpp"
#include "programs/timeline.hpp"
#include "record/counter_columns.hpp"
#include "record/csv.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

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
  EXPECT_THAT(std::vector<std::string>(metrics.begin(), metrics.end() - 2),
              UnorderedElementsAreArray(counters_read(CounterRead::always)));
  EXPECT_THAT(metrics.back(), testing::StartsWith("dram__throughput"));
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
  EXPECT_TRUE(record.identity.work->distribution.form == WorkForm::equal);
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

TEST(ObservedCase, WithoutAClockOfItsOwnSaysWhoseClockItHas) {
  std::vector<ProgramEntry> entries(2, reduction());
  count(entries[0].seen, 60, 5.2);
  std::vector<CaseRecord> cases = {program_case(entries[0]), program_case(entries[1])};
  set_clocks(cases, entries);
  EXPECT_EQ(cases[0].readings.counters.sm_clock_mhz, 1800);
  EXPECT_EQ(cases[0].note, program_case(entries[0]).note);
  EXPECT_EQ(cases[1].readings.counters.sm_clock_mhz, 1800);
  EXPECT_THAT(cases[1].note, HasSubstr("sm_clock_mhz is the median of kernels that were counted"));
}

TEST(ObservedCase, ThatWasSampledIsReconstructedFromTheTimeOfTheSameLaunchesWhichHasNothingOfRecords) {
  CaseRecord record = program_case(reduction());
  record.times.time_us = 20;
  record.readings.counters.achieved_pct = 70;
  infer_and_predict(record);
  const double from_record = record.identity.work->cycles;
  record.readings.achieved_source = AchievedSource::sampled;
  record.times.time_us = 20 - kRecordOverheadUs;
  infer_and_predict(record);
  EXPECT_EQ(record.identity.work_source, "reconstructed from time");
  EXPECT_EQ(record.identity.work->cycles, from_record);
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

TracedProcess process() {
  TracedProcess traced;
  traced.process = 100;
  ProgramEntry entry;
  entry.device = {
      .name = "NVIDIA H100", .uuid = "GPU-1", .index = 0, .compute_capability = "9.0", .sm_count = 132};
  entry.kernel = {.name = "_Z4fillPf", .grid = {264, 1, 1}, .block = {256, 1, 1}, .registers_per_thread = 32};
  traced.entries = {entry};
  traced.numbers = {7};
  return traced;
}

/// @returns the events of a kind
std::vector<nlohmann::json> events_of(const std::string& windows, const char* kind) {
  std::string text;
  std::istringstream in(windows);
  append_timeline(text, process(), in, 1'000'000);
  text.resize(text.size() - std::min<std::size_t>(text.size(), 2));
  std::vector<nlohmann::json> events;
  for (const nlohmann::json& event : nlohmann::json::parse("[" + text + "]")) {
    if (event["ph"] == kind) events.push_back(event);
  }
  return events;
}

/// Two blocks of eight warps on each SM for 2 us of a window that began 1 ms after the trace: 132 SMs, 1,000 cycles a sample.
constexpr const char* kWindow = R"(window 1000 0 64 2000000
call 100 7 264 0
idle 0 4000 4
sample 4000 1000 264 2112000 132000 1000 1000
sample 5000 1000 0 2112000 132000 1000 1000
idle 6000 9000 3
launch 7 4000 2000 4224000 264000
)";

TEST(Timeline, HasASliceOfALaunchWithItsLoss) {
  const std::vector<nlohmann::json> slices = events_of(kWindow, "X");
  ASSERT_EQ(slices.size(), 2) << "the other is the window";
  EXPECT_THAT(slices[0]["name"].get<std::string>(), HasSubstr("fill"));
  EXPECT_EQ(slices[0]["ts"], 1004);
  EXPECT_EQ(slices[0]["dur"], 2);
  EXPECT_EQ(slices[0]["args"]["achieved_pct"], 25);
  EXPECT_EQ(slices[0]["args"]["theoretical_pct"], 100);
  EXPECT_EQ(slices[0]["args"]["loss_points"], 75);
}

TEST(Timeline, HasOccupancyAndBlocksOverTime) {
  std::map<std::string, std::vector<std::pair<double, double>>> changes;
  for (const nlohmann::json& event : events_of(kWindow, "C"))
    changes[event["name"]].emplace_back(event["ts"], event["args"].items().begin().value());
  using testing::Pair;
  EXPECT_THAT(changes["occupancy"], ElementsAre(Pair(1004, 25), Pair(1006, 0)));
  EXPECT_THAT(changes["SMs active"], ElementsAre(Pair(1004, 100), Pair(1006, 0)));
  EXPECT_THAT(changes["resident"], ElementsAre(Pair(1004, 264), Pair(1006, 0)));
}

TEST(Timeline, HoldsNoValueBetweenWindows) {
  // The second begins with a sample that spans what was before it, and its other two are of a launch that is not known.
  const std::string windows = std::string(kWindow) + R"(window 1000 0 64 2000000
sample 0 70000 264 2112000 132000 1000 1000
sample 70000 1000 264 2112000 132000 1000 1000
sample 71000 1000 264 2112000 132000 1000 1000
)";
  std::map<double, double> occupancy;
  for (const nlohmann::json& event : events_of(windows, "C")) {
    if (event["name"] == "occupancy") occupancy[event["ts"]] = event["args"]["%"];
    if (event["name"] == "resident" && event["ts"] > 1010) {
      EXPECT_EQ(event["args"].items().begin().value(), 0) << event;
    }
  }
  EXPECT_EQ(occupancy, (std::map<double, double>{{1004, 25}, {1006, 0}, {1070, 25}, {1072, 0}}));
  std::vector<std::pair<double, double>> sampled;
  for (const nlohmann::json& event : events_of(windows, "X")) {
    if (event["name"] == "sampled") sampled.emplace_back(event["ts"], event["dur"]);
  }
  EXPECT_THAT(sampled, ElementsAre(testing::Pair(1004, 5), testing::Pair(1070, 2)));
}

TEST(Timeline, ReadsPastLinesThatAreTorn) {
  EXPECT_EQ(events_of(std::string(kWindow) + "window 1000 0\nsample 4\nlaunch 7", "X").size(), 2);
  EXPECT_TRUE(events_of("launch 7 4000 2000 1 1\nsample 4000", "X").empty());
  EXPECT_TRUE(events_of("window 1000 3 64 0\nlaunch 7 4000 2000 1 1", "X").empty())
      << "of a GPU that is not known";
}

/// A file of one GPU, one counter and one kernel.
struct ProcessEntriesTest : testing::Test {
  std::string file = std::string(kEntriesMagic);
  KernelFacts facts{
      .device = 2, .name = 5, .grid = {66, 2, 1}, .block = {256, 1, 1}, .registers_per_thread = 32};
  LaunchTotals totals{.launched = 10, .recorded = 7, .unrecorded = 3, .timed = 7, .total_ns = 70'000};

  ProcessEntriesTest() {
    append_facts(file, EntryKind::process, 0, ProcessFacts{41, 1});
    append_text(file, EntryKind::metric, 0, "sm__warps_active.avg.pct_of_peak_sustained_active");
    DeviceFacts device{9, 0, 132, 1'980'000, 2048, 0, {}, {}};
    std::string("GPU-1").copy(device.uuid.data(), 5);
    std::string("NVIDIA H100").copy(device.name.data(), 11);
    append_facts(file, EntryKind::device, 2, device);
    append_cut_text(file, EntryKind::counting, 2, static_cast<std::uint32_t>(CountersStatus::ok), "");
    append_text(file, EntryKind::name, 5, "_Z6reducePf");
    append_facts(file, EntryKind::kernel, 3, facts);
  }
  void append_times(std::vector<float> ns) {
    append_entry(file, EntryKind::times, 3, 0, std::as_bytes(std::span(ns)));
  }
  void append_reading(double value) {
    append_facts(file, EntryKind::reading, 3, value);
  }
  ProgramEntry entry() {
    append_facts(file, EntryKind::totals, 3, totals);
    const std::vector<ProgramEntry> entries = parse_process_entries(file, "run.41.entries").entries;
    EXPECT_THAT(entries, SizeIs(1));
    return entries.empty() ? ProgramEntry{} : entries.front();
  }
};

TEST_F(ProcessEntriesTest, OfABrokenFileMakeNoKernelThatNoGpuCanLaunch) {
  for (KernelFacts wrong : {KernelFacts{.grid = {0, 1, 1}}, KernelFacts{.grid = {65'536, 65'536, 1}},
                            KernelFacts{.block = {1025, 1, 1}}, KernelFacts{.registers_per_thread = 256},
                            KernelFacts{.carveout_pct = 101}}) {
    wrong.name = 5;
    std::string broken = file;
    append_facts(broken, EntryKind::kernel, 4, wrong);
    const TracedProcess process = parse_process_entries(broken, "run.41.entries");
    EXPECT_THAT(process.entries, SizeIs(1));
    EXPECT_EQ(process.impossible, 1);
  }
}

TEST_F(ProcessEntriesTest, SayWhatTheKernelIsAndWhereItRan) {
  const std::vector<std::int64_t> streams = {7, 13};
  append_entry(file, EntryKind::places, 3, static_cast<std::uint32_t>(PlaceKind::stream),
               std::as_bytes(std::span(streams)));
  const ProgramEntry read = entry();
  EXPECT_EQ(read.device, (ProgramDevice{"NVIDIA H100", "GPU-1", 2, "9.0", 132, 1980}));
  EXPECT_EQ(
      read.kernel,
      (ProgramKernel{
          .name = "_Z6reducePf", .grid = {66, 2, 1}, .block = {256, 1, 1}, .registers_per_thread = 32}));
  EXPECT_THAT(read.seen.processes, ElementsAre(41));
  EXPECT_THAT(read.seen.streams, ElementsAre(7, 13));
}

TEST_F(ProcessEntriesTest, TakeCountedLaunchesWithoutRecordsToLastAsLongAsTheOthers) {
  append_times({8'000, 10'000, 52'000});
  append_reading(60);
  const ProgramEntry read = entry();
  EXPECT_EQ(read.seen.launches, 10);
  EXPECT_EQ(read.seen.timed, 7);
  EXPECT_EQ(read.seen.total_us, 70 + 3 * 10);
  EXPECT_THAT(read.seen.times_us, ElementsAre(8, 10, 52));
  EXPECT_THAT(read.seen.readings.begin()->second, ElementsAre(60));
}

TEST_F(ProcessEntriesTest, ArePlacedByTheLatestOfTheirKind) {
  append_facts(file, EntryKind::totals, 3, LaunchTotals{.launched = 1, .recorded = 1});
  append_times({1'000});
  append_times({8'000});
  facts.registers_per_thread = 24;
  append_facts(file, EntryKind::kernel, 3, facts);
  const ProgramEntry read = entry();
  EXPECT_EQ(read.seen.launches, 10);
  EXPECT_EQ(read.kernel.registers_per_thread, 24);
  EXPECT_THAT(read.seen.times_us, ElementsAre(8));
}

TEST_F(ProcessEntriesTest, OfAKernelWithoutRecordsHaveItsLaunches) {
  totals = {.launched = 10};
  EXPECT_EQ(entry().seen.launches, 10);
  EXPECT_EQ(entry().seen.total_us, 0);
}

TEST_F(ProcessEntriesTest, NameKernelsAsInAnyBuildOfTheirSource) {
  append_text(file, EntryKind::name, 6, "_ZN37_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji");
  facts.name = 6;
  append_facts(file, EntryKind::kernel, 3, facts);
  EXPECT_EQ(entry().kernel.name, "_ZN21_GLOBAL__N__sample_cu4fillEPji");
}

TEST_F(ProcessEntriesTest, SayWhyAKernelWasNotCounted) {
  totals.uncounted = Uncounted::warm_up;
  EXPECT_THAT(entry().seen.note, HasSubstr("--after 0"));
  EXPECT_EQ(entry().seen.counters_status, CountersStatus::off);
  totals.uncounted = Uncounted::left_out;
  EXPECT_THAT(entry().seen.note, HasSubstr("--kernels"));
  totals.uncounted = Uncounted::beyond_budget;
  EXPECT_THAT(entry().seen.note, HasSubstr("--counters 1"));
  totals.uncounted = Uncounted::unknown;
  EXPECT_EQ(entry().seen.note, "not counted") << "no reason is known";
  totals.of_graphs = 10;
  EXPECT_THAT(entry().seen.note, HasSubstr("CUDA graphs"));
  totals = {.launched = 1, .recorded = 1};
  EXPECT_THAT(entry().seen.note, HasSubstr("launched once"));
  // What ended counting on the GPU goes before.
  append_cut_text(file, EntryKind::counting, 2, static_cast<std::uint32_t>(CountersStatus::denied),
                  "no permission");
  EXPECT_EQ(entry().seen.note, "no permission");
  EXPECT_EQ(entry().seen.counters_status, CountersStatus::denied);
}

TEST_F(ProcessEntriesTest, OfOtherFilesAreRefused) {
  EXPECT_THROW(parse_process_entries("schema,experiment,case\n", "run.1.csv"), InputError);
}

TEST_F(ProcessEntriesTest, OfABrokenFileHaveNoTimeOrShareThatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const SampledTotals sampled = {
      .launches = 2, .samples = 9, .warp_cycles = 3200, .active_cycles = 100, .longest_cycles = 10};
  append_times({nan, 8'000, nan});
  append_facts(file, EntryKind::sampled, 3, sampled);
  append_entry(file, EntryKind::sampled_pcts, 3, 0, std::as_bytes(std::span(&nan, 1)));
  const ProgramEntry read = entry();
  EXPECT_THAT(read.seen.times_us, ElementsAre(8));
  EXPECT_THAT(read.seen.sampled_pcts, IsEmpty());
  const CaseRecord record = program_case(read);
  EXPECT_EQ(record.readings.counters.achieved_pct, 50);
  EXPECT_FALSE(record.readings.achieved_spread_points);
}

TEST_F(ProcessEntriesTest, SamplesOfUnitsAreOfTheLaunchsActiveTime) {
  SampledTotals sampled = {.launches = 2,
                           .samples = 9,
                           .warp_cycles = 3200,
                           .active_cycles = 100,
                           .longest_cycles = 10,
                           .active_ns = 50,
                           .samples_of_units = 9,
                           .tensor_cycles = 0.25,
                           .dram_busy_ns = 20};
  const auto read = [&] {
    append_times({8'000});
    append_facts(file, EntryKind::sampled, 3, sampled);
    return program_case(entry()).readings.counters;
  };
  const double sms = *program_case(entry()).provenance.sm_count;
  EXPECT_DOUBLE_EQ(*read().tensor_use_pct, 100 * 0.25 * sms / 100);
  EXPECT_DOUBLE_EQ(*read().dram_busy_pct, 40);
  sampled.dram_busy_ns = 51;
  EXPECT_DOUBLE_EQ(*read().dram_busy_pct, 100);
  sampled.samples_of_units = 8;
  EXPECT_FALSE(read().tensor_use_pct);
  EXPECT_FALSE(read().dram_busy_pct);
}

/// Whatever bytes they have, rows are made of them or they are refused.
TEST_F(ProcessEntriesTest, OfABrokenFileHarmNobody) {
  const float pct = 50;
  const SampledTotals sampled = {
      .launches = 2, .samples = 9, .warp_cycles = 3200, .active_cycles = 100, .longest_cycles = 10};
  append_times({8'000});
  append_reading(60);
  append_facts(file, EntryKind::sampled, 3, sampled);
  append_entry(file, EntryKind::sampled_pcts, 3, 0, std::as_bytes(std::span(&pct, 1)));
  entry();
  for (std::size_t at = kEntriesMagic.size(); at < file.size(); ++at) {
    for (const char byte : {'\0', '\x7F', '\xFF'}) {
      std::string broken = file;
      broken[at] = byte;
      try {
        program_cases(parse_process_entries(broken, "broken").entries);
      } catch (const InputError& refused) {
        EXPECT_THAT(refused.what(), HasSubstr("compute capability")) << at;
      }
    }
  }
}

}  // namespace
}  // namespace occbench
