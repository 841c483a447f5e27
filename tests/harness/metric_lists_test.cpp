#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/counters.hpp"
#include "measure/cupti.hpp"
#include "measure/cupti_library.hpp"
#include "record/columns.hpp"
#include "record/counter_columns.hpp"

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
    if (!column.counter || column.counter->read != when) continue;
    for (const std::string_view metric : split(column.counter->metric, '+')) metrics.emplace_back(metric);
  }
  return metrics;
}

TEST(TheSuitesMetrics, AreThoseThatTheirColumnsSayAreRead) {
  std::vector<std::string> before;
  for (const CounterRead when : {CounterRead::always, CounterRead::every_case, CounterRead::full_suite}) {
    const std::vector<std::string> read = counters_read(when);
    const std::vector<std::string> of_columns = metrics_read(when);
    ASSERT_FALSE(of_columns.empty());
    EXPECT_THAT(read, IsSupersetOf(before));
    EXPECT_THAT(read, IsSupersetOf(of_columns));
    for (const std::string& metric : of_columns) EXPECT_THAT(before, Not(Contains(metric)));
    before = read;
  }
}

/// More passes would mean that a reading of one column and of the next are of different launches. In the full
/// suite, which takes two to four, each pass makes the launches once more.
TEST(TheSuitesMetrics, FitOnePassOnEveryChipFromTuringOnThatCuptiKnows) {
  int compared = 0;
  for (const std::string& chip : chips()) {
    if (chip.starts_with("GV")) continue;
    const MetricCatalog catalog(chip);
    const std::vector<std::string> of_each = counters_read(CounterRead::every_case);
    for (const std::string& metric : of_each) EXPECT_TRUE(catalog.has(metric)) << chip << ": " << metric;
    EXPECT_EQ(catalog.passes(of_each), 1U) << chip;
    // An integrated GPU has no memory of its own that could be counted.
    std::vector<std::string> full;
    for (const std::string& metric : counters_read(CounterRead::full_suite)) {
      if (catalog.has(metric)) full.push_back(metric);
      EXPECT_TRUE(catalog.has(metric) || metric.starts_with("dram__")) << chip << ": " << metric;
    }
    EXPECT_LE(catalog.passes(full), chip.starts_with("GB2") ? 4U : 3U) << chip;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace occbench
