#include <vector>

#include <gtest/gtest.h>

#include "fake_gpu.hpp"
#include "heap.hpp"

namespace occbench {
namespace {

constexpr int kCases = 2000;
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

using ManyCases = RunCases;

TEST_F(ManyCases, HaveTheirRowsAndGiveBackWhatTheyGatheredOnceTheyAreReported) {
  heap_at_case.reserve(kCases);
  const Kernel noting{"noting", "fake, and what memory is in use", kVariants, prepare};
  const Experiment experiment{
      "many", "memory does not grow", "tests/harness", [&](const Planner&) {
        std::vector<Case> cases;
        for (int i = 0; i < kCases; ++i) {
          cases.push_back({.kernel = &noting,
                           .variant = "plain",
                           .launch = {.block_threads = 64, .grid_blocks = 1 + i % kGrids},
                           .work = Work::equal(2000),
                           .suite = Suite::smoke,
                           .parameters = {{"order", std::to_string(i)}}});
        }
        return cases;
      }};
  EXPECT_EQ(run(experiment, {"--benchmark_min_time=0.0002"}), ExitStatus::done);
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
