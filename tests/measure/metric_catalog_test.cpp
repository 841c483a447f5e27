#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/counters.hpp"
#include "measure/cupti.hpp"

namespace occbench {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;

TEST(MetricCatalog, KnowsWhichNamesAreMetricsOfAChip) {
  const MetricCatalog catalog("GH100");
  EXPECT_TRUE(catalog.has("sm__warps_active.avg.per_cycle_active"));
  EXPECT_TRUE(catalog.has("dram__throughput.avg.pct_of_peak_sustained_elapsed"));
  EXPECT_FALSE(catalog.has("sm__warps_active"));
  EXPECT_FALSE(catalog.has("sm__warps_active.avg.per_cycle_activ"));
  EXPECT_FALSE(catalog.has(""));
  // A name that was no metric must not spoil the next.
  EXPECT_TRUE(catalog.has("sm__warps_active.sum"));
}

TEST(MetricCatalog, FindsTheRightNameForASlipOfEitherPart) {
  const MetricCatalog catalog("GH100");
  EXPECT_THAT(catalog.nearest("sm__warp_active.sum", 3), Contains("sm__warps_active.sum"));
  EXPECT_THAT(catalog.nearest("sm__warps_active.avg.per_cycle_activ", 3),
              Contains("sm__warps_active.avg.per_cycle_active"));
  for (const std::string& name : catalog.nearest("utter nonsense", 5)) EXPECT_TRUE(catalog.has(name)) << name;
  EXPECT_THAT(catalog.nearest("utter nonsense", 5), SizeIs(5));
}

TEST(MetricCatalog, SaysHowManyPassesAListNeeds) {
  const MetricCatalog catalog("GH100");
  EXPECT_EQ(catalog.passes({"sm__warps_active.sum", "sm__cycles_active.max"}), 1U);
  EXPECT_GT(catalog.passes({"l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct"}), 1U);
}

TEST(MetricCatalog, AChipThatCuptiDoesNotKnowHasNone) {
  EXPECT_THROW(MetricCatalog("NOCHIP"), CountersUnavailable);
}

}  // namespace
}  // namespace occbench
