#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/situation.hpp"
#include "files/output.hpp"
#include "gpu/error.hpp"
#include "gpu/first_gpc.hpp"
#include "gpu/launch_timer.hpp"
#include "harness/google_benchmark.hpp"
#include "harness/run.hpp"
#include "kernels/spin.hpp"
#include "measure/counters.hpp"
#include "measure/nvml.hpp"
#include "measure/pm_sampling.hpp"
#include "measure/warp_records.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/statistics.hpp"
#include "on_a_gpu.hpp"
#include "predict/profile_choice.hpp"
#include "record/counter_columns.hpp"
#include "record/csv.hpp"
#include "sms_of_blocks.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kAchieved = "sm__warps_active.avg.pct_of_peak_sustained_active";

/// Blocks resident on an SM, mean over the active cycles of all SMs, as the counter of the column resident_blocks defines it.
double resident_blocks(std::span<const WarpRecord> records, int warps_per_block) {
  std::int64_t block_cycles = 0;
  for (const BlockRecord& block : blocks_of(records, warps_per_block))
    block_cycles += block.end_cycles - block.start_cycles;
  std::int64_t active_cycles = 0;
  for (const SmRecord& sm : sms_of(records, warps_per_block)) active_cycles += sm.active_cycles;
  return static_cast<double>(block_cycles) / static_cast<double>(active_cycles);
}

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
      const Activity activity = activity_of(sample_launch(device_, 400, launch), device_.warp_slots());
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
        sample_launch(device_, 100, launch);
        ADD_FAILURE() << "both had them";
      } catch (const CountersUnavailable& unavailable) {
        EXPECT_EQ(unavailable.status(), CountersStatus::busy) << unavailable.what();
      }
    }
    EXPECT_FALSE(sample_launch(device_, 100, launch).samples.empty());
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
          const std::vector<WarpRecord> records = prepared->record_warps(timer_->stream().get());
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
        const CounterReadings readings = counters.read(
            {kAchieved, kResident}, [&] { records = prepared->record_warps(timer_->stream().get()); });
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

// Which GPC begins (docs/prediction.md, "The first GPC").
class FirstGpcOnAGpu : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (IsSkipped()) return;
    const DeviceProfile profile = choose_profile(device_).profile;
    if (profile.name == "generic") GTEST_SKIP() << "the dispatch order of this GPU's GPCs is not known";
    gpcs_ = static_cast<int>(profile.model.topology.gpc_sms().size());
    singleton_sms_ = profile.model.topology.singleton_sms();
    stream_.emplace();
    first_gpc_.emplace(device_);
  }

  void place_last_block_on(int sm) {
    first_gpc_->place_last_block_on(sm, stream_->get());
    stream_->synchronize();
  }

  void set_turn() {
    first_gpc_->queue(stream_->get());
    stream_->synchronize();
  }

  /// The first SM of the GPC that began. SMs are numbered across GPCs, two of each one after another;
  /// singleton ones last.
  int first_sm(int blocks) const {
    const std::vector<int> sms = sms_of_blocks(blocks);
    return *std::ranges::find_if(sms, [&](int sm) { return sm < device_.sm_count - singleton_sms_; });
  }

  int place_of_sm_0() const {
    const std::vector<int> sms = sms_of_blocks(device_.sm_count);
    return static_cast<int>(std::ranges::find(sms, 0) - sms.begin());
  }

  Case hold(int block_threads, double waves, const Work& work) const {
    Case chosen{.kernel = &kSpin,
                .variant = "plain",
                .launch = {.block_threads = block_threads},
                .work = work,
                .suite = Suite::smoke};
    chosen.launch.grid_blocks = Planner(device_).grid(kSpin, "plain", chosen.launch, waves);
    return chosen;
  }

  void launch_and_wait(const Case& chosen) {
    const auto prepared = kSpin.prepare(chosen, kSpin.find("plain"), device_);
    prepared->launch(stream_->get());
    stream_->synchronize();
  }

  int gpcs_ = 0;
  int singleton_sms_ = 0;
  std::optional<Stream> stream_;
  std::optional<FirstGpc> first_gpc_;
};

TEST_F(FirstGpcOnAGpu, TheNextLaunchBeginsWithTheGpcAfterTheOneThatTookTheLastBlock) {
  for (int round = 0; round < 2; ++round) {
    for (int gpc = 0; gpc < gpcs_; ++gpc) {
      place_last_block_on(2 * gpc);
      ASSERT_EQ(first_gpc_->missed(), 0U);
      const int next = 2 * ((gpc + 1) % gpcs_);
      EXPECT_EQ(first_sm(device_.sm_count), next) << gpc;
      // And so on, as long as all blocks have room at once.
      EXPECT_EQ(first_sm(8 * device_.sm_count), next) << gpc;
      EXPECT_EQ(first_sm(device_.sm_count / 2), next) << gpc;
    }
  }
}

TEST_F(FirstGpcOnAGpu, OnceSetItIsTheGpcOfSm0WhicheverItWasBefore) {
  ASSERT_TRUE(first_gpc_->can_set());
  set_turn();
  const int wanted = place_of_sm_0();
  EXPECT_EQ(first_sm(device_.sm_count), 0);
  for (int round = 0; round < 4; ++round) {
    for (int gpc = 0; gpc < gpcs_; ++gpc) {
      place_last_block_on(2 * gpc);
      set_turn();
      EXPECT_EQ(place_of_sm_0(), wanted) << gpc;
    }
  }
  EXPECT_EQ(first_gpc_->missed(), 0U);
}

TEST_F(FirstGpcOnAGpu, OnceSetItIsTheGpcOfSm0WhateverTailCameBefore) {
  ASSERT_TRUE(first_gpc_->can_set());
  set_turn();
  const int wanted = place_of_sm_0();
  int elsewhere = 0;
  for (std::uint64_t draw = 1; draw <= 20; ++draw) {
    launch_and_wait(
        hold(1024, 1.4, {.cycles = 20'000, .distribution = {WorkForm::uniform, {0.5, 1.5}, draw}}));
    elsewhere += place_of_sm_0() != wanted ? 1 : 0;
    set_turn();
    EXPECT_EQ(place_of_sm_0(), wanted) << draw;
  }
  EXPECT_GT(elsewhere, 10) << "tails that end anywhere let any GPC be the first";
}

TEST_F(FirstGpcOnAGpu, SettingItTakesSomeMicroseconds) {
  LaunchTimer timer;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 10; ++i) {
    least = std::min(least, timer.microseconds([&](cudaStream_t stream) { first_gpc_->queue(stream); }));
  }
  RecordProperty("microseconds", std::to_string(least));
  EXPECT_GT(least, 1);
  EXPECT_LT(least, 20);
}

// As a recorded launch does between what is made ready and itself.
TEST_F(FirstGpcOnAGpu, FillingUpToAMebibyteLeavesTheFirstGpcWhereItIs) {
  ASSERT_TRUE(first_gpc_->can_set());
  for (const int bits : {10, 16, 20}) {
    DeviceBuffer<unsigned char> memory(std::size_t{1} << bits);
    for (int gpc = 0; gpc < gpcs_; ++gpc) {
      place_last_block_on(2 * gpc);
      memory.fill_bytes(0xff);
      EXPECT_EQ(first_sm(device_.sm_count), 2 * ((gpc + 1) % gpcs_)) << memory.bytes() << " bytes";
    }
  }
}

/// Runs one case of uneven blocks by the harness, which counts it.
class UnevenWorkOnAGpu : public FirstGpcOnAGpu {
 protected:
  void SetUp() override {
    FirstGpcOnAGpu::SetUp();
    if (!IsSkipped()) instruments_ = make_gpu_instruments(device_, 4);
  }

  Row measure(const Case& chosen) {
    const Experiment of{"first_gpc", "a claim", "tests/gpu",
                        [&](const Planner&) { return std::vector<Case>{chosen}; }};
    const Options options = parse_options({"--occ_readings=4", "--benchmark_min_time=0.0002",
                                           "--occ_csv=" + (temporary_.path() / "rows.csv").string()});
    static const std::string program = "test";
    initialize_google_benchmark(program, options);
    const Experiment* const experiments[] = {&of};
    EXPECT_EQ(run_experiments(experiments, options, device_, *instruments_), ExitStatus::done);
    return read_rows(temporary_.path() / "rows.csv").at(0);
  }

  TemporaryFolder temporary_;
  std::unique_ptr<Instruments> instruments_;
};

constexpr const char* kUneven[] = {"uniform:200000:0.1:1.9:seed=1", "linear:200000:0.5:1.5"};

TEST_F(UnevenWorkOnAGpu, ReadsTheSameWhateverWasLaunchedBeforeItsRow) {
  for (const char* work : kUneven) {
    std::vector<double> readings;
    for (int gpc = 0; gpc < gpcs_; ++gpc) {
      place_last_block_on(2 * gpc);
      const Row row = measure(hold(1024, 0.75, parse_work(work)));
      if (!row.achieved_pct) GTEST_SKIP() << row.note;
      EXPECT_EQ(row.first_gpc, 0);
      EXPECT_LE(*row.achieved_spread_points, 0.05) << work;
      readings.push_back(*row.achieved_pct);
    }
    const auto [least, most] = std::ranges::minmax(readings);
    EXPECT_LE(most - least, 0.05) << work;
  }
}

TEST_F(UnevenWorkOnAGpu, ReadsOtherwiseWhereNobodySetsTheTurn) {
  for (const char* work : kUneven) {
    const auto prepared = kSpin.prepare(hold(1024, 0.75, parse_work(work)), kSpin.find("plain"), device_);
    std::vector<double> readings;
    const std::string achieved = "sm__warps_active.avg.pct_of_peak_sustained_active";
    int gpc = 0;
    try {
      while (gpc < gpcs_) {
        const CounterReadings counted = instruments_->count(
            {achieved},
            [&] {
              prepared->launch(stream_->get());
              stream_->synchronize();
            },
            [&] { place_last_block_on(2 * gpc); });
        ++gpc;
        ASSERT_THAT(counted.at(achieved), SizeIs(4));
        readings.push_back(counted.at(achieved).back());
      }
    } catch (const CountersUnavailable& unavailable) {
      GTEST_SKIP() << unavailable.what();
    }
    const auto [least, most] = std::ranges::minmax(readings);
    EXPECT_GE(most - least, 0.3) << work;
  }
}

}  // namespace
}  // namespace occbench
