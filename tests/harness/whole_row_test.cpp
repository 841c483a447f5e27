#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_gpu.hpp"
#include "predict/prediction.hpp"
#include "record/columns.hpp"
#include "record/counter_columns.hpp"

// Whole rows, column for column: what a case's measurements become.
namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
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

/// Of experiment_of({768}).
const Cells kCaseOf768Threads = {{"case", "fake/plain/block_threads=768"},
                                 {"kernel", "fake"},
                                 {"parameters", "block_threads=768"},
                                 {"work", "equal:1000"},
                                 {"work_source", "given"},
                                 {"block_threads", "768"},
                                 {"grid_blocks", "1056"},
                                 {"cluster_blocks", "1"},
                                 {"dynamic_shared_bytes", "0"},
                                 {"registers_per_thread", "20"},
                                 {"static_shared_bytes", "0"},
                                 {"local_bytes_per_thread", "0"},
                                 {"code_architecture", "sm_90"},
                                 {"blocks_per_sm", "2"},
                                 {"limiter", "warps"},
                                 {"waves", "4"},
                                 {"theoretical_pct", "75"}};

Cells prediction_of_768_threads(std::optional<int> first_gpc = std::nullopt) {
  const Prediction prediction =
      predict({.block_threads = 768, .grid_blocks = 1056}, {.registers_per_thread = 20}, limits_of({9, 0}),
              chosen(find_profile("h200")), Tasks(Work::equal(1000), 1056, 24), {.first_gpc = first_gpc});
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

/// Readings 50, 51 and 52 of each counter.
const Cells kCounters = {
    {"achieved_pct", "51"},         {"achieved_elapsed_pct", "0.0118"}, {"achieved_spread_points", "1"},
    {"sm_cycles_active_min", "51"}, {"sm_cycles_active_avg", "51"},     {"sm_cycles_active_max", "51"},
    {"sm_clock_mhz", "0.0001"},     {"issue_active_pct", "51"},         {"eligible_warps", "51"},
    {"resident_blocks", "51"},      {"local_sectors", "102"},           {"counters_status", "ok"}};

/// Likewise of those that the full suite reads.
const Cells kCountersOfTheFullSuite = {{"fp32_pipe_pct", "51"},
                                       {"xu_pipe_pct", "51"},
                                       {"hardware_limiter", "blocks+registers+shared_memory+barriers"},
                                       {"dram_bytes", "51"},
                                       {"dram_busy_pct", "51"},
                                       {"atomic_requests", "102"},
                                       {"barrier_stall_warps", "51"},
                                       {"memory_stall_warps", "102"}};
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

/// Where two parts have a cell, the later one's.
Cells together(std::initializer_list<Cells> parts) {
  Cells all;
  for (const Cells& part : parts) {
    for (const auto& [name, value] : part) all[name] = value;
  }
  return all;
}

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
  instruments_.first_gpcs = {3, 3};
  run(experiment_of({768}), {"--occ_suite=full"});
  EXPECT_EQ(cells(), together({kProvenance, kCaseOf768Threads, prediction_of_768_threads(3), kCounters,
                               kCountersOfTheFullSuite, kExplanation, kTimes, kCondition}));
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
  Cells expected = kCaseOf768Threads;
  const Cells of_this_case = {{"case", "fake/plain/block_threads=96"},
                              {"parameters", "block_threads=96"},
                              {"block_threads", "96"},
                              {"blocks_per_sm", "21"},
                              {"waves", "0.381"},
                              {"theoretical_pct", "98.4375"},
                              {"time_status", "failed"}};
  for (const auto& [name, value] : of_this_case) expected[name] = value;
  EXPECT_EQ(found, together({kProvenance, expected}));
  EXPECT_TRUE(row.predicted_pct);
}

TEST_F(WholeRow, OfACaseThatNoSmCanHold) {
  run(one_case(kFake, [](Case& chosen) { chosen.launch.dynamic_shared_bytes = 1'000'000; }));
  Cells found = cells();
  EXPECT_THAT(found["note"], ::testing::HasSubstr("shared memory"));
  found.erase("note");
  EXPECT_EQ(found, together({kProvenance,
                             {{"case", "fake/plain"},
                              {"kernel", "fake"},
                              {"work", "equal:1000"},
                              {"work_source", "given"},
                              {"block_threads", "32"},
                              {"grid_blocks", "1"},
                              {"cluster_blocks", "1"},
                              {"dynamic_shared_bytes", "1000000"},
                              {"registers_per_thread", "20"},
                              {"static_shared_bytes", "0"},
                              {"local_bytes_per_thread", "0"},
                              {"code_architecture", "sm_90"},
                              {"blocks_per_sm", "0"},
                              {"limiter", "shared_memory"},
                              {"theoretical_pct", "0"},
                              {"time_status", "skipped"}}}));
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
                      {{"case", "copies/plain"},
                       {"kernel", "copies"},
                       {"work", "equal:1000"},
                       {"work_source", "given"},
                       {"note", "the runtime launches it: kernel, launch and theory are not known"}}}));
}

TEST_F(WholeRow, OfACaseWhoseTraceStandsInForTheCounter) {
  static const Kernel traceable{"traceable", "its trace agrees", kVariants, prepare_fake, true};
  instruments_.status = CountersStatus::busy;
  instruments_.event_reasons = {0, 0x4};
  run(one_case(traceable,
               [](Case& chosen) {
                 chosen.work.reset();
                 chosen.trace = true;
               }),
      {"--benchmark_min_time=0.0001", "--occ_metrics=sm__inst_executed.sum"});
  EXPECT_EQ(cells(),
            together({kProvenance,
                      kTimes,
                      kCondition,
                      {{"case", "traceable/plain"},
                       {"kernel", "traceable"},
                       {"block_threads", "32"},
                       {"grid_blocks", "1"},
                       {"cluster_blocks", "1"},
                       {"dynamic_shared_bytes", "0"},
                       {"registers_per_thread", "20"},
                       {"static_shared_bytes", "0"},
                       {"local_bytes_per_thread", "0"},
                       {"code_architecture", "sm_90"},
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
                        "no work string says what its blocks do: nothing is predicted; "
                        "timed twice: throttled at first; because the test says so; "
                        "achieved_pct is that of traced launches, which can place the blocks of a partial "
                        "last wave otherwise"}}}));
  std::map<std::string, int> expected = {
      {"time_us", 10}, {"time_us_discarded", 10}, {"achieved_pct_by_trace", 4}};
  for (const char* trace : {"trace_", "trace_again_"}) {
    for (const char* quantity :
         {"achieved_pct", "out_of_order", "sm", "start_ns", "end_ns", "sm_cycles", "most_blocks"}) {
      expected[std::string(trace) + quantity] = 1;
    }
  }
  EXPECT_EQ(samples(), expected);
}

}  // namespace
}  // namespace occbench
