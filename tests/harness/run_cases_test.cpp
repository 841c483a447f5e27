#include "harness/run_cases.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <benchmark/benchmark.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gpu/error.hpp"
#include "occupancy/input_error.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr double kMicroseconds = 200;

/// A device that measures what it is told to, and counts how often it is asked.
class FakeInstruments final : public Instruments {
 public:
  int timed = 0;
  int counted = 0;
  int launches = 0;
  int traced = 0;
  std::vector<std::string> counted_metrics;
  CountersStatus status = CountersStatus::ok;
  bool lost = false;

  Compiled inspect(const Variant&) override {
    return {.usage = {.registers_per_thread = 20}, .code_architecture = "sm_90"};
  }
  cudaStream_t stream() override {
    return nullptr;
  }
  void synchronize() override {}
  double microseconds(const std::function<void(cudaStream_t)>& queue) override {
    ++timed;
    queue(nullptr);
    return kMicroseconds;
  }
  CounterReadings count(const std::vector<std::string>& metrics,
                        const std::function<void()>& launch) override {
    ++counted;
    counted_metrics = metrics;
    if (status != CountersStatus::ok) throw CountersUnavailable(status, "because the test says so");
    launch();
    CounterReadings readings;
    for (const std::string& metric : metrics) readings[metric] = {50, 51, 52};
    return readings;
  }
  bool context_is_lost() override {
    return lost;
  }
};

FakeInstruments* instruments_in_use = nullptr;

/// What the fake kernel's case with this many threads does.
constexpr int kFailing = 96;
constexpr int kFatal = 128;
constexpr int kUnsupported = 160;

class FakePrepared final : public Prepared {
 public:
  explicit FakePrepared(int block_threads) : block_threads_(block_threads) {}

  void launch(cudaStream_t) override {
    ++instruments_in_use->launches;
    if (block_threads_ == kFailing)
      throw CudaError(cudaErrorLaunchFailure, "launch", std::source_location::current());
    if (block_threads_ == kFatal) {
      instruments_in_use->lost = true;
      throw CudaError(cudaErrorIllegalAddress, "launch", std::source_location::current());
    }
  }
  Check check(cudaStream_t) override {
    if (block_threads_ == kUnsupported) throw CannotRun("this device has no such thing");
    return Check::ok;
  }
  std::vector<WarpRecord> trace(cudaStream_t) override {
    EXPECT_GT(instruments_in_use->counted, 0);  // a traced launch is neither timed nor counted
    ++instruments_in_use->traced;
    return {WarpRecord{.start_cycles = 0, .end_cycles = 100, .start_ns = 0, .end_ns = 64, .sm = 7}};
  }
  Amount useful() const override {
    return {1e6, "items"};
  }

 private:
  int block_threads_;
};

/// A function that nobody calls.
const char kFunction = 0;
const Variant kVariants[] = {{"plain", &kFunction}};

std::unique_ptr<Prepared> prepare_fake(const Case& chosen, const Variant&, const Device&) {
  return std::make_unique<FakePrepared>(chosen.launch.block_threads);
}

const Kernel kFake{"fake", "does what the test says", kVariants, prepare_fake};

Experiment experiment_of(std::vector<int> block_sizes) {
  return {"fake_experiment", "a claim", "a source", [block_sizes](const Planner&) {
            std::vector<Case> cases;
            for (const int block_threads : block_sizes) {
              cases.push_back({.kernel = &kFake,
                               .variant = "plain",
                               .launch = {.block_threads = block_threads, .grid_blocks = 1056},
                               .work = Work::equal(1000),
                               .suite = Suite::smoke,
                               .parameters = {{"block_threads", std::to_string(block_threads)}}});
            }
            return cases;
          }};
}

Device fake_device() {
  Device device;
  device.name = "Fake GPU";
  device.compute_capability = {9, 0};
  device.sm_count = 132;
  device.limits = limits_of({9, 0});
  return device;
}

class RunCases : public ::testing::Test {
 protected:
  RunCases() {
    std::string pattern = (fs::temp_directory_path() / "occbench-test-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    instruments_in_use = &instruments_;
  }
  ~RunCases() override {
    fs::remove_all(folder_);
    benchmark::ClearRegisteredBenchmarks();
  }

  fs::path csv() const {
    return folder_ / "rows.csv";
  }

  ExitStatus run(const Experiment& experiment, std::vector<std::string> arguments = {}) {
    benchmark::ClearRegisteredBenchmarks();
    arguments.push_back("--occ_csv=" + csv().string());
    const Options options = parse_options(arguments);
    std::vector<std::string> theirs = options.google_benchmark;
    // Google Benchmark keeps its flags from one run of a process to the next.
    theirs.insert(theirs.begin(),
                  {"test", "--benchmark_filter=", "--benchmark_repetitions=1", "--benchmark_out="});
    std::vector<char*> pointers;
    for (std::string& argument : theirs) pointers.push_back(argument.data());
    int count = static_cast<int>(pointers.size());
    benchmark::Initialize(&count, pointers.data());
    Session session(fake_device(), options, instruments_);
    return run_cases(session, experiment);
  }

  FakeInstruments instruments_;
  fs::path folder_;
};

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

TEST_F(RunCases, CountersOfPipesAreReadWhereACaseAsksForThem) {
  const std::string metric(find_column("xu_pipe_pct")->metric);
  run(experiment_of({256}));
  EXPECT_THAT(instruments_.counted_metrics, ::testing::Not(::testing::Contains(metric)));
  run({"fake_experiment", "a claim", "a source", [](const Planner&) {
         return std::vector<Case>{{.kernel = &kFake,
                                   .variant = "plain",
                                   .launch = {.block_threads = 32, .grid_blocks = 1},
                                   .suite = Suite::smoke,
                                   .counters = {"xu_pipe_pct"}}};
       }});
  EXPECT_THAT(instruments_.counted_metrics, ::testing::Contains(metric));
  EXPECT_EQ(read_rows(csv()).front().xu_pipe_pct, 51.0);
}

TEST_F(RunCases, WhatTheRuntimeLaunchesItselfHasARowWithoutTheory) {
  static const Variant unknown[] = {{"copy", nullptr}};
  static const Kernel copies{"copies", "launched by the runtime", unknown, prepare_fake};
  run({"fake_experiment", "a claim", "a source", [](const Planner&) {
         return std::vector<Case>{{.kernel = &copies, .variant = "copy", .suite = Suite::smoke}};
       }});
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.time_status, "ok");
  EXPECT_EQ(row.achieved_pct, 51.0);
  EXPECT_FALSE(row.theoretical_pct || row.block_threads || row.registers_per_thread || row.predicted_pct);
}

TEST_F(RunCases, ACaseIsTracedTwiceAndOnlyWhereItsPlacementIsOfInterest) {
  run({"fake_experiment", "a claim", "a source", [](const Planner&) {
         Case chosen{.kernel = &kFake, .variant = "plain", .launch = {.block_threads = 32, .grid_blocks = 1}};
         chosen.suite = Suite::smoke;
         Case traced = chosen;
         traced.parameters = {{"traced", "yes"}};
         traced.trace = true;
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
  EXPECT_THAT(read_rows(csv()).at(1).note, HasSubstr("nothing is predicted"));
}

TEST_F(RunCases, ARowPutsTheoryAndCounterSideBySide) {
  run(experiment_of({768}));
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.experiment, "fake_experiment");
  EXPECT_EQ(row.case_, "fake/plain/block_threads=768");
  EXPECT_DOUBLE_EQ(row.theoretical_pct.value(), 75);
  EXPECT_DOUBLE_EQ(row.achieved_pct.value(), 51);
  EXPECT_DOUBLE_EQ(row.achieved_spread_points.value(), 1);
  EXPECT_EQ(row.achieved_source, "counter");
  EXPECT_EQ(row.device_profile, "h200");
  EXPECT_LE(row.predicted_pct.value(), 75);
  EXPECT_EQ(row.counters_status, "ok");
  // 51 warps active in sum over 132 SMs of 64 warps for 51 cycles.
  EXPECT_NEAR(row.achieved_elapsed_pct.value(), 100.0 / (132 * 64), 1e-4);
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

TEST_F(RunCases, TimeAndTheorySurviveDeniedCounters) {
  instruments_.status = CountersStatus::denied;
  EXPECT_EQ(run(experiment_of({64, 256})), ExitStatus::done);
  for (const Row& row : read_rows(csv())) {
    EXPECT_EQ(row.time_status, "ok");
    EXPECT_EQ(row.counters_status, "denied");
    EXPECT_TRUE(row.theoretical_pct);
    EXPECT_FALSE(row.achieved_pct);
    EXPECT_THAT(row.note, HasSubstr("because the test says so"));
  }
  EXPECT_EQ(instruments_.counted, 1) << "a missing permission is not asked for again";
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

TEST_F(RunCases, AConfigurationThatCannotLaunchIsSkippedAndSaysWhy) {
  Experiment experiment = experiment_of({1024});
  experiment.cases = [inner = experiment.cases](const Planner& on) {
    std::vector<Case> cases = inner(on);
    cases[0].launch.dynamic_shared_bytes = 1'000'000;
    return cases;
  };
  EXPECT_EQ(run(experiment), ExitStatus::done);
  const Row row = read_rows(csv()).at(0);
  EXPECT_EQ(row.time_status, "skipped");
  EXPECT_THAT(row.note, HasSubstr("shared memory"));
  EXPECT_EQ(instruments_.launches, 0);
}

TEST_F(RunCases, AFilterThatMatchesNothingIsWrongUseAndLeavesTheFileAlone) {
  run(experiment_of({64}));
  EXPECT_THROW(run(experiment_of({64}), {"--benchmark_filter=nothing_like_it"}), InputError);
  EXPECT_EQ(read_rows(csv()).size(), 1U);
}

}  // namespace
}  // namespace occbench
