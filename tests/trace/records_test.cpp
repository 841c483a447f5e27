// A launch is counted while CUPTI keeps no records of its context: they slow its blocks down.
#include <chrono>
#include <csignal>
#include <random>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/entries.hpp"
#include "entries/entry_paths.hpp"
#include "fake_gpu.hpp"
#include "files/input.hpp"
#include "files/output.hpp"
#include "trace/entry_file.hpp"
#include "trace/regions.hpp"
#include "trace/tracer.hpp"
#include "traced_program.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void* const kContext = handle(0x10);

struct RecordsTest : TracerTest {
  /// A launch into a graph, which has no record, as no launch after it.
  void capture(std::uint32_t grid) {
    tracer->capture_begins(handle(0x30));
    tracer->capture_has_begun(handle(0x30), true);
    program.has_records = false;
    program.launch(grid);
    tracer->capture_has_ended(handle(0x30));
  }
};

TEST_F(RecordsTest, StopWhileALaunchIsCountedWhichIsStillOneOfItsKernels) {
  for (int i = 0; i < 10; ++i) program.launch(66);
  program.launch(67);
  finish();
  EXPECT_EQ(gpu.count("push"), 3);
  EXPECT_EQ(gpu.recorded_in_range, 0);
  EXPECT_TRUE(gpu.keeps_records(kContext));
  ASSERT_THAT(rows(), SizeIs(2));
  const Row row = rows()[rows()[0].grid_blocks == 66 ? 0 : 1];
  EXPECT_EQ(row.launches, 10);
  EXPECT_EQ(row.repetitions, 7);
  EXPECT_EQ(row.total_time_us, 100) << "counted launches last as long as the others";
  EXPECT_TRUE(row.achieved_pct);
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(RecordsTest, GoOnWhenTheDriverRefusesALaunch) {
  program.launch(66);
  program.refused = true;
  program.launch(66);
  EXPECT_EQ(gpu.count("push"), 1);
  EXPECT_TRUE(gpu.keeps_records(kContext));
  finish();
  EXPECT_EQ(rows()[0].launches, 1);
}

TEST_F(RecordsTest, GoOnWhenACountedKernelDoesNotEnd) {
  program.launch(66);
  gpu.kernel = [&] { gpu.idle = false; };
  program.launch(66);
  EXPECT_TRUE(gpu.keeps_records(kContext));
  program.launch(66);
  tracer->poll();
  EXPECT_EQ(rows()[0].launches, 3);
}

TEST_F(RecordsTest, GoOnBeforeOtherLaunchesOfTheContextMay) {
  gpu.resuming = std::chrono::milliseconds(20);
  program.launch(66);
  std::thread other;
  gpu.kernel = [&] {
    if (other.joinable()) return;
    other = std::thread([&] { program.launch(67); });
    // It is made while the counted kernel runs.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  program.launch(66);
  other.join();
  finish();
  EXPECT_EQ(gpu.count("push"), 1);
  ASSERT_THAT(rows(), SizeIs(2)) << "the launch beside has a record";
  for (const Row& row : rows()) EXPECT_TRUE(row.time_us);
}

TEST_F(RecordsTest, OfOtherContextsAreKept) {
  driver.devices = {{handle(0x11), 1}};
  program.launch(66);
  program.launch(66, handle(0x11));
  gpu.kernel = [&] {
    EXPECT_FALSE(gpu.keeps_records(kContext));
    EXPECT_TRUE(gpu.keeps_records(handle(0x11)));
  };
  program.launch(66);
  gpu.kernel = [&] {
    EXPECT_TRUE(gpu.keeps_records(kContext));
    EXPECT_FALSE(gpu.keeps_records(handle(0x11)));
  };
  program.launch(66, handle(0x11));
  EXPECT_EQ(gpu.count("push"), 2);
}

TEST_F(RecordsTest, AreNoLongerStoppedOnceTheProgramTakesThem) {
  use(options(9));
  for (int i = 0; i < 3; ++i) program.launch(66);
  EXPECT_EQ(gpu.recorded_in_range, 0);
  program.has_records = false;
  program.launch(67);
  for (int i = 0; i < 3; ++i) program.launch(66);
  EXPECT_EQ(gpu.count("push"), 2 + 3);
  EXPECT_EQ(gpu.recorded_in_range, 3);
}

TEST_F(RecordsTest, OfLaunchesThatAreCapturedAreNotWaitedFor) {
  program.launch(66);
  capture(67);
  program.launch(66);
  EXPECT_EQ(gpu.count("push"), 1);
  EXPECT_EQ(gpu.recorded_in_range, 0);
}

/// Its other launches are in the graph.
TEST_F(RecordsTest, ThatAKernelHasNoneOfIsNoReasonToLeaveItOut) {
  program.launch(66);
  capture(67);
  for (int i = 0; i < 3; ++i) program.launch(67);
  finish();
  ASSERT_THAT(rows(), SizeIs(2));
  const Row row = rows()[rows()[0].grid_blocks == 67 ? 0 : 1];
  EXPECT_EQ(row.launches, 3);
  EXPECT_TRUE(row.achieved_pct);
  EXPECT_FALSE(row.time_us);
  EXPECT_EQ(row.theoretical_pct, 75);
}

TEST_F(RecordsTest, TellTwoKernelsOfOneNameApart) {
  for (const std::uint32_t registers : {48, 40}) {
    driver.registers = registers;
    program.registers = registers;
    for (std::uint32_t i = 0; i < registers / 8; ++i)
      program.launch(66, kContext, "_Z6reducePf", 0, handle(0x70 + program.registers));
  }
  finish();
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) {
    EXPECT_EQ(row.launches, row.registers_per_thread.value() / 8);
    EXPECT_EQ(row.repetitions, row.launches.value() - 3);
  }
}

TEST_F(RecordsTest, AreLeftAloneWhereTheyDoNotComeHere) {
  program.has_records = false;
  int flushed = 0;
  gpu.flush = [&] { ++flushed; };
  for (int i = 0; i < 5; ++i) program.launch(66);
  EXPECT_EQ(flushed, 1) << "they were asked for before the first counted launch, and none came";
  EXPECT_EQ(gpu.recorded_in_range, 3) << "as the program's own profiler wants them";
  finish();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].launches, 5);
  EXPECT_TRUE(rows()[0].achieved_pct);
  EXPECT_THAT(said, ElementsAre(HasSubstr("5 of 5 launches have no record")));
}

TEST_F(RecordsTest, StopForTheFirstCountedLaunchOnceThoseOfEarlierOnesWereAskedFor) {
  program.has_records = false;
  gpu.flush = [&] {
    KernelRecord record;
    record.name = "_Z6reducePf";
    record.end_ns = 1000;
    record.correlation = 1;
    record.facts.grid = {66, 1, 1};
    record.facts.block = {256, 1, 1};
    tracer->kernel_ran(record);
  };
  program.launch(66);
  program.launch(66);
  EXPECT_EQ(gpu.count("push"), 1);
  EXPECT_EQ(gpu.recorded_in_range, 0);
}

TEST_F(RecordsTest, OfGraphsWithoutKernelsAreNotWaitedFor) {
  program.launch(66);
  program.has_records = false;
  program.launch_graph(handle(2));
  program.launch(66);
  EXPECT_EQ(gpu.count("push"), 1);
  EXPECT_EQ(gpu.recorded_in_range, 0);
}

TEST_F(RecordsTest, StopAlsoWhileAGraphOfOneKernelIsCounted) {
  driver.graphs[handle(1)] = {kernel_node()};
  driver.registers = 24;  // as it was compiled; records say 40
  tracer->graph_instantiated(handle(2), handle(1));
  for (int i = 0; i < 5; ++i) program.launch_graph(handle(2));
  finish();
  EXPECT_EQ(gpu.recorded_in_range, 0);
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].launches, 5);
  EXPECT_EQ(rows()[0].total_time_us, 50);
  EXPECT_TRUE(rows()[0].achieved_pct);
}

/// The driver says how many registers a function was compiled to; a kernel with an assertion is launched with 32 at least,
/// and its records say so (H100, driver 580.159.04: compiled to 24, launched with 32).
TEST_F(RecordsTest, SayAnotherNumberOfRegistersThanTheDriverAndAreOfTheSameKernel) {
  driver.registers = 24;
  program.registers = 32;
  for (int i = 0; i < 10; ++i) program.launch(66);
  finish();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].registers_per_thread, 24);
  EXPECT_EQ(rows()[0].launches, 10);
  EXPECT_TRUE(rows()[0].achieved_pct);
}

TEST_F(RecordsTest, SayThatAKernelAsksForAnotherCarveoutFromLaunchToLaunch) {
  program.launch(66);
  program.carveout_pct = 50;
  for (int i = 0; i < 5; ++i) program.launch(66);
  finish();
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) EXPECT_EQ(row.launches, row.carveout_pct ? 2 : 4) << "three were counted";
}

TEST_F(RecordsTest, ThatCannotBeStoppedAreUsed) {
  gpu.records_stuck = true;
  for (int i = 0; i < 5; ++i) program.launch(66);
  finish();
  EXPECT_EQ(rows()[0].launches, 5);
  EXPECT_TRUE(rows()[0].achieved_pct);
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(RecordsTest, ThatDoNotGoOnAreSaidToBeMissing) {
  program.launch(66);
  gpu.kernel = [&] { gpu.records_stuck = true; };
  program.launch(66);
  EXPECT_THAT(said, ElementsAre(HasSubstr("does not go on recording")));
}

struct StreamNumbersTest : testing::Test {
  FakeGpu gpu;
  FakeDriver driver{gpu};
  StreamNumbers numbers{driver};

  std::uint32_t of(std::uintptr_t stream, bool may_ask = true, Begins begins = Begins::after_end) {
    LaunchCall call;
    call.stream = handle(stream);
    call.begins = begins;
    return numbers.of(call, may_ask);
  }
  static bool waits(std::uint32_t number) {
    return (number & LoggedLaunch::kNonBlocking) == 0;
  }
};

TEST_F(StreamNumbersTest, TellStreamsThatWaitForTheLegacyDefaultStream) {
  driver.blocking_streams = {handle(0x100)};
  EXPECT_EQ(of(0), LoggedLaunch::kLegacyStream);
  EXPECT_EQ(of(1), LoggedLaunch::kLegacyStream) << "CU_STREAM_LEGACY";
  EXPECT_TRUE(waits(of(0x100)));
  EXPECT_NE(of(0x100), LoggedLaunch::kLegacyStream);
  EXPECT_FALSE(waits(of(0x200)));
  EXPECT_NE(of(0x200), of(0x300));
  EXPECT_EQ(of(0x100, true, Begins::early), of(0x100) | LoggedLaunch::kEarly);
  EXPECT_EQ(of(0, true, Begins::early), LoggedLaunch::kLegacyStream | LoggedLaunch::kEarly);
  EXPECT_EQ(of(0x100, true, Begins::beside), LoggedLaunch::kBeside);
}

TEST_F(StreamNumbersTest, AskTheDriverOnceAndAgainOfAnotherStreamWithTheHandle) {
  driver.blocking_streams = {handle(0x100)};
  EXPECT_FALSE(waits(of(0x100, false))) << "it cannot be asked now";
  EXPECT_TRUE(waits(of(0x100)));
  driver.blocking_streams.clear();
  EXPECT_TRUE(waits(of(0x100)));
  numbers.forget(handle(0x100));
  EXPECT_FALSE(waits(of(0x100)));
}

TEST_F(StreamNumbersTest, TellTheDefaultStreamsOfThreadsApart) {
  const std::uint32_t here = of(2);
  std::uint32_t there = 0;
  std::thread([&] { there = of(2); }).join();
  EXPECT_NE(here, there);
  EXPECT_TRUE(waits(here));
}

/// Writes numbers; has those that a file has.
struct EntryFileTest : testing::Test {
  TemporaryFolder folder;
  fs::path path = make_entry_file(folder.path() / "run.csv", 41);
  EntryFile file{path};
  std::uint32_t last = 0;
  std::uint32_t written = 0;

  /// Numbers 1 to `until`, each of an entry of `bytes`.
  void update(std::uint32_t until, std::size_t bytes = 0) {
    last = until;
    file.update([&](std::string& text, bool all) {
      if (all) written = 0;
      while (written < last) append_text(text, EntryKind::name, ++written, std::string(bytes + 1, 'x'));
    });
  }
  std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> numbers;
    EXPECT_TRUE(for_each_entry(read_text(path),
                               [&](const EntryView& entry) { numbers.push_back(entry.head.number); }));
    return numbers;
  }
  void expect_all() const {
    ASSERT_EQ(numbers().size(), last);
    for (std::uint32_t i = 0; i < last; ++i) EXPECT_EQ(numbers()[i], i + 1);
  }
};

TEST_F(EntryFileTest, GrowsByWhatHasChanged) {
  update(3);
  expect_all();
  update(3);
  update(5);
  expect_all();
}

TEST_F(EntryFileTest, IsWrittenAnewOnceItWasNotToBeWritten) {
  update(3);
  fs::remove_all(folder.path());
  EXPECT_THROW(update(4), std::exception);
  EXPECT_THROW(update(4), std::exception) << "there is still no folder";
  fs::create_directories(folder.path());
  update(5);
  expect_all();
}

TEST_F(EntryFileTest, StaysNearTheLengthOfItsContent) {
  for (int i = 0; i < 50; ++i) {
    written = 0;
    update(1000, 400);
    EXPECT_LT(fs::file_size(path), 10 << 20);
  }
}

TEST_F(EntryFileTest, IsReadWhateverMomentItsWriterIsKilledIn) {
  std::mt19937 random(5);
  int filled = 0;
  for (int moment = 0; moment < 10; ++moment) {
    path = make_entry_file(folder.path() / "run.csv", 100 + moment);
    const pid_t writer = ::fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      EntryFile killed(path);
      std::uint32_t number = 0;
      while (true) {
        killed.update([&](std::string& text, bool) {
          for (int i = 0; i < 50; ++i) {
            ++number;
            append_text(text, EntryKind::name, number, std::string(number % 400 + 1, 'x'));
          }
        });
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 10000));
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    std::uint32_t before = 0;
    for_each_entry(read_text(path), [&](const EntryView& entry) {
      EXPECT_GT(entry.head.number, before);
      EXPECT_EQ(entry.payload, std::string(entry.head.number % 400 + 1, 'x'));
      before = entry.head.number;
    });
    filled += before > 0 ? 1 : 0;
  }
  EXPECT_GT(filled, 2);
}

struct InRegion {
  explicit InRegion(std::string_view name) {
    push_region(name);
  }
  ~InRegion() {
    pop_region();
  }
};

TEST(Regions, AreOfTheirThreadAndNamedFromTheOutside) {
  const InRegion outer("layer");
  {
    const InRegion inner("attention");
    EXPECT_EQ(current_region(), "layer/attention");
    std::thread([] { EXPECT_EQ(current_region(), ""); }).join();
  }
  EXPECT_EQ(current_region(), "layer");
}

TEST(Regions, ClosingMoreThanWereOpenedIsHarmless) {
  pop_region();
  EXPECT_EQ(current_region(), "");
}

TEST(Regions, ANameHasNoPlusNoControlCharacterAndNoHalfOfALetter) {
  const InRegion odd("a+b\n\x1b\xff");
  EXPECT_EQ(current_region(), "a_b___");
  const InRegion longest(std::string(99, 'x') + "é");
  EXPECT_EQ(current_region(), "a_b___/" + std::string(99, 'x'));
}

// NVTX as a program is linked with it: its calls go through pointers in a table that a tool may fill.
int (*range_push_ascii)(const char*) = nullptr;
int (*range_pop)() = nullptr;
void** core[] = {nullptr, nullptr,
                 nullptr, nullptr,
                 nullptr, nullptr,
                 nullptr, nullptr,
                 nullptr, reinterpret_cast<void**>(&range_push_ascii),
                 nullptr, reinterpret_cast<void**>(&range_pop)};

int functions_of(std::uint32_t module, void**** functions, unsigned* count) {
  if (module != 1) return 0;
  *functions = core;
  *count = 12;
  return 1;
}

const void* table(std::uint32_t number) {
  static const struct {
    std::size_t size;
    int (*functions)(std::uint32_t, void****, unsigned*);
  } callbacks = {sizeof callbacks, functions_of};
  return number == 1 ? &callbacks : nullptr;
}

TEST(Regions, AreThoseOfTheProgramsNvtx) {
  ASSERT_TRUE(take_nvtx(table));
  EXPECT_EQ(range_push_ascii("step"), 0);
  EXPECT_EQ(range_push_ascii("backward"), 1);
  EXPECT_EQ(current_region(), "step/backward");
  EXPECT_EQ(range_pop(), 1);
  EXPECT_EQ(range_pop(), 0);
  EXPECT_FALSE(take_nvtx([](std::uint32_t) -> const void* { return nullptr; }));
}

TEST_F(TracerTest, NamesTheRegionsThatLaunchesWereMadeIn) {
  program.launch(66);
  for (const char* name : {"attention", "mlp"}) {
    const InRegion region(name);
    for (int i = 0; i < 4; ++i) program.launch(66);
    program.launch(132);
  }
  program.launch(264);
  finish();
  ASSERT_THAT(rows(), SizeIs(3));
  for (const Row& row : rows())
    EXPECT_EQ(row.region, row.grid_blocks == 264 ? "" : "attention+mlp") << row.case_;
}

TEST(Regions, IsInThoseThatItsNamesHaveSideBySide) {
  EXPECT_TRUE(is_in_region("step/forward/attention", "forward"));
  EXPECT_TRUE(is_in_region("step/forward/attention", "step/forward"));
  EXPECT_TRUE(is_in_region("forward", "forward"));
  for (const char* other : {"", "for", "forwards", "attention/forward", "step/attention"})
    EXPECT_FALSE(is_in_region("step/forward/attention", other)) << other;
}

/// The same kernel, and a graph of another, in two regions and in none.
struct RegionTest : TracerTest {
  void run(const TracerOptions& options) {
    use(options);
    driver.graphs[handle(0x50)] = {kernel_node(), kernel_node()};
    tracer->graph_instantiated(handle(0x60), handle(0x50));
    const auto launch = [&](int times) {
      for (int i = 0; i < times; ++i) program.launch(66);
      program.launch_graph(handle(0x60));
    };
    launch(2);
    {
      const InRegion step("step");
      launch(3);
      const InRegion forward("forward");
      launch(4);
    }
    finish();
  }
};

TEST_F(RegionTest, HasARowForEachRegionAndKernelIfAsked) {
  TracerOptions by_region = options(1);
  by_region.regions = true;
  run(by_region);
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> launches;
  for (const Row& row : rows()) {
    (row.grid_blocks == 66 ? launches[row.region].first : launches[row.region].second) += *row.launches;
    EXPECT_EQ(row.case_.ends_with(" in " + row.region), !row.region.empty()) << row.case_;
    EXPECT_EQ(row.achieved_pct.has_value(), row.grid_blocks == 66) << row.region;
  }
  EXPECT_THAT(launches, SizeIs(3));
  EXPECT_EQ(launches[""].first, 2);
  EXPECT_EQ(launches["step"].first, 3);
  EXPECT_EQ(launches["step/forward"].first, 4);
}

TEST_F(RegionTest, HasTheRegionsOfAKernelInOneRowIfNotAsked) {
  run(options(0));
  ASSERT_THAT(rows(), SizeIs(2));
  EXPECT_EQ(rows()[0].region, "step+step/forward");
}

TEST_F(RegionTest, HasCountersOfTheOnlyRegionAlone) {
  TracerOptions only = options(1);
  only.regions = true;
  only.only = "forward";
  run(only);
  ASSERT_THAT(rows(), SizeIs(6));
  for (const Row& row : rows())
    EXPECT_EQ(row.achieved_pct.has_value(), row.region == "step/forward" && row.grid_blocks == 66)
        << row.region;
}

}  // namespace
}  // namespace occbench
