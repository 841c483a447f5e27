#include "predict/advice.hpp"

#include <random>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace occbench {
namespace {

using testing::HasSubstr;

constexpr Usage kAdvisedUsage{.registers_per_thread = 20};

std::optional<Advice> advice_on_h200(const Launch& launch, const Work& work) {
  const DeviceProfile profile = find_profile("h200");
  const Limits& limits = limits_of({9, 0});
  const Tasks tasks(work, launch.grid_blocks, (launch.block_threads + 31) / 32);
  return advise(launch, kAdvisedUsage, limits, profile, work,
                predict(launch, kAdvisedUsage, limits, chosen(profile), tasks));
}

// Summed here warp by warp, whatever total_cycles() does.
double cycles_of_all_warps(const Launch& launch, const Work& work) {
  const int warps = (launch.block_threads + 31) / 32;
  double cycles = 0;
  for (std::int64_t block = 0; block < launch.grid_blocks; ++block) {
    for (int warp = 0; warp < warps; ++warp)
      cycles += static_cast<double>(work.cycles_of_warp(block, warp, launch.grid_blocks, warps));
  }
  return cycles;
}

TEST(Advice, KeepsTheTotalOfEachDistribution) {
  std::mt19937 random(7);
  int given = 0;
  for (const char* form :
       {"equal:20000", "linear:20000:0.2:1.8", "uniform:20000:0.5:1.5:seed=3", "lognormal:20000:0.75:seed=3",
        "exponential:20000:8:seed=3", "bimodal:20000:0.1:8:seed=3", "every:20000:7:4", "last:20000:50:8",
        "warp/uniform:20000:0.5:1.5:seed=3", "warp/every:20000:8:16", "warp/last:20000:50:8",
        "equal:20000:issue=5000", "last:20000:50:8:bytes=30000"}) {
    const Work work = parse_work(form);
    for (int draw = 0; draw < 4; ++draw) {
      const Launch launch{.block_threads = 32 * std::uniform_int_distribution(1, 16)(random),
                          .grid_blocks = std::uniform_int_distribution(200, 2500)(random)};
      const std::optional<Advice> advice = advice_on_h200(launch, work);
      if (!advice) continue;
      ++given;
      const double asked = cycles_of_all_warps(launch, work);
      EXPECT_NEAR(cycles_of_all_warps(advice->launch, advice->work), asked, 0.001 * asked)
          << form << ": " << launch.grid_blocks << " blocks of " << launch.block_threads << "; "
          << advice->sentence << " " << to_string(advice->work);
      EXPECT_NEAR(total_cycles(advice->work, advice->launch), asked, 0.001 * asked);
      EXPECT_NEAR(advice->work.rates().issue, work.rates().issue, 1e-9);
      EXPECT_NEAR(advice->work.rates().bytes, work.rates().bytes, 1e-9);
    }
  }
  EXPECT_GT(given, 20);
}

TEST(Advice, OfUnevenWarpsWithinABlockIsAboutTheWarps) {
  // One warp of eight takes 16 times as long, in each block.
  const Launch launch{.block_threads = 256, .grid_blocks = 4224};
  const std::optional<Advice> advice = advice_on_h200(launch, parse_work("warp/every:20000:8:16"));
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->launch, launch);
  EXPECT_EQ(to_string(advice->work), "warp/equal:57500");  // 20,000 x (7 + 16) / 8
  EXPECT_THAT(advice->sentence, HasSubstr("equal shares for all warps"));
  EXPECT_GT(advice->time_saved_pct, 50);
}

TEST(Advice, OfATailIsAboutTheGrid) {
  const std::optional<Advice> advice =
      advice_on_h200({.block_threads = 256, .grid_blocks = 1100}, Work::equal(200'000));
  ASSERT_TRUE(advice);
  EXPECT_THAT(advice->sentence, HasSubstr("blocks of"));
}

}  // namespace
}  // namespace occbench
