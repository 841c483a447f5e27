// Which GPC begins (docs/prediction.md, "The first GPC").
#include "gpu/first_gpc.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/output.hpp"
#include "gpu/launch_timer.hpp"
#include "harness/run.hpp"
#include "kernels/spin.hpp"
#include "on_a_gpu.hpp"
#include "predict/profile_choice.hpp"
#include "record/csv.hpp"
#include "sms_of_blocks.hpp"

namespace occbench {
namespace {

using ::testing::SizeIs;

class FirstGpcOnAGpu : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (IsSkipped()) return;
    const DeviceProfile profile = choose_profile(identity_of(device_)).profile;
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
    launch_and_wait(hold(1024, 1.4, {.cycles = 20'000, .distribution = UniformWork{0.5, 1.5, draw}}));
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

// As a traced launch does between what is made ready and itself.
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
    benchmark::ClearRegisteredBenchmarks();
    const Options options = parse_options({"--occ_readings=4", "--benchmark_min_time=0.0002",
                                           "--occ_csv=" + (temporary_.path() / "rows.csv").string()});
    std::vector<std::string> arguments = options.google_benchmark;
    arguments.insert(arguments.begin(), {"test", "--benchmark_filter="});
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    int count = static_cast<int>(pointers.size());
    benchmark::Initialize(&count, pointers.data());
    const Experiment* const experiments[] = {&of};
    EXPECT_EQ(run_experiments(experiments, options, device_, *instruments_), ExitStatus::done);
    benchmark::ClearRegisteredBenchmarks();
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
