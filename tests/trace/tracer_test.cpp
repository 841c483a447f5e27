#include "trace/tracer.hpp"

#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "traced_program.hpp"

namespace occbench {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

TEST_F(TracerTest, CountsEachKernelOnceUntilMoreWouldCostLittle) {
  use(options(3, true));
  for (int i = 0; i < 10; ++i) program.launch(66);
  tracer->poll();
  EXPECT_EQ(gpu.count("push"), 1);
  EXPECT_TRUE(wait_for(Patience(5000), [&] {
    tracer->poll();
    program.launch(66);
    return gpu.count("push") == 3;
  }));
  program.launch(66);
  EXPECT_EQ(gpu.count("push"), 3);
}

TEST_F(TracerTest, WritesARowForEachKernelWithWhatItsLaunchesWereCountedToBe) {
  for (int i = 0; i < 10; ++i) program.launch(66);
  program.launch(67);
  finish();
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) {
    const bool counted = row.grid_blocks == 66;
    EXPECT_EQ(row.launches, counted ? 10 : 1);
    EXPECT_EQ(row.repetitions, counted ? 7 : 1);
    EXPECT_EQ(row.counters_status, counted ? "ok" : "off");
    EXPECT_EQ(row.achieved_pct.has_value(), counted);
    EXPECT_EQ(row.theoretical_pct, 75);
  }
  EXPECT_THAT(said, IsEmpty());
  EXPECT_EQ(samples(), 7 + 3 + 1);
}

TEST_F(TracerTest, WritesAsItGoes) {
  for (int i = 0; i < 10; ++i) program.launch(66);
  tracer->poll();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].launches, 10);
  EXPECT_TRUE(rows()[0].achieved_pct) << "the session was at rest";
  program.launch(66);
  tracer->poll();
  EXPECT_EQ(rows()[0].launches, 11);
}

TEST_F(TracerTest, CountsAGraphOfOneKernelAndNoOther) {
  driver.graphs[handle(0x50)] = {kernel_node()};
  driver.graphs[handle(0x51)] = {kernel_node(), kernel_node()};
  tracer->graph_instantiated(handle(0x60), handle(0x50));
  tracer->graph_instantiated(handle(0x61), handle(0x51));
  for (int i = 0; i < 5; ++i) program.launch_graph(handle(0x61));
  tracer->poll();
  EXPECT_EQ(gpu.count("push"), 0);
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_THAT(rows()[0].origin, HasSubstr("graph_launches=5"));
  EXPECT_EQ(rows()[0].counters_status, "off");
  EXPECT_THAT(rows()[0].note,
              HasSubstr("CUDA graphs of several kernels launch it, which only windows of samples"));
  for (int i = 0; i < 5; ++i) program.launch_graph(handle(0x60));
  // Another graph, of several kernels, gets its handle.
  tracer->graph_destroyed(handle(0x60));
  for (int i = 0; i < 5; ++i) program.launch_graph(handle(0x60));
  finish();
  EXPECT_EQ(gpu.count("push"), 3);
  EXPECT_EQ(rows()[0].counters_status, "ok");
}

/// The second launch of a kernel is counted, and no later one.
TEST_F(TracerTest, CountsAGraphOfOneKernelAsTheOneThatItIsMadeToLaunch) {
  driver.graphs[handle(0x50)] = {kernel_node()};
  tracer->graph_instantiated(handle(0x60), handle(0x50));
  program.launch_graph(handle(0x60));
  LaunchCall kernel = kernel_node().launch;
  tracer->graph_kernel_changed(handle(0x60), handle(0x95), kernel);
  program.launch_graph(handle(0x60));
  EXPECT_EQ(gpu.count("push"), 1) << "its arguments alone have changed";
  program.has_records = false;  // those of the stand-in are of the kernel that it began with
  kernel.grid[0] = 9;
  kernel.function = handle(0x91);
  tracer->graph_kernel_changed(handle(0x60), handle(0x95), kernel);
  for (int i = 0; i < 3; ++i) program.launch_graph(handle(0x60));
  finish();
  std::map<std::int64_t, Row> by_grid;
  for (const Row& row : rows()) by_grid[*row.grid_blocks] = row;
  ASSERT_THAT(by_grid, SizeIs(2));
  EXPECT_EQ(by_grid[1].launches, 2);
  EXPECT_EQ(by_grid[9].launches, 3);
  EXPECT_THAT(by_grid[9].kernel, HasSubstr("other"));
}

/// As XLA does for each step.
TEST_F(TracerTest, FollowsAGraphWhoseGraphIsExchanged) {
  GraphNode inner = kernel_node("_Z5innerv");
  inner.handle = handle(0x96);
  inner.inside = handle(0x97);
  GraphNode exchanged = inner;
  exchanged.handle = handle(0x98);
  driver.graphs[handle(0x50)] = {kernel_node(), inner};
  driver.graphs[handle(0x51)] = {exchanged};
  exchanged.launch.grid[0] = 9;
  driver.graphs[handle(0x52)] = {exchanged};
  tracer->graph_instantiated(handle(0x60), handle(0x50));
  for (int graph : {0x51, 0x51, 0x52, 0x51}) {
    tracer->graph_in_graph_changed(handle(0x60), handle(0x97), handle(graph));
    program.launch_graph(handle(0x60));
  }
  tracer->graph_node_enabled(handle(0x60), handle(0x96), false);
  program.launch_graph(handle(0x60));
  finish();
  std::map<std::string, std::optional<std::int64_t>> launches;
  for (const Row& row : rows()) launches[fmt::format("{} {}", row.kernel, *row.grid_blocks)] = row.launches;
  EXPECT_THAT(launches,
              testing::UnorderedElementsAre(Pair(HasSubstr("inner() 1"), 3), Pair(HasSubstr("inner() 9"), 1),
                                            Pair(Not(HasSubstr("inner")), 5)));
}

/// Calls name the nodes of the graph that it was made of, also after it was updated by another.
TEST_F(TracerTest, FollowsChangesOfAGraphThatWasUpdatedAndNoneThatItDoesNotKnow) {
  program.has_records = false;
  driver.graphs[handle(0x50)] = {kernel_node(), kernel_node("_Z5innerv")};
  driver.graphs[handle(0x50)][1].handle = handle(0x96);
  driver.graphs[handle(0x51)] = {kernel_node(), kernel_node("_Z5innerv")};
  driver.graphs[handle(0x51)][0].handle = driver.graphs[handle(0x51)][1].handle = handle(0x99);
  tracer->graph_instantiated(handle(0x60), handle(0x50));
  tracer->graph_node_enabled(handle(0x60), handle(0x95), false);
  tracer->graph_instantiated(handle(0x60), handle(0x51));
  LaunchCall kernel = kernel_node("_Z5innerv").launch;
  kernel.grid[0] = 9;
  tracer->graph_kernel_changed(handle(0x60), handle(0x96), kernel);
  program.launch_graph(handle(0x60));
  tracer->graph_node_enabled(handle(0x60), handle(0x95), true);
  program.launch_graph(handle(0x60));
  tracer->graph_kernel_changed(handle(0x60), handle(0x77), kernel);
  program.launch_graph(handle(0x60));
  finish();
  std::map<std::int64_t, std::optional<std::int64_t>> launches;
  for (const Row& row : rows()) launches[*row.grid_blocks] = row.launches;
  EXPECT_THAT(launches, testing::ElementsAre(Pair(1, 1), Pair(9, 2)));
}

TEST_F(TracerTest, FollowsNoGraphWhoseGraphBecomesAnother) {
  program.has_records = false;
  GraphNode inner = kernel_node("_Z5innerv");
  inner.inside = handle(0x97);
  driver.graphs[handle(0x50)] = {kernel_node(), inner};
  driver.graphs[handle(0x51)] = {inner, inner};
  tracer->graph_instantiated(handle(0x60), handle(0x50));
  program.launch_graph(handle(0x60));
  tracer->graph_in_graph_changed(handle(0x60), handle(0x97), handle(0x51));
  program.launch_graph(handle(0x60));
  finish();
  for (const Row& row : rows()) EXPECT_EQ(row.launches, 1);
}

TEST_F(TracerTest, SaysOfAGraphWhoseKernelHasNoNameThatItsRecordsAloneMakeRows) {
  driver.graphs[handle(0x50)] = {kernel_node(), kernel_node("")};
  tracer->graph_instantiated(handle(0x60), handle(0x50));
  for (int i = 0; i < 3; ++i) program.launch_graph(handle(0x60));
  finish();
  EXPECT_THAT(said,
              testing::Contains(HasSubstr("a CUDA graph has a kernel whose name the driver does not say")));
}

TEST_F(TracerTest, HasRowsOfGraphsThatRunWhileAnotherStreamCaptures) {
  driver.graphs[handle(0x50)] = {kernel_node(), kernel_node()};
  tracer->capture_begins(handle(0x30));
  tracer->capture_has_begun(handle(0x30), true);
  for (int i = 0; i < 500; ++i) {  // more graphs than kernels
    tracer->graph_instantiated(handle(0x60), handle(0x50));
    program.launch_graph(handle(0x60));
  }
  finish();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].launches, 500);
  EXPECT_THAT(rows()[0].origin, HasSubstr("graph_launches=500"));
}

TEST_F(TracerTest, CountsOneContextOfAGpuAndSaysSoOfAnother) {
  for (int i = 0; i < 5; ++i) program.launch(66, handle(0x10));
  for (int i = 0; i < 5; ++i) program.launch(66, handle(0x11));
  EXPECT_EQ(gpu.count("set_up"), 1);
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("second context")));
  tracer->context_destroyed(handle(0x10));
  EXPECT_EQ(gpu.count("tear_down"), 1);
  // The GPU is free for a context that comes.
  for (int i = 0; i < 5; ++i) program.launch(67, handle(0x12));
  EXPECT_EQ(gpu.count("set_up"), 2);
  finish();
  EXPECT_EQ(rows()[0].launches.value() + rows()[1].launches.value(), 15);
}

TEST_F(TracerTest, CountsOnEachGpu) {
  driver.devices = {{handle(0x10), 0}, {handle(0x11), 1}};
  for (int i = 0; i < 5; ++i) {
    program.launch(66, handle(0x10));
    program.launch(66, handle(0x11));
  }
  EXPECT_EQ(gpu.count("set_up"), 2);
  EXPECT_EQ(gpu.count("push"), 6);
  finish();
}

TEST_F(TracerTest, SaysWhyNothingIsCountedAndKeepsTheoryAndTime) {
  gpu.failing = 1;  // set_up, after a mark
  gpu.status = CountersStatus::denied;
  for (int i = 0; i < 5; ++i) program.launch(66);
  finish();
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("set_up failed")));
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].counters_status, "denied");
  EXPECT_EQ(rows()[0].launches, 5);
  EXPECT_EQ(rows()[0].time_us, 10);
  EXPECT_EQ(rows()[0].theoretical_pct, 75);
}

TEST_F(TracerTest, CountsNothingWhereCountersAreOff) {
  use(options(0));
  EXPECT_FALSE(tracer->counts());
  for (int i = 0; i < 5; ++i) program.launch(66);
  finish();
  EXPECT_THAT(gpu.calls(), IsEmpty());
  EXPECT_EQ(rows()[0].counters_status, "off");
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(TracerTest, HasTheoryWhereCuptiKeepsNoRecords) {
  tracer->do_without_records();
  program.has_records = false;
  for (int i = 0; i < 5; ++i) program.launch(66);
  program.refused = true;
  program.launch(66);
  finish();
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].launches, 5) << "the driver refused one";
  EXPECT_EQ(rows()[0].theoretical_pct, 75);
  EXPECT_FALSE(rows()[0].time_us);
  EXPECT_EQ(rows()[0].achieved_pct, 1);
}

TEST_F(TracerTest, HasTheoryAndCountersWhereTheProgramTakesCuptisRecords) {
  program.has_records = false;
  for (int i = 0; i < 10; ++i) program.launch(66);
  program.launch(67);
  tracer->poll();
  EXPECT_THAT(rows(), SizeIs(2)) << "also if it is killed now";
  program.launch(67);
  finish();
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) {
    const bool counted = row.grid_blocks == 66;
    EXPECT_EQ(row.launches, counted ? 10 : 2);
    EXPECT_EQ(row.theoretical_pct, 75);
    EXPECT_FALSE(row.time_us);
    EXPECT_EQ(row.achieved_pct.has_value(), counted || row.launches == 2);
  }
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("12 of 12 launches have no record")));
}

TEST_F(TracerTest, SaysOnceThatWhatKernelsLaunchIsInNoRow) {
  program.launch(66);
  EXPECT_THAT(said, IsEmpty());
  driver.has_device_runtime = true;
  program.launch(67);
  program.launch(68);
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("may launch others: these are in no row")));
}

TEST_F(TracerTest, KeepsNoRecordsOnceAGraphHasConditionalNodes) {
  for (int i = 0; i < 5; ++i) program.launch(66);
  ASSERT_TRUE(gpu.keeps_records(handle(0x10)));
  tracer->graph_gets_conditional();
  EXPECT_FALSE(gpu.keeps_records(handle(0x10)));
  EXPECT_FALSE(gpu.keeps_records(nullptr)) << "of contexts that come later";
  program.has_records = false;
  for (int i = 0; i < 5; ++i) program.launch(66);
  tracer->graph_gets_conditional();
  finish();
  EXPECT_FALSE(gpu.keeps_records(handle(0x10)));
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].launches, 10);
  EXPECT_TRUE(rows()[0].achieved_pct);
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("conditional nodes")));
}

TEST_F(TracerTest, KeepsNoRecordsAlsoWhereALaunchIsCountedWhileAGraphGetsConditionalNodes) {
  program.launch(67);  // the first of a kernel is not counted
  gpu.kernel = [&] {
    EXPECT_FALSE(gpu.keeps_records(handle(0x10))) << "it is counted, and has no record";
    tracer->graph_gets_conditional();
  };
  program.launch(67);
  EXPECT_FALSE(gpu.keeps_records(handle(0x10)));
}

TEST_F(TracerTest, SaysThatLaterKernelsAreInNoRowWhereRecordsAloneAreHeardOf) {
  use(options(0));
  tracer->graph_gets_conditional();
  finish();
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("later kernels are in no row")));
}

TEST_F(TracerTest, NamesKernelsThatCameAfterTheProgramTookTheRecords) {
  for (int i = 0; i < 4; ++i) program.launch(66, handle(0x10), "_Z6reducePf");
  program.has_records = false;
  for (int i = 0; i < 10; ++i) program.launch(66, handle(0x10), "_Z6reducePf");
  for (int i = 0; i < 6; ++i) program.launch(66, handle(0x10), "_Z4fillPf");
  finish();
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) {
    EXPECT_EQ(row.launches, row.variant == "_Z4fillPf" ? 6 : 4);
    EXPECT_TRUE(row.achieved_pct);
  }
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("16 of 20 launches have no record")));
}

TEST_F(TracerTest, TellsKernelsWithoutRecordsApartByTheirSharedMemory) {
  program.has_records = false;
  for (int i = 0; i < 10; ++i) program.launch(66, handle(0x10), "_Z6reducePf", 0);
  for (int i = 0; i < 10; ++i) program.launch(66, handle(0x10), "_Z6reducePf", 4096);
  finish();
  ASSERT_THAT(rows(), SizeIs(2));
  for (const Row& row : rows()) EXPECT_EQ(row.counters_status, "ok") << row.case_;
  EXPECT_EQ(samples(), 6);
}

TEST_F(TracerTest, SaysInItsRowsWhyNothingMayBeCounted) {
  TracerOptions not_counting = options(3);
  not_counting.why_not_counted = "MPS";
  use(not_counting);
  EXPECT_FALSE(tracer->counts());
  for (int i = 0; i < 5; ++i) program.launch(66);
  finish();
  EXPECT_THAT(gpu.calls(), IsEmpty());
  EXPECT_EQ(rows()[0].counters_status, "unsupported");
  EXPECT_THAT(rows()[0].note, HasSubstr("MPS"));
  EXPECT_THAT(said, testing::ElementsAre("nothing is counted, for MPS"));
}

TEST_F(TracerTest, SaysWhereAProgramEndsInItsWarmUp) {
  TracerOptions until_it_repeats = options(3);
  until_it_repeats.counting.after = std::nullopt;
  use(until_it_repeats);
  for (int i = 0; i < 5; ++i) {
    program.launch(66);
    program.launch(67);
  }
  finish();
  EXPECT_THAT(
      said, testing::ElementsAre(AllOf(HasSubstr("the notes of its rows say why"), HasSubstr("--after 0"))));
  EXPECT_THAT(rows()[0].note, HasSubstr("only in the warm-up"));
}

TEST_F(TracerTest, BreaksNoCaptureOfAnotherThread) {
  gpu.is_capturing = [this] { return capturing_.load(); };
  std::atomic<bool> done{false};
  std::jthread capturing([&] {
    for (int i = 0; i < 300; ++i) {
      tracer->capture_begins(handle(0x30));
      capturing_ = true;
      tracer->capture_has_begun(handle(0x30), true);
      std::this_thread::sleep_for(20us);
      capturing_ = false;
      tracer->capture_has_ended(handle(0x30));
    }
    done = true;
  });
  for (std::uint32_t grid = 1; !done; ++grid) {
    for (int i = 0; i < 4; ++i) program.launch(grid);
    if (grid % 10 == 0) tracer->poll();
  }
  capturing.join();
  // However the threads were interleaved, these find nobody capturing.
  for (int i = 0; i < 4; ++i) program.launch(1);
  finish();
  EXPECT_FALSE(gpu.capture_broken);
  EXPECT_GT(gpu.count("push"), 0);
}

TEST_F(TracerTest, CountsOfManyThreadsEachLaunchAlone) {
  std::vector<std::jthread> threads;
  for (std::uint32_t thread = 0; thread < 64; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) program.launch(thread % 8 + 1);
    });
  }
  threads.clear();
  finish();
  ASSERT_THAT(rows(), SizeIs(8));
  for (const Row& row : rows()) {
    EXPECT_EQ(row.launches, 64 / 8 * 50);
    EXPECT_EQ(row.achieved_pct, 1) << "the kernels in its range";
  }
  EXPECT_EQ(gpu.count("push"), 24);
}

TEST_F(TracerTest, DoesNothingInAForkedChild) {
  for (int i = 0; i < 5; ++i) program.launch(66);
  tracer->poll();
  const std::string before = read_text(file);
  const std::size_t calls = gpu.calls().size();
  tracer->abandon();
  program.launch(70);
  tracer->poll();
  finish();
  EXPECT_EQ(read_text(file), before);
  EXPECT_EQ(gpu.calls().size(), calls);
}

TEST_F(TracerTest, SaysWhatItCannotWriteAndTriesAgain) {
  std::filesystem::remove_all(folder.path());
  program.launch(66);
  tracer->poll();
  tracer->poll();
  EXPECT_THAT(said, testing::ElementsAre(HasSubstr("cannot write")));
  std::filesystem::create_directories(folder.path());
  tracer->poll();
  EXPECT_THAT(rows(), SizeIs(1));
}

TEST_F(TracerTest, LosesAtMostWhatCameAfterItsLastWriteWhereTheProgramIsKilled) {
  std::mt19937 random(3);
  for (int moment = 0; moment < 10; ++moment) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0;; ++i) {
        program.launch(static_cast<std::uint32_t>(i % 30 + 1));
        if (i % 30 == 29) tracer->poll();
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 10000));
    // On a busy machine none of the others may have come to a write.
    if (moment == 9) {
      EXPECT_TRUE(wait_for(Patience(10'000), [&] { return rows().size() == 30; }));
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    for (const Row& row : rows()) EXPECT_GE(row.launches, 1);
  }
  EXPECT_THAT(rows(), SizeIs(30));
}

}  // namespace
}  // namespace occbench
