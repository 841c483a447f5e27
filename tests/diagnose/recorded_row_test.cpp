// What is said of recorded launches beside the points: what the counter and the calculator leave out.
#include <algorithm>
#include <map>
#include <ranges>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "by_numbers.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(RecordedRow, OfBusyMemoryGainsNoMoreByMoreWarpsThanIsSaid) {
  std::map<std::string, std::vector<CaseRecord>> by_variant;
  for (CaseRecord& record : read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv")) {
    if (record.identity.experiment == "latency_hiding" && record.readings.counters.sm_cycles_active_avg)
      by_variant[record.identity.variant].push_back(std::move(record));
  }
  // Useful work in an active cycle, of which uses are shares.
  const auto rate = [](const CaseRecord& of) {
    return *of.times.throughput * *of.times.time_us / *of.readings.counters.sm_cycles_active_avg;
  };
  int rows = 0;
  for (const auto& [variant, records] : by_variant) {
    const double fastest = std::ranges::max(records | std::views::transform(rate));
    for (const CaseRecord& each : records) {
      const auto finding = find(diagnose(facts_of(each)), Cause::low_occupancy_suffices);
      if (!finding) continue;
      ++rows;
      // What it says is left is 100 % less this use.
      EXPECT_LT(1 - rate(each) / fastest, 1.01 - finding->evidence.front().value / 100) << variant;
    }
  }
  EXPECT_GT(rows, 10);
}

TEST(RecordedRow, OccupancyMayHelpUntilMemoryIsFull) {
  const Finding finding = the(findings_of("latency_hiding/reads/bytes_8_in_flight_8/bytes=8/in_flight=8/"
                                          "blocks_per_sm=4"),
                              Cause::low_occupancy_suffices);
  // dram_busy_pct of the row is 83.9.
  EXPECT_THAT(finding.sentence, HasSubstr("More warps can save 16 % of the time at most"));
}

TEST(AKernelOfALibrary, IsGivenNoAdviceThatOnlyItsAuthorCanFollow) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 512, .grid_blocks = 64}, {.registers_per_thread = 48}, 24.5);
  facts.library = library_of("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>(cudnnTensorStruct)");
  ASSERT_NE(facts.library, nullptr);
  const auto findings = diagnose(facts);
  ASSERT_GE(findings.size(), 3U);
  for (const Finding& finding : findings) {
    if (finding.cause == Cause::unexplained) continue;
    EXPECT_THAT(finding.remedy, testing::StartsWith("This kernel belongs to cuDNN: its caller can "));
    EXPECT_FALSE(finding.advice);
  }
  EXPECT_THAT(saved_by(facts, Cause::register_limit).sentence, HasSubstr("None expected: the library chose"));
  // Its points are those of anybody's kernel.
  const double points = find(findings, Cause::small_grid)->points;
  facts.library = nullptr;
  const auto own = diagnose(facts);
  EXPECT_EQ(find(own, Cause::small_grid)->points, points);
  EXPECT_THAT(find(own, Cause::register_limit)->remedy, HasSubstr("__maxnreg__"));
}

TEST(AKernelOfALibrary, ThatIsLaunchedOnlyToTuneCanBeSpared) {
  LaunchFacts facts =
      by_numbers("9.0", 132, {.block_threads = 1, .grid_blocks = 1}, {.registers_per_thread = 16}, 1.56);
  EXPECT_LT(saved_by(facts, Cause::small_grid).share, 1);
  facts.library = library_of("stream_executor::gpu::(anonymous namespace)::DelayKernel(int)");
  EXPECT_EQ(saved_by(facts, Cause::small_grid).share, 1) << "compiled code that is kept spares it";
}

TEST(RecordedRow, FewWarpsThatWaitForIdleMemoryAreToldOfMoreLoadsInFlight) {
  const auto limit = [](const std::string& name) {
    return find(findings_of(name), Cause::shared_memory_limit)->remedy;
  };
  // 177 GB/s; 3,142 GB/s with 16 bytes and 8 loads in flight, at the same occupancy.
  EXPECT_THAT(
      limit("latency_hiding/reads/bytes_4_in_flight_1/bytes=4/in_flight=1/blocks_per_sm=1"),
      HasSubstr("Warps wait for memory, and the device's is 3 % busy: more or wider loads in flight"));
  EXPECT_THAT(limit("latency_hiding/reads/bytes_16_in_flight_8/bytes=16/in_flight=8/blocks_per_sm=4"),
              testing::Not(HasSubstr("loads in flight")));
}

TEST(RecordedRow, OfAProgramWithANameOfCMayBeTritons) {
  const std::string programs = OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs/";
  int limited = 0;
  for (const CaseRecord& record : read_case_records(programs + "triton_kernels.csv")) {
    for (const Finding& finding : diagnose(facts_of(record))) {
      const bool is_tritons = record.identity.kernel == "product";
      if (finding.cause == Cause::register_limit && is_tritons) ++limited;
      const bool says_so = finding.remedy.find("If it is Triton's, num_warps") != finding.remedy.npos;
      EXPECT_EQ(says_so, is_tritons && finding.advice) << record.identity.kernel << to_string(finding.cause);
    }
  }
  EXPECT_GT(limited, 0);
  for (const CaseRecord& record : read_case_records(programs + "sample.csv")) {
    for (const Finding& finding : diagnose(facts_of(record)))
      EXPECT_EQ(finding.remedy.find("Triton"), finding.remedy.npos) << record.identity.kernel;
  }
}

TEST(RecordedRow, OfAProgramOfDirectivesIsToldOfTheOptionsOfItsCompiler) {
  int limited = 0;
  for (CaseRecord& record :
       read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs/triton_kernels.csv")) {
    if (record.identity.kernel != "product") continue;
    record.identity.kernel = "nvkernel_hydro_update_density_F1L77_2";
    for (const Finding& finding : diagnose(facts_of(record))) {
      EXPECT_THAT(finding.remedy, AllOf(testing::Not(HasSubstr("Triton")), testing::Not(HasSubstr("__"))));
      if (finding.cause != Cause::register_limit || !finding.advice) continue;
      ++limited;
      EXPECT_THAT(finding.remedy, HasSubstr("as -gpu=maxregcount:"));
    }
  }
  EXPECT_GT(limited, 0);
  TheoryAdvice advice = advise_on_theory(limits_of({9, 0}), {{.block_threads = 384}, {}});
  advice.is_of_directives = true;
  EXPECT_THAT(sentences(advice).front(), HasSubstr("vector_length and num_workers, or num_threads"));
}

TEST(RecordedRow, ABlockOfOneThreadIsCountedAsAWholeWarp) {
  const Finding lanes = the(findings_of("partial_warps/spin/plain/block_threads=1"), Cause::idle_lanes);
  EXPECT_DOUBLE_EQ(lanes.points, 0);
  // 32 blocks of one thread, of 2,048 threads that an SM can hold: 1.56 %.
  EXPECT_THAT(lanes.sentence, AllOf(HasSubstr("counts warps, not threads"), HasSubstr("31 of 32 lanes"),
                                    HasSubstr("1.55 % of the threads")));
  EXPECT_THAT(lanes.remedy, HasSubstr("multiple of 32"));
}

TEST(RecordedRow, WholeWarpsHaveNoIdleLanes) {
  EXPECT_FALSE(find(findings_of("partial_warps/spin/plain/block_threads=32"), Cause::idle_lanes));
  EXPECT_FALSE(find(findings_of("partial_warps/spin/plain/block_threads=64"), Cause::idle_lanes));
  EXPECT_FALSE(find(findings_of("partial_warps/spin/plain/block_threads=31"), Cause::idle_lanes));
}

TEST(RecordedRow, ThreadZeroAloneLosesTheWarpsThatHaveExited) {
  // Whatever the one thread does: its warp may wait for memory, and the other seven have exited.
  for (const std::string form : {"atomic", "plain", "relaxed"}) {
    const auto findings = findings_of("data_race/data_race/" + form + "_block/form=" + form +
                                      "/adders=block/sms=132/blocks=132");
    const Finding warps = the(findings, Cause::uneven_warps);
    EXPECT_THAT(warps.sentence, HasSubstr("warps have exited"));
    EXPECT_FALSE(find(findings, Cause::memory_contention)) << form;
  }
}

TEST(RecordedRow, SharedMemoryThatNoBlockNeedsIsTakenFromL1) {
  const Finding unused = the(findings_of("l1_carveout/l1_reuse/plain/kilobytes=64/carveout_pct=100"),
                             Cause::unused_shared_memory);
  // 228 KiB are kept, and the driver reserves 1 KiB for each of 8 blocks, which 8 KiB hold.
  EXPECT_THAT(unused.sentence, AllOf(HasSubstr("100 %"), HasSubstr("233,472 B"), HasSubstr("8,192 B")));
  EXPECT_THAT(unused.remedy, AllOf(HasSubstr("0 % as the carveout"), HasSubstr("225,280 B more")));
}

TEST(RecordedRow, ACarveoutThatBlocksNeedIsNotUnused) {
  EXPECT_FALSE(find(findings_of("l1_carveout/l1_reuse/plain/kilobytes=64/carveout_pct=0"),
                    Cause::unused_shared_memory));
  // A quarter limits the blocks.
  EXPECT_FALSE(find(findings_of("shared_memory/shared_staging/dynamic/block_threads=256/dynamic_bytes=8192/"
                                "carveout_pct=25"),
                    Cause::unused_shared_memory));
  // The driver chose: what it kept is not known.
  EXPECT_FALSE(find(findings_of("waves/spin/plain/waves=1.00"), Cause::unused_shared_memory));
}

TEST(RecordedRow, LowOccupancyDoesNoHarmWhereIssueSlotsAreSaturated) {
  const Finding enough = the(findings_of("latency_hiding/fma_chains/multiply_add_8/chains=8/blocks_per_sm=2"),
                             Cause::low_occupancy_suffices);
  EXPECT_THAT(enough.sentence, AllOf(HasSubstr("does no harm"), HasSubstr("issue_active_pct is 100 %")));
}

TEST(RecordedRow, LowOccupancyIsNotExcusedByIssueSlotsOfSmsThatAreBusyForPartOfTheTime) {
  // Occupancy is 31.8 % over active cycles and 23.9 % over elapsed cycles; spread evenly the same work takes 0.75 of
  // the time.
  const auto findings = findings_of(
      "equal_work/fma_chains/multiply_add_4/problem=blocks_that_sms_do_not_share_evenly/remedy=none");
  EXPECT_TRUE(find(findings, Cause::idle_sms));
  EXPECT_FALSE(find(findings, Cause::low_occupancy_suffices));
  EXPECT_THAT(the(findings, Cause::small_grid).remedy,
              HasSubstr("narrower blocks, equally many on each SM: now some SMs have 2 and others 1"));
}

TEST(RecordedRow, WarpsThatWaitForMemoryThatIsNotBusyAreToldToHaveMoreLoadsInFlight) {
  // Four loads in flight give twice the throughput at this occupancy.
  const Finding waits =
      the(findings_of("latency_hiding/reads/bytes_4_in_flight_1/bytes=4/in_flight=1/blocks_per_sm=8"),
          Cause::memory_contention);
  EXPECT_THAT(waits.remedy, HasSubstr("more loads in flight"));
}

TEST(RecordedRow, BlocksThatWaitForOneAddressAreUnevenAndToldOfIt) {
  const Finding blocks =
      the(findings_of("data_race/data_race/relaxed_thread/form=relaxed/adders=thread/sms=132/blocks=1056",
                      "nvidia-h100-80gb-hbm3"),
          Cause::uneven_blocks);
  EXPECT_EQ(blocks.confidence, Confidence::inferred);
  EXPECT_THAT(blocks.sentence, HasSubstr("or contend for another pipe, which was not read"));
  EXPECT_THAT(blocks.remedy, HasSubstr("if their work is equal, some wait longer, as at one address"));
}

TEST(RecordedRow, WarpsThatWaitForIdleMemoryAreToldOfItsLatency) {
  const Finding waits =
      the(findings_of("data_race/data_race/relaxed_thread/form=relaxed/adders=thread/sms=132/blocks=8448",
                      "nvidia-h100-80gb-hbm3"),
          Cause::memory_contention);
  EXPECT_THAT(waits.sentence, HasSubstr("wait for memory, of which the device's is 0 % busy"));
  EXPECT_THAT(waits.remedy,
              AllOf(HasSubstr("one address"), HasSubstr("unless L1 or L2 is busy, which was not read")));
  ASSERT_TRUE(waits.time);
  EXPECT_THAT(waits.time->sentence,
              HasSubstr("not if L1 or L2 or another pipe is saturated, which was not read"));
}

}  // namespace
}  // namespace occbench
