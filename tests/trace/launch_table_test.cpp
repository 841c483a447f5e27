#include "trace/launch_table.hpp"

#include <cmath>
#include <fstream>
#include <memory>
#include <thread>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace occbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

KernelRecord record(std::uint32_t correlation, double us = 10, std::uint32_t grid = 66,
                    std::string_view name = "_Z6reducePf") {
  KernelRecord record;
  record.name = name;
  record.start_ns = 1000;
  record.end_ns = 1000 + static_cast<std::uint64_t>(1000 * us);
  record.correlation = correlation;
  record.context = 2;
  record.stream = 7;
  record.grid = {grid, 1, 1};
  record.block = {256, 1, 1};
  record.registers_per_thread = 40;
  return record;
}

LaunchCall call(std::uint32_t correlation, std::uint32_t grid = 66, std::string_view name = "_Z6reducePf") {
  LaunchCall call;
  call.correlation = correlation;
  call.grid = {grid, 1, 1};
  call.block = {256, 1, 1};
  call.name = name;
  return call;
}

const ProgramDevice kGpu{"NVIDIA H100", "GPU-1", 0, "9.0", 132, 1980};

std::vector<ProgramEntry> entries(const LaunchTable& table, CountersStatus status = CountersStatus::ok) {
  return table.entries(41, [&](int) { return LaunchTable::DeviceWords{kGpu, status, ""}; });
}

CounterReadings readings(std::vector<double> achieved) {
  return {{"sm__warps_active.avg.pct_of_peak_sustained_active", std::move(achieved)}};
}

TEST(LaunchTable, NamesKernelsAsInAnyBuildOfTheirSource) {
  LaunchTable table;
  table.expect(call(2, 66, "_ZN37_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji"), 0);
  table.add(record(1, 10, 66, "_ZN37_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji"));
  table.add(record(2, 10, 66, "_ZN37_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji"));
  table.add_readings(std::vector<std::uint32_t>{2}, readings({50}));
  ASSERT_EQ(entries(table).size(), 1);
  EXPECT_EQ(entries(table)[0].kernel.name, "_ZN21_GLOBAL__N__sample_cu4fillEPji");
  EXPECT_EQ(entries(table)[0].seen.timed, 1);
  EXPECT_EQ(entries(table)[0].seen.readings.size(), 1);
}

TEST(LaunchTable, HasAnEntryForEachKernelAndConfiguration) {
  LaunchTable table;
  table.add(record(1, 10));
  table.add(record(2, 20));
  table.add(record(3, 10, 67));
  KernelRecord other_code = record(4);
  other_code.registers_per_thread = 48;
  table.add(other_code);
  ASSERT_EQ(entries(table).size(), 3);
  for (const ProgramEntry& entry : entries(table)) {
    EXPECT_THAT(entry.seen.processes, ElementsAre(41));
    EXPECT_THAT(entry.seen.contexts, ElementsAre(2));
    if (entry.kernel.grid.x != 66 || entry.kernel.registers_per_thread != 40) continue;
    EXPECT_EQ(entry.seen.launches, 2);
    EXPECT_EQ(entry.seen.total_us, 30);
    EXPECT_THAT(entry.seen.times_us, ElementsAre(10, 20));
    EXPECT_EQ(entry.seen.counters_status, CountersStatus::off);
  }
}

TEST(LaunchTable, JoinsAReadingWithItsRecordWhicheverComesFirst) {
  LaunchTable table;
  table.add(record(1));
  table.expect(call(2), 0);
  table.expect(call(3), 0);
  table.add(record(2, 11));
  table.add_readings(std::array<std::uint32_t, 2>{2, 3}, readings({71, 72}));
  table.add(record(3, 12));
  const ProgramEntry entry = entries(table).front();
  EXPECT_EQ(entry.seen.launches, 3);
  EXPECT_EQ(entry.seen.total_us, 33);
  EXPECT_THAT(entry.seen.times_us, ElementsAre(10)) << "times are of launches that were not counted";
  EXPECT_EQ(entry.seen.timed, 1);
  EXPECT_THAT(entry.seen.readings.begin()->second, ElementsAre(71, 72));
}

ProgramKernel asked_for(int registers, std::uint32_t grid = 66) {
  return {.name = "_Z6reducePf", .grid = {grid}, .block = {256}, .registers_per_thread = registers};
}

ProgramEntry entry_of(const LaunchTable& table, int registers, std::uint32_t grid = 66) {
  for (ProgramEntry& entry : entries(table)) {
    if (entry.kernel.registers_per_thread == registers && entry.kernel.grid.x == grid) return entry;
  }
  ADD_FAILURE() << "no entry of " << registers << " registers";
  return {};
}

KernelRecord of_registers(std::uint32_t registers, KernelRecord of) {
  of.registers_per_thread = registers;
  return of;
}

TEST(LaunchTable, JoinsALaunchWithoutARecordWithThoseLikeItWheneverTheyCome) {
  for (const bool other_first : {true, false}) {
    LaunchTable table;
    if (other_first) table.add(of_registers(48, record(3, 99)));
    table.expect(call(2), 0);
    table.add_unrecorded(asked_for(40), 0, 2);
    table.add_readings(std::array<std::uint32_t, 1>{2}, readings({71}));
    EXPECT_EQ(entry_of(table, 40).seen.launches, 1) << "the record of the launch before has not come";
    EXPECT_TRUE(entry_of(table, 40).seen.times_us.empty());
    table.add(record(1, 10));
    if (!other_first) table.add(of_registers(48, record(3, 99)));
    ASSERT_EQ(entries(table).size(), 2);
    EXPECT_EQ(entry_of(table, 40).seen.launches, 2);
    EXPECT_EQ(entry_of(table, 40).seen.total_us, 20) << "as long as those with records";
    EXPECT_EQ(entry_of(table, 40).seen.timed, 1);
    EXPECT_EQ(entry_of(table, 40).seen.readings.size(), 1);
    EXPECT_EQ(entry_of(table, 48).seen.launches, 1);
    EXPECT_EQ(entry_of(table, 48).seen.total_us, 99);
    EXPECT_EQ(entry_of(table, 48).seen.readings.size(), 0);
  }
}

TEST(LaunchTable, JoinsALaunchWithoutARecordWithTheMostAlikeOfOneNumberOfRegisters) {
  LaunchTable table;
  KernelRecord in_clusters = record(1);
  in_clusters.cluster = {2, 1, 1};
  KernelRecord spilling = record(2);
  spilling.local_bytes_per_thread = 64;
  table.add(in_clusters);
  table.add(spilling);
  table.expect(call(3), 0);
  ProgramKernel asked = asked_for(40);
  asked.local_bytes_per_thread = 64;
  table.add_unrecorded(asked, 0, 3);
  ASSERT_EQ(entries(table).size(), 2);
  for (const ProgramEntry& entry : entries(table))
    EXPECT_EQ(entry.seen.launches, entry.kernel.local_bytes_per_thread == 64 ? 2 : 1);
}

TEST(LaunchTable, JoinsALaunchOfFewRegistersWithRecordsThatSay16) {
  for (const int of_function : {4, 15, 16}) {
    LaunchTable table;
    table.add(of_registers(17, record(1, 99)));
    table.add(of_registers(16, record(2)));
    table.expect(call(3), 0);
    table.add_unrecorded(asked_for(of_function), 0, 3);
    ASSERT_EQ(entries(table).size(), 2) << of_function;
    EXPECT_EQ(entry_of(table, 16).seen.launches, 2);
    EXPECT_EQ(entry_of(table, 17).seen.launches, 1);
  }
  LaunchTable exact;
  for (const std::uint32_t registers : {10, 8, 9}) exact.add(of_registers(registers, record(registers)));
  exact.expect(call(3), 0);
  exact.add_unrecorded(asked_for(8), 0, 3);
  EXPECT_EQ(entry_of(exact, 8).seen.launches, 2);
}

TEST(LaunchTable, JoinsALaunchWithoutARecordWithTheOnlyKernelOfItsName) {
  LaunchTable table;
  table.add(record(1));
  table.add(record(2, 10, 67));
  table.expect(call(3), 0);
  table.add_unrecorded(asked_for(0), 0, 3);
  table.add_readings(std::array<std::uint32_t, 1>{3}, readings({71}));
  ASSERT_EQ(entries(table).size(), 2) << "where the driver does not say how many registers it has";
  EXPECT_EQ(entry_of(table, 40).seen.launches, 2);
  EXPECT_EQ(entry_of(table, 40).seen.total_us, 20);
  EXPECT_EQ(entry_of(table, 40).seen.readings.size(), 1);
  EXPECT_EQ(entry_of(table, 40, 67).seen.launches, 1);
}

TEST(LaunchTable, CountsALaunchOnceThatHasARecordUnexpectedly) {
  for (const bool before : {true, false}) {
    LaunchTable table;
    const auto kernel = std::make_shared<const ProgramKernel>(asked_for(40));
    table.expect(call(1), 0);
    if (before) table.add(record(1, 500));
    table.add_unrecorded(*kernel, 0, 1);
    if (!before) table.add(record(1, 500));
    table.add_readings(std::array<std::uint32_t, 1>{1}, readings({71}));
    EXPECT_EQ(table.set_looked_at({{0, kernel, 1}}).launches, 0);
    ASSERT_EQ(entries(table).size(), 1);
    EXPECT_EQ(entry_of(table, 40).seen.launches, 1);
    EXPECT_EQ(entry_of(table, 40).seen.total_us, 500);
    EXPECT_THAT(entry_of(table, 40).seen.readings.begin()->second, ElementsAre(71));
  }
}

TEST(LaunchTable, TakesAColdFirstLaunchForNoMeasureOfThoseWithoutRecords) {
  LaunchTable table;
  for (std::uint32_t i = 1; i <= 5; ++i) table.add(record(i, i == 1 ? 1000 : 10));
  table.expect(call(6), 0);
  table.add_unrecorded(asked_for(40), 0, 6);
  EXPECT_EQ(entry_of(table, 40).seen.total_us, 1000 + 4 * 10 + 10);
}

TEST(LaunchTable, HasNoRecordMissingOfALaunchThatWasToHaveNone) {
  LaunchTable table;
  const auto kernel = std::make_shared<const ProgramKernel>(asked_for(40));
  table.expect(call(2), 0);
  table.add_unrecorded(*kernel, 0, 2);
  EXPECT_EQ(table.set_looked_at({{0, kernel, 1}}).launches, 0);
  EXPECT_EQ(table.set_looked_at({{0, kernel, 2}}).launches, 1);
  EXPECT_EQ(entry_of(table, 40).seen.launches, 2) << "one of each kind";
  table.add_readings(std::array<std::uint32_t, 1>{2}, readings({71}));
  EXPECT_THAT(entry_of(table, 40).seen.readings.begin()->second, ElementsAre(71));
  table.add(record(1));
  EXPECT_EQ(table.set_looked_at({{0, kernel, 2}}).launches, 0);
  EXPECT_EQ(entry_of(table, 40).seen.launches, 2);
}

TEST(LaunchTable, TakesOneKernelOfTwoHandlesForOne) {
  LaunchTable table;
  const auto kernel = std::make_shared<const ProgramKernel>(asked_for(40));
  const auto other_handle = std::make_shared<const ProgramKernel>(asked_for(40));
  table.expect(call(1), 0);
  table.expect(call(2), 0);
  table.add_unrecorded(*kernel, 0, 2);
  table.add_readings(std::array<std::uint32_t, 2>{1, 2}, readings({71, 72}));
  EXPECT_EQ(table.set_looked_at({{0, kernel, 3}, {0, other_handle, 4}}).launches, 6);
  ASSERT_EQ(entries(table).size(), 1);
  EXPECT_EQ(entry_of(table, 40).seen.launches, 7);
  EXPECT_THAT(entry_of(table, 40).seen.readings.begin()->second, ElementsAre(71, 72));
}

TEST(LaunchTable, ThatIsFullHasNoRoomForLaunchesWithoutRecordsEither) {
  LaunchTable table;
  for (std::uint32_t grid = 1; grid <= LaunchTable::kMostEntries; ++grid) table.add(record(grid, 1, grid));
  const std::uint32_t beyond = LaunchTable::kMostEntries + 1;
  for (const std::uint32_t grid : {66u, beyond}) {
    table.expect(call(50'000 + grid, grid), 0);
    table.add_unrecorded(asked_for(40, grid), 0, 50'000 + grid);
  }
  EXPECT_EQ(table.lost(), 1);
  EXPECT_EQ(entries(table).size(), LaunchTable::kMostEntries);
  EXPECT_EQ(entry_of(table, 40).seen.launches, 2);
}

TEST(LaunchTable, LeavesOutWhatCuptiLaunchesToReadCounters) {
  LaunchTable table;
  table.expect(call(2), 0);
  table.add(record(2, 80.9, 1, "what_cupti_launches"));
  table.add(record(2, 10));
  table.add(record(2, 80.9, 66));
  table.add_readings(std::array<std::uint32_t, 1>{2}, readings({71}));
  table.add(record(2, 80.9, 1, "what_cupti_launches"));
  ASSERT_EQ(entries(table).size(), 1);
  EXPECT_EQ(entries(table).front().seen.launches, 1);
}

TEST(LaunchTable, JoinsTheOneKernelOfAGraphThatWasCounted) {
  LaunchTable table;
  LaunchCall graph = call(5, 1, "");
  graph.of_graph = true;
  table.expect(graph, 0);
  KernelRecord of_graph = record(5);
  of_graph.of_graph = true;
  of_graph.graph_node = 17;
  table.add(record(5, 80.9, 1, "what_cupti_launches"));
  table.add(of_graph);
  table.add_readings(std::array<std::uint32_t, 1>{5}, readings({71}));
  ASSERT_EQ(entries(table).size(), 1);
  EXPECT_EQ(entries(table).front().seen.of_graphs, 1);
  EXPECT_THAT(entries(table).front().seen.graph_nodes, ElementsAre(17));
  EXPECT_EQ(entries(table).front().seen.readings.size(), 1);
}

TEST(LaunchTable, SaysWhyNothingWasCounted) {
  LaunchTable table;
  table.add(record(1));
  KernelRecord of_graph = record(2, 10, 67);
  of_graph.of_graph = true;
  table.add(of_graph);
  table.add(of_graph);
  for (const ProgramEntry& entry : entries(table)) {
    EXPECT_THAT(entry.seen.note, HasSubstr(entry.kernel.grid.x == 66 ? "launched once" : "graphs"));
  }
  LaunchTable direct;
  direct.add(record(1));
  direct.add(record(2));
  EXPECT_THAT(entries(direct).front().seen.note, AllOf(HasSubstr("warm-up"), Not(HasSubstr("graph"))));
  KernelRecord third = record(3);
  third.of_graph = true;
  direct.add(third);
  EXPECT_THAT(entries(direct).front().seen.note, AllOf(HasSubstr("warm-up"), HasSubstr("graph")));
  for (const ProgramEntry& entry : entries(table, CountersStatus::denied))
    EXPECT_EQ(entry.seen.counters_status, CountersStatus::denied);
}

TEST(LaunchTable, HasNoSecondEntryForWhatARecordNamesInAnotherWay) {
  LaunchTable table;
  ProgramKernel kernel;
  kernel.name = "_Z6reducePf.kd";
  table.add(record(1));
  EXPECT_EQ(table.set_looked_at({{0, std::make_shared<const ProgramKernel>(kernel), 1}}).kernels, 0);
  EXPECT_EQ(entries(table).size(), 1);
  EXPECT_EQ(table.set_looked_at({{0, std::make_shared<const ProgramKernel>(kernel), 2}}).kernels, 0)
      << "a record of one of the two is still to come";
  ProgramKernel other;
  other.name = "_Z4fillPf";
  kernel.name = "_Z6reducePf";
  EXPECT_EQ(table
                .set_looked_at({{0, std::make_shared<const ProgramKernel>(kernel), 1},
                                {0, std::make_shared<const ProgramKernel>(other), 3}})
                .kernels,
            1);
  EXPECT_EQ(entries(table).size(), 2);
}

TEST(LaunchTable, KeepsLaunchesWithoutRecords) {
  LaunchTable table;
  ProgramKernel kernel;
  kernel.name = "_Z6reducePf";
  table.expect(call(9), 0);
  table.add_readings(std::array<std::uint32_t, 1>{9}, readings({50}));
  table.add_untimed(kernel, 0, 8);
  table.add_untimed(kernel, 0, 9);
  const ProgramEntry entry = entries(table).front();
  EXPECT_EQ(entry.seen.launches, 2);
  EXPECT_TRUE(entry.seen.times_us.empty());
  EXPECT_THAT(entry.seen.readings.begin()->second, ElementsAre(50));
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

TEST(LaunchTable, OfAMillionLaunchesTakesTheMemoryOfItsEntries) {
  LaunchTable table;
  for (std::uint32_t i = 0; i < 100'000; ++i) table.add(record(i, 10 + i % 7, i % 50 + 1));
  const std::size_t before = resident_bytes();
  for (std::uint32_t i = 0; i < 1'000'000; ++i) table.add(record(i, 10 + i % 7, i % 50 + 1));
  EXPECT_LT(resident_bytes(), before + 1'000'000);
  EXPECT_EQ(entries(table).size(), 50);
  EXPECT_EQ(entries(table).front().seen.times_us.size(), 101);
}

TEST(LaunchTable, OfTooManyDistinctLaunchesCountsTheRest) {
  LaunchTable table;
  for (std::uint32_t grid = 1; grid <= LaunchTable::kMostEntries + 500; ++grid)
    table.add(record(grid, 1, grid));
  EXPECT_EQ(entries(table).size(), LaunchTable::kMostEntries);
  EXPECT_EQ(table.lost(), 500);
  table.lose(3);
  EXPECT_EQ(table.lost(), 503);
}

TEST(LaunchTable, LosesNothingWhereSixtyFourThreadsLaunch) {
  LaunchTable table;
  std::vector<std::jthread> threads;
  for (std::uint32_t thread = 0; thread < 64; ++thread) {
    threads.emplace_back([&table, thread] {
      for (std::uint32_t i = 0; i < 500; ++i) {
        const std::uint32_t correlation = thread * 1000 + i;
        if (i % 10 == 0) table.expect(call(correlation, i % 5 + 1), 0);
        if (i % 20 == 0) {
          table.add_unrecorded(asked_for(40, i % 5 + 1), 0, correlation);
        } else {
          table.add(record(correlation, 1, i % 5 + 1));
        }
        if (i % 10 == 0) table.add_readings(std::array{correlation}, readings({50}));
        if (i % 100 == 0) entries(table);
      }
    });
  }
  threads.clear();
  std::int64_t launches = 0;
  std::size_t counted = 0;
  for (const ProgramEntry& entry : entries(table)) {
    launches += entry.seen.launches;
    if (!entry.seen.readings.empty()) counted += entry.seen.readings.begin()->second.size();
  }
  EXPECT_EQ(launches, 64 * 500);
  EXPECT_EQ(counted, 64 * 50);
}

}  // namespace
}  // namespace occbench
