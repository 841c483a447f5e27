#include "occupancy/occupancy.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/rules.hpp"
#include "occupancy/statuses.hpp"
#include "occupancy/text.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Limits& hopper() {
  return limits_of({9, 0});
}

std::string refusal_of(const Limits& limits, const Launch& launch, const Usage& usage) {
  return message_of([&] { theoretical_occupancy(limits, launch, usage); });
}

TEST(Occupancy, OfABlockThatTheRegistersOfAnSmCannotHoldIsZeroAndSaysWhy) {
  const Launch launch{.block_threads = 1024};
  const Usage usage{.registers_per_thread = 255};
  const Occupancy occupancy = theoretical_occupancy(hopper(), launch, usage);
  EXPECT_EQ(occupancy.blocks_per_sm, 0);
  EXPECT_EQ(occupancy.theoretical_pct, 0);
  EXPECT_EQ(occupancy.limiters, Limiters{Limiter::registers});
  // 255 x 32 = 8160 registers a warp, rounded up to 8192; 32 warps.
  EXPECT_THAT(why_it_cannot_launch(hopper(), launch, usage), AllOf(HasSubstr("262144"), HasSubstr("65536")));
}

TEST(Occupancy, OfABlockWithMoreSharedMemoryThanABlockMayHaveIsZeroAndSaysWhy) {
  const Usage usage{.registers_per_thread = 16};
  const auto launch = [](std::int64_t bytes) {
    return Launch{.block_threads = 64, .dynamic_shared_bytes = bytes};
  };
  // 227 KB is what CUDA documents for a block of compute capability 9.0.
  EXPECT_EQ(theoretical_occupancy(hopper(), launch(227 * 1024), usage).blocks_per_sm, 1);
  EXPECT_EQ(why_it_cannot_launch(hopper(), launch(227 * 1024), usage), "");
  EXPECT_EQ(theoretical_occupancy(hopper(), launch(227 * 1024 + 1), usage).blocks_per_sm, 0);
  EXPECT_THAT(why_it_cannot_launch(hopper(), launch(227 * 1024 + 1), usage), HasSubstr("shared memory"));
  EXPECT_EQ(theoretical_occupancy(hopper(), launch(2'147'483'647), usage).blocks_per_sm, 0);
}

TEST(Occupancy, NamesEveryLimiterThatTies) {
  // 8 blocks of 8 warps fill 64 warp slots; 32 registers fill the register file too.
  const Occupancy both =
      theoretical_occupancy(hopper(), {.block_threads = 256}, {.registers_per_thread = 32});
  EXPECT_EQ(both.limiters, (Limiters{Limiter::warps, Limiter::registers}));
  EXPECT_EQ(to_string(both.limiters), "warps+registers");
  // 28 KB with the 1 KB reserve: 8 blocks in 228 KB.
  const Occupancy three = theoretical_occupancy(
      hopper(), {.block_threads = 256}, {.registers_per_thread = 32, .static_shared_bytes = 27 * 1024});
  EXPECT_EQ(to_string(three.limiters), "warps+registers+shared_memory");
}

TEST(Occupancy, OfAKernelWithoutRegistersOrSharedMemoryIsNotLimitedByThem) {
  const Occupancy occupancy = theoretical_occupancy(limits_of({7, 0}), {.block_threads = 1024}, {});
  EXPECT_EQ(occupancy.block_limits.registers, kUnlimited);
  EXPECT_EQ(occupancy.block_limits.shared_memory, kUnlimited);
  EXPECT_EQ(occupancy.block_limits.barriers, kUnlimited);
}

TEST(Occupancy, SaysWhatIsAllocatedAndWhatLiesIdle) {
  // Ada, 90 registers: 2880 -> 3072 a warp; 5 blocks of 4 warps. 5000 B + 1 KB reserve -> 6144 B.
  const Limits& ada = limits_of({8, 9});
  const Launch launch{.block_threads = 120};
  const Occupancy occupancy =
      theoretical_occupancy(ada, launch, {.registers_per_thread = 90, .static_shared_bytes = 5000});
  EXPECT_EQ(occupancy.blocks_per_sm, 5);
  EXPECT_EQ(occupancy.registers_per_block, 4 * 3072);
  EXPECT_EQ(occupancy.shared_bytes_per_block, 6144);
  const Idle idle = idle_resources(ada, launch, occupancy);
  EXPECT_EQ(idle.warps, 48 - 20);
  EXPECT_EQ(idle.threads, 1536 - 600);
  EXPECT_EQ(idle.blocks, 24 - 5);
  EXPECT_EQ(idle.registers, 65536 - 5 * 4 * 3072);
  EXPECT_EQ(idle.shared_bytes, 102400 - 5 * 6144);
}

TEST(Occupancy, FollowsTheCarveoutThatKeplerCallsACachePreference) {
  const auto blocks = [](ComputeCapability capability, int carveout_pct) {
    return theoretical_occupancy(limits_of(capability), {.block_threads = 64, .carveout_pct = carveout_pct},
                                 {.registers_per_thread = 16, .static_shared_bytes = 4096})
        .blocks_per_sm;
  };
  EXPECT_EQ(blocks({3, 5}, 0), 4);     // prefer L1: 16 KB
  EXPECT_EQ(blocks({3, 5}, 50), 8);    // equal: 32 KB
  EXPECT_EQ(blocks({3, 5}, 100), 12);  // prefer shared: 48 KB
  EXPECT_EQ(blocks({2, 0}, 0), 4);
  EXPECT_EQ(blocks({2, 0}, 100), 8);  // 12 by shared memory, 8 block slots
  EXPECT_EQ(blocks({5, 2}, 0), 24);   // 96 KB of its own: no preference to follow
}

TEST(Occupancy, CountsWavesOfAGrid) {
  const Occupancy occupancy =
      theoretical_occupancy(hopper(), {.block_threads = 256}, {.registers_per_thread = 32});
  EXPECT_EQ(full_wave_blocks(occupancy, 132), 1056);
  EXPECT_EQ(waves(1056, 1056), 1.0);
  EXPECT_EQ(waves(2640, 1056), 2.5);
  const Occupancy none =
      theoretical_occupancy(hopper(), {.block_threads = 1024}, {.registers_per_thread = 128});
  EXPECT_EQ(waves(100, full_wave_blocks(none, 132)), std::nullopt);
}

// As many were resident at once on an H200 (occupancy.hpp).
TEST(Occupancy, BlocksOfClustersHaveEightSlots) {
  const auto blocks = [](int block_threads, int cluster_blocks) {
    return theoretical_occupancy(hopper(), {.block_threads = block_threads, .cluster_blocks = cluster_blocks},
                                 {.registers_per_thread = 16})
        .blocks_per_sm;
  };
  EXPECT_EQ(blocks(32, 1), 32);
  EXPECT_EQ(blocks(32, 2), 8);
  EXPECT_EQ(blocks(128, 16), 8);
  EXPECT_EQ(blocks(512, 2), 4);
}

TEST(Occupancy, RefusesWhatNoLaunchCanAskForAndNamesTheLimit) {
  const Launch launch{.block_threads = 256};
  const Usage usage{.registers_per_thread = 32};
  EXPECT_EQ(refusal_of(hopper(), launch, usage), "nothing was thrown");
  const auto with_launch = [&](auto member, auto value) {
    Launch changed = launch;
    changed.*member = value;
    return refusal_of(hopper(), changed, usage);
  };
  const auto with_usage = [&](auto member, auto value) {
    Usage changed = usage;
    changed.*member = value;
    return refusal_of(hopper(), launch, changed);
  };
  const std::string threads = with_launch(&Launch::block_threads, 1025);
  EXPECT_THAT(threads, AllOf(HasSubstr("block_threads = 1025"), HasSubstr("1024"), HasSubstr("9.0")));
  EXPECT_THAT(with_launch(&Launch::block_threads, 0), HasSubstr("block_threads = 0"));
  EXPECT_THAT(with_launch(&Launch::dynamic_shared_bytes, -1), HasSubstr("dynamic_shared_bytes = -1"));
  EXPECT_THAT(with_launch(&Launch::dynamic_shared_bytes, std::int64_t{1} << 40), HasSubstr("2147483647"));
  EXPECT_THAT(with_launch(&Launch::carveout_pct, 101), HasSubstr("carveout_pct = 101"));
  EXPECT_THAT(with_launch(&Launch::carveout_pct, -1), HasSubstr("carveout_pct = -1"));
  EXPECT_THAT(with_launch(&Launch::cluster_blocks, 0), HasSubstr("cluster_blocks = 0"));
  EXPECT_THAT(with_launch(&Launch::cluster_blocks, 17), HasSubstr("cluster_blocks = 17"));
  EXPECT_THAT(with_usage(&Usage::registers_per_thread, 300), HasSubstr("registers_per_thread = 300"));
  EXPECT_THAT(with_usage(&Usage::static_shared_bytes, -5), HasSubstr("static_shared_bytes = -5"));
  EXPECT_THAT(with_usage(&Usage::barriers, 17), HasSubstr("barriers = 17"));
  EXPECT_THAT(refusal_of(limits_of({1, 3}), {.block_threads = 513}, usage), HasSubstr("1 to 512"));
  EXPECT_THAT(refusal_of(limits_of({3, 0}), launch, {.registers_per_thread = 64}), HasSubstr("0 to 63"));
  EXPECT_THAT(refusal_of(limits_of({8, 9}), {.block_threads = 64, .cluster_blocks = 2}, usage),
              HasSubstr("8.9 has no clusters"));
}

std::string rule_text(ComputeCapability capability, const Configuration& configuration, Limiter resource) {
  for (const AppliedRule& rule : applied_rules(limits_of(capability), configuration)) {
    if (rule.resource == resource) return rule.sentence;
  }
  return "";
}

TEST(Rules, OfRegistersNameTheUnitAndTheDivision) {
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 512}, {.registers_per_thread = 33}}, Limiter::registers),
            "33 registers x 512 threads: 33 -> 40 per thread by the 256-register unit per warp, 20,480 "
            "registers a block; 65,536 / 20,480 = 3 blocks");
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 512}, {.registers_per_thread = 32}}, Limiter::registers),
            "32 registers x 512 threads: no rounding by the 256-register unit per warp, 16,384 registers a "
            "block; 65,536 / 16,384 = 4 blocks");
}

// 65,536 / 2,560 = 25, but each of four sub-partitions holds 6 whole warps of 16,384 / 2,560 = 6.4.
TEST(Rules, OfRegistersNameSubPartitionsWhereTheyCostABlock) {
  EXPECT_EQ(
      rule_text({9, 0}, {{.block_threads = 32}, {.registers_per_thread = 72}}, Limiter::registers),
      "72 registers x 32 threads: no rounding by the 256-register unit per warp, 2,304 registers a block; "
      "65,536 / 2,304 = 28 blocks");
  EXPECT_EQ(
      rule_text({9, 0}, {{.block_threads = 32}, {.registers_per_thread = 80}}, Limiter::registers),
      "80 registers x 32 threads: no rounding by the 256-register unit per warp, 2,560 registers a block; "
      "each of 4 sub-partitions has room for 6 whole warps, 24 together: 24 / 1 = 24 blocks");
}

TEST(Rules, OfAGpuOfComputeCapability1CountRegistersByTheBlock) {
  EXPECT_EQ(rule_text({1, 0}, {{.block_threads = 96}, {.registers_per_thread = 10}}, Limiter::registers),
            "10 registers x 96 threads: 3 -> 4 warps, 1,280 registers a block by the 256-register unit per "
            "block; 8,192 / 1,280 = 6 blocks");
}

TEST(Rules, OfTwoRegisterFilesSayWhatEachHolds) {
  EXPECT_THAT(rule_text({3, 7}, {{.block_threads = 512}, {.registers_per_thread = 64}}, Limiter::registers),
              testing::HasSubstr("each of 2 equal parts of an SM's registers: 65,536 / 32,768 = 2 blocks, 4 "
                                 "blocks in all"));
}

TEST(Rules, OfABlockThatCannotLaunchSayWhatItMayHave) {
  EXPECT_THAT(rule_text({9, 0}, {{.block_threads = 1024}, {.registers_per_thread = 66}}, Limiter::registers),
              testing::EndsWith("73,728 registers a block; a block may have 65,536: 0 blocks"));
  EXPECT_EQ(
      rule_text({9, 0}, {{.block_threads = 64, .dynamic_shared_bytes = 240'000}, {}}, Limiter::shared_memory),
      "240,000 B + 1,024 B that the driver reserves = 241,024 B a block; a block "
      "may have 233,472 B, these included: 0 blocks");
}

TEST(Rules, OfSharedMemoryNameReserveUnitAndCarveout) {
  EXPECT_EQ(
      rule_text({9, 0}, {{.block_threads = 64}, {.static_shared_bytes = 20'000}}, Limiter::shared_memory),
      "20,000 B + 1,024 B that the driver reserves, 21,024 -> 21,120 B by the 128-byte unit; 233,472 / "
      "21,120 = 11 blocks");
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 64, .dynamic_shared_bytes = 1'024, .carveout_pct = 50}, {}},
                      Limiter::shared_memory),
            "1,024 B + 1,024 B that the driver reserves = 2,048 B a block; the carveout of 50 % leaves an SM "
            "135,168 of 233,472 B; 135,168 / 2,048 = 66 blocks");
  EXPECT_EQ(rule_text({7, 0}, {{.block_threads = 64}, {}}, Limiter::shared_memory),
            "no shared memory: any number of blocks");
}

TEST(Rules, RoundAPartialWarpUp) {
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 500}, {}}, Limiter::warps),
            "500 threads are 16 warps of 32, the last with 20 threads; an SM has 64: 64 / 16 = 4 blocks");
}

TEST(Rules, OfClustersNameTheirOwnSlots) {
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 64, .cluster_blocks = 2}, {}}, Limiter::blocks),
            "an SM holds at most 8 blocks of clusters, as found on compute capability 9.0");
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 64}, {}}, Limiter::blocks), "an SM holds at most 32 blocks");
}

TEST(Rules, OfBarriersAreAppliedWhereBarriersLimit) {
  EXPECT_EQ(rule_text({9, 0}, {{.block_threads = 64}, {.barriers = 5}}, Limiter::barriers),
            "5 named barriers a block; 64 / 5 = 12 blocks");
  EXPECT_EQ(rule_text({8, 0}, {{.block_threads = 64}, {.barriers = 5}}, Limiter::barriers), "");
}

/// What the last division of a rule's sentence gives, of which a pool of registers is one of several.
int blocks_by_figures(std::string sentence, int pools) {
  std::erase(sentence, ',');
  if (sentence.find("any number of blocks") != std::string::npos) return kUnlimited;
  if (sentence.find(": 0 blocks") != std::string::npos) return 0;
  const auto number_at = [&](std::size_t place) { return std::stoi(sentence.substr(place)); };
  const std::size_t sign = sentence.rfind(" / ");
  if (sign == std::string::npos) return number_at(sentence.find("at most ") + 8);
  return number_at(sentence.rfind(' ', sign - 1) + 1) / number_at(sign + 3) * pools;
}

TEST(Rules, FiguresGiveTheBlocksOfTheCalculatorForRandomConfigurations) {
  std::mt19937 random(26);
  const auto up_to = [&](std::int64_t most) { return static_cast<std::int64_t>(random()) % (most + 1); };
  for (const Limits& limits : all_limits()) {
    for (int round = 0; round < 1000; ++round) {
      Configuration asked;
      asked.launch.block_threads = 1 + static_cast<int>(up_to(limits.max_threads_per_block - 1));
      asked.launch.dynamic_shared_bytes = up_to(limits.max_shared_bytes_per_block * 11 / 10);
      if (up_to(1) == 1) asked.launch.carveout_pct = static_cast<int>(up_to(100));
      if (limits.max_cluster_blocks > 1) asked.launch.cluster_blocks = 1 + static_cast<int>(up_to(1));
      asked.usage.registers_per_thread = static_cast<int>(up_to(limits.max_registers_per_thread));
      asked.usage.barriers = static_cast<int>(up_to(16));
      const Occupancy occupancy = theoretical_occupancy(limits, asked.launch, asked.usage);
      int fewest = kUnlimited;
      for (const AppliedRule& rule : applied_rules(limits, asked)) {
        const int pools = rule.resource == Limiter::registers ? limits.register_pools : 1;
        EXPECT_EQ(blocks_by_figures(rule.sentence, pools), rule.blocks)
            << to_string(limits.compute_capability) << ": " << rule.sentence;
        EXPECT_EQ(rule.limits, rule.blocks == occupancy.blocks_per_sm) << rule.sentence;
        if (rule.blocks != kUnlimited) {
          EXPECT_THAT(rule.sentence, testing::HasSubstr(rule.blocks == 1 ? "1 block" : " blocks"));
        }
        fewest = std::min(fewest, rule.blocks);
      }
      EXPECT_EQ(fewest, occupancy.blocks_per_sm);
    }
  }
}

TEST(Rules, AreRefusedForWhatCannotBeAskedFor) {
  EXPECT_THROW(applied_rules(limits_of({9, 0}), {{.block_threads = 2000}, {}}), InputError);
}

TEST(Rules, FiguresAreGroupedByThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1'000), "1,000");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(grouped(-1'000), "-1,000");
  EXPECT_EQ(grouped(-100), "-100");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(2147483647), "2,147,483,647");
}

std::string refusal_of(ComputeCapability capability) {
  return message_of([&] { limits_of(capability); });
}

TEST(Limits, CoverAllThirtyComputeCapabilitiesFrom10To121) {
  EXPECT_EQ(all_limits().size(), 30u);
  EXPECT_EQ(all_limits().front().compute_capability, (ComputeCapability{1, 0}));
  EXPECT_EQ(all_limits().back().compute_capability, (ComputeCapability{12, 1}));
}

TEST(Limits, OfAnUnknownComputeCapabilityAreRefusedWithTheNearestKnown) {
  EXPECT_THAT(refusal_of({8, 8}), HasSubstr("8.8"));
  EXPECT_THAT(refusal_of({8, 8}), HasSubstr("nearest known is 8.7"));
  EXPECT_THAT(refusal_of({4, 0}), HasSubstr("nearest known is 3.7"));
  EXPECT_THAT(refusal_of({13, 0}), HasSubstr("nearest known is 12.1"));
  EXPECT_THAT(refusal_of({0, 5}), HasSubstr("nearest known is 1.0"));
}

/// CUDA C++ Programming Guide, shared memory capacity per compute capability.
TEST(Limits, LeaveOfTheUnifiedDataCacheAtLeastSomethingForL1) {
  const std::span<const LimitColumn> columns = limit_columns();
  const auto column = std::ranges::find(columns, "unified_data_cache_bytes", &LimitColumn::name);
  ASSERT_NE(column, columns.end());
  for (const auto& [capability, kilobytes] : std::map<ComputeCapability, int>{{{1, 0}, 0},
                                                                              {{3, 5}, 64},
                                                                              {{3, 7}, 128},
                                                                              {{6, 1}, 0},
                                                                              {{7, 0}, 128},
                                                                              {{7, 5}, 96},
                                                                              {{8, 0}, 192},
                                                                              {{8, 6}, 128},
                                                                              {{9, 0}, 256},
                                                                              {{10, 0}, 256},
                                                                              {{12, 0}, 128}})
    EXPECT_EQ(column->value(limits_of(capability)), 1024 * kilobytes) << to_string(capability);
  for (const Limits& limits : all_limits()) {
    if (column->value(limits) == 0) continue;
    EXPECT_GE(column->value(limits), limits.shared_bytes_per_sm + 16 * 1024)
        << to_string(limits.compute_capability);
  }
}

TEST(ComputeCapability, IsReadInEveryFormThatTheToolkitPrints) {
  for (const char* text : {"9.0", "90", "sm_90", "compute_90", "sm_90a"}) {
    EXPECT_EQ(parse_compute_capability(text), (ComputeCapability{9, 0})) << text;
  }
  EXPECT_EQ(parse_compute_capability("sm_121"), (ComputeCapability{12, 1}));
  EXPECT_EQ(parse_compute_capability("12.1"), (ComputeCapability{12, 1}));
  EXPECT_EQ(parse_compute_capability("sm_12"), (ComputeCapability{1, 2}));
  EXPECT_THAT(message_of([] { parse_compute_capability("12"); }),
              testing::StartsWith("'12' may be 12.0 or 1.2: write"));
  EXPECT_EQ(to_string(ComputeCapability{12, 1}), "12.1");
}

TEST(ComputeCapability, RefusesWhatIsNotOne) {
  for (const char* text :
       {"", "9", "9.", ".0", "9.0.0", "9.00", "sm_", "nine", "-9.0", "9.0 ", "sm_90ab", "9.0a", "1000"}) {
    EXPECT_THROW(parse_compute_capability(text), InputError) << text;
  }
}

TEST(Statuses, AreTheWordsThatRowsHave) {
  EXPECT_EQ(to_string(TimeStatus::skipped), "skipped");
  EXPECT_EQ(to_string(CountersStatus::unsupported), "unsupported");
  EXPECT_EQ(to_string(CountersStatus::failed), "failed");
  EXPECT_EQ(to_string(Check::none), "none");
  EXPECT_EQ(to_string(Check::lost_updates), "lost_updates");
}

TEST(Statuses, AreReadBackFromTheirWords) {
  for (const TimeStatus status :
       {TimeStatus::ok, TimeStatus::unstable, TimeStatus::throttled, TimeStatus::failed, TimeStatus::skipped})
    EXPECT_EQ(parse_time_status(to_string(status)), status);
  for (const CountersStatus status :
       {CountersStatus::ok, CountersStatus::denied, CountersStatus::busy, CountersStatus::unsupported,
        CountersStatus::off, CountersStatus::failed})
    EXPECT_EQ(parse_counters_status(to_string(status)), status);
  for (const Check check : {Check::ok, Check::wrong, Check::none, Check::lost_updates})
    EXPECT_EQ(parse_check(to_string(check)), check);
  EXPECT_THROW(parse_time_status(""), InputError);
  EXPECT_THROW(parse_check("OK"), InputError);
}

TEST(NearestNames, AreThoseWithFewestLettersToChange) {
  const std::vector<std::string> known = {"warps", "wraps", "blocks", "warp"};
  EXPECT_THAT(nearest_names("warqs", known, 2), ElementsAre("warps", "warp"));
}

// h200 is one letter away from h100, and still not what is meant.
TEST(NearestNames, AreFirstThoseThatBeginWithWhatWasWanted) {
  const std::vector<std::string> known = {"h200", "b200", "h100-sxm5-80gb", "h100-nvl"};
  EXPECT_THAT(nearest_names("h100", known, 3), ElementsAre("h100-nvl", "h100-sxm5-80gb", "h200"));
}

TEST(NearestNames, AreNoMoreThanAskedForOrKnown) {
  const std::vector<std::string> known = {"warps", "blocks"};
  EXPECT_THAT(nearest_names("threads", known, 1), SizeIs(1));
  EXPECT_THAT(nearest_names("threads", known, 9), SizeIs(2));
  EXPECT_THAT(nearest_names("threads", {}, 9), IsEmpty());
}

}  // namespace
}  // namespace occbench
