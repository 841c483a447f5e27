#include "measure/nvml.hpp"

#include <gtest/gtest.h>

namespace occbench {
namespace {

TEST(ClocksEventReasons, HaveTheNamesThatNvmlGivesThem) {
  EXPECT_EQ(clocks_event_reasons_text(0), "none");
  EXPECT_EQ(clocks_event_reasons_text(0x4), "sw_power_cap");
  EXPECT_EQ(clocks_event_reasons_text(0x48), "hw_slowdown+hw_thermal_slowdown");
}

TEST(ClocksEventReasons, HeatAndPowerAreAThrottleIdlenessAndChosenClocksAreNot) {
  for (const std::uint64_t throttle : {0x4, 0x8, 0x10, 0x20, 0x40, 0x80}) EXPECT_TRUE(is_throttled(throttle));
  for (const std::uint64_t other : {0x0, 0x1, 0x2, 0x100, 0x103}) EXPECT_FALSE(is_throttled(other));
}

TEST(GpuMonitor, WithoutNvmlOrSuchAGpuNothingIsKnownAndNothingFails) {
  const GpuMonitor monitor("GPU-00000000-0000-0000-0000-000000000000");
  const GpuCondition condition = monitor.condition();
  EXPECT_FALSE(condition.clocks_event_reasons);
  EXPECT_FALSE(condition.temperature_c);
  EXPECT_FALSE(condition.other_processes);
  EXPECT_EQ(monitor.settings(), "");
}

}  // namespace
}  // namespace occbench
