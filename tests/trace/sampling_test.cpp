#include "trace/sampling.hpp"

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "trace/captures.hpp"

namespace occbench {
namespace {

/// A launch of kernel `number`.
LaunchCall launch(std::uintptr_t number, std::uint32_t grid = 66, std::string_view name = "_Z6reducePf") {
  LaunchCall call;
  call.function = reinterpret_cast<void*>(0x1000 + number);
  call.grid = {grid, 1, 1};
  call.block = {256, 1, 1};
  call.name = name;
  return call;
}

bool counts(Sampling& sampling, const LaunchCall& call, Countable countable = Countable::any) {
  return sampling.look(call, countable) == Look::count;
}

int counted(Sampling& sampling, const LaunchCall& call, int launches) {
  int count = 0;
  for (int i = 0; i < launches; ++i) count += counts(sampling, call) ? 1 : 0;
  return count;
}

SamplingRules at_once(int launches = 3) {
  return {.counted = launches, .after = 0, .wanted = {}};
}

TEST(Sampling, CountsSoManyLaunchesOfEachConfigurationAfterItsFirst) {
  Sampling sampling(at_once());
  std::vector<int> which;
  for (int i = 1; i <= 100; ++i) {
    if (counts(sampling, launch(1))) which.push_back(i);
  }
  EXPECT_EQ(which, (std::vector{2, 3, 4}));
  EXPECT_EQ(counted(sampling, launch(1, 67), 100), 3) << "another grid";
  EXPECT_EQ(counted(sampling, launch(2), 100), 3) << "another kernel";
  EXPECT_EQ(counted(sampling, launch(3), 1), 0) << "launched once";
}

TEST(Sampling, CountsEachConfigurationOnceWhereNoneMayBeRepeated) {
  Sampling sampling(at_once());
  int count = 0;
  for (int i = 0; i < 100; ++i) count += counts(sampling, launch(1), Countable::first) ? 1 : 0;
  EXPECT_EQ(count, 1);
  EXPECT_EQ(counted(sampling, launch(1), 100), 2) << "the others, once they may";
  Sampling none(at_once(0));
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(counts(none, launch(1), Countable::first));
}

TEST(Sampling, CountsOnlyKernelsThatAreWantedAndNoneThatWaitsForOtherGpus) {
  SamplingRules rules = at_once();
  rules.wanted = [](std::string_view name) { return name.find("gemm") != name.npos; };
  Sampling sampling(rules);
  EXPECT_EQ(counted(sampling, launch(1), 10), 0);
  EXPECT_EQ(counted(sampling, launch(2, 66, "sm90_gemm"), 10), 3);
  Sampling all(at_once());
  EXPECT_EQ(
      counted(all, launch(3, 66, "_Z41ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorage"),
              10),
      0);
}

TEST(Sampling, LooksAtALaunchThatCannotBeCountedAndCountsALaterOne) {
  Sampling sampling(at_once(1));
  sampling.look(launch(1));
  EXPECT_FALSE(counts(sampling, launch(1), Countable::none));
  EXPECT_TRUE(counts(sampling, launch(1)));
  EXPECT_FALSE(counts(sampling, launch(1)));
}

TEST(Sampling, TriesAgainWhereALaunchFailedButNotForEver) {
  Sampling sampling(at_once(1));
  sampling.look(launch(1));
  int tries = 0;
  for (int i = 0; i < 1000; ++i) {
    if (!counts(sampling, launch(1))) continue;
    ++tries;
    sampling.failed(launch(1));
  }
  EXPECT_EQ(tries, 21);
}

TEST(Sampling, CountsNothingBeforeTheLaunchThatTheUserNames) {
  Sampling sampling({.counted = 3, .after = 50, .wanted = {}});
  EXPECT_EQ(counted(sampling, launch(1), 50), 0);
  EXPECT_EQ(counted(sampling, launch(1), 50), 3);
}

TEST(Sampling, BeginsWhenTheProgramSaysSo) {
  Sampling sampling({.counted = 3, .after = 1'000'000, .wanted = {}});
  EXPECT_EQ(counted(sampling, launch(1), 50), 0);
  sampling.begin();
  EXPECT_EQ(counted(sampling, launch(1), 50), 3);
}

TEST(Sampling, BeginsOnceAProgramRepeatsItself) {
  // Three kernels in a loop: their 35th launch is the 32nd since one was new.
  Sampling sampling({.counted = 3, .after = std::nullopt, .wanted = {}});
  int first = 0;
  int count = 0;
  for (int round = 1; round <= 16; ++round) {
    for (const std::uintptr_t kernel : {1u, 2u, 3u}) {
      if (!counts(sampling, launch(kernel))) continue;
      if (count++ == 0) first = round;
    }
  }
  EXPECT_EQ(first, 12);
  EXPECT_EQ(count, 9);
}

TEST(Sampling, BeginsEarlyWhereThereIsOneKernel) {
  Sampling sampling({.counted = 3, .after = std::nullopt, .wanted = {}});
  EXPECT_EQ(counted(sampling, launch(1), 8), 3);
}

TEST(Sampling, LeavesATunerAlone) {
  // 60 candidates, each launched 12 times with a kernel that clears the cache in between, then the one
  // chosen.
  Sampling sampling({.counted = 3, .after = std::nullopt, .wanted = {}});
  const LaunchCall clear = launch(999, 1056, "_Z5clearPf");
  for (std::uintptr_t candidate = 0; candidate < 60; ++candidate) {
    for (int i = 0; i < 12; ++i) {
      EXPECT_FALSE(counts(sampling, clear)) << candidate;
      EXPECT_FALSE(counts(sampling, launch(candidate))) << candidate;
    }
  }
  EXPECT_EQ(counted(sampling, launch(17), 100), 3);
}

TEST(Sampling, TellsAKernelFromTheOneWhoseHandleItHas) {
  Sampling sampling(at_once());
  EXPECT_EQ(counted(sampling, launch(1, 66, "old"), 10), 3);
  // Its module was unloaded, and another kernel got the handle.
  EXPECT_EQ(counted(sampling, launch(1, 66, "new"), 10), 3);
}

TEST(Sampling, OfAMillionConfigurationsTakesBoundedMemory) {
  Sampling sampling(at_once());
  for (std::uint32_t grid = 1; grid <= 1'000'000; ++grid) sampling.look(launch(1, grid));
  EXPECT_EQ(sampling.launches(), 1'000'000);
  EXPECT_LE(sampling.configurations(), 65'536);
}

TEST(Sampling, CountsAsManyWhereSixtyFourThreadsLaunch) {
  Sampling sampling(at_once());
  std::atomic<int> count{0};
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 64; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        for (std::uintptr_t kernel = 0; kernel < 10; ++kernel)
          count += counts(sampling, launch(kernel)) ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(count, 30);
  EXPECT_EQ(sampling.launches(), 64 * 500 * 10);
}

TEST(Graphs, AreCountedWhereTheyAreOneKernel) {
  using enum GraphNode;
  EXPECT_TRUE(is_one_kernel(std::array{kernel}));
  EXPECT_TRUE(is_one_kernel(std::array{empty, kernel, empty}));
  EXPECT_FALSE(is_one_kernel(std::array{kernel, kernel}));
  EXPECT_FALSE(is_one_kernel(std::array{kernel, other}));
  EXPECT_FALSE(is_one_kernel(std::array{empty}));
  EXPECT_FALSE(is_one_kernel({}));
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

ProgramKernel kernel(std::string name) {
  ProgramKernel kernel;
  kernel.name = std::move(name);
  return kernel;
}

TEST(Sampling, KeepsWhatWasDescribedWithItsLaunches) {
  Sampling sampling({.counted = 3, .after = 0, .wanted = {}});
  EXPECT_EQ(sampling.look(launch(1), Countable::none), Look::pass) << "it may be captured";
  EXPECT_EQ(sampling.look(launch(2), Countable::none), Look::pass);
  for (int i = 0; i < 4; ++i) {
    if (sampling.look(launch(1)) == Look::first) sampling.describe(launch(1), 2, kernel("_Z6reducePf"));
  }
  sampling.refused(launch(1));
  ASSERT_EQ(sampling.looked_at().size(), 1) << "the other was captured";
  EXPECT_EQ(sampling.looked_at()[0].device, 2);
  EXPECT_EQ(sampling.looked_at()[0].kernel->name, "_Z6reducePf");
  EXPECT_EQ(sampling.looked_at()[0].launches, 3);
}

TEST(Sampling, KeepsAKernelWhoseHandleAnotherHasNow) {
  Sampling sampling({.counted = 3, .after = 100, .wanted = {}});
  for (const char* name : {"_Z6reducePf", "_Z4fillPf"}) {
    for (int i = 0; i < 5; ++i) {
      const LaunchCall call = launch(1, 66, name);
      if (sampling.look(call) == Look::first) sampling.describe(call, 0, kernel(name));
    }
  }
  ASSERT_EQ(sampling.looked_at().size(), 2);
  for (const LookedAt& one : sampling.looked_at()) EXPECT_EQ(one.launches, 5);
}

}  // namespace
}  // namespace occbench
