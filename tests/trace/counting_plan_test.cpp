#include "trace/counting_plan.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "trace/captures.hpp"

namespace occbench {
namespace {

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

}  // namespace
}  // namespace occbench
