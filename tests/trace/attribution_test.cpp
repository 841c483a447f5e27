#include "trace/attribution.hpp"

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// Samples of an H100 while known kernels ran.
struct Window {
  std::vector<SmSample> samples;
  std::vector<LoggedLaunch> launches;

  Attribution attribute() const {
    return occbench::attribute(samples, launches);
  }
};

/// 'a' is kernel 0, and so on.
std::uint32_t kernel_number(const std::string& name) {
  return static_cast<std::uint32_t>(name[0] - 'a');
}

std::map<std::string, Window> recorded_windows() {
  std::ifstream file(OCCBENCH_SOURCE_DIR "/tests/data/sampled_windows/h100.txt");
  std::map<std::string, Window> windows;
  std::map<std::string, std::uint64_t> blocks;
  Window* window = nullptr;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string name;
    words >> kind;
    if (kind == "kernel") {
      words >> name;
      words >> blocks[name];
    } else if (kind == "window") {
      words >> name;
      window = &windows[name];
    } else if (kind == "call") {
      std::uint64_t called = 0;
      words >> called >> name;
      window->launches.push_back({kernel_number(name), blocks[name], 1, called});
    } else if (kind == "sample") {
      SmSample sample;
      std::uint64_t length = 0;
      words >> sample.start_ns >> length >> sample.blocks >> sample.warp_cycles >> sample.active_cycles >>
          sample.longest_cycles >> sample.elapsed_cycles;
      sample.end_ns = sample.start_ns + length;
      window->samples.push_back(sample);
    } else if (kind == "idle") {
      std::uint64_t start = 0;
      std::uint64_t end = 0;
      std::uint64_t count = 0;
      words >> start >> end >> count;
      for (std::uint64_t i = 0; i < count; ++i) {
        SmSample sample;
        sample.start_ns = start + (end - start) * i / count;
        sample.end_ns = start + (end - start) * (i + 1) / count;
        sample.elapsed_cycles = 990;
        window->samples.push_back(sample);
      }
    }
  }
  return windows;
}

double occupancy_pct(const std::vector<SampledLaunch>& launches, std::uint32_t kernel) {
  double warps = 0;
  double cycles = 0;
  for (const SampledLaunch& launch : launches) {
    if (launch.kernel != kernel) continue;
    warps += launch.warp_cycles;
    cycles += launch.active_cycles;
  }
  return 100 * warps / (64 * cycles);
}

double mean_us(const std::vector<SampledLaunch>& launches, std::uint32_t kernel) {
  double ns = 0;
  int count = 0;
  for (const SampledLaunch& launch : launches) {
    if (launch.kernel != kernel) continue;
    ns += launch.active_ns;
    ++count;
  }
  return ns / count / 1000;
}

/// What each kernel's warps by construction are: each has no more blocks than fit at once, and its warps spin for equally long.
TEST(RecordedWindow, HasTheOccupancyOfKernelsThatFillTheirSmsEvenly) {
  const Attribution found = recorded_windows().at("alone").attribute();
  ASSERT_THAT(found.launches, SizeIs(23)) << "the last one was cut off";
  for (std::uint32_t i = 0; i < 23; ++i) EXPECT_EQ(found.launches[i].kernel, i % 8);
  EXPECT_NEAR(occupancy_pct(found.launches, kernel_number("a")), 100 * 2 * 8 / 64.0, 0.3)
      << "two blocks per SM";
  EXPECT_NEAR(occupancy_pct(found.launches, kernel_number("c")), 100 * 32 / 64.0, 0.3) << "one block per SM";
  EXPECT_NEAR(occupancy_pct(found.launches, kernel_number("f")), 100 * 1 / 64.0, 0.1) << "one warp per SM";
  EXPECT_NEAR(occupancy_pct(found.launches, kernel_number("h")), 100 * 8 / 64.0, 0.2)
      << "two blocks on one SM";
  EXPECT_NEAR(found.unattributed_ns, 0, 1e-3);
}

/// Launches that are queued before the window began, and the kernels of a graph, between which few samples are idle.
TEST(RecordedWindow, SaysTheSameOfAKernelInAQueueAndInAGraph) {
  const std::map<std::string, Window> windows = recorded_windows();
  const std::vector<SampledLaunch> alone = windows.at("alone").attribute().launches;
  for (const char* name : {"queued", "graph"}) {
    const Attribution found = windows.at(name).attribute();
    ASSERT_GT(found.launches.size(), 64) << name;
    EXPECT_GT(found.attributed_ns, 0.99 * (found.attributed_ns + found.unattributed_ns)) << name;
    for (std::uint32_t kernel = 0; kernel < 8; ++kernel) {
      // Uneven blocks are placed in another way each time.
      const double tolerance = kernel == kernel_number("g") ? 0.6 : 0.15;
      EXPECT_NEAR(occupancy_pct(found.launches, kernel), occupancy_pct(alone, kernel), tolerance)
          << name << kernel;
      EXPECT_NEAR(mean_us(found.launches, kernel), mean_us(alone, kernel), 0.2) << name << kernel;
    }
  }
}

TEST(RecordedWindow, OfTwoStreamsHasTheKernelsThatRanAlone) {
  Window window = recorded_windows().at("streams");
  for (std::size_t i = 0; i < window.launches.size(); ++i) window.launches[i].stream = 1 + i % 2;
  const Attribution found = window.attribute();
  const std::vector<SampledLaunch> alone = recorded_windows().at("alone").attribute().launches;
  for (const SampledLaunch& launch : found.launches)
    EXPECT_NEAR(occupancy_pct({launch}, launch.kernel), occupancy_pct(alone, launch.kernel), 1.5)
        << launch.kernel;
  EXPECT_GT(found.unattributed_ns, 0);
}

/// A window of 1 us samples that a test makes: runs of so many hundreds of blocks each, with a gap before each.
struct MadeWindow : Window {
  static constexpr std::uint64_t kScale = 100;
  std::uint64_t now = 1'000'000;

  MadeWindow() {
    sample(0);
    gap(4);
  }
  void gap(int samples_) {
    for (int i = 0; i < samples_; ++i) sample(0);
  }
  /// Its blocks are launched in the first sample of two.
  void run(double blocks, int gap_ = 3) {
    sample(blocks, 1000);
    sample(0, 500);
    gap(gap_);
  }
  void sample(double blocks, double cycles = 0) {
    samples.push_back({now, now + 1000, kScale * blocks, 16 * cycles, cycles, cycles / 132, 1000});
    now += 1000;
  }
  void call(std::uint32_t kernel, std::uint64_t blocks, std::uint64_t called_ns = 0,
            std::uint32_t stream = 1) {
    launches.push_back({kernel, kScale * blocks, stream, called_ns});
  }
  /// Kernels 0, 1, ... of 7, 17, ... blocks.
  void call_ten() {
    for (std::uint32_t kernel = 0; kernel < 10; ++kernel) call(kernel, 10 * kernel + 7);
  }
  /// Such a kernel of a stream, for six samples without a gap.
  void call_and_run(std::uint32_t kernel, std::uint32_t stream = 1) {
    call(kernel, 10 * kernel + 7, 0, stream);
    sample(10 * kernel + 7, 100'000);
    for (int i = 0; i < 5; ++i) sample(0, 90'000);
  }
  std::vector<std::uint32_t> kernels() const {
    std::vector<std::uint32_t> numbers;
    for (const SampledLaunch& launch : attribute().launches) numbers.push_back(launch.kernel);
    return numbers;
  }
};

TEST(Attribution, BeginsAtTheLaunchWhoseBlocksComeFirst) {
  MadeWindow window;
  window.call_ten();
  for (const double blocks : {37., 47., 57.}) window.run(blocks);
  EXPECT_THAT(window.kernels(), ElementsAre(3, 4, 5));
  const SampledLaunch launch = window.attribute().launches[0];
  EXPECT_EQ(launch.samples, 2);
  EXPECT_EQ(launch.warp_cycles, 16 * 1500);
  EXPECT_EQ(launch.active_cycles, 1500);
  EXPECT_DOUBLE_EQ(launch.longest_cycles, 1500.0 / 132);
}

TEST(Attribution, AddsUpWhatUnitsDidWhereTheChipSaysSo) {
  MadeWindow window;
  window.call_ten();
  for (const double blocks : {37., 47., 57.}) window.run(blocks);
  EXPECT_EQ(window.attribute().launches[0].samples_of_units, 0);
  for (SmSample& sample : window.samples) {
    sample.tensor_cycles = 30;
    sample.dram_busy_pct = 50;
  }
  const SampledLaunch launch = window.attribute().launches[0];
  EXPECT_EQ(launch.samples_of_units, launch.samples);
  EXPECT_DOUBLE_EQ(launch.tensor_cycles, 30.0 * static_cast<double>(launch.samples));
  EXPECT_DOUBLE_EQ(launch.dram_busy_ns, 0.5 * static_cast<double>(launch.end_ns - launch.start_ns));
  window.samples[window.samples.size() / 2].tensor_cycles.reset();
  std::int64_t without = 0;
  for (const SampledLaunch& each : window.attribute().launches)
    without += each.samples - each.samples_of_units;
  EXPECT_EQ(without, 1);
}

TEST(Attribution, LeavesOutWhatRanWhenTheWindowBeganAndEnded) {
  MadeWindow window;
  window.samples = {window.samples[0]};
  window.run(5);  // of a launch of 37
  window.run(47);
  window.run(57);
  window.run(67);
  window.sample(9, 1000);  // of one of 77
  window.call_ten();
  EXPECT_THAT(window.kernels(), ElementsAre(4, 5, 6));
  EXPECT_GT(window.attribute().cut_ns, 0);
  EXPECT_NEAR(window.attribute().unattributed_ns, 0, 1e-3);
}

TEST(Attribution, LeavesOutBlocksThatNoLaunchHas) {
  MadeWindow window;
  window.call_ten();
  for (const double blocks : {7., 17., 27., 37., 47., 1000., 57., 67., 77., 87., 97.}) window.run(blocks);
  EXPECT_THAT(window.kernels(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_NEAR(window.attribute().unattributed_ns, window.attribute().attributed_ns / 10, 1e-9);
}

TEST(Attribution, ThrowsAWindowAwayWhoseBlocksDoNotComeOut) {
  MadeWindow window;
  window.call_ten();
  for (const double blocks : {7., 18., 27., 1000., 37., 999., 57.}) window.run(blocks);
  EXPECT_THAT(window.kernels(), IsEmpty());
  EXPECT_GT(window.attribute().unattributed_ns, 0);
  EXPECT_THAT(attribute(window.samples, {}).launches, IsEmpty());
  EXPECT_THAT(attribute({}, window.launches).launches, IsEmpty());
}

/// Two kernels of equally many blocks in turn: either could be first.
TEST(Attribution, ThrowsAWindowAwayThatCouldBeReadInTwoWays) {
  MadeWindow window;
  for (int i = 0; i < 10; ++i) window.call(i % 2, 66);
  for (int i = 0; i < 5; ++i) window.run(66);
  EXPECT_THAT(window.kernels(), IsEmpty());
  // A third tells them apart.
  window.call(2, 67);
  window.run(67);
  EXPECT_THAT(window.kernels(), ElementsAre(1, 0, 1, 0, 1, 2));
}

TEST(Attribution, IsTheSameWhereAProgramRepeatsItself) {
  MadeWindow window;
  for (int i = 0; i < 30; ++i) window.call(i % 3, 66 + i % 3);
  for (int i = 0; i < 9; ++i) window.run(66 + i % 3);
  EXPECT_THAT(window.kernels(), ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2));
}

TEST(Attribution, KnowsThatALaunchRunsAfterItsCallAndOnAnIdleGpuAtOnce) {
  MadeWindow window;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::uint64_t called = window.now - 10'000;
    window.call(i % 2, 66, i < 4 || i > 7 ? 0 : called);
    if (i >= 4 && i <= 7) window.run(66, 60);
  }
  // Calls after the window.
  for (std::uint32_t i = 8; i < 12; ++i) window.launches[i].called_ns = window.now + 100'000;
  EXPECT_THAT(window.kernels(), ElementsAre(0, 1, 0, 1)) << "neither earlier ones nor later ones";
}

TEST(Attribution, SharesSamplesWithoutAGapByTheBlocksOfEach) {
  MadeWindow window;
  window.call(3, 10);
  window.call(4, 20);
  window.call(5, 30);
  window.call(6, 40);
  for (const auto& [blocks, cycles] : {std::pair(10., 1000.),
                                       {0., 900.},
                                       {0., 300.},
                                       {15., 900.},
                                       {5., 800.},
                                       {0., 700.},
                                       {0., 1.},
                                       {30., 500.},
                                       {40., 5.}}) {
    window.sample(blocks, cycles);
  }
  window.gap(5);
  const std::vector<SampledLaunch> found = window.attribute().launches;
  ASSERT_THAT(found, SizeIs(2)) << "the last two have too few samples";
  EXPECT_EQ(found[0].active_cycles, 2200);
  EXPECT_EQ(found[1].active_cycles, 2401);
  EXPECT_EQ(found[1].samples, 4);
  EXPECT_GT(window.attribute().unattributed_ns, 0);
}

/// Runs at the window's ends hold whole launches too.
TEST(Attribution, UsesTheWholeLaunchesOfRunsThatTheWindowCuts) {
  MadeWindow window;
  window.samples = {window.samples[0]};
  window.call_ten();
  const auto launch = [&](double blocks, int samples) {
    for (int i = 0; i < samples; ++i) window.sample(i == 0 ? blocks : 0, 1000 + blocks);
  };
  launch(5, 4);  // of 7
  launch(17, 4);
  launch(27, 4);
  window.gap(2);
  launch(37, 4);
  window.gap(2);
  launch(47, 4);
  launch(57, 4);
  launch(9, 4);  // of 67
  const Attribution found = window.attribute();
  std::vector<std::uint32_t> kernels;
  for (const SampledLaunch& one : found.launches) {
    kernels.push_back(one.kernel);
    EXPECT_EQ(one.active_cycles, 4 * (1000 + 10 * one.kernel + 7));
  }
  EXPECT_THAT(kernels, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_GT(found.cut_ns, 0);
  EXPECT_NEAR(found.unattributed_ns, 0, 1e-3);
}

/// Launches of 10,000 blocks or so, each for 100 samples, and then for one in which its last blocks run and SMs wait.
struct BusyWindow : MadeWindow {
  explicit BusyWindow(int first_samples) {
    samples = {samples[0]};
    for (std::uint32_t i = 0; i < 40; ++i) call(i % 8, blocks_of(i));
    for (std::uint32_t i = 17; i < 23; ++i) {
      const int missing = i == 17 ? 100 - first_samples : 0;
      for (int part = missing; part < 100; ++part) sample(static_cast<double>(blocks_of(i)) / 100, 132'000);
      sample(0, 60'000);
    }
    for (int part = 0; part < 30; ++part) sample(100, 132'000);
  }
  static std::uint64_t blocks_of(std::uint32_t i) {
    return 100 * (90 + i % 8 * 7);
  }
};

TEST(Attribution, FindsTheLaunchesOfAWindowWithoutAnIdleSampleByTheirEnds) {
  const BusyWindow window(40);
  const Attribution found = window.attribute();
  std::vector<std::uint32_t> kernels;
  for (const SampledLaunch& launch : found.launches) {
    kernels.push_back(launch.kernel);
    EXPECT_EQ(launch.samples, 101);
  }
  EXPECT_THAT(kernels, ElementsAre(18 % 8, 19 % 8, 20 % 8, 21 % 8, 22 % 8));
  EXPECT_GT(found.cut_ns, 0);
}

TEST(Attribution, FindsNoLaunchesInABusyWindowThatFitsSeveral) {
  BusyWindow window(40);
  for (LoggedLaunch& launch : window.launches) launch.blocks = 9000;
  EXPECT_THAT(window.kernels(), IsEmpty()) << "its blocks are not theirs";
}

/// The kernels of a graph that is launched again and again, with fills of memory between that run as kernels of the driver's. No sample
/// is idle.
struct GraphWindow : MadeWindow {
  GraphWindow() {
    samples = {samples[0]};
    for (int launch = 0; launch < 20; ++launch) {
      for (std::uint32_t kernel = 0; kernel < kKernels; ++kernel) {
        if (kernel % 5 == 0) call(LoggedLaunch::kMemory, 0);
        call(kernel, 20 + 13 * kernel);
      }
    }
    for (int launch = 0; launch < 4; ++launch) {
      for (std::uint32_t kernel = 0; kernel < kKernels; ++kernel) {
        if (kernel % 5 == 0) part(3 + kernel, 4000);
        part(20 + 13 * kernel, 100'000 + 1000 * kernel);
      }
    }
  }
  static constexpr std::uint32_t kKernels = 20;
  void part(double blocks, double cycles) {
    sample(blocks, cycles / 2);
    for (int i = 0; i < 3; ++i) sample(0, cycles);
  }
};

TEST(Attribution, FindsTheKernelsOfGraphsBetweenFillsOfMemoryWhoseBlocksAreNotKnown) {
  const GraphWindow window;
  const Attribution found = window.attribute();
  ASSERT_GT(found.launches.size(), 3.5 * GraphWindow::kKernels);
  for (const SampledLaunch& launch : found.launches) {
    EXPECT_EQ(launch.samples, 4) << launch.kernel;
    EXPECT_EQ(launch.active_cycles, 3.5 * (100'000 + 1000 * launch.kernel)) << launch.kernel;
  }
}

TEST(Attribution, GoesOnBehindBlocksOfSomebodyElse) {
  GraphWindow window;
  const auto behind_a_kernel = window.samples.begin() + 141;
  std::vector<SmSample> others(behind_a_kernel, behind_a_kernel + 4);
  others[0].blocks = 17;
  window.samples.insert(behind_a_kernel, others.begin(), others.end());
  const Attribution found = window.attribute();
  EXPECT_GT(found.launches.size(), 3 * GraphWindow::kKernels);
  for (const SampledLaunch& launch : found.launches)
    EXPECT_EQ(launch.active_cycles, 3.5 * (100'000 + 1000 * launch.kernel)) << launch.kernel;
  EXPECT_GT(found.unattributed_ns, 0);
}

TEST(Attribution, FindsNothingInSamplesOfOtherKernels) {
  GraphWindow window;
  for (LoggedLaunch& launch : window.launches) launch.blocks += launch.kernel % 7;
  EXPECT_THAT(window.kernels(), IsEmpty());
}

/// Kernels of two programs have the same few sizes, in other orders: what fits by accident is less than a chain.
TEST(Attribution, FindsNothingInSamplesOfAProgramWhoseKernelsHaveTheSameSizes) {
  MadeWindow window;
  std::uint32_t random = 1;
  const auto size = [&] { return 1u << ((random = random * 1664525 + 1013904223) >> 29); };
  for (std::uint32_t i = 0; i < 400; ++i) window.call(i % 50, size());
  for (int i = 0; i < 300; ++i) window.run(size(), 3);
  const Attribution found = window.attribute();
  EXPECT_LT(found.attributed_ns, 0.02 * found.unattributed_ns);
}

TEST(Attribution, GivesLaunchesBesideOneOfAnotherStreamNoSamples) {
  GraphWindow window;
  for (LoggedLaunch& launch : window.launches) launch.stream = launch.kernel == 7 ? 2 : 1;
  const std::vector<std::uint32_t> found = window.kernels();
  EXPECT_THAT(found, testing::Contains(3));
  for (const std::uint32_t kernel : {6, 7, 8}) EXPECT_THAT(found, testing::Not(testing::Contains(kernel)));
}

/// A launch of a stream goes on beside those of another; it has ended where a sample is idle, and before what waits for its stream.
TEST(Attribution, KnowsWhichStreamsWaitForEachOther) {
  const auto kernels_with = [](std::uint32_t stream) {
    MadeWindow window;
    for (std::uint32_t kernel = 0; kernel < 12; ++kernel) {
      window.call_and_run(kernel, kernel == 4 ? stream : LoggedLaunch::kLegacyStream);
      if (kernel == 8) window.gap(2);
    }
    window.gap(2);
    return window.kernels();
  };
  EXPECT_THAT(kernels_with(LoggedLaunch::kLegacyStream), SizeIs(12));
  EXPECT_THAT(kernels_with(5), SizeIs(12)) << "blocking";
  EXPECT_THAT(kernels_with(LoggedLaunch::kNonBlocking | 5), ElementsAre(0, 1, 2, 9, 10, 11));
}

/// A collective of another stream began before the window, and runs on some of the SMs.
TEST(Attribution, DoesNotKnowWhatRunsSinceBeforeAChain) {
  const auto kernels_with = [](std::uint32_t stream_of_first) {
    MadeWindow window;
    window.call(20, 24, 0, stream_of_first);
    for (int i = 0; i < 8; ++i) window.sample(0, 10'000);
    for (std::uint32_t kernel = 0; kernel < 8; ++kernel) {
      window.call_and_run(kernel, LoggedLaunch::kNonBlocking | 1);
      if (kernel == 4) window.gap(2);
    }
    window.gap(2);
    return window.kernels();
  };
  EXPECT_THAT(kernels_with(LoggedLaunch::kNonBlocking | 1), SizeIs(8));
  EXPECT_THAT(kernels_with(LoggedLaunch::kNonBlocking | 2), ElementsAre(5, 6, 7));
}

TEST(Attribution, LeavesOutTheBranchesOfAGraph) {
  MadeWindow window;
  for (std::uint32_t kernel = 0; kernel < 8; ++kernel) {
    window.call_and_run(kernel);
    if (kernel == 3 || kernel == 4) window.launches.back().begins = Begins::beside;
  }
  window.gap(2);
  const std::vector<std::uint32_t> found = window.kernels();
  for (const std::uint32_t kernel : {3, 4}) EXPECT_THAT(found, testing::Not(testing::Contains(kernel)));
  EXPECT_THAT(found, testing::Contains(2));
}

/// One that was ready when the one before still ran would have filled the SMs that this left.
TEST(Attribution, HasALaunchThatMayBeginEarlyIfSmsWereLeftIdleBeforeIt) {
  const auto kernels_after = [](double last_cycles, int idle_samples, Begins begins) {
    MadeWindow window;
    for (std::uint32_t kernel = 0; kernel < 8; ++kernel) {
      window.call_and_run(kernel);
      if (kernel == 4) window.launches.back().begins = begins;
      if (kernel == 3) window.sample(0, last_cycles);
      if (kernel == 3) window.gap(idle_samples);
    }
    window.gap(2);
    return window.kernels();
  };
  EXPECT_THAT(kernels_after(20'000, 0, Begins::early), SizeIs(8));
  EXPECT_THAT(kernels_after(60'000, 1, Begins::early), SizeIs(8));
  EXPECT_THAT(kernels_after(60'000, 0, Begins::early), ElementsAre(0, 1, 2, 5, 6, 7));
  EXPECT_THAT(kernels_after(60'000, 0, Begins::after_end), SizeIs(8));
}

TEST(Attribution, HasABranchOfAGraphBetweenIdleSamples) {
  MadeWindow window;
  for (std::uint32_t kernel = 0; kernel < 8; ++kernel) {
    window.call_and_run(kernel);
    if (kernel == 3 || kernel == 5 || kernel == 6) window.launches.back().begins = Begins::beside;
    if (kernel == 2 || kernel == 3 || kernel == 4) window.gap(2);
  }
  window.gap(2);
  const std::vector<std::uint32_t> found = window.kernels();
  EXPECT_THAT(found, testing::Contains(3));
  for (const std::uint32_t kernel : {5, 6}) EXPECT_THAT(found, testing::Not(testing::Contains(kernel)));
}

TEST(Attribution, DoesNotShareSamplesAmongStreams) {
  MadeWindow window;
  window.call(0, 7);
  window.call(1, 10, 0, 1);
  window.call(2, 20, 0, 2);
  window.call(3, 8);
  window.run(7);
  window.run(30);
  window.run(8);
  EXPECT_THAT(window.kernels(), ElementsAre(0, 3));
  EXPECT_GT(window.attribute().unattributed_ns, 0);
}

}  // namespace
}  // namespace occbench
