#include "programs/process_entries.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/entries.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A file of one GPU, one counter and one kernel.
struct ProcessEntriesTest : testing::Test {
  std::string file = std::string(kEntriesMagic);
  KernelFacts facts{
      .device = 2, .name = 5, .grid = {66, 2, 1}, .block = {256, 1, 1}, .registers_per_thread = 32};
  LaunchTotals totals{.launched = 10, .recorded = 7, .unrecorded = 3, .timed = 7, .total_ns = 70'000};

  ProcessEntriesTest() {
    append_facts(file, EntryKind::process, 0, ProcessFacts{41, 1});
    append_text(file, EntryKind::metric, 0, "sm__warps_active.avg.pct_of_peak_sustained_active");
    DeviceFacts device{9, 0, 132, 1'980'000, 2048, 0, {}, {}};
    std::string("GPU-1").copy(device.uuid.data(), 5);
    std::string("NVIDIA H100").copy(device.name.data(), 11);
    append_facts(file, EntryKind::device, 2, device);
    append_cut_text(file, EntryKind::counting, 2, static_cast<std::uint32_t>(CountersStatus::ok), "");
    append_text(file, EntryKind::name, 5, "_Z6reducePf");
    append_facts(file, EntryKind::kernel, 3, facts);
  }
  void append_times(std::vector<float> ns) {
    append_entry(file, EntryKind::times, 3, 0, std::as_bytes(std::span(ns)));
  }
  void append_reading(double value) {
    append_facts(file, EntryKind::reading, 3, value);
  }
  ProgramEntry entry() {
    append_facts(file, EntryKind::totals, 3, totals);
    const std::vector<ProgramEntry> entries = parse_process_entries(file, "run.41.entries").entries;
    EXPECT_THAT(entries, SizeIs(1));
    return entries.empty() ? ProgramEntry{} : entries.front();
  }
};

TEST_F(ProcessEntriesTest, OfABrokenFileMakeNoKernelThatNoGpuCanLaunch) {
  for (KernelFacts wrong : {KernelFacts{.grid = {0, 1, 1}}, KernelFacts{.grid = {65'536, 65'536, 1}},
                            KernelFacts{.block = {1025, 1, 1}}, KernelFacts{.registers_per_thread = 256},
                            KernelFacts{.carveout_pct = 101}}) {
    wrong.name = 5;
    std::string broken = file;
    append_facts(broken, EntryKind::kernel, 4, wrong);
    const TracedProcess process = parse_process_entries(broken, "run.41.entries");
    EXPECT_THAT(process.entries, SizeIs(1));
    EXPECT_EQ(process.impossible, 1);
  }
}

TEST_F(ProcessEntriesTest, SayWhatTheKernelIsAndWhereItRan) {
  const std::vector<std::int64_t> streams = {7, 13};
  append_entry(file, EntryKind::places, 3, static_cast<std::uint32_t>(PlaceKind::stream),
               std::as_bytes(std::span(streams)));
  const ProgramEntry read = entry();
  EXPECT_EQ(read.device, (ProgramDevice{"NVIDIA H100", "GPU-1", 2, "9.0", 132, 1980}));
  EXPECT_EQ(
      read.kernel,
      (ProgramKernel{.name = "_Z6reducePf", .grid = {66, 2, 1}, .block = {256}, .registers_per_thread = 32}));
  EXPECT_THAT(read.seen.processes, ElementsAre(41));
  EXPECT_THAT(read.seen.streams, ElementsAre(7, 13));
}

TEST_F(ProcessEntriesTest, TakeCountedLaunchesWithoutRecordsToLastAsLongAsTheOthers) {
  append_times({8'000, 10'000, 52'000});
  append_reading(60);
  const ProgramEntry read = entry();
  EXPECT_EQ(read.seen.launches, 10);
  EXPECT_EQ(read.seen.timed, 7);
  EXPECT_EQ(read.seen.total_us, 70 + 3 * 10);
  EXPECT_THAT(read.seen.times_us, ElementsAre(8, 10, 52));
  EXPECT_THAT(read.seen.readings.begin()->second, ElementsAre(60));
}

TEST_F(ProcessEntriesTest, ArePlacedByTheLatestOfTheirKind) {
  append_facts(file, EntryKind::totals, 3, LaunchTotals{.launched = 1, .recorded = 1});
  append_times({1'000});
  append_times({8'000});
  facts.registers_per_thread = 24;
  append_facts(file, EntryKind::kernel, 3, facts);
  const ProgramEntry read = entry();
  EXPECT_EQ(read.seen.launches, 10);
  EXPECT_EQ(read.kernel.registers_per_thread, 24);
  EXPECT_THAT(read.seen.times_us, ElementsAre(8));
}

TEST_F(ProcessEntriesTest, OfAKernelWithoutRecordsHaveItsLaunches) {
  totals = {.launched = 10};
  EXPECT_EQ(entry().seen.launches, 10);
  EXPECT_EQ(entry().seen.total_us, 0);
}

TEST_F(ProcessEntriesTest, NameKernelsAsInAnyBuildOfTheirSource) {
  append_text(file, EntryKind::name, 6, "_ZN37_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji");
  facts.name = 6;
  append_facts(file, EntryKind::kernel, 3, facts);
  EXPECT_EQ(entry().kernel.name, "_ZN21_GLOBAL__N__sample_cu4fillEPji");
}

TEST_F(ProcessEntriesTest, SayWhyAKernelWasNotCounted) {
  totals.uncounted = Uncounted::warm_up;
  EXPECT_THAT(entry().seen.note, HasSubstr("--after 0"));
  EXPECT_EQ(entry().seen.counters_status, CountersStatus::off);
  totals.uncounted = Uncounted::left_out;
  EXPECT_THAT(entry().seen.note, HasSubstr("--kernels"));
  totals.uncounted = Uncounted::unknown;
  EXPECT_EQ(entry().seen.note, "not counted") << "no reason is known";
  totals.of_graphs = 10;
  EXPECT_THAT(entry().seen.note, HasSubstr("CUDA graphs"));
  totals = {.launched = 1, .recorded = 1};
  EXPECT_THAT(entry().seen.note, HasSubstr("launched once"));
  // What ended counting on the GPU goes before.
  append_cut_text(file, EntryKind::counting, 2, static_cast<std::uint32_t>(CountersStatus::denied),
                  "no permission");
  EXPECT_EQ(entry().seen.note, "no permission");
  EXPECT_EQ(entry().seen.counters_status, CountersStatus::denied);
}

TEST_F(ProcessEntriesTest, OfOtherFilesAreRefused) {
  EXPECT_THROW(parse_process_entries("schema,experiment,case\n", "run.1.csv"), InputError);
}

/// Whatever bytes they have, they are read or refused.
TEST_F(ProcessEntriesTest, OfABrokenFileHarmNobody) {
  append_times({8'000});
  append_reading(60);
  entry();
  for (std::size_t at = kEntriesMagic.size(); at < file.size(); ++at) {
    for (const char byte : {'\0', '\x7F', '\xFF'}) {
      std::string broken = file;
      broken[at] = byte;
      EXPECT_NO_THROW(parse_process_entries(broken, "broken")) << at;
    }
  }
}

}  // namespace
}  // namespace occbench
