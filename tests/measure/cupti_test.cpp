#include "measure/cupti.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/cupti_library.hpp"
#include "measure/pm_sampling.hpp"

// CUPTI itself, as far as it needs no GPU: what it knows of every chip.
namespace occbench {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

std::vector<std::string> chips_from_turing_on() {
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params);
  EXPECT_EQ(cuptiProfilerHostGetSupportedChips(&params), CUPTI_SUCCESS);
  std::vector<std::string> chips(params.ppChipNames, params.ppChipNames + params.numChips);
  std::erase_if(chips, [](const std::string& chip) { return chip.starts_with("GV"); });
  return chips;
}

TEST(CuptiOfThisToolkit, OccupancyOverTimeFitsOnePassOnEveryChip) {
  const Cupti cupti({});
  const std::vector<std::string> chips = chips_from_turing_on();
  EXPECT_GT(chips.size(), 20U);
  for (const std::string& chip : chips) {
    MetricHost host(cupti, Profiler::pm_sampling, chip, {});
    EXPECT_EQ(host.try_add(kActivityMetrics), CUPTI_SUCCESS) << chip;
    std::vector<std::uint8_t> config = host.config_image();
    EXPECT_EQ(passes_of(cupti, config), 1U) << chip;
  }
}

TEST(CuptiOfThisToolkit, KnowsEveryMetricAndWhatMayFollowIt) {
  const Cupti cupti({});
  const MetricHost host(cupti, Profiler::range, "GH100", {});
  EXPECT_THAT(host.base_metrics(), Contains("sm__warps_active"));
  EXPECT_THAT(host.base_metrics(), Contains("dram__throughput"));
  EXPECT_THAT(host.sub_metrics("sm__warps_active"), Contains(".avg.pct_of_peak_sustained_active"));
  EXPECT_THAT(host.sub_metrics("dram__throughput"), Contains(".avg.pct_of_peak_sustained_elapsed"));
  EXPECT_THAT(host.sub_metrics("no_such_metric"), IsEmpty());
}

TEST(CuptiOfThisToolkit, AChipThatItDoesNotKnowIsRefused) {
  const Cupti cupti({});
  EXPECT_THROW(MetricHost(cupti, Profiler::range, "NOCHIP", {}), CountersUnavailable);
}

}  // namespace
}  // namespace occbench
