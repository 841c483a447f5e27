#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/situation.hpp"
#include "gpu/error.hpp"
#include "gpu/launch_timer.hpp"
#include "kernels/spin.hpp"
#include "measure/counters.hpp"
#include "measure/nvml.hpp"
#include "measure/pm_sampling.hpp"
#include "measure/trace.hpp"
#include "occupancy/occupancy.hpp"
#include "on_a_gpu.hpp"
#include "record/counter_columns.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kAchieved = "sm__warps_active.avg.pct_of_peak_sustained_active";

class DepthOnAGpu : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (!IsSkipped()) timer_.emplace();
  }

  /// A test body that reads counters; skipped where this machine does not let it.
  void with_counters(const std::function<void()>& body) {
    try {
      body();
    } catch (const CountersUnavailable& unavailable) {
      GTEST_SKIP() << unavailable.what();
    }
  }

  Case hold(double waves, const Work& work) const {
    const Launch launch{.block_threads = 256};
    const int blocks =
        theoretical_occupancy(device_.limits, launch, inspect(kSpin.find("plain")).usage).blocks_per_sm;
    return {.kernel = &kSpin,
            .variant = "plain",
            .launch = {.block_threads = 256, .grid_blocks = std::llround(waves * device_.sm_count * blocks)},
            .work = work};
  }

  std::unique_ptr<Prepared> prepare(const Case& chosen) {
    auto prepared = kSpin.prepare(chosen, kSpin.find("plain"), device_);
    prepared->launch(timer_->stream().get());
    timer_->stream().synchronize();
    return prepared;
  }

  void launch_and_wait(Prepared& prepared) {
    prepared.launch(timer_->stream().get());
    timer_->stream().synchronize();
  }

  std::optional<LaunchTimer> timer_;
};

TEST_F(DepthOnAGpu, ATimeInWhichTheHostWasHeldUpIsTakenAgain) {
  const auto prepared = prepare(hold(1, Work::equal(100'000)));
  int queued = 0;
  const double microseconds = timer_->microseconds([&](cudaStream_t stream) {
    if (++queued == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2300));
    prepared->launch(stream);
  });
  EXPECT_EQ(queued, 2);
  EXPECT_LT(microseconds, 10'000);
}

TEST_F(DepthOnAGpu, TheSuitesMetricsFitOnePass) {
  with_counters([&] {
    const MetricCatalog catalog(device_);
    EXPECT_EQ(catalog.passes(counters_read(CounterRead::every_case)), 1U);
  });
}

TEST_F(DepthOnAGpu, MetricsThatNeedTwoPassesAreReadFromRepeatedLaunches) {
  with_counters([&] {
    const std::vector<std::string> metrics = {"l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct",
                                              "sm__ctas_launched.sum"};
    const std::size_t passes = MetricCatalog(device_).passes(metrics);
    EXPECT_GT(passes, 1U);
    const auto prepared = prepare(hold(1, Work::equal(20'000)));
    Counters counters(device_, 3);
    std::size_t launches = 0;
    const CounterReadings readings = counters.read(metrics, [&] {
      ++launches;
      launch_and_wait(*prepared);
    });
    EXPECT_EQ(launches, 3 * passes);
    const auto blocks = static_cast<double>(hold(1, Work::equal(1)).launch.grid_blocks);
    EXPECT_THAT(readings.at("sm__ctas_launched.sum"), AllOf(SizeIs(3), Each(blocks)));
    EXPECT_THAT(numbers_of(readings.at("lts__t_sector_hit_rate.pct")), SizeIs(3));
  });
}

TEST_F(DepthOnAGpu, OccupancyOverTimeHasTheMeanThatTheCountersHave) {
  with_counters([&] {
    const std::vector<std::string> metrics = counters_read(CounterRead::every_case);
    for (const double waves : {0.75, 1.0, 1.5, 4.0}) {
      const auto prepared = prepare(hold(waves, Work::equal(200'000)));
      const auto launch = [&] { launch_and_wait(*prepared); };
      const auto elapsed = [&] {
        Readings readings;
        set_counters(readings, Counters(device_, 4).read(metrics, launch), device_.warp_slots());
        return readings.achieved_elapsed_pct.value();
      };
      const double before = elapsed();
      const Activity activity = activity_of(PmSampling(device_).sample(400, launch), device_.warp_slots());
      const double after = elapsed();
      EXPECT_THAT(activity.losses, ::testing::IsEmpty());
      EXPECT_THAT(activity.steps, SizeIs(Gt(50U)));
      // The tail of 1.5 waves differs from launch to launch.
      EXPECT_NEAR(activity.mean_pct(), (before + after) / 2, 1 + std::abs(before - after))
          << waves << " waves";
    }
  });
}

TEST_F(DepthOnAGpu, CountersThatAnotherProfilerHoldsAreBusyUntilItIsGone) {
  with_counters([&] {
    const auto prepared = prepare(hold(1, Work::equal(20'000)));
    const auto launch = [&] { launch_and_wait(*prepared); };
    {
      Counters holder(device_, 1);
      holder.read({kAchieved}, launch);
      try {
        PmSampling(device_).sample(100, launch);
        ADD_FAILURE() << "both had them";
      } catch (const CountersUnavailable& unavailable) {
        EXPECT_EQ(unavailable.status(), CountersStatus::busy) << unavailable.what();
      }
    }
    EXPECT_FALSE(PmSampling(device_).sample(100, launch).samples.empty());
  });
}

TEST_F(DepthOnAGpu, ATraceOfHoldReadsWhatTheCounterDoesOfTheSameLaunch) {
  with_counters([&] {
    Counters counters(device_, 1);
    for (const char* work : {"equal:200000", "uniform:200000:0.5:1.5", "warp/uniform:200000:0.5:1.5"}) {
      for (const double waves : {0.75, 1.5, 4.0}) {
        const auto prepared = prepare(hold(waves, parse_work(work)));
        double traced = 0;
        const CounterReadings readings = counters.read({kAchieved}, [&] {
          const std::vector<WarpRecord> records = prepared->trace(timer_->stream().get());
          traced = achieved_pct(sms_of(records, 8), device_.limits.max_warps_per_sm);
        });
        EXPECT_NEAR(traced, readings.at(kAchieved).at(0), 0.3) << work << ", " << waves << " waves";
      }
    }
  });
}

TEST_F(DepthOnAGpu, BothMeasuredPartsAreThoseOfTheTraceOfTheSameLaunch) {
  with_counters([&] {
    constexpr const char* kResident = "sm__ctas_active.avg.per_cycle_active";
    constexpr int kWarpsPerBlock = 8;
    Counters counters(device_, 1);
    int launches = 0;
    for (const char* work :
         {"equal:200000", "uniform:200000:0.5:1.5", "lognormal:200000:0.75", "bimodal:100000:0.1:8",
          "warp/uniform:200000:0.5:1.5", "warp/lognormal:200000:0.75", "warp/every:50000:8:16"}) {
      for (const double waves : {0.75, 1.5, 4.0}) {
        const Case chosen = hold(waves, parse_work(work));
        const auto prepared = prepare(chosen);
        std::vector<WarpRecord> records;
        const CounterReadings readings =
            counters.read({kAchieved, kResident}, [&] { records = prepared->trace(timer_->stream().get()); });
        const double theory =
            theoretical_occupancy(device_.limits, chosen.launch, inspect(kSpin.find("plain")).usage)
                .theoretical_pct;
        const int most = device_.limits.max_warps_per_sm;
        const MeasuredParts counted = measured_parts(theory, readings.at(kAchieved).at(0),
                                                     readings.at(kResident).at(0), kWarpsPerBlock, most);
        const MeasuredParts traced =
            measured_parts(theory, achieved_pct(sms_of(records, kWarpsPerBlock), most),
                           resident_blocks(records, kWarpsPerBlock), kWarpsPerBlock, most);
        EXPECT_NEAR(counted.blocks, traced.blocks, 0.3) << work << ", " << waves << " waves";
        EXPECT_NEAR(counted.warps, traced.warps, 0.3) << work << ", " << waves << " waves";
        ++launches;
      }
    }
    EXPECT_GE(launches, 20);
  });
}

TEST_F(DepthOnAGpu, TheFullSuitesCountersAreReadInTheirPassesFromALaunchEach) {
  with_counters([&] {
    const std::vector<std::string> metrics = counters_read(CounterRead::full_suite);
    const auto prepared = prepare(hold(4, Work::equal(20'000)));
    Counters counters(device_, 3);
    std::size_t launches = 0;
    const auto launch = [&] {
      ++launches;
      launch_and_wait(*prepared);
    };
    for (int time = 0; time < 2; ++time) {
      launches = 0;
      const CounterReadings readings = counters.read(metrics, launch);
      EXPECT_EQ(launches, 3 * MetricCatalog(device_).passes(metrics));
      for (const std::string& metric : metrics)
        EXPECT_THAT(numbers_of(readings.at(metric)), SizeIs(3)) << metric;
      // Another list in between.
      EXPECT_THAT(counters.read({kAchieved}, launch).at(kAchieved), SizeIs(3));
    }
  });
}

TEST_F(DepthOnAGpu, NvmlKnowsInWhatConditionTheGpuIs) {
  if (driver_version().empty()) GTEST_SKIP() << "NVML cannot be loaded";
  const GpuMonitor monitor(device_.uuid);
  const GpuCondition condition = monitor.condition();
  EXPECT_TRUE(condition.clocks_event_reasons);
  EXPECT_GT(condition.sm_clock_mhz.value_or(0), 0);
  EXPECT_GT(condition.memory_clock_mhz.value_or(0), 0);
  EXPECT_GT(condition.temperature_c.value_or(0), 0);
  EXPECT_GE(condition.other_processes.value_or(-1), 0);
  EXPECT_THAT(monitor.settings(), HasSubstr("persistence="));
}

}  // namespace
}  // namespace occbench
