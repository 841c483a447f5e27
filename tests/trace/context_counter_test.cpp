#include "trace/context_counter.hpp"

#include <array>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_gpu.hpp"

namespace occbench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

struct ContextCounterTest : testing::Test {
  FakeGpu gpu;
  Captures captures;
  std::mutex mutex;
  std::vector<std::pair<std::uint32_t, double>> read;  ///< number of a kernel, kernels in its range
  std::vector<std::pair<CountersStatus, std::string>> ended;
  std::unique_ptr<ContextCounter> counter = make();

  std::unique_ptr<ContextCounter> make(CountingTimes times = kShortTimes) {
    ContextCounter::Listener listener;
    listener.readings = [this](auto kernels, const CounterReadings& readings) {
      const std::lock_guard lock(mutex);
      const std::vector<double>& values = readings.begin()->second;
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        if (kernels[i]) read.emplace_back(*kernels[i], values[i]);
      }
    };
    listener.ended = [this](CountersStatus status, const std::string& why) {
      const std::lock_guard lock(mutex);
      ended.emplace_back(status, why);
    };
    return std::make_unique<ContextCounter>(std::make_unique<FakeContext>(gpu), captures, std::move(listener),
                                            times);
  }

  bool count(std::uint32_t kernel) {
    if (!counter->begin(kernel, [] {})) return false;
    gpu.launch(nullptr);
    return counter->end(true);
  }
};

TEST_F(ContextCounterTest, CountsManyLaunchesInOneSessionAndReadsThemTogether) {
  for (std::uint32_t i = 1; i <= kRangesOfSession; ++i) EXPECT_TRUE(count(i));
  EXPECT_EQ(gpu.count("set_up"), 1);
  EXPECT_EQ(gpu.count("start"), 1);
  EXPECT_EQ(gpu.count("stop"), 1);
  ASSERT_THAT(read, SizeIs(kRangesOfSession));
  EXPECT_EQ(read.back(), (std::pair<std::uint32_t, double>(kRangesOfSession, 1)));
  EXPECT_TRUE(count(kRangesOfSession + 1));
  EXPECT_EQ(gpu.count("start"), 2);
}

TEST_F(ContextCounterTest, TakesTheCountersBeforeTheFirstLaunchIfNothingRuns) {
  counter->prepare();
  EXPECT_EQ(gpu.count("set_up"), 1);
  counter->prepare();
  EXPECT_TRUE(count(1));
  EXPECT_EQ(gpu.count("set_up"), 1);
}

TEST_F(ContextCounterTest, TakesThemLaterWhereSomethingRuns) {
  gpu.idle = false;
  counter->prepare();
  EXPECT_EQ(gpu.count("set_up"), 0);
  EXPECT_TRUE(counter->usable());
  gpu.idle = true;
  EXPECT_TRUE(count(1));
}

TEST_F(ContextCounterTest, RepeatsInASessionOfItsOwnOnceThatCostsLittle) {
  counter->tend();
  EXPECT_FALSE(counter->may_repeat()) << "nothing was counted";
  gpu.stopping = 5ms;
  const auto first = Clock::now();
  EXPECT_TRUE(count(1));
  EXPECT_FALSE(counter->may_repeat()) << "the session is for first readings";
  counter->tend();
  EXPECT_FALSE(counter->may_repeat()) << "the session has just ended";
  EXPECT_TRUE(wait_for(Patience(5000), [&] {
    counter->tend();
    return counter->may_repeat();
  }));
  EXPECT_GE(Clock::now() - first, 250ms) << "fifty times what its end took";
  EXPECT_TRUE(count(2));
  EXPECT_TRUE(counter->may_repeat()) << "while the session lasts";
  counter->tend();
  EXPECT_FALSE(counter->may_repeat());
}

TEST_F(ContextCounterTest, RepeatsInASessionThatCannotBeEnded) {
  EXPECT_TRUE(count(1));
  gpu.idle = false;
  EXPECT_TRUE(wait_for(Patience(5000), [&] {
    counter->tend();
    return counter->may_repeat();
  }));
  EXPECT_EQ(gpu.count("stop"), 0);
  gpu.idle = true;
  for (std::uint32_t i = 2; i <= kRangesOfSession; ++i) EXPECT_TRUE(count(i));
  EXPECT_EQ(gpu.count("stop"), 1);
  EXPECT_TRUE(count(100));
  counter->tend();
  EXPECT_EQ(gpu.count("stop"), 2) << "the next session is tended again";
}

TEST_F(ContextCounterTest, ReadsASessionThatHasComeToRest) {
  count(1);
  EXPECT_THAT(read, SizeIs(0));
  counter->tend();
  EXPECT_THAT(read, SizeIs(1));
  counter->tend();
  EXPECT_EQ(gpu.count("stop"), 1);
}

TEST_F(ContextCounterTest, ReadsAtTheEndWhatHasNotBeenRead) {
  count(1);
  counter->finish(true);
  EXPECT_THAT(read, SizeIs(1));
  EXPECT_EQ(gpu.count("tear_down"), 1);
  EXPECT_FALSE(count(2));
}

TEST_F(ContextCounterTest, LeavesAGpuAloneThatIsNotIdleInTime) {
  count(1);
  gpu.idle = false;
  const auto start = Clock::now();
  EXPECT_FALSE(count(2));
  EXPECT_LT(Clock::now() - start, 5s);
  EXPECT_FALSE(counter->usable());
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].first, CountersStatus::off);
  EXPECT_THAT(ended[0].second, HasSubstr("was not idle"));
  EXPECT_EQ(gpu.count("push"), 1);
  // What had been counted is read once the GPU is idle.
  counter->tend();
  EXPECT_THAT(read, SizeIs(0));
  gpu.idle = true;
  counter->tend();
  EXPECT_THAT(read, SizeIs(1));
}

TEST_F(ContextCounterTest, LetsAProgramGoOnWhoseKernelWaitsForALaterLaunch) {
  count(1);
  ASSERT_TRUE(counter->begin(2, [] {}));
  gpu.idle = false;  // the kernel that was launched waits for another
  EXPECT_FALSE(counter->end(true));
  EXPECT_THAT(ended[0].second, HasSubstr("had not ended"));
  EXPECT_FALSE(count(3)) << "nothing more is counted, and nothing waits";
  EXPECT_EQ(gpu.count("pop"), 1) << "a call of CUPTI would wait for the kernel";
  gpu.idle = true;  // the other one has been launched
  counter->tend();
  EXPECT_THAT(read, ElementsAre(std::pair<std::uint32_t, double>(1, 1)));
}

TEST_F(ContextCounterTest, WaitsForNothingWhileAStreamCaptures) {
  gpu.is_capturing = [this] { return captures.any(); };
  count(1);
  captures.begins();
  EXPECT_FALSE(count(2));
  captures.has_begun(nullptr, true);
  EXPECT_FALSE(count(3));
  counter->tend();
  counter->finish(false);
  EXPECT_FALSE(gpu.capture_broken);
  EXPECT_TRUE(counter->usable() || ended.empty()) << "a capture is no reason to give up";
}

TEST_F(ContextCounterTest, DoesNotReadALaunchThatTheDriverRefused) {
  ASSERT_TRUE(counter->begin(1, [] {}));
  EXPECT_FALSE(counter->end(false));
  count(2);
  counter->tend();
  EXPECT_THAT(read, ElementsAre(std::pair<std::uint32_t, double>(2, 1)));
}

TEST_F(ContextCounterTest, OutlivesTheFailureOfEachCall) {
  const auto run = [&] {
    counter->prepare();
    for (std::uint32_t i = 1; i <= kRangesOfSession + 8; ++i) {
      count(i);
      counter->enter();
      counter->leave();
    }
    counter->tend();
    counter->finish(true);
  };
  run();
  const auto all = static_cast<int>(gpu.calls().size());
  ASSERT_GT(all, 100);
  for (int call = 0; call < all; ++call) {
    FakeGpu fresh;
    gpu.~FakeGpu();
    new (&gpu) FakeGpu;
    gpu.failing = call;
    gpu.status = CountersStatus::denied;
    ended.clear();
    counter = make();
    run();
    if (gpu.calls().at(static_cast<std::size_t>(call)) == "tear_down") continue;  // cleaning up
    ASSERT_THAT(ended, SizeIs(1)) << call;
    EXPECT_EQ(ended[0].first, CountersStatus::denied);
    EXPECT_FALSE(counter->usable());
    EXPECT_EQ(gpu.calls().size(), static_cast<std::size_t>(call) + 1)
        << "CUPTI is left alone after a failure";
  }
}

TEST_F(ContextCounterTest, CountsEachLaunchOfManyThreadsAlone) {
  counter =
      make({.before = 5s, .after = 5s, .longest_hold = 10s, .session = 0ms, .tending = 10ms, .end = 1s});
  std::vector<std::jthread> threads;
  for (std::uint32_t thread = 0; thread < 16; ++thread) {
    threads.emplace_back([this, thread] {
      for (std::uint32_t i = 0; i < 100; ++i) {
        if (i % 20 == 0) {
          EXPECT_TRUE(count(thread * 1000 + i + 1));
          continue;
        }
        counter->enter();
        gpu.launch(nullptr);
        counter->leave();
      }
    });
  }
  threads.emplace_back([this] {
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(1ms);
      counter->tend();
    }
  });
  threads.clear();
  counter->finish(false);
  EXPECT_THAT(read, SizeIs(16 * 5));
  EXPECT_THAT(read, testing::Each(testing::Field(&std::pair<std::uint32_t, double>::second, 1.0)));
  EXPECT_TRUE(ended.empty());
}

}  // namespace
}  // namespace occbench
