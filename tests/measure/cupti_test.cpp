// CUPTI itself, as far as it needs no GPU: what it knows of every chip.
#include "measure/cupti.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cupti_profiler_host.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_cupti.hpp"
#include "files/output.hpp"
#include "measure/activity.hpp"
#include "measure/counters.hpp"
#include "measure/cupti_library.hpp"
#include "measure/nvml.hpp"
#include "measure/pm_sampling.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;
using ::testing::Property;
using ::testing::SizeIs;
using ::testing::Throws;

std::vector<std::string> chips_from_turing_on() {
  auto params = OCC_CUPTI_PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params);
  EXPECT_EQ(OCC_CUPTI(cuptiProfilerHostGetSupportedChips)(&params), CUPTI_SUCCESS);
  std::vector<std::string> chips(params.ppChipNames, params.ppChipNames + params.numChips);
  std::erase_if(chips, [](const std::string& chip) { return chip.starts_with("GV"); });
  return chips;
}

/// 0 where the chip does not have all of them.
std::size_t passes_of_windows(const Cupti& cupti, const std::string& chip,
                              const std::vector<std::string>& metrics) {
  MetricHost host(cupti, Profiler::pm_sampling, chip, {});
  if (host.try_add(metrics) != CUPTI_SUCCESS) return 0;
  std::vector<std::uint8_t> config = host.config_image();
  return passes_of(cupti, config);
}

TEST(CuptiOfThisToolkit, OccupancyOverTimeFitsOnePassOnEveryChip) {
  const Cupti cupti({});
  const std::vector<std::string> chips = chips_from_turing_on();
  EXPECT_GT(chips.size(), 20U);
  for (const std::string& chip : chips) {
    EXPECT_EQ(passes_of_windows(cupti, chip, kActivityMetrics), 1U) << chip;
  }
}

TEST(CuptiOfThisToolkit, WindowsAlsoSayHowMuchTensorCoresAndDeviceMemoryWorkButOnTuringAndWithoutSuchMemory) {
  const Cupti cupti({});
  std::vector<std::string> all = kWindowMetrics;
  all.insert(all.end(), kUnitMetrics.begin(), kUnitMetrics.end());
  std::set<std::string> without;
  for (const std::string& chip : chips_from_turing_on()) {
    if (passes_of_windows(cupti, chip, kWindowMetrics) == 1 && passes_of_windows(cupti, chip, all) != 1)
      without.insert(chip);
  }
  EXPECT_THAT(without, ElementsAre("GA10B", "GB20B", "TU102", "TU104", "TU106", "TU116", "TU117"));
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

constexpr double kSlots = 100;

/// A sample of 1 us at 1000 MHz, `warps` resident on average in its `active` part, which counts in SM cycles.
ActivitySample sample(std::uint64_t start_ns, double warps, double active = 1) {
  return {start_ns, start_ns + 1000, warps * active * 1000, active * 1000, 1000};
}

ActivitySamples launch_of(std::vector<ActivitySample> samples) {
  // What the hardware gives first spans all that was before.
  samples.insert(samples.begin(), ActivitySample{0, 10'000, 500, 10, 10'000});
  return {std::move(samples), {}};
}

TEST(Activity, TimeBeginsWithTheFirstWarpAndEndsWithTheLast) {
  // Warps from 12.75 us to 15.5 us: a quarter of the first sample, half of the last.
  const Activity activity =
      activity_of(launch_of({sample(11'000, 0), sample(12'000, 40, 0.25), sample(13'000, 100),
                             sample(14'000, 80), sample(15'000, 60, 0.5), sample(16'000, 0)}),
                  kSlots);
  ASSERT_EQ(activity.steps.size(), 4U);
  EXPECT_DOUBLE_EQ(activity.steps[0].start_us, 0);
  EXPECT_DOUBLE_EQ(activity.steps[0].end_us, 0.25);
  EXPECT_DOUBLE_EQ(activity.steps[3].start_us, 2.25);
  EXPECT_DOUBLE_EQ(activity.steps[3].end_us, 2.75);
  EXPECT_THAT(activity.losses, IsEmpty());
}

TEST(Activity, AStepHasTheMeanOfTheTimeInWhichTheLaunchRan) {
  const Activity activity = activity_of(
      launch_of({sample(12'000, 40, 0.25), sample(13'000, 100), sample(14'000, 60, 0.5)}), kSlots);
  ASSERT_EQ(activity.steps.size(), 3U);
  EXPECT_NEAR(activity.steps[0].active_warps_pct.value(), 40, 1e-9);
  EXPECT_NEAR(activity.steps[1].active_warps_pct.value(), 100, 1e-9);
  EXPECT_NEAR(activity.steps[2].active_warps_pct.value(), 60, 1e-9);
  EXPECT_NEAR(activity.mean_pct(), (0.25 * 40 + 100 + 0.5 * 60) / 1.75, 1e-9);
  EXPECT_NEAR(activity.sm_clock_mhz, 1000, 1e-9);
}

TEST(Activity, AnIdleMomentWithinTheLaunchIsPartOfIt) {
  const Activity activity =
      activity_of(launch_of({sample(12'000, 50), sample(13'000, 0), sample(14'000, 50)}), kSlots);
  ASSERT_EQ(activity.steps.size(), 3U);
  EXPECT_DOUBLE_EQ(activity.steps[1].active_warps_pct.value(), 0);
}

TEST(Activity, ALaunchWithinOneSampleIsOneStepAsLongAsItsLongestSmWasActive) {
  const Activity activity = activity_of(launch_of({sample(12'000, 30, 0.4), sample(13'000, 0)}), kSlots);
  ASSERT_EQ(activity.steps.size(), 1U);
  EXPECT_DOUBLE_EQ(activity.steps[0].end_us, 0.4);
  EXPECT_NEAR(activity.steps[0].active_warps_pct.value(), 30, 1e-9);
}

TEST(Activity, ASampleThatIsMissingLeavesAnEmptyStepAndIsTold) {
  const Activity activity = activity_of(launch_of({sample(12'000, 50), sample(15'000, 50)}), kSlots);
  ASSERT_EQ(activity.steps.size(), 3U);
  EXPECT_FALSE(activity.steps[1].active_warps_pct);
  EXPECT_DOUBLE_EQ(activity.steps[1].end_us - activity.steps[1].start_us, 2);
  EXPECT_NEAR(activity.mean_pct(), 50, 1e-9);
  EXPECT_THAT(activity.losses, ElementsAre(HasSubstr("2.0 of 4.0 us are missing")));
}

TEST(Activity, WithoutAnySampleOfTheLaunchThereIsNothingAndItIsTold) {
  for (const ActivitySamples& samples : {ActivitySamples{}, launch_of({sample(12'000, 0)})}) {
    const Activity activity = activity_of(samples, kSlots);
    EXPECT_THAT(activity.steps, IsEmpty());
    EXPECT_THAT(activity.losses, ElementsAre(HasSubstr("no sample saw a warp")));
    EXPECT_EQ(activity.mean_pct(), 0);
  }
}

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

/// The folder in which the driver would look for MPS's daemon.
struct Mps : testing::Test {
  TemporaryFolder temporary;
  std::filesystem::path folder = temporary.path();

  Mps() {
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", folder.c_str(), 1);
  }
  ~Mps() override {
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  }
  void start() const {
    const int made = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder / "control").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(made);
  }
};

TEST_F(Mps, IsWhereItsDaemonHasASocket) {
  EXPECT_FALSE(mps_socket());
  std::ofstream(folder / "control").put('\n');
  EXPECT_FALSE(mps_socket()) << "a file";
  std::filesystem::remove(folder / "control");
  start();
  EXPECT_EQ(mps_socket(), folder / "control");
}

TEST_F(Mps, KeepsCountersFromBeingTouched) {
  FakeCupti cupti;
  start();
  EXPECT_THAT(
      [&] {
        Counters counters(Device{}, 1, cupti.interceptor());
        counters.read({"sm__cycles_active.max"}, [] {});
      },
      Throws<CountersUnavailable>(AllOf(Property(&CountersUnavailable::status, CountersStatus::unsupported),
                                        Property(&CountersUnavailable::what, HasSubstr("MPS")))));
  EXPECT_TRUE(cupti.calls.empty());
}

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
  struct Refusal {
    CUptiResult result;
    CountersStatus status;
    const char* message = "";
  };
  const Refusal expected[] = {
      {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, CountersStatus::denied,
       "CAP_SYS_ADMIN.*NVreg_RestrictProfilingToAdminUsers=0"},
      {CUPTI_ERROR_HARDWARE_BUSY, CountersStatus::busy},
      {CUPTI_ERROR_NOT_SUPPORTED, CountersStatus::unsupported},
      {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, CountersStatus::unsupported},
      {CUPTI_ERROR_NOT_INITIALIZED, CountersStatus::failed},
  };
  for (const auto& [result, status, message] : expected) {
    FakeCupti cupti{.failing_call = 0, .result = result};
    EXPECT_THAT([&] { Counters(Device{}, kReadings, cupti.interceptor()); },
                Throws<CountersUnavailable>(
                    AllOf(Property(&CountersUnavailable::status, status),
                          Property(&CountersUnavailable::what, ::testing::ContainsRegex(message)))))
        << result;
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
