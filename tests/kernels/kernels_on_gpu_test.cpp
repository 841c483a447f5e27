#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../gpu/on_a_gpu.hpp"
#include "device_wide_sum.hpp"
#include "gpu/kernel.hpp"
#include "gpu/launch.hpp"
#include "gpu/launch_timer.hpp"
#include "kernels/array_passes.hpp"
#include "kernels/atomic_forms.hpp"
#include "kernels/atomic_operations.hpp"
#include "kernels/atomics.hpp"
#include "kernels/concurrent_kernels.hpp"
#include "kernels/data_race.hpp"
#include "kernels/fma_chains.hpp"
#include "kernels/grid_barrier.hpp"
#include "kernels/l1_reuse.hpp"
#include "kernels/live_registers.hpp"
#include "kernels/pointer_chase.hpp"
#include "kernels/random_words.hpp"
#include "kernels/reads.hpp"
#include "kernels/reductions.hpp"
#include "kernels/register_pressure.hpp"
#include "kernels/results_per_thread.hpp"
#include "kernels/shared_staging.hpp"
#include "kernels/spin.hpp"
#include "kernels/work_queue.hpp"
#include "measure/warp_records.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

/// A GPU, a stream and the check of a case on it.
class KernelsOnGpu : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (!IsSkipped()) stream_.emplace();
  }

  Check check(const Case& chosen, const Variant& variant) {
    return chosen.kernel->prepare(chosen, variant, device_)->check(stream_->get());
  }
  Check check(const Case& chosen) {
    return check(chosen, chosen.kernel->find(chosen.variant));
  }
  /// Such a case of each variant of its kernel has the right result.
  void check_all(Case chosen) {
    for (const Variant& variant : chosen.kernel->variants) {
      chosen.variant = variant.name;
      EXPECT_EQ(check(chosen), Check::ok) << variant.name << ", " << chosen.extent;
    }
  }

  std::optional<Stream> stream_;
};

// Kernels whose threads add to the same place: atomics, races and reductions.

Case atomics_case(std::string_view variant, std::int64_t addresses) {
  return {.kernel = &kAtomics,
          .variant = variant,
          .launch = {.block_threads = kAtomicsBlockThreads, .grid_blocks = 777},
          .extent = addresses};
}

TEST_F(KernelsOnGpu, AtomicsAddUpHoweverManyAddTogether) {
  for (const std::string_view variant : {"thread", "warp", "serial", "block"}) {
    for (const std::int64_t addresses : {1, 3, 4096, 65'536}) {
      EXPECT_EQ(check(atomics_case(variant, addresses)), Check::ok) << variant << " to " << addresses;
    }
  }
}

TEST_F(KernelsOnGpu, AtomicsOfEveryFormTypeAndScopeAddUp) {
  // One address for a block is the most that block scope allows.
  for (const std::int64_t threads_per_address : {1, 32, kAtomicFormsBlockThreads}) {
    check_all({.kernel = &kAtomicForms,
               .launch = {.block_threads = kAtomicFormsBlockThreads, .grid_blocks = 300},
               .extent = threads_per_address});
  }
}

TEST_F(KernelsOnGpu, AtomicsOfDeviceAndSystemScopeAddUpBetweenBlocks) {
  for (const AtomicForm form : kAtomicFormKinds) {
    for (const AtomicScope scope : {AtomicScope::device, AtomicScope::system}) {
      const std::string variant = atomic_forms_variant(form, AtomicType::float32, scope);
      const Case chosen{.kernel = &kAtomicForms,
                        .variant = variant,
                        .launch = {.block_threads = kAtomicFormsBlockThreads, .grid_blocks = 8},
                        .extent = 1'000'000};
      EXPECT_EQ(check(chosen), Check::ok) << variant;
    }
  }
}

Case data_race_case(RaceForm form, RaceAdders adders, std::int64_t blocks) {
  return {.kernel = &kDataRace,
          .variant = data_race_variant(form, adders),
          .launch = {.block_threads = 256, .grid_blocks = blocks}};
}

TEST_F(KernelsOnGpu, ThreadsOfOneBlockThatAddWithoutAnAtomicLoseUpdates) {
  for (const RaceForm form : {RaceForm::plain, RaceForm::relaxed}) {
    const Case chosen = data_race_case(form, RaceAdders::thread, 1);
    const auto prepared = kDataRace.prepare(chosen, kDataRace.find(chosen.variant), device_);
    EXPECT_EQ(prepared->check(stream_->get()), Check::lost_updates) << chosen.variant;
    // Of the lanes of a warp one stores last.
    EXPECT_GE(prepared->lost_updates_pct(stream_->get()).value(), 100.0 * 31 / 32) << chosen.variant;
  }
}

TEST_F(KernelsOnGpu, BlocksThatAddOnceEachWithoutAnAtomicLoseUpdatesWhenTheyRunTogether) {
  for (const RaceForm form : {RaceForm::plain, RaceForm::relaxed}) {
    EXPECT_EQ(check(data_race_case(form, RaceAdders::block, 8L * device_.sm_count)), Check::lost_updates);
    EXPECT_EQ(check(data_race_case(form, RaceAdders::block, 1)), Check::ok) << "one adder";
  }
}

TEST_F(KernelsOnGpu, AtomicsLoseNoUpdate) {
  for (const RaceAdders adders : kRaceAdders) {
    const Case chosen = data_race_case(RaceForm::atomic, adders, 8L * device_.sm_count);
    const auto prepared = kDataRace.prepare(chosen, kDataRace.find(chosen.variant), device_);
    EXPECT_EQ(prepared->check(stream_->get()), Check::ok) << chosen.variant;
    EXPECT_EQ(prepared->lost_updates_pct(stream_->get()), 0) << chosen.variant;
  }
}

Case reduction_case(std::string_view variant, std::int64_t blocks, std::int64_t values) {
  return {.kernel = &kReductions,
          .variant = variant,
          .launch = {.block_threads = kReductionThreads,
                     .grid_blocks = blocks,
                     .cluster_blocks = variant == "cluster" ? 8 : 1},
          .extent = values};
}

TEST_F(KernelsOnGpu, ReductionsSumWholeNumbersExactlyAndRealsWithinTheBoundOfTheirOrder) {
  for (const Variant& variant : kReductions.variants) {
    if (variant.name == "cluster" && device_.limits.max_cluster_blocks == 1) continue;
    for (const std::int64_t blocks : {8, 64, 4096}) {
      EXPECT_EQ(check(reduction_case(variant.name, blocks, 1 << 22)), Check::ok)
          << variant.name << " of " << blocks << " blocks";
    }
  }
}

TEST_F(KernelsOnGpu, TheLastBlockSumsInEveryLaunch) {
  const Case chosen = reduction_case("last_block", 777, 1 << 20);
  const auto prepared = kReductions.prepare(chosen, kReductions.find(chosen.variant), device_);
  for (int launch = 0; launch < 3; ++launch) {
    prepared->launch(stream_->get());
    EXPECT_EQ(prepared->check(stream_->get()), Check::ok);
  }
}

TEST_F(KernelsOnGpu, TheCheckOfReductionsFindsOneValueThatIsLeftOut) {
  // Threads read four values at a time: of 4n + 1 the last is left out. Here it is a one
  // (kReductionTableLength).
  const std::vector<std::uint32_t> words = random_words(kReductionTableLength);
  std::size_t last = 4096;
  while (words[last] % 8 != 0) last += 4;
  const auto count = static_cast<std::int64_t>(last) + 1;
  EXPECT_EQ(check(reduction_case("shuffle", 8, count)), Check::wrong);
  EXPECT_EQ(check(reduction_case("shuffle", 8, count - 1)), Check::ok);
}

TEST_F(KernelsOnGpu, TheDeviceWideReductionTakesAsLongAsOutsideTheSuite) {
  constexpr std::int64_t kValues = 1 << 26;
  LaunchTimer timer;
  const Case chosen{.kernel = &kReductions, .variant = "cub_device", .extent = kValues};
  const auto prepared = kReductions.prepare(chosen, kReductions.find(chosen.variant), device_);
  EXPECT_EQ(prepared->check(timer.stream().get()), Check::ok);
  std::vector<double> inside;
  for (int launch = 0; launch < 31; ++launch)
    inside.push_back(timer.microseconds([&](cudaStream_t stream) { prepared->launch(stream); }));
  const double outside = device_wide_sum_microseconds(kValues);
  std::ranges::nth_element(inside, inside.begin() + 15);
  // scripts/gpu_tests records this line.
  fmt::print("measured: {:.1f} µs, {:.1f} µs outside the suite\n", inside[15], outside);
  EXPECT_NEAR(inside[15], outside, 0.03 * outside);
}

Case spin_case(std::string_view variant, const Launch& launch, const Work& work) {
  return {.kernel = &kSpin, .variant = variant, .launch = launch, .work = work};
}

TEST_F(KernelsOnGpu, SpinHoldsAsLongAsItsWorkSays) {
  for (const char* work : {"equal:20000", "uniform:20000:0.5:1.5", "warp/every:5000:8:16"}) {
    EXPECT_EQ(check(spin_case("plain", {.block_threads = 256, .grid_blocks = 100}, parse_work(work))),
              Check::ok)
        << work;
  }
}

TEST_F(KernelsOnGpu, NoWarpOfAFullDeviceIsKeptFromEndingByOthersThatWait) {
  for (const int block_threads : {64, 128, 256}) {
    const std::int64_t blocks =
        device_.sm_count * (device_.limits.max_threads_per_sm() / block_threads) * 3 / 2;
    const Case chosen = spin_case("plain", {.block_threads = block_threads, .grid_blocks = blocks},
                                  parse_work("uniform:200000:0.5:1.5"));
    EXPECT_EQ(check(chosen), Check::ok) << block_threads;
  }
}

TEST_F(KernelsOnGpu, CodeThatIsOnlyPtxIsCompiledByTheDriver) {
  const Case chosen = spin_case("ptx_only", {.block_threads = 96, .grid_blocks = 5}, Work::equal(2'000));
  EXPECT_EQ(check(chosen), Check::ok);
  EXPECT_THAT(inspect(kSpin.find("ptx_only")).code_architecture, HasSubstr("from compute_75"));
  EXPECT_EQ(inspect(kSpin.find("ptx_only")).spill_bytes, std::nullopt);
}

TEST_F(KernelsOnGpu, ATraceOfAFullWaveFindsTheOccupancyOfTheCalculator) {
  const Launch launch{.block_threads = 512};
  const Occupancy occupancy =
      theoretical_occupancy(device_.limits, launch, inspect(kSpin.find("plain")).usage);
  Case chosen = spin_case("plain", launch, Work::equal(200'000));
  chosen.launch.grid_blocks = device_.sm_count * occupancy.blocks_per_sm;
  const auto prepared = kSpin.prepare(chosen, kSpin.find("plain"), device_);
  const std::vector<WarpRecord> records = prepared->record_warps(stream_->get());
  const std::vector<SmRecord> sms = sms_of(records, occupancy.warps_per_block);
  EXPECT_EQ(sms.size(), static_cast<std::size_t>(device_.sm_count));
  EXPECT_THAT(sms, Each(Field(&SmRecord::most_blocks, occupancy.blocks_per_sm)));
  EXPECT_NEAR(achieved_pct(sms, device_.limits.max_warps_per_sm), occupancy.theoretical_pct, 2);
  EXPECT_THAT(records, Each(Field(&WarpRecord::slot, AllOf(Ge(0U), Le(63U)))));
}

TEST_F(KernelsOnGpu, ResultsAreTheSameHoweverManyAThreadComputes) {
  check_all({.kernel = &kResultsPerThread,
             .launch = {.block_threads = kResultsPerThreadBlockThreads, .grid_blocks = 6},
             .extent = results_extent(1, 1),
             .small = true});
}

TEST_F(KernelsOnGpu, PassesOverAnArrayThatEndsWithinABlockAreRight) {
  check_all({.kernel = &kArrayPasses,
             .launch = {.block_threads = 96, .grid_blocks = 300},
             .extent = 3 * kStencilWidth + 5});
}

TEST_F(KernelsOnGpu, EachAtomicOperationLeavesWhatItShould) {
  for (const std::int64_t threads_per_address : {1, 7, kAtomicOperationsBlockThreads, 1'000'000}) {
    check_all({.kernel = &kAtomicOperations,
               .launch = {.block_threads = kAtomicOperationsBlockThreads, .grid_blocks = 20},
               .extent = threads_per_address});
  }
}

TEST_F(KernelsOnGpu, LiveValuesComputesWhatTheHostDoes) {
  for (const LiveRegistersBody body : {LiveRegistersBody::throughput, LiveRegistersBody::latency}) {
    for (const int registers : kLiveRegisterCounts) {
      const Case chosen{.kernel = &kLiveRegisters,
                        .variant = live_registers_variant(body, registers),
                        .launch = {.block_threads = 96, .grid_blocks = 7},
                        .work = live_registers_work(body, registers, 2)};
      EXPECT_EQ(check(chosen), Check::ok) << chosen.variant;
    }
  }
}

TEST_F(KernelsOnGpu, DemandingComputesTheSameHoweverFewRegistersItHas) {
  check_all({.kernel = &kRegisterPressure,
             .launch = {.block_threads = kRegisterPressureBlockThreads, .grid_blocks = 5},
             .work = register_pressure_work(3)});
}

TEST_F(KernelsOnGpu, StagedUsesAllOfItsSharedMemory) {
  const std::int64_t most = device_.limits.max_shared_bytes_per_block;
  for (const Variant& variant : kSharedStaging.variants) {
    const std::int64_t fixed = inspect(variant).usage.static_shared_bytes;
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{4 * 777}, most - fixed}) {
      const Case chosen{.kernel = &kSharedStaging,
                        .variant = variant.name,
                        .launch = {.block_threads = 96, .grid_blocks = 9, .dynamic_shared_bytes = bytes},
                        .work = Work::equal(2'000)};
      EXPECT_EQ(check(chosen), Check::ok) << variant.name << " and " << bytes;
    }
  }
}

TEST_F(KernelsOnGpu, EveryItemOfTheQueueIsTakenOnceInEveryLaunch) {
  for (const Variant& variant : kWorkQueue.variants) {
    for (const std::int64_t items : {1, 1000}) {
      const Case chosen{.kernel = &kWorkQueue,
                        .variant = variant.name,
                        .launch = {.block_threads = 96, .grid_blocks = 50},
                        .items = Items{.count = items, .work = parse_work("uniform:5000:0.5:1.5")}};
      const auto prepared = kWorkQueue.prepare(chosen, variant, device_);
      for (int launch = 0; launch < 3; ++launch) {
        prepared->launch(stream_->get());
        EXPECT_EQ(prepared->check(stream_->get()), Check::ok) << variant.name;
      }
    }
  }
}

TEST_F(KernelsOnGpu, APairOfLaunchesRunsTogetherWhereThereIsRoomAndIsTimedToTheEndOfBoth) {
  constexpr double kCycles = 400'000;
  LaunchTimer timer;
  const auto microseconds = [&](const Case& chosen) {
    const auto prepared = chosen.kernel->prepare(chosen, chosen.kernel->find("plain"), device_);
    EXPECT_EQ(prepared->check(timer.stream().get()), Check::ok);
    prepared->launch(timer.stream().get());
    timer.stream().synchronize();
    return timer.microseconds([&](cudaStream_t stream) { prepared->launch(stream); });
  };
  const auto pair = [&](std::int64_t blocks) {
    return Case{.kernel = &kConcurrentKernels,
                .variant = "plain",
                .launch = {.block_threads = 1024, .grid_blocks = blocks},
                .items = Items{.count = blocks, .work = Work::equal(kCycles)}};
  };
  const int blocks_per_sm = device_.limits.max_threads_per_sm() / 1024;
  const std::int64_t wave = device_.sm_count * blocks_per_sm;
  const double one =
      microseconds(spin_case("plain", {.block_threads = 1024, .grid_blocks = wave}, Work::equal(kCycles)));
  EXPECT_GT(microseconds(pair(wave)), 1.9 * one);
  EXPECT_LT(microseconds(pair(device_.sm_count / 4)), 1.3 * one);
}

TEST_F(KernelsOnGpu, ChainsComputeWhatTheHostDoesAndNotWhatFewerOfThemDo) {
  for (const ChainBody body : {ChainBody::fma, ChainBody::exponential}) {
    for (const int chains : kChainCounts) {
      const Case chosen{.kernel = &kFmaChains,
                        .variant = fma_chains_variant(body, chains),
                        .launch = {.block_threads = 96, .grid_blocks = 7},
                        .work = fma_chains_work(device_.limits, body, chains, 1, 100'000)};
      EXPECT_EQ(check(chosen), Check::ok) << chosen.variant;
      Variant other = kFmaChains.find(chosen.variant);
      other.function = kFmaChains.find(fma_chains_variant(body, chains == 1 ? 2 : chains / 2)).function;
      EXPECT_EQ(check(chosen, other), Check::wrong) << chosen.variant;
    }
  }
}

TEST_F(KernelsOnGpu, ReadsReadEveryByteOnceInEveryLaunch) {
  for (const int bytes : kReadBytes) {
    for (const int in_flight : kReadsInFlight) {
      const Case chosen{.kernel = &kReads,
                        .variant = reads_variant(bytes, in_flight),
                        .launch = {.block_threads = 96, .grid_blocks = 50},
                        .work = reads_work(bytes, in_flight, 7)};
      const auto prepared = kReads.prepare(chosen, kReads.find(chosen.variant), device_);
      EXPECT_EQ(prepared->check(stream_->get()), Check::ok) << chosen.variant;
      EXPECT_EQ(prepared->check(stream_->get()), Check::ok) << chosen.variant << ", another part";
      EXPECT_EQ(prepared->useful().quantity, 50 * 96 * 7 * bytes * in_flight);
    }
  }
}

/// A case, and the variant of its kernel that is launched in its place.
struct Mistaken {
  const char* what;
  Case chosen;
  std::string_view launched;
};

TEST_F(KernelsOnGpu, ChecksFindThatAnotherVariantWasLaunched) {
  const Mistaken all[] = {{"adds of another type",
                           {.kernel = &kAtomicForms,
                            .variant = "function_float32_device",
                            .launch = {.block_threads = kAtomicFormsBlockThreads, .grid_blocks = 8},
                            .extent = 1},
                           "function_uint32_device"},
                          {"updates that are lost", data_race_case(RaceForm::atomic, RaceAdders::thread, 8),
                           data_race_variant(RaceForm::plain, RaceAdders::thread)},
                          {"another kernel's result",
                           {.kernel = &kLiveRegisters,
                            .variant = live_registers_variant(LiveRegistersBody::throughput, 31),
                            .launch = {.block_threads = 96, .grid_blocks = 7},
                            .work = live_registers_work(LiveRegistersBody::throughput, 31, 2)},
                           live_registers_variant(LiveRegistersBody::throughput, 32)},
                          {"memory that was not there",
                           {.kernel = &kSharedStaging,
                            .variant = shared_staging_variant(8192),
                            .launch = {.block_threads = 96, .grid_blocks = 9},
                            .work = Work::equal(2'000)},
                           shared_staging_variant(4096)},
                          {"bytes that were not read",
                           {.kernel = &kReads,
                            .variant = reads_variant(4, 8),
                            .launch = {.block_threads = 96, .grid_blocks = 50},
                            .work = reads_work(4, 8, 7)},
                           reads_variant(4, 4)}};
  for (const auto& [what, chosen, launched] : all) {
    SCOPED_TRACE(what);
    Variant other = chosen.kernel->find(chosen.variant);
    other.function = chosen.kernel->find(launched).function;
    EXPECT_EQ(check(chosen, other), Check::wrong);
  }
}

TEST_F(KernelsOnGpu, TheRuntimesCopyIsCheckedAndCountsWhatItReadsAndWrites) {
  const Case chosen{.kernel = &kReads, .variant = "copy", .extent = 32 << 20};
  const auto prepared = kReads.prepare(chosen, kReads.find("copy"), device_);
  prepared->launch(stream_->get());
  EXPECT_EQ(prepared->check(stream_->get()), Check::ok);
  EXPECT_EQ(prepared->useful().quantity, 64 << 20);
}

TEST_F(KernelsOnGpu, AChaseGoesOnWhereTheLastOneEnded) {
  for (const std::int64_t extent : {std::int64_t{8 << 10}, std::int64_t{1 << 20}}) {
    const Case chosen{.kernel = &kPointerChase,
                      .variant = "plain",
                      .launch = {.block_threads = 32, .grid_blocks = 1},
                      .work = pointer_chase_work(device_, extent, 333),
                      .extent = extent};
    const auto prepared = kPointerChase.prepare(chosen, kPointerChase.find("plain"), device_);
    for (int launch = 0; launch < 3; ++launch) {
      prepared->launch(stream_->get());
      stream_->synchronize();
      EXPECT_EQ(prepared->check(stream_->get()), Check::ok) << extent;
    }
  }
}

TEST_F(KernelsOnGpu, RereadReadsItsBytesInEveryRound) {
  for (const std::int64_t steps : {1, 5}) {
    const Case chosen{.kernel = &kL1Reuse,
                      .variant = "plain",
                      .launch = {.block_threads = kL1ReuseBlockThreads, .grid_blocks = 9},
                      .extent = steps * kL1ReuseStepBytes};
    EXPECT_EQ(check(chosen), Check::ok) << steps;
  }
}

TEST_F(KernelsOnGpu, ValuesGoRoundInGroupsOfEverySize) {
  for (const Variant& variant : kGridBarrier.variants) {
    const bool clusters = variant.name == "cluster";
    if (clusters && device_.limits.max_cluster_blocks == 1) continue;
    for (const int cluster_blocks : {1, 2, 8}) {
      const Case chosen{
          .kernel = &kGridBarrier,
          .variant = variant.name,
          .launch = {.block_threads = 96, .grid_blocks = 48, .cluster_blocks = clusters ? cluster_blocks : 1},
          .extent = 101};
      EXPECT_EQ(check(chosen), Check::ok) << variant.name << " " << cluster_blocks;
    }
  }
}

TEST_F(KernelsOnGpu, ACooperativeGridRunsUpToTheCalculatorsLimitAndNotOneBlockBeyond) {
  for (const int block_threads : {64, 256, 1024}) {
    Case chosen{
        .kernel = &kGridBarrier, .variant = "grid", .launch = {.block_threads = block_threads}, .extent = 5};
    const Usage usage = inspect(kGridBarrier.find("grid")).usage;
    const std::int64_t most =
        full_wave_blocks(theoretical_occupancy(device_.limits, chosen.launch, usage), device_.sm_count);
    chosen.launch.grid_blocks = most;
    EXPECT_EQ(check(chosen), Check::ok) << block_threads;
    chosen.launch.grid_blocks = most + 1;
    EXPECT_THROW(check(chosen), CannotRun) << block_threads;
    chosen.launch.grid_blocks = most;
    EXPECT_EQ(check(chosen), Check::ok) << "after a refusal";
  }
}

TEST_F(KernelsOnGpu, TheRuntimeReportsTheRegistersThatTheAssemblerDid) {
  int compared = 0;
  for (const Variant& variant : kLiveRegisters.variants) {
    const Compiled compiled = inspect(variant);
    if (!compiled.spill_bytes) continue;  // compiled by the driver
    EXPECT_EQ(*compiled.spill_bytes, 0) << variant.name;
    const char* name = nullptr;
    ASSERT_EQ(cudaFuncGetName(&name, variant.function), cudaSuccess);
    const auto line = std::ranges::find_if(variant.assembled, [&](const Assembled& assembled) {
      return assembled.function == name && assembled.architecture == compiled.code_architecture;
    });
    EXPECT_EQ(compiled.usage.registers_per_thread, line->registers_per_thread) << variant.name;
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "this build has no machine code for this GPU";
}

}  // namespace
}  // namespace occbench
