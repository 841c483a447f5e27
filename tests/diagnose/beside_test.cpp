// What is said of recorded launches beside the points: what the counter and the calculator leave out.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/diagnose.hpp"

namespace occbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::optional<Finding> finding_of(const std::vector<Finding>& findings, Cause cause) {
  const auto found = std::ranges::find(findings, cause, &Finding::cause);
  return found == findings.end() ? std::nullopt : std::optional(*found);
}

/// Of the H200's recorded suite.
std::vector<Finding> findings_of(const std::string& name) {
  for (const CaseRecord& record : read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv")) {
    if (full_name(record.identity) == name) return diagnose(facts_of(record));
  }
  ADD_FAILURE() << "no row is called " << name;
  return {};
}

TEST(RecordedRow, ABlockOfOneThreadIsCountedAsAWholeWarp) {
  const auto lanes = finding_of(findings_of("partial_warps/spin/plain/block_threads=1"), Cause::idle_lanes);
  ASSERT_TRUE(lanes);
  EXPECT_DOUBLE_EQ(lanes->points, 0);
  // 32 blocks of one thread, of 2,048 threads that an SM can hold: 1.56 %.
  EXPECT_THAT(lanes->sentence, AllOf(HasSubstr("counts warps, not threads"), HasSubstr("31 of 32 lanes"),
                                     HasSubstr("1.55 % of the threads")));
  EXPECT_THAT(lanes->remedy, HasSubstr("multiple of 32"));
}

TEST(RecordedRow, WholeWarpsHaveNoIdleLanes) {
  EXPECT_FALSE(finding_of(findings_of("partial_warps/spin/plain/block_threads=32"), Cause::idle_lanes));
  EXPECT_FALSE(finding_of(findings_of("partial_warps/spin/plain/block_threads=64"), Cause::idle_lanes));
  EXPECT_FALSE(finding_of(findings_of("partial_warps/spin/plain/block_threads=31"), Cause::idle_lanes));
}

TEST(RecordedRow, ThreadZeroAloneLosesTheWarpsThatHaveExited) {
  // Whatever the one thread does: its warp may wait for memory, and the other seven have exited.
  for (const std::string form : {"atomic", "plain", "relaxed"}) {
    const auto findings = findings_of("data_race/data_race/" + form + "_block/form=" + form +
                                      "/adders=block/sms=132/blocks=132");
    const auto warps = finding_of(findings, Cause::uneven_warps);
    ASSERT_TRUE(warps) << form;
    EXPECT_THAT(warps->sentence, HasSubstr("warps have exited"));
    EXPECT_FALSE(finding_of(findings, Cause::memory_contention)) << form;
  }
}

TEST(RecordedRow, SharedMemoryThatNoBlockNeedsIsTakenFromL1) {
  const auto unused = finding_of(findings_of("l1_carveout/l1_reuse/plain/kilobytes=64/carveout_pct=100"),
                                 Cause::unused_shared_memory);
  ASSERT_TRUE(unused);
  // 228 KiB are kept, and the driver reserves 1 KiB for each of 8 blocks, which 8 KiB hold.
  EXPECT_THAT(unused->sentence, AllOf(HasSubstr("100 %"), HasSubstr("233,472 B"), HasSubstr("8,192 B")));
  EXPECT_THAT(unused->remedy, AllOf(HasSubstr("0 % as the carveout"), HasSubstr("225,280 B more")));
}

TEST(RecordedRow, ACarveoutThatBlocksNeedIsNotUnused) {
  EXPECT_FALSE(finding_of(findings_of("l1_carveout/l1_reuse/plain/kilobytes=64/carveout_pct=0"),
                          Cause::unused_shared_memory));
  // A quarter limits the blocks.
  EXPECT_FALSE(
      finding_of(findings_of("shared_memory/shared_staging/dynamic/block_threads=256/dynamic_bytes=8192/"
                             "carveout_pct=25"),
                 Cause::unused_shared_memory));
  // The driver chose: what it kept is not known.
  EXPECT_FALSE(finding_of(findings_of("waves/spin/plain/waves=1.00"), Cause::unused_shared_memory));
}

TEST(RecordedRow, LowOccupancyDoesNoHarmWhereIssueSlotsAreSaturated) {
  const auto enough =
      finding_of(findings_of("latency_hiding/fma_chains/multiply_add_8/chains=8/blocks_per_sm=2"),
                 Cause::low_occupancy_suffices);
  ASSERT_TRUE(enough);
  EXPECT_THAT(enough->sentence, AllOf(HasSubstr("does no harm"), HasSubstr("issue_active_pct is 100 %")));
}

TEST(RecordedRow, LowOccupancyIsNotExcusedByIssueSlotsOfSmsThatAreBusyForPartOfTheTime) {
  // Occupancy is 31.8 % over active cycles and 23.9 % over elapsed cycles; spread evenly the same work takes 0.75 of
  // the time.
  const auto findings = findings_of(
      "equal_work/fma_chains/multiply_add_4/problem=blocks_that_sms_do_not_share_evenly/remedy=none");
  EXPECT_TRUE(finding_of(findings, Cause::idle_sms));
  EXPECT_FALSE(finding_of(findings, Cause::low_occupancy_suffices));
}

TEST(RecordedRow, WarpsThatWaitForIdleMemoryAreToldOfItsLatency) {
  const auto waits = finding_of(
      findings_of("data_race/data_race/relaxed_thread/form=relaxed/adders=thread/sms=132/blocks=1056"),
      Cause::memory_contention);
  ASSERT_TRUE(waits);
  EXPECT_THAT(waits->sentence, HasSubstr("wait for memory, which is 0 % busy"));
  EXPECT_THAT(waits->remedy, HasSubstr("one address"));
}

}  // namespace
}  // namespace occbench
