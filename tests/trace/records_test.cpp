// A launch is counted while CUPTI keeps no records of its context: they slow its blocks down.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traced_program.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using RecordsTest = TracerTest;

TEST_F(RecordsTest, StopWhileALaunchIsCountedWhichIsStillOneOfItsKernels) {
  for (int i = 0; i < 10; ++i) program.launch(66);
  program.launch(67);
  finish();
  EXPECT_EQ(gpu.count("push"), 3);
  EXPECT_EQ(gpu.recorded_in_range, 0);
  EXPECT_TRUE(gpu.records_kept);
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
  EXPECT_TRUE(gpu.records_kept);
  finish();
  EXPECT_EQ(rows()[0].launches, 1);
}

TEST_F(RecordsTest, GoOnWhenACountedKernelDoesNotEnd) {
  program.launch(66);
  gpu.kernel = [&] { gpu.idle = false; };
  program.launch(66);
  EXPECT_TRUE(gpu.records_kept);
  program.launch(66);
  tracer->tend();
  EXPECT_EQ(rows()[0].launches, 3);
}

TEST_F(RecordsTest, GoOnBeforeOtherLaunchesOfTheContextMay) {
  program.launch(66);
  std::atomic<int> recorded_beside{-1};
  std::thread other;
  gpu.kernel = [&] {
    if (recorded_beside >= 0) return;
    recorded_beside = 0;
    other = std::thread([&] {
      program.launch(67);
      recorded_beside = 1;
    });
  };
  program.launch(66);
  other.join();
  finish();
  ASSERT_THAT(rows(), SizeIs(2)) << "the launch beside has a record";
}

TEST_F(RecordsTest, AreLeftAloneWhereTheyDoNotComeHere) {
  program.has_records = false;
  int flushed = 0;
  gpu.flush = [&] { ++flushed; };
  for (int i = 0; i < 5; ++i) program.launch(66);
  EXPECT_EQ(flushed, 3) << "before each counted launch they were asked for";
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
    record.name = "_Z5otherv";
    record.end_ns = 1000;
    tracer->kernel_ran(record);
  };
  program.launch(66);
  program.launch(66);
  EXPECT_EQ(gpu.count("push"), 1);
  EXPECT_EQ(gpu.recorded_in_range, 0);
}

TEST_F(RecordsTest, OfAGraphAreKept) {
  driver.graphs[handle(1)] = {GraphNode::kernel};
  tracer->graph_instantiated(handle(2), handle(1));
  for (int i = 0; i < 5; ++i) program.launch_graph(handle(2));
  finish();
  EXPECT_EQ(gpu.recorded_in_range, 3) << "only the record tells which kernel it was";
  ASSERT_THAT(rows(), SizeIs(1));
  EXPECT_EQ(rows()[0].launches, 5);
  EXPECT_TRUE(rows()[0].achieved_pct);
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
