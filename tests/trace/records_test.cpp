// A launch is counted while CUPTI keeps no records of its context: they slow its blocks down.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traced_program.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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
  tracer->tend();
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
  tracer = make(9);
  Program taking{*tracer, gpu};
  for (int i = 0; i < 3; ++i) taking.launch(66);
  EXPECT_EQ(gpu.recorded_in_range, 0);
  taking.has_records = false;
  taking.launch(67);
  for (int i = 0; i < 3; ++i) taking.launch(66);
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
    record.grid = {66, 1, 1};
    record.block = {256, 1, 1};
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

}  // namespace
}  // namespace occbench
