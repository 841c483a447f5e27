#include <cupti_profiler_host.h>
#include <cupti_result.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/counter_columns.hpp"
#include "measure/cupti.hpp"
#include "measure/metric_catalog.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::vector<std::string> chips() {
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params);
  EXPECT_EQ(cuptiProfilerHostGetSupportedChips(&params), CUPTI_SUCCESS);
  return {params.ppChipNames, params.ppChipNames + params.numChips};
}

std::vector<std::string> metrics_read(CounterRead when) {
  std::vector<std::string> metrics;
  for (const Column& column : columns()) {
    if (column.counter && column.counter->read == when) metrics.emplace_back(column.counter->metric);
  }
  return metrics;
}

std::vector<std::string_view> columns_on_request() {
  std::vector<std::string_view> names;
  for (const Column& column : columns()) {
    if (column.counter && column.counter->read == CounterRead::on_request) names.push_back(column.name);
  }
  return names;
}

std::optional<Compiled> with_local_bytes(std::int64_t bytes) {
  return Compiled{.usage = {.registers_per_thread = 32, .local_bytes_per_thread = bytes},
                  .code_architecture = "sm_90"};
}

TEST(TheSuitesMetrics, AreThoseThatTheirColumnsSayAreReadOfSuchAKernel) {
  const std::vector<std::string> always = metrics_read(CounterRead::always);
  const std::vector<std::string> local = metrics_read(CounterRead::local_memory);
  ASSERT_FALSE(always.empty() || local.empty());
  const std::vector<std::string> without = metrics_for(with_local_bytes(0));
  EXPECT_THAT(without, IsSupersetOf(always));
  for (const std::string& metric : local) EXPECT_THAT(without, Not(Contains(metric)));
  for (const std::optional<Compiled>& compiled : {with_local_bytes(8), std::optional<Compiled>()}) {
    EXPECT_THAT(metrics_for(compiled), IsSupersetOf(always));
    EXPECT_THAT(metrics_for(compiled), IsSupersetOf(local));
  }
  const std::vector<std::string> full = metrics_of_full_suite();
  EXPECT_THAT(full, IsSupersetOf(metrics_for(std::nullopt)));
  for (const std::string& metric : metrics_read(CounterRead::full_suite)) {
    EXPECT_THAT(full, Contains(metric));
    EXPECT_THAT(metrics_for(std::nullopt), Not(Contains(metric)));
  }
  for (const std::string& metric : metrics_read(CounterRead::on_request)) {
    EXPECT_THAT(full, Not(Contains(metric)));
    EXPECT_THAT(metrics_for(std::nullopt), Not(Contains(metric)));
  }
}

/// More passes would mean that a reading of one column and of the next are of different launches.
TEST(TheSuitesMetrics, FitOnePassOnEveryChipFromTuringOnThatCuptiKnows) {
  int compared = 0;
  for (const std::string& chip : chips()) {
    if (chip.starts_with("GV")) continue;
    const MetricCatalog catalog(chip);
    for (const std::int64_t local_bytes : {0, 8}) {
      const std::vector<std::string> metrics = metrics_for(with_local_bytes(local_bytes));
      for (const std::string& metric : metrics) EXPECT_TRUE(catalog.has(metric)) << chip << ": " << metric;
      EXPECT_EQ(catalog.passes(metrics), 1U) << chip;
      ++compared;
    }
    EXPECT_EQ(catalog.passes(metrics_of(columns_on_request())), 1U) << chip;
    // An integrated GPU has no memory of its own that could be counted.
    std::vector<std::string> full;
    for (const std::string& metric : metrics_of_full_suite()) {
      if (catalog.has(metric)) full.push_back(metric);
      EXPECT_TRUE(catalog.has(metric) || metric.starts_with("dram__")) << chip << ": " << metric;
    }
    EXPECT_LE(catalog.passes(full), 3U) << chip;
  }
  EXPECT_GT(compared, 40);
}

}  // namespace
}  // namespace occbench
