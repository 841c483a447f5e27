#include "measure/pm_sampling.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_cupti.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kExpectedUs = 100;

/// PM sampling that delivers samples of 1 us.
struct FakeSampling {
  std::size_t samples = 3;
  CUpti_PmSampling_DecodeStopReason stop_reason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
  bool overflow = false;
  std::size_t without_value = std::numeric_limits<std::size_t>::max();  ///< number of a sample
  FakeCupti cupti = {.fill = [this](std::string_view call, void* parameters) { fill(call, parameters); }};

  void fill(std::string_view call, void* parameters) const {
    if (call == "cuptiPmSamplingDecodeData") {
      auto& decode = *static_cast<CUpti_PmSampling_DecodeData_Params*>(parameters);
      decode.decodeStopReason = stop_reason;
      decode.overflow = overflow ? 1 : 0;
    } else if (call == "cuptiPmSamplingGetCounterDataInfo") {
      static_cast<CUpti_PmSampling_GetCounterDataInfo_Params*>(parameters)->numCompletedSamples = samples;
    } else if (call == "cuptiPmSamplingCounterDataGetSampleInfo") {
      auto& when = *static_cast<CUpti_PmSampling_CounterData_GetSampleInfo_Params*>(parameters);
      when.startTimestamp = 1000 * when.sampleIndex;
      when.endTimestamp = when.startTimestamp + 1000;
    } else if (call == "cuptiProfilerHostEvaluateToGpuValues") {
      auto& values = *static_cast<CUpti_Profiler_Host_EvaluateToGpuValues_Params*>(parameters);
      for (std::size_t i = 0; i < values.numMetrics; ++i) {
        values.pMetricValues[i] = values.rangeIndex == without_value ? std::nan("") : static_cast<double>(i);
      }
    }
  }

  ActivitySamples run(const std::function<void()>& launch = [] {}) {
    return PmSampling(Device{}, cupti.interceptor()).sample(kExpectedUs, launch);
  }
};

TEST(PmSampling, OneLaunchIsSampledBetweenStartAndStop) {
  FakeSampling fake;
  int launches = 0;
  const ActivitySamples result = fake.run([&] {
    ++launches;
    EXPECT_EQ(fake.cupti.calls.back(), "cuptiPmSamplingStart");
  });
  EXPECT_EQ(launches, 1);
  ASSERT_EQ(result.samples.size(), 3U);
  EXPECT_EQ(result.samples[1].start_ns, 1000U);
  EXPECT_EQ(result.samples[1].end_ns, 2000U);
  EXPECT_EQ(result.samples[1].warp_cycles, 0);
  EXPECT_EQ(result.samples[1].active_cycles, 1);
  EXPECT_EQ(result.samples[1].elapsed_cycles, 2);
  EXPECT_THAT(result.losses, IsEmpty());
}

TEST(PmSampling, AFullImageIsToldAndItsSamplesAreKept) {
  FakeSampling fake{.samples = 5, .stop_reason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL};
  const ActivitySamples result = fake.run();
  EXPECT_EQ(result.samples.size(), 5U);
  EXPECT_THAT(result.losses, ElementsAre(HasSubstr("full after 5")));
}

TEST(PmSampling, AnOverflowOfTheHardwaresBufferIsToldAndTheSamplesBeforeAreKept) {
  FakeSampling fake{.samples = 5, .overflow = true};
  const ActivitySamples result = fake.run();
  EXPECT_EQ(result.samples.size(), 5U);
  EXPECT_THAT(result.losses, ElementsAre(HasSubstr("overflowed")));
}

TEST(PmSampling, AnOverflowThatLeavesNothingIsToldAndNotAFault) {
  FakeSampling whole;
  whole.run();
  FakeSampling fake{.samples = 0};
  fake.cupti.failing_call = static_cast<int>(
      std::ranges::find(whole.cupti.calls, "cuptiPmSamplingDecodeData") - whole.cupti.calls.begin());
  fake.cupti.result = CUPTI_ERROR_OUT_OF_MEMORY;
  const ActivitySamples result = fake.run();
  EXPECT_THAT(result.samples, IsEmpty());
  EXPECT_THAT(result.losses, ElementsAre(HasSubstr("overflowed")));
}

TEST(PmSampling, ASampleWithoutAValueIsMissingAndTold) {
  FakeSampling fake{.samples = 5, .without_value = 2};
  const ActivitySamples result = fake.run();
  ASSERT_EQ(result.samples.size(), 4U);
  EXPECT_EQ(result.samples[2].start_ns, 3000U);
  EXPECT_THAT(result.losses, ElementsAre(HasSubstr("1 of 5 samples have no value")));
}

TEST(PmSampling, ATriggerThatTheChipDoesNotHaveGivesWayToTheSystemClock) {
  FakeSampling fake;
  std::vector<CUpti_PmSampling_TriggerMode> modes;
  const auto fill = fake.cupti.fill;
  fake.cupti.fill = [&](std::string_view call, void* parameters) {
    fill(call, parameters);
    if (call != "cuptiPmSamplingSetConfig") return;
    modes.push_back(static_cast<CUpti_PmSampling_SetConfig_Params*>(parameters)->triggerMode);
    if (modes.size() == 1) fake.cupti.failing_call = static_cast<int>(fake.cupti.calls.size()) - 1;
  };
  EXPECT_EQ(fake.run().samples.size(), 3U);
  EXPECT_THAT(modes, ElementsAre(CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL,
                                 CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL));
}

TEST(PmSampling, WhateverCuptiCallFailsTheReasonIsToldAndNothingElseBreaks) {
  FakeSampling whole;
  whole.run();
  for (int failing = 0; failing < static_cast<int>(whole.cupti.calls.size()); ++failing) {
    const std::string& name = whole.cupti.calls[static_cast<std::size_t>(failing)];
    FakeSampling fake;
    fake.cupti.failing_call = failing;
    try {
      fake.run();
      // A configuration that is refused is tried in another way.
      EXPECT_TRUE(is_cleaning_up(name) || name == "cuptiPmSamplingSetConfig") << name << " failed unheard";
    } catch (const CountersUnavailable& unavailable) {
      EXPECT_EQ(unavailable.status(), CountersStatus::failed) << name;
      EXPECT_THAT(unavailable.what(), HasSubstr(name));
    }
    const std::size_t enabled = fake.cupti.count("cuptiPmSamplingEnable");
    EXPECT_EQ(fake.cupti.count("cuptiPmSamplingDisable"), name == "cuptiPmSamplingEnable" ? 0 : enabled)
        << name;
  }
}

TEST(PmSampling, AKernelThatFailsLeavesTheSamplingStoppedAndDisabled) {
  FakeSampling fake;
  EXPECT_THROW(fake.run([] { throw std::runtime_error("the kernel failed"); }), std::runtime_error);
  EXPECT_EQ(fake.cupti.count("cuptiPmSamplingStop"), 1U);
  EXPECT_EQ(fake.cupti.count("cuptiPmSamplingDisable"), 1U);
}

TEST(PmSampling, SamplesOfALaunchOfUpToTwentyMillisecondsAreAtMostAMicrosecondApart) {
  for (const double expected_us : {5.0, 100.0, 1000.0, 20'000.0, 200'000.0}) {
    FakeSampling fake;
    std::uint64_t interval = 0;
    fake.cupti.fill = [&, fill = fake.cupti.fill](std::string_view call, void* parameters) {
      fill(call, parameters);
      if (call == "cuptiPmSamplingSetConfig") {
        interval = static_cast<CUpti_PmSampling_SetConfig_Params*>(parameters)->samplingInterval;
      }
    };
    PmSampling(Device{}, fake.cupti.interceptor()).sample(expected_us, [] {});
    EXPECT_GT(interval, 0U);
    EXPECT_LE(interval, expected_us > 20'000 ? 10'000U : 1'000U) << expected_us;
  }
}

}  // namespace
}  // namespace occbench
