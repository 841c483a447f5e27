#include "trace/counting_plan.hpp"

#include <array>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_gpu.hpp"
#include "trace/captures.hpp"
#include "trace/context_counter.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// A launch of kernel `number`.
LaunchCall launch(std::uintptr_t number, std::uint32_t grid = 66, const char* name = "_Z6reducePf") {
  LaunchCall call;
  call.function = reinterpret_cast<void*>(0x1000 + number);
  call.grid = {grid, 1, 1};
  call.block = {256, 1, 1};
  call.name = name;
  return call;
}

/// A plan, and the table that its launches are looked up in.
struct Counting {
  explicit Counting(CountingRules rules) : plan(std::move(rules)) {}

  CountingPlan plan;
  LaunchTable table;

  TracedKernel& kernel(const LaunchCall& call) {
    TracedKernel* kernel = table.find(call);
    if (kernel == nullptr) {
      kernel = table.add(call, {}, plan.why_not(call.name));
      plan.is_new(table.size());
    }
    return *kernel;
  }
  bool counts(const LaunchCall& call, Countable countable = Countable::any) {
    return plan.take(kernel(call), countable);
  }
  int counted(const LaunchCall& call, int launches) {
    int count = 0;
    for (int i = 0; i < launches; ++i) count += counts(call) ? 1 : 0;
    return count;
  }
};

CountingRules at_once(int launches = 3) {
  return {.counted = launches, .after = 0, .wanted = {}};
}

TEST(CountingPlan, CountsSoManyLaunchesOfEachConfigurationAfterItsFirst) {
  Counting counting(at_once());
  std::vector<int> which;
  for (int i = 1; i <= 100; ++i) {
    if (counting.counts(launch(1))) which.push_back(i);
  }
  EXPECT_EQ(which, (std::vector{2, 3, 4}));
  EXPECT_EQ(counting.counted(launch(1, 67), 100), 3) << "another grid";
  EXPECT_EQ(counting.counted(launch(2), 100), 3) << "another kernel";
  EXPECT_EQ(counting.counted(launch(3), 1), 0) << "launched once";
}

TEST(CountingPlan, CountsEachConfigurationOnceWhereNoneMayBeRepeated) {
  Counting counting(at_once());
  int count = 0;
  for (int i = 0; i < 100; ++i) count += counting.counts(launch(1), Countable::first) ? 1 : 0;
  EXPECT_EQ(count, 1);
  EXPECT_EQ(counting.counted(launch(1), 100), 2) << "the others, once they may";
  Counting none(at_once(0));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(none.counts(launch(1), Countable::first));
}

TEST(CountingPlan, CountsOnlyKernelsThatAreWantedAndNoneThatWaitsForOtherGpus) {
  CountingRules rules = at_once();
  rules.wanted = [](std::string_view name) { return name.find("gemm") != name.npos; };
  Counting counting(rules);
  EXPECT_EQ(counting.counted(launch(1), 10), 0);
  EXPECT_EQ(counting.counted(launch(2, 66, "sm90_gemm"), 10), 3);
  Counting all(at_once());
  EXPECT_EQ(
      all.counted(launch(3, 66, "_Z41ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorage"), 10),
      0);
}

TEST(CountingPlan, LooksAtALaunchThatCannotBeCountedAndCountsALaterOne) {
  Counting counting(at_once(1));
  counting.counts(launch(1));
  EXPECT_FALSE(counting.counts(launch(1), Countable::none));
  EXPECT_TRUE(counting.counts(launch(1)));
  EXPECT_FALSE(counting.counts(launch(1)));
}

TEST(CountingPlan, TriesAgainWhereALaunchFailedButNotForEver) {
  Counting counting(at_once(1));
  counting.counts(launch(1));
  int tries = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!counting.counts(launch(1))) continue;
    ++tries;
    counting.plan.give_back(counting.kernel(launch(1)));
  }
  EXPECT_EQ(tries, 21);
}

TEST(CountingPlan, CountsNothingBeforeTheLaunchThatTheUserNames) {
  Counting counting({.counted = 3, .after = 50, .wanted = {}});
  EXPECT_EQ(counting.counted(launch(1), 50), 0);
  EXPECT_EQ(counting.counted(launch(1), 50), 3);
}

TEST(CountingPlan, BeginsWhenTheProgramSaysSo) {
  Counting counting({.counted = 3, .after = 1'000'000, .wanted = {}});
  EXPECT_EQ(counting.counted(launch(1), 50), 0);
  counting.plan.begin();
  EXPECT_EQ(counting.counted(launch(1), 50), 3);
}

TEST(CountingPlan, BeginsOnceAProgramRepeatsItself) {
  // Three kernels in a loop: their 35th launch is the 32nd since one was new.
  Counting counting({.counted = 3, .after = std::nullopt, .wanted = {}});
  int first = 0;
  int count = 0;
  for (int round = 1; round <= 16; ++round) {
    for (const std::uintptr_t kernel : {1u, 2u, 3u}) {
      if (!counting.counts(launch(kernel))) continue;
      if (count++ == 0) first = round;
    }
  }
  EXPECT_EQ(first, 12);
  EXPECT_EQ(count, 9);
}

TEST(CountingPlan, BeginsEarlyWhereThereIsOneKernel) {
  Counting counting({.counted = 3, .after = std::nullopt, .wanted = {}});
  EXPECT_EQ(counting.counted(launch(1), 8), 3);
}

TEST(CountingPlan, LeavesATunerAlone) {
  // 60 candidates, each launched 12 times with a kernel that clears the cache in between, then the one
  // chosen.
  Counting counting({.counted = 3, .after = std::nullopt, .wanted = {}});
  const LaunchCall clear = launch(999, 1056, "_Z5clearPf");
  for (std::uintptr_t candidate = 0; candidate < 60; ++candidate) {
    for (int i = 0; i < 12; ++i) {
      EXPECT_FALSE(counting.counts(clear)) << candidate;
      EXPECT_FALSE(counting.counts(launch(candidate))) << candidate;
    }
  }
  EXPECT_EQ(counting.counted(launch(17), 100), 3);
}

TEST(CountingPlan, KnowsWhyAKernelWasNotCounted) {
  CountingRules rules{.counted = 1, .after = 10, .wanted = {}};
  rules.wanted = [](std::string_view name) { return name != "other"; };
  Counting counting(rules);
  EXPECT_EQ(counting.kernel(launch(1, 66, "other")).uncounted, Uncounted::left_out);
  EXPECT_EQ(counting.kernel(launch(2, 66, "ncclDevKernel")).uncounted, Uncounted::waits_for_gpus);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(counting.counts(launch(3)));
  EXPECT_EQ(counting.kernel(launch(3)).uncounted, Uncounted::warm_up);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(counting.counts(launch(3), Countable::none));
  EXPECT_EQ(counting.kernel(launch(3)).uncounted, Uncounted::while_capturing);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(counting.counts(launch(3), Countable::beyond_budget));
  EXPECT_EQ(counting.kernel(launch(3)).uncounted, Uncounted::beyond_budget);
  EXPECT_TRUE(counting.counts(launch(3), Countable::first)) << "it may be later";
  EXPECT_FALSE(counting.counts(launch(3), Countable::beyond_budget));
  EXPECT_EQ(counting.kernel(launch(3)).uncounted, Uncounted::failed) << "it was tried";
}

TEST(CountingPlan, TellsAKernelFromTheOneWhoseHandleItHas) {
  Counting counting(at_once());
  EXPECT_EQ(counting.counted(launch(1, 66, "old"), 10), 3);
  // Its module was unloaded, and another kernel got the handle.
  EXPECT_EQ(counting.counted(launch(1, 66, "new"), 10), 3);
}

TEST(CountingPlan, CountsAsManyWhereSixtyFourThreadsLaunch) {
  Counting counting(at_once());
  std::atomic<int> count{0};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 64; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        for (std::uintptr_t kernel = 0; kernel < 10; ++kernel)
          count += counting.counts(launch(kernel)) ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(count, 30);
  EXPECT_EQ(counting.plan.launches(), 64 * 500 * 10);
}

void* stream(std::uintptr_t number) {
  return reinterpret_cast<void*>(number);
}

TEST(Captures, GoOnFromBeforeTheCallUntilTheirEnd) {
  Captures captures;
  EXPECT_FALSE(captures.any());
  captures.begins();
  EXPECT_TRUE(captures.any());
  captures.has_begun(stream(0x10), true);
  captures.begins();
  captures.has_begun(stream(0x20), false);  // refused
  EXPECT_TRUE(captures.any());
  captures.has_ended(stream(0x30));  // one that does not capture
  EXPECT_TRUE(captures.any());
  captures.has_ended(stream(0x10));
  EXPECT_FALSE(captures.any());
  captures.has_ended(stream(0x10));
  EXPECT_FALSE(captures.any());
}

TEST(Captures, TakeLaunchesIntoTheirStreamUntilTheirEnd) {
  Captures captures;
  EXPECT_FALSE(captures.is_capturing(stream(0x10)));
  captures.begins();
  EXPECT_FALSE(captures.is_capturing(stream(0x10))) << "it may be refused";
  captures.has_begun(stream(0x10), true);
  EXPECT_TRUE(captures.is_capturing(stream(0x10)));
  EXPECT_FALSE(captures.is_capturing(stream(0x20)));
  captures.has_ended(stream(0x10));
  EXPECT_FALSE(captures.is_capturing(stream(0x10)));
}

TEST(Captures, OfEachThreadsOwnDefaultStreamAreTheThreads) {
  Captures captures;
  captures.begins();
  captures.has_begun(stream(2), true);
  std::jthread([&] {
    captures.begins();
    captures.has_begun(stream(2), true);
    captures.has_ended(stream(2));
  }).join();
  EXPECT_TRUE(captures.any());
  captures.has_ended(stream(2));
  EXPECT_FALSE(captures.any());
}

TEST(CountingBudget, AllowsAFiftiethOfTheTimeSinceTheFirst) {
  const CountingBudget::Clock::time_point begin{1h};
  CountingBudget budget;
  EXPECT_EQ(budget.allows(begin), Countable::first) << "nothing was counted";
  budget.spend(begin, begin + 20ms);
  EXPECT_EQ(budget.allows(begin + 20ms), Countable::first);
  budget.spend(begin + 500ms, begin + 512ms);
  EXPECT_EQ(budget.allows(begin + 1599ms), Countable::first);
  EXPECT_EQ(budget.allows(begin + 1600ms), Countable::any) << "32 ms of 1,600";
  budget.spend(begin + 1600ms, begin + 1640ms);
  EXPECT_EQ(budget.allows(begin + 3599ms), Countable::first);
  EXPECT_EQ(budget.allows(begin + 3600ms), Countable::any);
}

TEST(CountingBudget, AllowsFirstReadingsHalfASecondBefore) {
  const CountingBudget::Clock::time_point begin{1h};
  CountingBudget budget;
  budget.spend(begin, begin + 499ms);
  EXPECT_EQ(budget.allows(begin + 499ms), Countable::first);
  budget.spend(begin + 499ms, begin + 502ms);
  EXPECT_EQ(budget.allows(begin + 502ms), Countable::beyond_budget);
  EXPECT_EQ(budget.allows(begin + 25'099ms), Countable::beyond_budget);
  EXPECT_EQ(budget.allows(begin + 25'100ms), Countable::any) << "502 ms of 25,100";
}

TEST(LaunchGate, LetsNobodyBesideTheOneThatClosedIt) {
  LaunchGate gate(10s);
  std::atomic<int> inside{0};
  std::atomic<int> together{0};
  std::atomic<bool> done{false};
  std::vector<std::jthread> launching;
  for (int thread = 0; thread < 8; ++thread) {
    launching.emplace_back([&] {
      while (!done) {
        gate.enter();
        ++inside;
        std::this_thread::yield();
        --inside;
        gate.leave();
      }
    });
  }
  int closed = 0;
  for (int i = 0; i < 200; ++i) {
    const LaunchGate::Closed holds = gate.close(5s);
    if (!holds) continue;
    ++closed;
    for (int look = 0; look < 50; ++look) together += inside;
  }
  done = true;
  launching.clear();
  EXPECT_EQ(together, 0);
  EXPECT_EQ(closed, 200);
}

TEST(LaunchGate, ClosesForOneAtATime) {
  LaunchGate gate(10s);
  std::optional<LaunchGate::Closed> holds = gate.close(1s);
  ASSERT_TRUE(*holds);
  EXPECT_FALSE(gate.close(20ms));
  std::jthread opens([&] {
    std::this_thread::sleep_for(20ms);
    holds.reset();
  });
  EXPECT_TRUE(gate.close(5s));
}

TEST(LaunchGate, StaysOpenWhereALaunchInsideDoesNotReturn) {
  LaunchGate gate(10s);
  gate.enter();
  EXPECT_FALSE(gate.close(20ms));
  const auto start = Clock::now();
  gate.enter();
  EXPECT_LT(Clock::now() - start, 1s);
}

TEST(LaunchGate, OpensAgainWhateverFailsWhileItIsClosed) {
  LaunchGate gate(10s);
  try {
    const LaunchGate::Closed holds = gate.close(1s);
    throw std::runtime_error("CUPTI failed");
  } catch (const std::runtime_error&) {
  }
  LaunchGate::Closed first = gate.close(0ms);
  EXPECT_TRUE(first);
  LaunchGate::Closed holds = std::move(first);
  EXPECT_FALSE(first);
  EXPECT_FALSE(gate.close(0ms)) << "whoever it was given to holds it";
}

TEST(LaunchGate, HoldsNoLaunchForEver) {
  LaunchGate gate(50ms);
  const LaunchGate::Closed holds = gate.close(1s);
  ASSERT_TRUE(holds);
  const auto start = Clock::now();
  gate.enter();
  gate.wait_until_open();
  EXPECT_GE(Clock::now() - start, 90ms);
  EXPECT_LT(Clock::now() - start, 5s);
}

TEST(WaitFor, AsksAtLeastOnceAndStopsAtTheEndOfItsPatience) {
  int asked = 0;
  EXPECT_TRUE(wait_for(0ms, [&] { return ++asked > 0; }));
  EXPECT_FALSE(wait_for(30ms, [&] {
    ++asked;
    return false;
  }));
  EXPECT_GT(asked, 10);
}

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
    if (!counter->begin(kernel, [] { return std::uint64_t{0}; })) return false;
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
  counter->poll();
  EXPECT_EQ(counter->countable(), Countable::first) << "nothing was counted";
  gpu.stopping = 5ms;
  const auto first = Clock::now();
  EXPECT_TRUE(count(1));
  EXPECT_EQ(counter->countable(), Countable::first) << "the session is for first readings";
  counter->poll();
  EXPECT_EQ(counter->countable(), Countable::first) << "the session has just ended";
  EXPECT_TRUE(wait_for(Patience(5000), [&] {
    counter->poll();
    return counter->countable() == Countable::any;
  }));
  EXPECT_GE(Clock::now() - first, 250ms) << "fifty times what its end took";
  EXPECT_TRUE(count(2));
  EXPECT_EQ(counter->countable(), Countable::any) << "while the session lasts";
  counter->poll();
  EXPECT_EQ(counter->countable(), Countable::first);
}

TEST_F(ContextCounterTest, RepeatsInASessionThatCannotBeEnded) {
  EXPECT_TRUE(count(1));
  gpu.idle = false;
  EXPECT_TRUE(wait_for(Patience(5000), [&] {
    counter->poll();
    return counter->countable() == Countable::any;
  }));
  EXPECT_EQ(gpu.count("stop"), 0);
  gpu.idle = true;
  for (std::uint32_t i = 2; i <= kRangesOfSession; ++i) EXPECT_TRUE(count(i));
  EXPECT_EQ(gpu.count("stop"), 1);
  EXPECT_TRUE(count(100));
  counter->poll();
  EXPECT_EQ(gpu.count("stop"), 2) << "the next session is tended again";
}

TEST_F(ContextCounterTest, ReadsASessionThatHasComeToRest) {
  count(1);
  EXPECT_THAT(read, SizeIs(0));
  counter->poll();
  EXPECT_THAT(read, SizeIs(1));
  counter->poll();
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
  counter->poll();
  EXPECT_THAT(read, SizeIs(0));
  gpu.idle = true;
  counter->poll();
  EXPECT_THAT(read, SizeIs(1));
}

TEST_F(ContextCounterTest, LetsAProgramGoOnWhoseKernelWaitsForALaterLaunch) {
  count(1);
  ASSERT_TRUE(counter->begin(2, [] { return std::uint64_t{0}; }));
  gpu.idle = false;  // the kernel that was launched waits for another
  EXPECT_FALSE(counter->end(true));
  EXPECT_THAT(ended[0].second, HasSubstr("had not ended"));
  EXPECT_FALSE(count(3)) << "nothing more is counted, and nothing waits";
  EXPECT_EQ(gpu.count("pop"), 1) << "a call of CUPTI would wait for the kernel";
  gpu.idle = true;  // the other one has been launched
  counter->poll();
  EXPECT_THAT(read, ElementsAre(std::pair<std::uint32_t, double>(1, 1)));
}

TEST_F(ContextCounterTest, WaitsForNothingWhileAStreamCaptures) {
  gpu.is_capturing = [this] { return captures.any(); };
  count(1);
  captures.begins();
  EXPECT_FALSE(count(2));
  captures.has_begun(nullptr, true);
  EXPECT_FALSE(count(3));
  counter->poll();
  counter->finish(false);
  EXPECT_FALSE(gpu.capture_broken);
  EXPECT_TRUE(counter->usable() || ended.empty()) << "a capture is no reason to give up";
}

TEST_F(ContextCounterTest, WaitsForALaunchThatIsCountedWhenItIsStopped) {
  const auto not_known = [] { return std::uint64_t{0}; };
  ASSERT_TRUE(counter->begin(1, not_known));
  std::atomic<bool> stopped{false};
  std::thread process_ends([&] {
    counter->stop();
    stopped = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(stopped) << "CUPTI is inside a launch";
  EXPECT_TRUE(counter->end(true));
  process_ends.join();
  EXPECT_FALSE(counter->begin(2, not_known));
}

TEST_F(ContextCounterTest, DoesNotReadALaunchThatTheDriverRefused) {
  ASSERT_TRUE(counter->begin(1, [] { return std::uint64_t{0}; }));
  EXPECT_FALSE(counter->end(false));
  count(2);
  counter->poll();
  EXPECT_THAT(read, ElementsAre(std::pair<std::uint32_t, double>(2, 1)));
}

TEST_F(ContextCounterTest, OutlivesTheFailureOfEachCall) {
  const auto run = [&] {
    counter->prepare();
    for (std::uint32_t i = 1; i <= kRangesOfSession + 8; ++i) {
      count(i);
      counter->gate().enter();
      counter->gate().leave();
    }
    counter->poll();
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
      make({.before = 5s, .after = 5s, .longest_hold = 10s, .session = 0ms, .polling = 10ms, .end = 1s});
  std::vector<std::jthread> threads;
  for (std::uint32_t thread = 0; thread < 16; ++thread) {
    threads.emplace_back([this, thread] {
      for (std::uint32_t i = 0; i < 100; ++i) {
        if (i % 20 == 0) {
          EXPECT_TRUE(count(thread * 1000 + i + 1));
          continue;
        }
        counter->gate().enter();
        gpu.launch(nullptr);
        counter->gate().leave();
      }
    });
  }
  threads.emplace_back([this] {
    for (int i = 0; i < 20; ++i) {
      std::this_thread::sleep_for(1ms);
      counter->poll();
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
