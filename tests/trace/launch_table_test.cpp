#include "trace/launch_table.hpp"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs/process_entries.hpp"
#include "resident_bytes.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

KernelRecord record(std::uint32_t correlation, double us = 10, std::uint32_t grid = 66,
                    std::string_view name = "_Z6reducePf") {
  KernelRecord record;
  record.name = name;
  record.start_ns = 1000;
  record.end_ns = 1000 + static_cast<std::uint64_t>(1000 * us);
  record.correlation = correlation;
  record.context = 2;
  record.stream = 7;
  record.facts.grid = {grid, 1, 1};
  record.facts.block = {256, 1, 1};
  record.facts.registers_per_thread = 40;
  return record;
}

/// A table, and what the parent reads of its entries.
struct Table : LaunchTable {
  std::string file = std::string(kEntriesMagic);
  std::uint32_t compiled_registers = 24;

  /// A launch of the kernel as the driver took it.
  TracedKernel& launch(std::uint32_t correlation, LaunchKind kind = LaunchKind::plain,
                       std::uint32_t grid = 66, const char* name = "_Z6reducePf",
                       std::uintptr_t function = 0x20) {
    LaunchCall call;
    call.function = reinterpret_cast<void*>(function);
    call.grid = {grid, 1, 1};
    call.block = {256, 1, 1};
    call.name = name;
    TracedKernel* kernel = find(call);
    if (kernel == nullptr) kernel = LaunchTable::add(call, {.registers_per_thread = compiled_registers}, {});
    note(correlation, {kind, kernel->number});
    ++kernel->launched;
    return *kernel;
  }
  std::vector<ProgramEntry> entries(bool all = false) {
    if (all) file = kEntriesMagic;
    append_facts(file, EntryKind::process, 0, ProcessFacts{41, 1});
    append_text(file, EntryKind::metric, 0, "sm__warps_active.avg.pct_of_peak_sustained_active");
    append_to(file, all);
    return parse_process_entries(file, "file").entries;
  }
  ProgramEntry entry() {
    const std::vector<ProgramEntry> all = entries();
    EXPECT_THAT(all, SizeIs(1));
    return all.empty() ? ProgramEntry{} : all.front();
  }
};

TEST(LaunchTable, HasAnEntryForEachKernelAndConfiguration) {
  Table table;
  table.compiled_registers = 40;
  for (std::uint32_t i = 1; i <= 2; ++i) {
    table.launch(i);
    table.add(record(i, 10 * i));
  }
  table.launch(3, LaunchKind::plain, 67);
  table.add(record(3, 10, 67));
  table.compiled_registers = 48;
  table.launch(4, LaunchKind::plain, 66, "_Z6reducePf", 0x30);
  table.add(record(4));
  ASSERT_THAT(table.entries(), SizeIs(3));
  for (const ProgramEntry& entry : table.entries()) {
    EXPECT_THAT(entry.seen.processes, ElementsAre(41));
    EXPECT_THAT(entry.seen.contexts, ElementsAre(2));
    EXPECT_THAT(entry.seen.streams, ElementsAre(7));
    if (entry.kernel.grid.x != 66 || entry.kernel.registers_per_thread != 40) continue;
    EXPECT_EQ(entry.seen.launches, 2);
    EXPECT_EQ(entry.seen.total_us, 30);
    EXPECT_THAT(entry.seen.times_us, ElementsAre(10, 20));
  }
}

/// A record of a kernel with an assertion says more registers than it was compiled to.
TEST(LaunchTable, TakesTheKernelOfALaunchForThatOfItsRecord) {
  Table table;
  table.launch(1);
  table.add(record(1));
  EXPECT_EQ(table.entry().kernel.registers_per_thread, 24) << "as in a run without records";
  EXPECT_EQ(table.entry().seen.times_us.size(), 1);
}

TEST(LaunchTable, TakesWhatARecordSaysWhereTheDriverSaysNothing) {
  Table table;
  table.compiled_registers = 0;
  table.launch(1);
  table.add(record(1));
  EXPECT_EQ(table.entry().kernel.registers_per_thread, 40);
}

TEST(LaunchTable, JoinsRecordsOfAGraphWithItsKernels) {
  Table table;
  TracedKernel& one = table.launch(1);
  TracedKernel& other = table.launch(2, LaunchKind::plain, 67);
  TracedGraph* const graph = table.add_graph({&one, &other, &one});
  ASSERT_NE(graph, nullptr);
  table.note(9, {LaunchKind::graph, graph->number});
  ++graph->launched;
  for (const std::uint32_t grid : {66, 67, 66, 99}) {
    KernelRecord of_graph = record(9, 10, grid);
    of_graph.of_graph = true;
    table.add(of_graph);
  }
  ASSERT_THAT(table.entries(), SizeIs(3)) << "one has a kernel that is not known";
  EXPECT_EQ(table.entries()[0].seen.launches, 2);
  EXPECT_EQ(one.launched, 1 + 2);
  EXPECT_EQ(other.launched_by_graphs, 1);
}

/// A program may make or change a graph for each step.
TEST(LaunchTable, HasRoomForGraphsOfTheSameKernelsWithoutEnd) {
  Table table;
  TracedKernel& one = table.launch(1);
  TracedGraph* const graph = table.add_graph({&one, &one});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(table.add_graph({&one, &one}), graph);
  EXPECT_NE(table.add_graph({&one, nullptr, &one}), graph);
  EXPECT_NE(table.add_graph({&one, &one}, {Begins::beside, Begins::after_end}), graph);
  const std::vector<TracedKernel*> many(LaunchTable::kMostNodes, &one);
  EXPECT_EQ(table.add_graph(many), nullptr);
  EXPECT_EQ(table.add_graph({&one, &one}), graph);
}

TEST(LaunchTable, LogsWhenLaunchesMayBegin) {
  Table table;
  TracedKernel& one = table.launch(5);
  table.note(6, {LaunchKind::plain, one.number});
  TracedGraph* const graph = table.add_graph({&one, &one}, {Begins::after_end, Begins::beside});
  table.note(7, {LaunchKind::graph, graph->number});
  table.mark(5, {3 | LoggedLaunch::kEarly, 0});
  table.mark(6, {LoggedLaunch::kBeside, 0});
  table.mark(7, {3, 0});
  const std::vector<LoggedLaunch> log = table.log(5, 7, 0);
  ASSERT_THAT(log, SizeIs(4));
  EXPECT_EQ(log[0].begins, Begins::early);
  EXPECT_EQ(log[0].stream, 3);
  EXPECT_EQ(log[1].begins, Begins::beside);
  EXPECT_EQ(log[2].begins, Begins::after_end);
  EXPECT_EQ(log[3].begins, Begins::beside);
}

TEST(LaunchTable, LogsTheLaunchesOfAGpuInTheOrderOfTheirCalls) {
  Table table;
  TracedKernel& one = table.launch(5);
  TracedKernel& other = table.launch(7, LaunchKind::recorded, 67);
  table.note(8, {LaunchKind::captured, one.number});
  TracedGraph* const graph = table.add_graph({&other, &one});
  table.note(9, {LaunchKind::graph, graph->number});
  table.mark(9, {3, 1234});
  EXPECT_THAT(table.log(4, 9, 0),
              ElementsAre(LoggedLaunch{one.number, 66, 0, 0}, LoggedLaunch{other.number, 67, 0, 0},
                          LoggedLaunch{other.number, 67, 3, 1234}, LoggedLaunch{one.number, 66, 3, 1234}));
  EXPECT_EQ(table.log(0xFFFFFF00, 5, 0).size(), 1) << "numbers begin again after the last";
  EXPECT_THAT(table.log(4, 9, 1), IsEmpty()) << "another GPU";
}

TEST(LaunchTable, LogsFillsAndCopiesAndOfAGraphThatIsLaunchedForEverTheLatestLaunches) {
  Table table;
  TracedKernel& one = table.launch(5);
  TracedGraph* const graph = table.add_graph({&one, nullptr, &one, &one});
  for (std::uint32_t correlation = 10; correlation < 10'010; ++correlation)
    table.note(correlation, {LaunchKind::graph, graph->number});
  table.note(20'000, {LaunchKind::memory, 0});
  table.note(20'001, {LaunchKind::memory, 1});
  const std::vector<LoggedLaunch> log = table.log(4, 20'001, 0);
  EXPECT_EQ(log.front(), (LoggedLaunch{one.number, 66, 0, 0}));
  EXPECT_EQ(log.back(), (LoggedLaunch{LoggedLaunch::kMemory, 0, 0, 0})) << "the other is of another GPU";
  EXPECT_EQ(log[log.size() - 4].kernel, LoggedLaunch::kMemory) << "of the graph";
  EXPECT_GT(log.size(), 10'000);
  EXPECT_LT(log.size(), 10'010);
}

TEST(LaunchTable, AddsUpWhatWasSampled) {
  Table table;
  TracedKernel& kernel = table.launch(1);
  const SampledLaunch launch{{1, 10, 3200, 100, 120, 5000}, kernel.number};
  table.add_sampled(std::vector<SampledLaunch>(3, launch), 64);
  const ProgramLaunches seen = table.entry().seen;
  const SampledTotals& sampled = seen.sampled;
  EXPECT_EQ(sampled.launches, 3);
  EXPECT_EQ(sampled.samples, 30);
  EXPECT_EQ(sampled.warp_cycles, 9600);
  EXPECT_EQ(sampled.active_ns, 15'000);
  EXPECT_THAT(seen.sampled_pcts, ElementsAre(50, 50, 50));
  EXPECT_THAT(table.entry().seen.times_us, ElementsAre(5, 5, 5));
  EXPECT_TRUE(table.has_readings());
}

TEST(LaunchTable, JoinsAReadingWithItsRecordWhicheverComesFirst) {
  Table table;
  table.launch(1);
  table.add(record(1));
  table.launch(2, LaunchKind::counted);
  TracedKernel& kernel = table.launch(3, LaunchKind::counted);
  table.add(record(2, 11));
  table.add_reading(kernel.number, {71});
  table.add_reading(kernel.number, {72});
  table.add(record(3, 12));
  const ProgramEntry entry = table.entry();
  EXPECT_EQ(entry.seen.launches, 3);
  EXPECT_EQ(entry.seen.total_us, 33);
  EXPECT_THAT(entry.seen.times_us, ElementsAre(10)) << "times are of launches that were not counted";
  EXPECT_EQ(entry.seen.timed, 1);
  EXPECT_THAT(entry.seen.readings.begin()->second, ElementsAre(71, 72));
  EXPECT_TRUE(table.has_readings());
}

TEST(LaunchTable, TakesALaunchWithoutARecordToLastAsLongAsTheOthers) {
  Table table;
  TracedKernel& kernel = table.launch(6, LaunchKind::counted);
  table.add_unrecorded(kernel, 6);
  EXPECT_EQ(table.entry().seen.launches, 1);
  EXPECT_EQ(table.entry().seen.total_us, 0) << "none has a time yet";
  for (std::uint32_t i = 1; i <= 5; ++i) {
    table.launch(i);
    table.add(record(i, i == 1 ? 1000 : 10));
  }
  EXPECT_EQ(table.entry().seen.launches, 6);
  EXPECT_EQ(table.entry().seen.total_us, 1000 + 4 * 10 + 10) << "not as long as a cold first one";
}

TEST(LaunchTable, TakesALaunchWhoseRecordSpansATimeInWhichNothingRanToLastAsLongAsTheOthers) {
  Table table;
  table.was_idle(2, 10'000);
  table.was_idle(2, 50'000'000);
  table.was_idle(3, 70'000'000);
  const auto add = [&](std::uint32_t correlation, std::uint64_t start_ns, double us) {
    table.launch(correlation);
    KernelRecord one = record(correlation, us);
    one.start_ns += start_ns;
    one.end_ns += start_ns;
    table.add(one);
  };
  add(1, 0, 10);  // to the idle time, by clocks that differ a little
  add(2, 20'000, 30);
  add(3, 49'990'000, 5'000);
  add(4, 51'000'000, 50);  // nothing is known of later times, or of other contexts
  add(5, 51'000'000, 50'000);
  const ProgramEntry entry = table.entry();
  EXPECT_EQ(entry.seen.launches, 5);
  EXPECT_THAT(entry.seen.times_us, ElementsAre(10, 30, 50, 50'000));
  EXPECT_DOUBLE_EQ(entry.seen.total_us, 10 + 30 + 50 + 50'000 + 40);
}

TEST(LaunchTable, CountsALaunchOnceThatHasARecordUnexpectedly) {
  for (const bool before : {true, false}) {
    Table table;
    TracedKernel& kernel = table.launch(1, LaunchKind::counted);
    if (before) table.add(record(1, 500));
    table.add_unrecorded(kernel, 1);
    if (!before) table.add(record(1, 500));
    EXPECT_EQ(table.missing_records().launches, 0);
    EXPECT_EQ(table.entry().seen.launches, 1) << before;
    EXPECT_EQ(table.entry().seen.total_us, 500);
  }
}

TEST(LaunchTable, LeavesOutWhatCuptiLaunchesToReadCounters) {
  Table table;
  table.launch(2, LaunchKind::counted);
  table.add(record(2, 80.9, 1, "what_cupti_launches"));
  table.add(record(2, 10));
  table.add(record(2, 80.9, 66));
  table.add(record(2, 80.9, 1, "what_cupti_launches"));
  EXPECT_EQ(table.entry().seen.launches, 1);
  TracedKernel& kernel = table.launch(3, LaunchKind::counted);
  table.add_unrecorded(kernel, 3);
  table.add(record(3, 80.9, 1, "what_cupti_launches"));
  EXPECT_EQ(table.entry().seen.launches, 2);
}

TEST(LaunchTable, HasAnEntryOfItsOwnForARecordWhoseLaunchItDoesNotKnow) {
  Table table;
  table.launch(1);
  table.add(record(1));
  KernelRecord of_graph = record(5, 10, 68);
  of_graph.of_graph = true;
  of_graph.graph_node = 17;
  table.add(of_graph);
  table.add(of_graph);
  ASSERT_THAT(table.entries(), SizeIs(2));
  const ProgramEntry entry = table.entries()[1];
  EXPECT_EQ(entry.seen.launches, 2);
  EXPECT_EQ(entry.seen.of_graphs, 2);
  EXPECT_THAT(entry.seen.graph_nodes, ElementsAre(17));
}

TEST(LaunchTable, AwaitsTheRecordOfAPlainLaunchUntilItComes) {
  Table table;
  EXPECT_FALSE(table.awaits_record(1));
  table.launch(1);
  EXPECT_TRUE(table.awaits_record(1));
  EXPECT_EQ(table.missing_records().launches, 1);
  EXPECT_EQ(table.missing_records().kernels, 1);
  table.add(record(1));
  EXPECT_FALSE(table.awaits_record(1));
  EXPECT_EQ(table.missing_records().launches, 0);
  table.launch(2);
  table.launch(2 + LaunchSlots::kLaunches);
  EXPECT_FALSE(table.awaits_record(2)) << "too long ago";
}

TEST(LaunchTable, ForgetsTheHandlesOfAContextThatIsGone) {
  Table table;
  const TracedKernel* const before = &table.launch(1);
  EXPECT_EQ(&table.launch(2), before);
  table.context_is_gone(nullptr);
  EXPECT_NE(&table.launch(3), before);
}

TEST(LaunchTable, WritesWhatHasChangedAndAllOfItAgain) {
  Table table;
  TracedKernel& kernel = table.launch(1);
  table.add(record(1));
  table.add_reading(kernel.number, {71});
  table.entries();
  const std::size_t written = table.file.size();
  table.append_to(table.file, false);
  EXPECT_EQ(table.file.size(), written) << "nothing has changed";
  table.launch(2);
  table.add(record(2));
  const std::vector<ProgramEntry> pieces = table.entries();
  const std::vector<ProgramEntry> whole = table.entries(true);
  ASSERT_THAT(whole, SizeIs(1));
  EXPECT_EQ(whole[0].kernel, pieces[0].kernel);
  EXPECT_EQ(whole[0].seen.launches, 2);
  EXPECT_EQ(whole[0].seen.times_us, pieces[0].seen.times_us);
  EXPECT_EQ(whole[0].seen.readings, pieces[0].seen.readings);
}

TEST(LaunchTable, OfAMillionLaunchesTakesTheMemoryOfItsEntries) {
  Table table;
  const auto launch = [&](std::uint32_t i) {
    table.launch(i, LaunchKind::plain, i % 50 + 1);
    table.add(record(i, 10 + i % 7, i % 50 + 1));
  };
  for (std::uint32_t i = 0; i < LaunchSlots::kLaunches; ++i) launch(i);
  const std::size_t before = resident_bytes();
  for (std::uint32_t i = 0; i < 1'000'000; ++i) launch(i);
  EXPECT_LT(resident_bytes(), before + 1'000'000);
  EXPECT_THAT(table.entries(), SizeIs(50));
  EXPECT_THAT(table.entries()[0].seen.times_us, SizeIs(101));
}

TEST(LaunchTable, OfTooManyDistinctLaunchesCountsTheRest) {
  Table table;
  for (std::uint32_t grid = 1; grid <= LaunchTable::kMostKernels + 500; ++grid)
    table.add(record(grid, 1, grid));
  EXPECT_EQ(table.size(), LaunchTable::kMostKernels);
  EXPECT_EQ(table.lost(), 500);
  table.lose(3);
  EXPECT_EQ(table.lost(), 503);
  LaunchCall call;
  call.name = "_Z4morev";
  EXPECT_EQ(table.LaunchTable::add(call, {}, {}), nullptr);
}

TEST(LaunchTable, LosesNothingWhereSixtyFourThreadsLaunch) {
  Table table;
  std::vector<std::jthread> threads;
  for (std::uint32_t thread = 0; thread < 64; ++thread) {
    threads.emplace_back([&table, thread] {
      for (std::uint32_t i = 0; i < 500; ++i) {
        const std::uint32_t correlation = thread * 1000 + i + 1;
        TracedKernel& kernel =
            table.launch(correlation, i % 10 == 0 ? LaunchKind::counted : LaunchKind::plain, i % 5 + 1);
        if (i % 20 == 0) {
          table.add_unrecorded(kernel, correlation);
        } else {
          table.add(record(correlation, 1, i % 5 + 1));
        }
        if (i % 10 == 0) table.add_reading(kernel.number, {50});
      }
    });
  }
  std::string ignored;
  for (int i = 0; i < 20; ++i) table.append_to(ignored, true);
  threads.clear();
  std::int64_t launches = 0;
  std::size_t counted = 0;
  for (const ProgramEntry& entry : table.entries(true)) {
    launches += entry.seen.launches;
    if (!entry.seen.readings.empty()) counted += entry.seen.readings.begin()->second.size();
  }
  EXPECT_EQ(launches, 64 * 500);
  EXPECT_EQ(counted, 64 * 50);
}

}  // namespace
}  // namespace occbench
