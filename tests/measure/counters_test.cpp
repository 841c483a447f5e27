#include "measure/counters.hpp"

#include <cmath>
#include <stdexcept>

#include <cupti_profiler_host.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_cupti.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

constexpr int kReadings = 8;
const std::vector<std::string> kMetrics = {"sm__warps_active.avg.pct_of_peak_sustained_active",
                                           "sm__cycles_active.max"};

TEST(Counters, AllReadingsOfACaseShareOneStartAndOneStop) {
  FakeCupti cupti;
  Counters counters(Device{}, kReadings, cupti.interceptor());
  int launches = 0;
  counters.read(kMetrics, [&] { ++launches; });
  EXPECT_EQ(launches, kReadings);
  EXPECT_EQ(cupti.count("cuptiRangeProfilerStart"), 1U);
  EXPECT_EQ(cupti.count("cuptiRangeProfilerStop"), 1U);
  EXPECT_EQ(cupti.count("cuptiRangeProfilerPushRange"), static_cast<std::size_t>(kReadings));
}

TEST(Counters, WhatGoesBeforeALaunchIsOutsideItsRange) {
  FakeCupti cupti;
  Counters counters(Device{}, kReadings, cupti.interceptor());
  int before = 0;
  counters.read(
      kMetrics, [&] { EXPECT_EQ(cupti.calls.back(), "cuptiRangeProfilerPushRange"); },
      [&] {
        ++before;
        EXPECT_NE(cupti.calls.back(), "cuptiRangeProfilerPushRange");
      });
  EXPECT_EQ(before, kReadings);
}

TEST(Counters, AReadingThatIsNoNumberKeepsItsPlace) {
  FakeCupti cupti;
  int range = 0;
  cupti.fill = [&](std::string_view call, void* parameters) {
    if (call != "cuptiProfilerHostEvaluateToGpuValues") return;
    auto& values = *static_cast<CUpti_Profiler_Host_EvaluateToGpuValues_Params*>(parameters);
    values.pMetricValues[0] = range == 1 ? std::nan("") : range;
    values.pMetricValues[1] = 10 * range++;
  };
  Counters counters(Device{}, 3, cupti.interceptor());
  const CounterReadings readings = counters.read(kMetrics, [] {});
  EXPECT_THAT(readings.at(kMetrics[0]), ElementsAre(0, IsNan(), 2));
  EXPECT_THAT(readings.at(kMetrics[1]), ElementsAre(0, 10, 20));
}

TEST(Counters, AListOfMetricsIsConfiguredOnceForAllCases) {
  FakeCupti cupti;
  Counters counters(Device{}, kReadings, cupti.interceptor());
  for (int i = 0; i < 3; ++i) counters.read(kMetrics, [] {});
  EXPECT_EQ(cupti.count("cuptiProfilerHostGetConfigImage"), 1U);
  EXPECT_EQ(cupti.count("cuptiRangeProfilerStart"), 3U);
}

TEST(Counters, AListThatComesAfterAnotherFindsTheProfilerEnabledAnew) {
  // CUPTI's profiler keeps its first configuration until it is disabled: other metrics would read as no
  // number.
  FakeCupti cupti;
  Counters counters(Device{}, kReadings, cupti.interceptor());
  const std::vector<std::string> others = {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"};
  for (const auto& metrics : {kMetrics, kMetrics, others, kMetrics}) counters.read(metrics, [] {});
  EXPECT_EQ(cupti.count("cuptiRangeProfilerEnable"), 3U);
  EXPECT_EQ(cupti.count("cuptiRangeProfilerDisable"), 2U);
}

TEST(Counters, WhateverCuptiCallFailsTheReasonIsToldAndNothingElseBreaks) {
  FakeCupti whole;
  {
    Counters counters(Device{}, kReadings, whole.interceptor());
    counters.read(kMetrics, [] {});
  }
  for (int failing = 0; failing < static_cast<int>(whole.calls.size()); ++failing) {
    const std::string& name = whole.calls[static_cast<std::size_t>(failing)];
    FakeCupti cupti{.failing_call = failing, .result = CUPTI_ERROR_UNKNOWN};
    try {
      Counters counters(Device{}, kReadings, cupti.interceptor());
      counters.read(kMetrics, [] {});
      // Only what is called from destructors may fail unheard, and the trial that finds out which metrics
      // there are.
      EXPECT_TRUE(is_cleaning_up(name) || name.ends_with("ConfigAddMetrics")) << name << " failed unheard";
    } catch (const CountersUnavailable& unavailable) {
      EXPECT_EQ(unavailable.status(), CountersStatus::failed) << name;
      EXPECT_THAT(unavailable.what(), HasSubstr(name));
    }
  }
}

TEST(Counters, SayWhetherTheyAreDeniedBusyOrUnsupported) {
  const std::pair<CUptiResult, CountersStatus> expected[] = {
      {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, CountersStatus::denied},
      {CUPTI_ERROR_HARDWARE_BUSY, CountersStatus::busy},
      {CUPTI_ERROR_NOT_SUPPORTED, CountersStatus::unsupported},
      {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, CountersStatus::unsupported},
      {CUPTI_ERROR_NOT_INITIALIZED, CountersStatus::failed},
  };
  for (const auto& [result, status] : expected) {
    FakeCupti cupti{.failing_call = 0, .result = result};
    try {
      Counters counters(Device{}, kReadings, cupti.interceptor());
      FAIL() << "no exception for result " << result;
    } catch (const CountersUnavailable& unavailable) {
      EXPECT_EQ(unavailable.status(), status) << result;
    }
  }
}

TEST(Counters, DeniedCountersNameTheRemedy) {
  FakeCupti cupti{.failing_call = 0, .result = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES};
  try {
    Counters counters(Device{}, kReadings, cupti.interceptor());
    FAIL();
  } catch (const CountersUnavailable& unavailable) {
    EXPECT_THAT(unavailable.what(), HasSubstr("CAP_SYS_ADMIN"));
    EXPECT_THAT(unavailable.what(), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  }
}

TEST(Counters, AKernelThatFailsLeavesTheProfilerStoppedAndUsable) {
  FakeCupti cupti;
  Counters counters(Device{}, kReadings, cupti.interceptor());
  EXPECT_THROW(counters.read(kMetrics, [] { throw std::runtime_error("the kernel failed"); }),
               std::runtime_error);
  EXPECT_EQ(cupti.count("cuptiRangeProfilerStop"), 1U);
  EXPECT_NO_THROW(counters.read(kMetrics, [] {}));
}

}  // namespace
}  // namespace occbench
