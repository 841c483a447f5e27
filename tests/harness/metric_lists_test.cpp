#include <cupti_profiler_host.h>
#include <cupti_result.h>
#include <gtest/gtest.h>

#include "harness/counter_columns.hpp"
#include "measure/cupti.hpp"
#include "measure/metric_catalog.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

std::vector<std::string> chips() {
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params);
  EXPECT_EQ(cuptiProfilerHostGetSupportedChips(&params), CUPTI_SUCCESS);
  return {params.ppChipNames, params.ppChipNames + params.numChips};
}

const std::vector<std::string_view> kEveryPipe = [] {
  std::vector<std::string_view> names;
  for (const Column& column : columns()) {
    if (column.name.ends_with("_pipe_pct")) names.push_back(column.name);
  }
  return names;
}();

/// More passes would mean that a reading of one column and of the next are of different launches.
TEST(TheSuitesMetrics, FitOnePassOnEveryChipFromTuringOnThatCuptiKnows) {
  Row with_local_memory;
  Row without;
  without.local_bytes_per_thread = 0;
  int compared = 0;
  for (const std::string& chip : chips()) {
    if (chip.starts_with("GV")) continue;
    const MetricCatalog catalog(chip);
    for (const Row& row : {with_local_memory, without}) {
      const std::vector<std::string> metrics = metrics_for(row);
      for (const std::string& metric : metrics) EXPECT_TRUE(catalog.has(metric)) << chip << ": " << metric;
      EXPECT_EQ(catalog.passes(metrics), 1U) << chip;
      ++compared;
    }
    EXPECT_EQ(catalog.passes(metrics_of(kEveryPipe)), 1U) << chip;
  }
  EXPECT_GT(compared, 40);
}

}  // namespace
}  // namespace occbench
