#include "trace/sampler.hpp"

#include <chrono>
#include <csignal>
#include <numeric>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_gpu.hpp"
#include "traced_program.hpp"

namespace occbench {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;

struct SamplerTest : testing::Test {
  FakeGpu gpu;
  FakeSampledGpu sampled{gpu};
  LaunchTable table;
  Captures captures;
  bool goes_on = true;
  /// What the program does before a window.
  std::function<void()> meanwhile = [this] { launch(66); };
  Sampler sampler{sampled, {0, 64, kSampledFrom}, table, captures, [this](auto) {
                    if (!sampler.wants_times()) meanwhile();
                    return goes_on;
                  }};
  std::uint32_t correlation = 0;

  TracedKernel& launch(std::uint32_t grid) {
    LaunchCall call;
    call.grid = {grid, 1, 1};
    TracedKernel* kernel = table.find(call);
    if (kernel == nullptr) kernel = table.add(call, {}, {});
    table.note(++correlation, {LaunchKind::plain, kernel->number});
    table.mark(correlation, {1, 0});
    return *kernel;
  }
  void launch_three() {
    for (const std::uint32_t grid : {66, 67, 68}) launch(grid);
  }
  /// While the program launches.
  void take(int windows) {
    for (int i = 0; i < windows; ++i) {
      launch(66);
      sampler.sample();
    }
  }
};

/// The disk is full at the second window: the first is whole, the rows have both.
TEST_F(SamplerTest, GoesOnWhereTheTimelineCannotBeWritten) {
  const TemporaryFolder folder;
  const std::filesystem::path windows = folder.path() / "windows";
  std::vector<std::string> said;
  Sampler with_timeline{
      sampled,
      {0, 64, kSampledFrom, windows, [&](const std::string& line) { said.push_back(line); }},
      table,
      captures,
      [&](auto) {
        if (!with_timeline.wants_times()) meanwhile();
        return goes_on;
      }};
  gpu.while_sampling = [&] { launch_three(); };
  gpu.read_samples = [] { return samples_of({66, 67, 68}); };
  launch(99);
  with_timeline.sample();
  const std::uintmax_t whole = std::filesystem::file_size(windows);
  ASSERT_GT(whole, 0);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit full{whole + 20, old.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &full);
  for (int i = 0; i < 2; ++i) with_timeline.sample();
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(std::filesystem::file_size(windows), whole) << "no torn window";
  EXPECT_THAT(said, ElementsAre(HasSubstr("the timeline of GPU 0 ends here: cannot write")));
  for (std::uint32_t kernel = 1; kernel <= 3; ++kernel) EXPECT_EQ(table.sampled_launches(kernel), 3);
}

/// Of a kernel that fills the whole window.
std::vector<SmSample> samples_of_a_long_kernel() {
  std::vector<SmSample> samples = samples_of({66}, 100);
  samples.resize(50);
  samples.erase(samples.begin() + 1, samples.begin() + 3);
  return samples;
}

TEST_F(SamplerTest, AddsTheLaunchesOfAWindowToTheirKernels) {
  gpu.while_sampling = [&] { launch_three(); };
  gpu.read_samples = [] { return samples_of({66, 67, 68}); };
  sampler.set_up();
  launch(99);
  for (int i = 0; i < 2; ++i) EXPECT_GT(sampler.sample(), 0ns);
  EXPECT_EQ(table.sampled_launches(0), 0);
  for (std::uint32_t kernel = 1; kernel <= 3; ++kernel) EXPECT_EQ(table.sampled_launches(kernel), 2);
  EXPECT_EQ(sampler.totals().windows, 2);
  EXPECT_EQ(sampler.totals().thrown_away, 0);
  EXPECT_EQ(sampler.totals().unattributed_ns, 0);
  EXPECT_NEAR(sampler.totals().attributed_ns, 2 * 3 * 8 * 900, 1);
}

TEST_F(SamplerTest, ThrowsAWindowAwayThatFitsNoLaunches) {
  launch(66);
  gpu.read_samples = [] { return samples_of({99, 98}); };
  sampler.sample();
  EXPECT_EQ(sampler.totals().thrown_away, 1);
  EXPECT_EQ(table.sampled_launches(0), 0);
}

TEST_F(SamplerTest, WantsTimesOfCallsWhileAWindowIsOpen) {
  EXPECT_FALSE(sampler.wants_times());
  launch(66);
  gpu.while_sampling = [&] { EXPECT_TRUE(sampler.wants_times()); };
  sampler.sample();
  EXPECT_FALSE(sampler.wants_times());
  launch(66);
  gpu.while_sampling = [] { throw CountersUnavailable(CountersStatus::busy, "busy"); };
  EXPECT_THROW(sampler.sample(), CountersUnavailable);
  EXPECT_FALSE(sampler.wants_times());
}

TEST_F(SamplerTest, LeavesAWindowOutWhoseLaunchesMayHaveBeenCaptured) {
  gpu.read_samples = [] { return samples_of({66}); };
  launch(66);
  captures.begins();
  sampler.sample();
  EXPECT_EQ(gpu.count("start sampling"), 0);
  captures.has_begun(nullptr, false);
  gpu.while_sampling = [&] { captures.doubt(); };
  sampler.sample();
  EXPECT_EQ(sampler.totals().windows, 0);
  gpu.while_sampling = [&] {
    captures.begins();
    captures.has_begun(nullptr, true);
  };
  launch(66);
  sampler.sample();
  EXPECT_EQ(sampler.totals().windows, 1);
}

struct CapturingTest : TracerTest {
  /// Until four windows have been open, a program captures a launch of 67 blocks and then launches 66.
  std::vector<Row> rows_where_captures_hold(void* stream) {
    use(options(1, false, 0ms));
    std::atomic<int> rounds{0};
    std::atomic<int> windows{0};
    std::atomic<bool> is_over{false};
    gpu.read_samples = [&] { return is_over ? samples_of({}) : samples_of({66, 66, 66}); };
    // Each holds a whole round of the program, however busy the machine is.
    gpu.while_sampling = [&] {
      const int first = rounds;
      while (rounds < first + 2 && !is_over) std::this_thread::sleep_for(1ms);
      ++windows;
    };
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (windows < 4 && std::chrono::steady_clock::now() < end) {
      tracer->capture_begins(handle(0x30));
      tracer->capture_has_begun(handle(0x30), true);
      program.stream = stream;
      program.launch(67);
      tracer->capture_has_ended(handle(0x30));
      program.stream = handle(0x40);
      program.launch(66);
      ++rounds;
      std::this_thread::sleep_for(50us);
    }
    is_over = true;
    finish();
    EXPECT_GE(windows, 4);
    return rows();
  }
};

TEST_F(CapturingTest, IsSampledWhereEachLaunchIsKnownToBeCapturedOrNot) {
  const std::vector<Row> rows = rows_where_captures_hold(handle(0x30));
  ASSERT_EQ(rows.size(), 1) << "what was only captured has no row";
  EXPECT_EQ(rows[0].grid_blocks, 66);
  EXPECT_TRUE(rows[0].achieved_pct);
}

TEST_F(CapturingTest, IsNotSampledWhereALaunchMayBeCapturedOrNot) {
  const std::vector<Row> rows = rows_where_captures_hold(handle(0x40));
  ASSERT_FALSE(rows.empty());
  for (const Row& row : rows) EXPECT_FALSE(row.achieved_pct);
}

TEST_F(SamplerTest, OpensWindowsWhileTheProgramLaunches) {
  meanwhile = [] {};
  gpu.read_samples = [] { return samples_of({66, 67, 68}); };
  gpu.while_sampling = [&] { launch_three(); };
  sampler.sample();
  launch(66);  // long ago, when the window would open
  for (int i = 0; i < 5; ++i) sampler.sample();
  EXPECT_EQ(gpu.count("start sampling"), 0);
  meanwhile = [&] { launch(66); };
  sampler.sample();
  EXPECT_EQ(gpu.count("start sampling"), 1);
  meanwhile = [] {};
  sampler.sample();
  EXPECT_EQ(gpu.count("start sampling"), 2) << "what is queued may run on";
  gpu.read_samples = [] { return samples_of({}); };
  for (int i = 0; i < 5; ++i) sampler.sample();
  EXPECT_EQ(gpu.count("start sampling"), 3);
  bool has_launched = false;
  meanwhile = [&] {
    for (int i = 0; i < 64 && !has_launched; ++i) launch(66);
    has_launched = true;
  };
  launch(66);
  sampler.sample();
  EXPECT_EQ(gpu.count("start sampling"), 4) << "many at once";
}

TEST_F(SamplerTest, ReadsNothingOfAWindowThatTheProgramsEndCutsOff) {
  gpu.while_sampling = [&] { goes_on = false; };
  launch(66);
  sampler.sample();
  EXPECT_EQ(gpu.count("stop sampling"), 1);
  EXPECT_EQ(gpu.count("read samples"), 0);
}

TEST_F(SamplerTest, TakesLongerWindowsOfKernelsThatAreLongerThanTheyAre) {
  gpu.read_samples = samples_of_a_long_kernel;
  sampler.set_up();
  take(100);
  EXPECT_THAT(gpu.intervals, IsSupersetOf({500, 1000, 4000, 16'000, 64'000}));
  EXPECT_EQ(gpu.intervals[1], 1000) << "the coarser one first";
  EXPECT_THAT(gpu.intervals, SizeIs(testing::Le(12))) << "it does not change for ever";
}

TEST_F(SamplerTest, TakesFinerSamplesWhereKernelsCannotBeToldApart) {
  gpu.while_sampling = [&] { launch_three(); };
  gpu.read_samples = [] { return samples_of({99, 98, 99, 98, 99}); };
  sampler.set_up();
  take(3);
  EXPECT_THAT(gpu.intervals, ElementsAre(500, 250));
}

TEST_F(SamplerTest, TakesLongerWindowsAlsoOnceFinerSamplesWereTried) {
  gpu.while_sampling = [&] { launch_three(); };
  gpu.read_samples = [] { return samples_of({99, 98, 99, 98, 99}); };
  sampler.set_up();
  take(3);
  ASSERT_EQ(gpu.intervals.back(), 250);
  gpu.read_samples = samples_of_a_long_kernel;
  take(20);
  EXPECT_GE(gpu.intervals.back(), 4000);
}

TEST_F(SamplerTest, TakesTheLessTimeTheMoreItKnows) {
  gpu.while_sampling = [&] { launch_three(); };
  gpu.read_samples = [] {
    std::this_thread::sleep_for(2ms);
    return samples_of({66, 67, 68});
  };
  launch(99);
  EXPECT_GE(sampler.sample(), 2ms);
  std::chrono::nanoseconds wait{};
  for (int i = 0; i < 20; ++i) wait = sampler.sample();
  EXPECT_GE(wait, 90ms);
}

TEST_F(SamplerTest, TakesLittleTimeOnceWhatTakesTheProgramsIsKnown) {
  std::vector<double> runs(30);
  std::iota(runs.begin(), runs.end(), 66);
  gpu.while_sampling = [&] {
    for (const double blocks : runs) launch(static_cast<std::uint32_t>(blocks));
  };
  gpu.read_samples = [&] {
    std::this_thread::sleep_for(2ms);
    return samples_of(runs);
  };
  launch(99);
  std::chrono::nanoseconds wait{};
  for (int i = 0; i < 21; ++i) {
    runs.back() = 200 + i;  // never seen before, with a thirtieth of the time
    wait = sampler.sample();
  }
  EXPECT_GE(wait, 90ms);
  gpu.read_samples = [&] {
    std::this_thread::sleep_for(2ms);
    return samples_of({299, 298});
  };
  EXPECT_GE(sampler.sample(), 90ms) << "launches that cannot be told apart are no news";
  EXPECT_EQ(sampler.totals().thrown_away, 1);
}

TEST(ThreadsOfTheLibrary, RunWhereAnyThreadMayThoughTheOneThatStartsThemIsBound) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
  cpu_set_t found;
  // Not this thread, so that others are as they were.
  std::thread([&] {
    cpu_set_t first;
    CPU_ZERO(&first);
    for (int i = 0; CPU_COUNT(&first) == 0; ++i) {
      if (CPU_ISSET(i, &all)) CPU_SET(i, &first);
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof(first), &first), 0);
    std::thread([&] {
      run_where_any_thread_may();
      ASSERT_EQ(::sched_getaffinity(0, sizeof(found), &found), 0);
    }).join();
  }).join();
  EXPECT_TRUE(CPU_EQUAL(&found, &all));
}

/// A program whose GPU is sampled.
struct SampledProgramTest : TracerTest {
  SampledProgramTest() {
    driver.now_ns = kSampledFrom;
    use(options(3, true, Patience(0)));
  }
  /// Two at a time, for a window opens while a program launches. @returns how many
  int launch_until_sampled(const std::function<void(int)>& launch) {
    int launches = 0;
    EXPECT_TRUE(wait_for(Patience(10'000), [&] {
      for (int i = 0; i < 2; ++i) launch(launches++);
      std::this_thread::sleep_for(1ms);
      return gpu.count("read samples") > 0;
    }));
    finish();
    return launches;
  }
};

TEST_F(SampledProgramTest, HasRowsOfItsSamplesAndNoLaunchIsCountedAlone) {
  gpu.read_samples = [] { return samples_of({66, 67, 66, 67, 66}); };
  program.has_records = false;
  const int launches = launch_until_sampled([&](int i) { program.launch(66 + i % 2); });
  EXPECT_EQ(gpu.count("push"), 0);
  EXPECT_EQ(gpu.count("set_up"), 0);
  EXPECT_FALSE(gpu.keeps_records(handle(0x10)));
  EXPECT_FALSE(gpu.given_back) << "what CUPTI opened later has ended before the program's last calls";
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) {
    EXPECT_EQ(row.launches, launches / 2);
    EXPECT_EQ(row.counters_status, "sampled");
    EXPECT_EQ(row.achieved_pct, 25);
    EXPECT_NEAR(*row.time_us, 8 * 0.9, 1e-3);
    EXPECT_NEAR(*row.total_time_us, launches / 2 * 8 * 0.9, 1e-3);
    EXPECT_NEAR(*row.sm_clock_mhz, 1000, 1) << "1,000 cycles a sample of 1 us";
    EXPECT_EQ(row.theoretical_pct, 75);
    EXPECT_THAT(row.note, HasSubstr("samples"));
  }
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(SampledProgramTest, HasNoCounterAboveTheory) {
  gpu.read_samples = [] {
    std::vector<SmSample> samples = samples_of({66, 67, 66, 67, 66});
    for (SmSample& sample : samples) sample.warp_cycles = 49 * sample.active_cycles;
    return samples;
  };
  program.has_records = false;
  launch_until_sampled([&](int i) { program.launch(66 + i % 2); });
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) {
    EXPECT_EQ(row.theoretical_pct, 75) << "48 warps";
    EXPECT_FALSE(row.achieved_pct);
    EXPECT_TRUE(row.time_us);
    EXPECT_THAT(row.note, HasSubstr("samples hold other kernels too"));
  }
}

TEST_F(SampledProgramTest, IsCountedWhereTheGpuCannotBeSampled) {
  gpu.failing_call = "configure";
  gpu.status = CountersStatus::unsupported;
  program.launch(66);
  EXPECT_TRUE(wait_for(Patience(10'000), [&] {
    program.launch(66);
    return gpu.count("push") > 0;
  }));
  // Records may come later than counting: of a launch among these there is one in time.
  wait_for(Patience(100), [&] {
    program.launch(66);
    return false;
  });
  finish();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].counters_status, "ok");
  EXPECT_TRUE(rows()[0].time_us);
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(SampledProgramTest, SaysWhyItsCountersCannotBeRead) {
  gpu.failing_call = "configure";
  gpu.status = CountersStatus::denied;
  for (int i = 0; i < 5; ++i) program.launch(66);
  EXPECT_TRUE(wait_for(Patience(10'000), [&] { return has_said.load(); }));
  for (int i = 0; i < 5; ++i) program.launch(66);
  finish();
  EXPECT_THAT(said, ElementsAre(HasSubstr("configure failed")));
  EXPECT_EQ(gpu.count("push"), 0);
  EXPECT_EQ(rows()[0].counters_status, "denied");
  EXPECT_EQ(rows()[0].launches, 10);
  EXPECT_EQ(rows()[0].time_us, 10);
}

TEST_F(SampledProgramTest, HasTheKernelsOfItsGraphs) {
  GraphNode other = kernel_node("_Z5otherv");
  GraphNode one = kernel_node();
  one.launch.grid = {1001, 1, 1};
  other.launch.grid = {7, 1, 1};
  driver.graphs[handle(0x50)] = {one, other, one};
  tracer->graph_instantiated(handle(0x60), handle(0x50));
  gpu.read_samples = [] { return samples_of({1001, 7, 1001, 1001, 7, 1001}); };
  program.has_records = false;
  const int launches = launch_until_sampled([&](int) { program.launch_graph(handle(0x60)); });
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) {
    EXPECT_EQ(row.launches, row.grid_blocks == 7 ? launches : 2 * launches);
    EXPECT_THAT(row.origin, HasSubstr(fmt::format("graph_launches={}", *row.launches)));
    EXPECT_EQ(row.achieved_pct, 25);
  }
}

/// Where the last idle sample before a launch ends.
constexpr std::uint64_t kBeforeAlone = kSampledFrom - 50'000;

/// Samples of 0.1 ms: half of one, or of `busy` of them, has a launch of so many blocks to itself, whose warps fill a quarter of the SMs.
std::vector<SmSample> samples_alone(double blocks, int busy = 1) {
  constexpr std::uint64_t kInterval = 100'000;
  std::vector<SmSample> samples;
  const auto add = [&](std::uint64_t start_ns, double launched, double cycles) {
    samples.push_back({start_ns, start_ns + kInterval, launched, 16 * cycles, cycles, cycles / 132, 100'000});
  };
  const auto add_next = [&](double launched, double cycles) { add(samples.back().end_ns, launched, cycles); };
  add(kBeforeAlone - 2 * kInterval, 1000, 132 * 99'000);
  add_next(0, 0);
  for (int i = 0; i < busy; ++i) add_next(i == 0 ? blocks : 0, 132 * 50'000);
  add_next(0, 0);
  return samples;
}

TEST(SamplesOfALaunchAlone, SayWhatItsCountersWouldHave) {
  const std::uint64_t before_ns = kBeforeAlone;
  const auto counters = counters_alone(samples_alone(66, 3), {132, 64}, before_ns, kSampledFrom);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->at(kBlocksLaunched), 66);
  EXPECT_EQ(counters->at("sm__warps_active.avg.pct_of_peak_sustained_active"), 25);
  EXPECT_EQ(counters->at("sm__warps_active.sum"), 16 * 132 * 150'000);
  EXPECT_EQ(counters->at("sm__cycles_active.avg"), 150'000);
  EXPECT_EQ(counters->at("sm__cycles_active.max"), 150'000);
  EXPECT_EQ(counters->at("sm__cycles_elapsed.avg.per_second"), 1e9);
  EXPECT_EQ(counters->count("dram__throughput.avg.pct_of_peak_sustained_elapsed"), 0U);
}

TEST(SamplesOfALaunchAlone, AlsoSayHowMuchTensorCoresAndDeviceMemoryWorked) {
  std::vector<SmSample> samples = samples_alone(66, 3);
  for (SmSample& sample : samples) {
    sample.tensor_cycles = 20'000;  // of 50,000
    sample.dram_busy_pct = 35;      // in half of the sample
  }
  const auto counters = counters_alone(samples, {132, 64}, kBeforeAlone, kSampledFrom);
  ASSERT_TRUE(counters);
  EXPECT_DOUBLE_EQ(counters->at("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"), 40);
  EXPECT_DOUBLE_EQ(counters->at("dram__throughput.avg.pct_of_peak_sustained_elapsed"), 70);
  // Beside a launch that is short for its sample memory may work for others.
  for (SmSample& sample : samples) sample.longest_cycles *= 0.9;
  EXPECT_EQ(counters_alone(samples, {132, 64}, kBeforeAlone, kSampledFrom)
                ->count("dram__throughput.avg.pct_of_peak_sustained_elapsed"),
            0U);
  for (SmSample& sample : samples) sample.longest_cycles /= 0.9;
  samples[2].dram_busy_pct.reset();
  EXPECT_EQ(counters_alone(samples, {132, 64}, kBeforeAlone, kSampledFrom)
                ->count("dram__throughput.avg.pct_of_peak_sustained_elapsed"),
            0U);
}

TEST(SamplesOfALaunchAlone, SayNothingWhereTheGpuWasNotIdleBeforeAndAfter) {
  const std::uint64_t before_ns = kBeforeAlone;
  const std::uint64_t after_ns = kBeforeAlone + 100'000;
  std::vector<SmSample> samples = samples_alone(66);
  EXPECT_TRUE(counters_alone(samples, {132, 64}, before_ns, after_ns));
  EXPECT_FALSE(counters_alone(samples, {132, 64}, before_ns - 1, after_ns));
  EXPECT_FALSE(counters_alone(samples, {132, 64}, before_ns, after_ns + 1));
  EXPECT_FALSE(counters_alone({}, {132, 64}, before_ns, kSampledFrom));
  samples[1].active_cycles = 1;
  EXPECT_FALSE(counters_alone(samples, {132, 64}, before_ns, kSampledFrom));
  samples = samples_alone(66);
  samples.back().active_cycles = 1;
  EXPECT_FALSE(counters_alone(samples, {132, 64}, before_ns, kSampledFrom));
  // Another's kernel, which began before the samples, ends in the first whole one.
  samples = samples_alone(66);
  samples[1].active_cycles = samples[1].warp_cycles = 1000;
  samples.insert(samples.begin() + 2, samples_alone(66)[1]);
  for (std::size_t i = 0; i < 2; ++i) {
    samples[i].start_ns -= 100'000;
    samples[i].end_ns -= 100'000;
  }
  const auto counters = counters_alone(samples, {132, 64}, before_ns, kSampledFrom);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->at("sm__cycles_active.avg"), 50'000);
  samples = samples_alone(66, 3);
  EXPECT_TRUE(counters_alone(samples, {132, 64}, before_ns, kSampledFrom));
  samples.erase(samples.end() - 2);
  EXPECT_FALSE(counters_alone(samples, {132, 64}, before_ns, kSampledFrom)) << "one is missing";
  samples.pop_back();
  EXPECT_FALSE(counters_alone(samples, {132, 64}, before_ns, kSampledFrom));
}

/// A program whose launches are counted one by one for a while.
struct CountedFirstTest : SampledProgramTest {
  CountedFirstTest() {
    gpu.read_samples = [] { return samples_of({66, 67, 66, 67, 66}); };
    gpu.read_alone = [this] { return samples_alone(blocks_alone); };
    use(options(1, true, Patience(50)));
  }
  double blocks_alone = 66;
};

TEST_F(CountedFirstTest, ThenHasSamplesOfWhatWasNotCounted) {
  EXPECT_TRUE(wait_for(Patience(10'000), [&] {
    program.launch(66);
    return gpu.count("start alone") > 0;
  }));
  EXPECT_EQ(gpu.count("configure"), 0);
  program.has_records = false;
  const std::size_t pushed = gpu.count("start alone");
  launch_until_sampled([&](int i) {
    if (gpu.count("configure") > 0)
      program.launch(66 + i % 2);
    else
      program.launch(66);
  });
  EXPECT_LE(gpu.count("start alone"), pushed + 2) << "paced";
  EXPECT_EQ(gpu.count("tear_down"), 1) << "samples need the counters";
  EXPECT_FALSE(gpu.keeps_records(nullptr)) << "of any context";
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) EXPECT_EQ(row.counters_status, row.grid_blocks == 66 ? "ok" : "sampled");
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(CountedFirstTest, HasNoCounterOfALaunchThatDidNotRunAlone) {
  blocks_alone = 67;
  for (int i = 0; i < 100; ++i) program.launch(66);
  EXPECT_EQ(gpu.count("read alone"), 5) << "it is not tried for ever";
  finish();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_FALSE(rows()[0].achieved_pct);
  EXPECT_EQ(rows()[0].counters_status, "off");
  EXPECT_THAT(said, ElementsAre(HasSubstr("something else ran on the GPU")));
}

TEST_F(CountedFirstTest, HasTheCounterOfALaunchThatIsAloneWhenItIsTriedAgain) {
  blocks_alone = 67;
  while (gpu.count("read alone") == 0) program.launch(66);
  blocks_alone = 66;
  program.launch(66);
  finish();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].achieved_pct, 25);
}

TEST_F(CountedFirstTest, HasTheCountersOfALaunchAlone) {
  for (int i = 0; i < 20; ++i) program.launch(66);
  finish();
  EXPECT_EQ(gpu.count("set_up"), 0) << "no range profiler was made in its context";
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].counters_status, "ok");
  EXPECT_EQ(rows()[0].achieved_pct, 25);
}

TEST_F(CountedFirstTest, BelievesNoRecordThatSpansATimeInWhichNothingRan) {
  for (int i = 0; i < 20; ++i) program.launch(66);
  program.start_ns = driver.now_ns - 10;
  program.nanoseconds = 74'000'000;
  program.launch(66);
  finish();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].launches, 21);
  EXPECT_EQ(rows()[0].total_time_us, 210);
}

TEST_F(CountedFirstTest, HasLaunchesInWindowsThatHoldThemByTheirRecords) {
  for (const auto& [blocks, milliseconds] :
       {std::pair(66, 1), std::pair(67, 30), std::pair(68, 1500), std::pair(69, 1)}) {
    blocks_alone = blocks;
    program.nanoseconds = static_cast<std::uint64_t>(milliseconds) * 1'000'000;
    for (int i = 0; i < 40; ++i) program.launch(static_cast<std::uint32_t>(blocks));
  }
  EXPECT_THAT(gpu.intervals, ElementsAre(100'000, 400'000, 6'400'000, 100'000));
  finish();
  ASSERT_THAT(rows(), SizeIs(4));
  for (const Row& row : rows()) EXPECT_EQ(row.counters_status, "ok");
}

TEST_F(CountedFirstTest, HasLongerWindowsWhereThereAreNoRecordsAndOneDoesNotHoldALaunch) {
  gpu.read_alone = [] { return std::vector<SmSample>(); };  // more than the hardware's buffer holds
  program.has_records = false;
  for (int i = 0; i < 20; ++i) program.launch(66);
  EXPECT_THAT(gpu.intervals, ElementsAre(100'000, 400'000, 6'400'000));
}

TEST_F(CountedFirstTest, HoldsNoLaunchWhileWindowsAreMadeReady) {
  std::atomic<bool> configures{false};
  std::atomic<bool> launched_meanwhile{false};
  gpu.kernel = [&] { launched_meanwhile = launched_meanwhile || configures; };
  gpu.while_configuring = [&] {
    if (gpu.count("configure") > 1) return;  // the first windows alone are set up behind counting
    EXPECT_FALSE(gpu.keeps_records(handle(0x10)))
        << "kernels can wait for it, and records would have that time";
    configures = true;
    EXPECT_TRUE(wait_for(Patience(5'000), [&] { return launched_meanwhile.load(); }));
    configures = false;
  };
  launch_until_sampled([&](int) { program.launch(66); });
  EXPECT_TRUE(launched_meanwhile);
}

TEST_F(CountedFirstTest, CountsNothingInANewContextWhileWindowsAreMadeReady) {
  use(options(1, true, Patience(60'000)));
  driver.graphs[handle(0x50)] = {kernel_node(), kernel_node("_Z5otherv")};
  tracer->graph_instantiated(handle(0x60), handle(0x50));
  program.launch(66, handle(0x10));
  program.launch(66, handle(0x11));  // beside one that is counted
  tracer->context_destroyed(handle(0x10));
  const std::size_t before = gpu.count("configure alone");
  std::atomic<bool> done{false};
  gpu.while_configuring = [&] {
    if (done) return;
    std::thread([&] { program.launch(66, handle(0x12)); }).join();
    EXPECT_EQ(gpu.count("configure alone"), before);
    done = true;
  };
  program.launch_graph(handle(0x60), handle(0x11));
  EXPECT_TRUE(wait_for(Patience(10'000), [&] { return done.load(); }));
  finish();
}

TEST_F(CountedFirstTest, HasItsLaunchesWhereCountingFailedBeforeItWasSampled) {
  gpu.failing_call = "start alone";
  program.launch(66);
  EXPECT_TRUE(wait_for(Patience(10'000), [&] {
    program.launch(66);
    return gpu.count("start alone") > 0;
  }));
  gpu.while_configuring = [&] {
    if (gpu.count("configure") == 1) {
      EXPECT_FALSE(gpu.keeps_records(handle(0x10)));
    }
  };
  const int launches = launch_until_sampled([&](int i) { program.launch(66 + i % 2); });
  std::int64_t told = 0;
  for (const Row& row : rows()) told += *row.launches;
  EXPECT_GE(told, launches);
  for (const std::string& line : said) EXPECT_THAT(line, Not(HasSubstr("have no record")));
}

TEST_F(CountedFirstTest, IsCountedWhileItLaunchesSeldom) {
  for (int i = 0; i < 20; ++i) {
    program.launch(66);
    std::this_thread::sleep_for(50ms);
  }
  EXPECT_EQ(gpu.count("configure"), 0);
}

TEST_F(CountedFirstTest, IsTriedAgainWhereItsKernelsHaveNotEnded) {
  EXPECT_TRUE(wait_for(Patience(10'000), [&] {
    program.launch(66);
    return gpu.count("start alone") > 0;
  }));
  gpu.idle = false;
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < 300ms) {
    program.launch(66);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(gpu.count("configure"), 0);
  EXPECT_TRUE(gpu.keeps_records(handle(0x10)));
  gpu.idle = true;
  launch_until_sampled([&](int) { program.launch(66); });
  EXPECT_GT(gpu.count("configure"), 0);
}

TEST_F(CountedFirstTest, IsSampledSoonWhereItLaunchesGraphsAndHasItsOtherLaunchesCountedMeanwhile) {
  use(options(1, true, Patience(60'000)));
  driver.graphs[handle(0x50)] = {kernel_node(), kernel_node("_Z5otherv")};
  tracer->graph_instantiated(handle(0x60), handle(0x50));
  program.has_records = false;
  program.launch_graph(handle(0x60));
  std::this_thread::sleep_for(50ms);
  for (int i = 0; i < 3; ++i) program.launch(66);
  EXPECT_GT(gpu.count("start alone"), 0);
  EXPECT_EQ(gpu.count("configure"), 0);
  launch_until_sampled([&](int) { program.launch_graph(handle(0x60)); });
  EXPECT_GT(gpu.count("configure"), 0);
}

TEST_F(CountedFirstTest, IsCountedAgainWhereTheGpuCannotBeSampled) {
  gpu.failing_call = "configure";
  gpu.status = CountersStatus::unsupported;
  EXPECT_TRUE(wait_for(Patience(10'000), [&] {
    program.launch(66);
    std::this_thread::sleep_for(1ms);
    return gpu.count("configure") > 0;
  }));
  EXPECT_TRUE(wait_for(Patience(10'000), [&] {
    program.launch(67);
    std::this_thread::sleep_for(1ms);
    return gpu.count("push") == 2;
  }));
  finish();
  EXPECT_EQ(gpu.count("configure"), 1);
  EXPECT_EQ(gpu.count("set_up"), 2);
  EXPECT_TRUE(gpu.keeps_records(handle(0x10)));
  EXPECT_TRUE(gpu.keeps_records(nullptr));
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) EXPECT_EQ(row.counters_status, "ok");
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(SampledProgramTest, KeepsRecordsForAContextWhoseGpuIsNotKnown) {
  program.launch(66);
  EXPECT_FALSE(gpu.keeps_records(nullptr));
  driver.devices[handle(0x11)] = -1;
  program.launch(66, handle(0x11));
  EXPECT_TRUE(gpu.keeps_records(handle(0x11)));
  EXPECT_FALSE(gpu.keeps_records(handle(0x10)));
}

TEST_F(SampledProgramTest, SaysThatItEndedBeforeItWasSampled) {
  program.launch(66);
  finish();
  EXPECT_THAT(said, ElementsAre(HasSubstr("nothing was sampled")));
}

}  // namespace
}  // namespace occbench
