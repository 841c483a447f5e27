#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <malloc.h>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../cli/run_command.hpp"
#include "fake_gpu.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "harness/depth.hpp"
#include "harness/run.hpp"
#include "many_cases.hpp"
#include "orchestrate/run.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

#ifdef __SANITIZE_ADDRESS__
// Of sanitizer/allocator_interface.h, which not every GCC has.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ManyCases = RunCases;

/// Bytes that this process has allocated and not freed, without what the allocator keeps for later.
std::size_t heap_bytes() {
#ifdef __SANITIZE_ADDRESS__
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
#endif
}

/// Partial waves, uneven blocks and warps, contention: what differs from one simulated run to the next.
Experiment uncertain() {
  return {"uncertain", "a claim", "a source", [](const Planner&) {
            const std::pair<int, const char*> launches[] = {{1'320, "equal:20000"},
                                                            {792, "uniform:200000:0.5:1.5:seed=3"},
                                                            {1'500, "lognormal:50000:1:seed=2"},
                                                            {1'000, "warp/uniform:20000:0.5:1.5:seed=4"},
                                                            {1'200, "equal:80000:issue=20000"}};
            std::vector<Case> cases;
            for (const auto& [grid, work] : launches) {
              cases.push_back({.kernel = &kFake,
                               .variant = "plain",
                               .launch = {.block_threads = 256, .grid_blocks = grid},
                               .work = parse_work(work),
                               .suite = Suite::smoke,
                               .parameters = {{"grid", std::to_string(grid)}}});
            }
            return cases;
          }};
}

class PredictedRows : public RunCases {
 protected:
  /// As `occbench predict` on that GPU has it.
  void expect_same(const std::vector<std::string>& gpu) {
    EXPECT_EQ(run(uncertain()), ExitStatus::done);
    for (const Row& row : read_rows(csv())) {
      std::vector<std::string> predict = {"predict",
                                          "--block-size",
                                          "256",
                                          "--registers",
                                          "20",
                                          "--grid",
                                          std::to_string(*row.grid_blocks),
                                          "--work",
                                          row.work,
                                          "--format",
                                          "json"};
      predict.insert(predict.end(), gpu.begin(), gpu.end());
      const Outcome outcome = run_command(predict);
      ASSERT_EQ(outcome.status, ExitStatus::done) << outcome.err;
      const nlohmann::json predicted = nlohmann::json::parse(outcome.out);
      EXPECT_NEAR(row.predicted_pct.value(), predicted.at("predicted_pct"), 1e-4) << row.case_;
      EXPECT_NEAR(row.predicted_low_pct.value(), predicted.at("predicted_low_pct"), 1e-4) << row.case_;
      EXPECT_NEAR(row.predicted_high_pct.value(), predicted.at("predicted_high_pct"), 1e-4) << row.case_;
    }
  }
};

TEST_F(PredictedRows, HaveThePredictionOfTheCommandPredict) {
  expect_same({"--gpu", "h200"});
}

TEST_F(PredictedRows, OfAGpuThatNobodyCalibratedHaveItToo) {
  device_.name = "NVIDIA A100-SXM4-80GB";
  device_.compute_capability = {8, 0};
  device_.limits = limits_of({8, 0});
  device_.sm_count = 108;
  expect_same({"--cc", "8.0", "--sm-count", "108"});
}

/// Uneven blocks that all have room at once: which lie side by side is what counts.
Experiment uneven() {
  return one_case(kFake, [](Case& chosen) {
    chosen.launch = {.block_threads = 256, .grid_blocks = 792};
    chosen.work = parse_work("uniform:200000:0.5:1.5:seed=3");
  });
}

TEST_F(RunCases, ARowIsPredictedForTheGpcThatItsLaunchesBeganWith) {
  run(uneven());
  const Row any = read_rows(csv()).at(0);
  instruments_.first_gpc = 0;
  run(uneven());
  const Row known = read_rows(csv()).at(0);
  EXPECT_EQ(any.first_gpc, std::nullopt);
  EXPECT_EQ(known.first_gpc, 0);
  // All that is left is the least margin, on both sides.
  const double left = *known.predicted_high_pct - *known.predicted_low_pct;
  EXPECT_NEAR(left, 2 * kLeastMarginPoints, 0.01);
  EXPECT_GT(*any.predicted_high_pct - *any.predicted_low_pct, 1.5 * left);
}

TEST_F(RunCases, AGpcThatSomeOfTheLaunchesDidNotBeginWithIsNotTheRows) {
  run(uneven());
  const Row any = read_rows(csv()).at(0);
  instruments_.first_gpc = 0;
  for (bool* const misses : {&instruments_.misses_timed, &instruments_.misses_counted}) {
    instruments_.misses_timed = instruments_.misses_counted = false;
    *misses = true;
    run(uneven());
    const Row row = read_rows(csv()).at(0);
    EXPECT_EQ(row.first_gpc, std::nullopt);
    EXPECT_EQ(row.predicted_low_pct, any.predicted_low_pct);
    EXPECT_EQ(row.predicted_high_pct, any.predicted_high_pct);
  }
}

TEST_F(RunCases, TheGpcOfARowIsThatOfItsOwnLaunches) {
  instruments_.first_gpc = 0;
  instruments_.missed = true;  // by a case that failed before it was asked
  run(uneven());
  EXPECT_EQ(read_rows(csv()).at(0).first_gpc, 0);
}

TEST_F(RunCases, WhatWasNotLaunchedBeganWithNoGpc) {
  instruments_.first_gpc = 0;
  run(experiment_of({kUnsupported}));
  EXPECT_EQ(read_rows(csv()).at(0).first_gpc, std::nullopt);
  run(experiment_of({kFailing}));
  EXPECT_EQ(read_rows(csv()).at(0).first_gpc, std::nullopt);
}

TEST_F(RunCases, AWrongResultsRowSaysMoreWhereTheCheckDoes) {
  run(experiment_of({kWrong}));
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.check, "wrong");
  EXPECT_EQ(row.note, "its result differs from another");
}

/// As a GPU that is newer than the limits table.
Device unknown_device() {
  Device device = fake_device();
  device.compute_capability = {99, 0};
  device.limits.compute_capability = device.compute_capability;
  return device;
}

TEST_F(RunCases, AGpuThatTheLimitsTableLacksIsPredictedForItsOwnLimits) {
  ASSERT_THROW(limits_of({99, 0}), InputError);
  device_ = unknown_device();
  device_.limits.max_warps_per_sm = 48;
  run(experiment_of({768}));
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.compute_capability, "99.0");
  EXPECT_DOUBLE_EQ(row.theoretical_pct.value(), 100) << "two blocks of 24 warps";
  EXPECT_EQ(row.device_profile, "generic (generic)");
  EXPECT_LE(row.predicted_pct.value(), 100);
  EXPECT_EQ(row.note, "");
}

TEST_F(RunCases, AGpuThatTheLimitsTableLacksIsExplainedByItsOwnLimits) {
  run(experiment_of({768}));
  const std::string known = read_rows(csv()).at(0).explanation;
  ASSERT_NE(known, "");
  device_ = unknown_device();
  run(experiment_of({768}));
  EXPECT_EQ(read_rows(csv()).at(0).explanation, known);
}

TEST_F(RunCases, WhyThereIsNoPredictionStandsBesideOtherNotes) {
  instruments_.status = CountersStatus::denied;
  instruments_.first_gpc = 1000;  // of a device that has 8
  run(experiment_of({768}));
  const Row row = read_rows(csv()).at(0);
  EXPECT_FALSE(row.predicted_pct);
  EXPECT_THAT(row.note, HasSubstr("because the test says so; no prediction: "));
  EXPECT_THAT(row.note, HasSubstr("1000"));
}

/// The command's runner and a bench binary, each as it is but for the GPU.
class ThroughThePipe : public ::testing::Test {
 protected:
  ThroughThePipe() {
    fs::create_symlink(OCC_BENCH_FAKE, folder_.path() / "bench_fake");
    options_.suite = "smoke";
    options_.benches = folder_.path();
    options_.resume = true;
  }

  TemporaryFolder folder_;
  fs::path out_ = folder_.path() / "rows.csv";
  RunOptions options_;
};

TEST_F(ThroughThePipe, CasesOfABenchBinaryAreShownAndInTheFileAndTheSecondRunHasNothingToDo) {
  options_.filter = "block_threads=(176|208|240)$";
  const std::vector<Bench> benches = planned_benches(options_);
  ASSERT_EQ(benches.size(), 1U);
  ASSERT_EQ(benches[0].cases.size(), 3U);
  EXPECT_EQ(benches[0].cases[0].launch->block_threads, 176);
  const auto run = [&] {
    std::ostringstream shown;
    Console console{shown, shown};
    EXPECT_EQ(measure_benches(options_, benches, out_, "", console), ExitStatus::done);
    EXPECT_EQ(read_rows(out_).size(), 3U) << read_text(out_.string() + ".log");
    return shown.str();
  };
  const std::string first = run();
  for (const char* line : {"1/3", "2/3", "3/3", "block_threads=240"}) EXPECT_THAT(first, HasSubstr(line));
  EXPECT_THAT(run(), ::testing::Not(HasSubstr("1/3")));
}

/// Launches of the fake kernel all take as long.
TEST_F(ThroughThePipe, ARaceHasARowOfEachCaseAndCountsTheFastest) {
  options_.flags = {"--occ_fastest"};
  const std::vector<Bench> benches = planned_benches(options_);
  std::ostringstream shown;
  Console console{shown, shown};
  EXPECT_EQ(measure_benches(options_, benches, out_, "", console), ExitStatus::done) << shown.str();
  const std::vector<Row> rows = read_rows(out_);
  EXPECT_EQ(rows.size(), 20U);
  EXPECT_EQ(std::ranges::count(rows, "ok", &Row::counters_status), 1);  // the fastest
  EXPECT_EQ(std::ranges::count(rows, 200.0, &Row::time_us), 20);
}

std::vector<Sample> trace_samples(const std::vector<WarpRecord>& records, int warps_per_block,
                                  std::string_view prefix = kWarpRecordPrefixes[0]) {
  CaseIdentity traced;
  traced.experiment = "placement";
  traced.name = "spin/plain/waves=1";
  SamplesOfCase samples(traced);
  add_warp_record_samples(samples, records, warps_per_block, 64, prefix);
  return samples.all();
}

WarpRecord warp(std::uint32_t sm, std::int64_t start, std::int64_t end) {
  return {.start_cycles = start, .end_cycles = end, .start_ns = 1000 + start, .end_ns = 1000 + end, .sm = sm};
}

std::vector<double> values_of(const std::vector<Sample>& samples, std::string_view quantity) {
  std::vector<double> values;
  for (const Sample& sample : samples) {
    if (sample.quantity != quantity) continue;
    EXPECT_EQ(sample.experiment, "placement");
    EXPECT_EQ(sample.case_name, "spin/plain/waves=1");
    EXPECT_EQ(sample.index, static_cast<std::int64_t>(values.size()));
    values.push_back(sample.value);
  }
  return values;
}

TEST(TraceSamples, EachBlockHasItsSmAndItsTimesFromTheFirstStart) {
  // Three blocks of one warp: two on SM 4, the second of them 25 after the first, and one on SM 9.
  const std::vector<WarpRecord> records = {warp(4, 100, 200), warp(9, 150, 500), warp(4, 225, 400)};
  const std::vector<Sample> samples = trace_samples(records, 1);
  EXPECT_THAT(values_of(samples, "trace_sm"), ElementsAre(4, 9, 4));
  EXPECT_THAT(values_of(samples, "trace_start_ns"), ElementsAre(0, 50, 125));
  EXPECT_THAT(values_of(samples, "trace_end_ns"), ElementsAre(100, 400, 300));
  EXPECT_THAT(values_of(samples, "trace_sm_cycles"), ElementsAre(100, 350, 175));
  EXPECT_THAT(values_of(samples, "trace_replacement_latency_cycles"), ElementsAre(25));
  EXPECT_THAT(values_of(samples, "trace_most_blocks"), ElementsAre(1, 1));
  EXPECT_THAT(values_of(samples, "trace_achieved_pct"), ElementsAre(100.0 / 64));
}

TEST(TraceSamples, ASecondLaunchOfTheCaseHasNamesOfItsOwn) {
  const std::vector<WarpRecord> records = {warp(4, 100, 200)};
  const std::vector<Sample> samples = trace_samples(records, 1, kWarpRecordPrefixes[1]);
  EXPECT_THAT(values_of(samples, "trace_again_sm"), ElementsAre(4));
  EXPECT_THAT(samples, Each(Field(&Sample::quantity, StartsWith("trace_again_"))));
}

TEST(TraceSamples, AFamilyThatKeepsNoTraceAddsNothing) {
  EXPECT_THAT(trace_samples({}, 8), IsEmpty());
}

// Cases that are made to lose updates.
/// Loses another share of its updates in each launch.
class Racing final : public Prepared {
 public:
  void launch(cudaStream_t) override {}
  Check check(cudaStream_t) override {
    return Check::lost_updates;
  }
  std::optional<double> lost_updates_pct(cudaStream_t) override {
    return lost_pct_ += 5;
  }
  Amount useful() const override {
    return {1, "updates"};
  }

 private:
  double lost_pct_ = 0;
};

TEST_F(RunCases, LostUpdatesThatACaseIsMadeToShowAreItsResultAndNoFailure) {
  static const Kernel races{"races", "loses updates", kVariants,
                            [](const Case&, const Variant&, const Device&) -> std::unique_ptr<Prepared> {
                              return std::make_unique<Racing>();
                            }};
  EXPECT_EQ(run(one_case(races)), ExitStatus::done);
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.check, "lost_updates");
  EXPECT_EQ(row.time_status, "ok");
  const std::vector<double> shares = samples_of("lost_updates_pct");
  ASSERT_GT(shares.size(), 8U);
  EXPECT_EQ(shares[1], 10);
  EXPECT_THAT(row.note,
              ::testing::HasSubstr(real_text((shares.front() + shares.back()) / 2) + " % of updates lost"));
}

TEST_F(RunCases, ACaseThatIsNotAboutLostUpdatesSaysNothingOfThem) {
  run(experiment_of({256}));
  EXPECT_THAT(read_rows(csv()).at(0).note, ::testing::Not(::testing::HasSubstr("updates lost")));
}

constexpr int kCases = 800;
constexpr int kWarmUp = 200;
constexpr int kGrids = 30;

std::vector<std::size_t> heap_at_case;

std::unique_ptr<Prepared> prepare(const Case& chosen, const Variant& variant, const Device& device) {
  heap_at_case.push_back(heap_bytes());
  return prepare_fake(chosen, variant, device);
}

/// Bytes by which the heap grows with each case from the 200th to the last.
double growth_by_a_case() {
  const std::size_t early = heap_at_case.at(kWarmUp);
  const std::size_t late = heap_at_case.at(kCases - 1);
  return (static_cast<double>(late) - static_cast<double>(early)) / (kCases - 1 - kWarmUp);
}

TEST_F(ManyCases, HaveTheirRowsAndGiveBackWhatTheyGatheredOnceTheyAreReported) {
  heap_at_case.reserve(kCases);
  const Kernel noting{"noting", "fake, and what memory is in use", kVariants, prepare};
  EXPECT_EQ(run(many_cases(noting, kCases, kGrids), {"--benchmark_min_time=0.0002"}), ExitStatus::done);
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(kCases));
  for (int i = 0; i < kCases; ++i) {
    const Row& row = rows[static_cast<std::size_t>(i)];
    ASSERT_EQ(row.parameters, "order=" + std::to_string(i));
    ASSERT_EQ(row.grid_blocks, 1 + i % kGrids) << i;
    ASSERT_EQ(row.achieved_pct, 51) << i;
  }
  ASSERT_EQ(heap_at_case.size(), static_cast<std::size_t>(kCases));
  RecordProperty("bytes_by_a_case", std::to_string(growth_by_a_case()));
  // Of a case that was reported neither its samples (some kilobytes) nor what Google Benchmark knew of it
  // stay.
  EXPECT_LT(growth_by_a_case(), 16);
}

}  // namespace
}  // namespace occbench
