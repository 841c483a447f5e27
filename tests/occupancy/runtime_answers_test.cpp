#include "occupancy/runtime_answers.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

TEST(BestBlockSize, IsTheLargestOfThoseThatFillTheSm) {
  Limits limits = limits_of({9, 0});
  EXPECT_EQ(best_block_size(limits, {}, {.registers_per_thread = 32}).block_threads, 1024);
  // 40 registers: 48 warps fit at most; 768 threads make two blocks of 24 warps.
  const BestBlockSize of_40 = best_block_size(limits, {}, {.registers_per_thread = 40});
  EXPECT_EQ(of_40.block_threads, 768);
  EXPECT_EQ(of_40.blocks_per_sm, 2);
  limits.max_threads_per_block = 256;  // launch bounds
  EXPECT_EQ(best_block_size(limits, {}, {.registers_per_thread = 40}).block_threads, 256);
  limits.min_threads_per_block = limits.max_threads_per_block = 160;  // the only size that it can have
  EXPECT_EQ(best_block_size(limits, {}, {.registers_per_thread = 40}).block_threads, 160);
}

TEST(BestBlockSize, IsZeroWhereNothingCanLaunch) {
  const Launch launch{.dynamic_shared_bytes = 300'000};
  EXPECT_EQ(best_block_size(limits_of({9, 0}), launch, {.registers_per_thread = 32}).block_threads, 0);
}

// What it promises: with so much the blocks fit, with one byte more they do not.
TEST(AvailableDynamicSharedMemory, IsTheMostWithWhichSoManyBlocksFit) {
  for (const Limits& limits : all_limits()) {
    for (const int blocks : {1, 2, 3, 5, 8}) {
      for (const std::int64_t static_bytes : {0, 1, 1000}) {
        const Usage usage{.registers_per_thread = 16, .static_shared_bytes = static_bytes};
        Launch launch{.block_threads = 32};
        const auto most = available_dynamic_shared_bytes(limits, launch, usage, blocks);
        ASSERT_TRUE(most) << to_string(limits.compute_capability);
        launch.dynamic_shared_bytes = *most;
        EXPECT_GE(theoretical_occupancy(limits, launch, usage).blocks_per_sm, blocks);
        ++launch.dynamic_shared_bytes;
        EXPECT_LT(theoretical_occupancy(limits, launch, usage).blocks_per_sm, blocks)
            << to_string(limits.compute_capability) << ", " << blocks << " blocks, " << static_bytes
            << " bytes";
      }
    }
  }
}

TEST(AvailableDynamicSharedMemory, IsNoneWhereTheBlocksDoNotFitAtAll) {
  const Launch launch{.block_threads = 1024};
  EXPECT_EQ(available_dynamic_shared_bytes(limits_of({9, 0}), launch, {.registers_per_thread = 32}, 3),
            std::nullopt);
  EXPECT_THROW(available_dynamic_shared_bytes(limits_of({9, 0}), launch, {}, 0), InputError);
}

TEST(AvailableDynamicSharedMemory, IsWhatTheReserveOfEachBlockLeaves) {
  // 228 KB for two; each block has 1 KB reserved.
  EXPECT_EQ(available_dynamic_shared_bytes(limits_of({9, 0}), {.block_threads = 256},
                                           {.registers_per_thread = 32}, 2),
            115'712);
}

TEST(ActiveClusters, ShareTheSmsOfOneGpc) {
  const Occupancy one_block =
      theoretical_occupancy(limits_of({9, 0}), {.block_threads = 1024}, {.registers_per_thread = 64});
  ASSERT_EQ(one_block.blocks_per_sm, 1);
  // 132 SMs hold 33 times 4, but GPCs of 18 and 16 only 4 clusters each.
  const int gpcs[] = {18, 18, 16, 16, 16, 16, 16, 16};
  EXPECT_EQ(max_active_clusters(one_block, 1, gpcs), 132);
  EXPECT_EQ(max_active_clusters(one_block, 2, gpcs), 66);
  EXPECT_EQ(max_active_clusters(one_block, 4, gpcs), 32);
  EXPECT_EQ(max_active_clusters(one_block, 16, gpcs), 8);
  EXPECT_THROW(max_active_clusters(one_block, 0, gpcs), InputError);
}

// What cudaOccupancyMaxActiveClusters answered on an H200 with these GPCs, and four TPCs outside of them.
TEST(ActiveClusters, AreThoseOfAnH200) {
  const int gpcs[] = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  const auto clusters = [&](int block_threads, int cluster_blocks) {
    const Occupancy occupancy = theoretical_occupancy(
        limits_of({9, 0}), {.block_threads = block_threads, .cluster_blocks = cluster_blocks}, {});
    return max_active_clusters(occupancy, cluster_blocks, gpcs);
  };
  // 2 blocks per SM
  EXPECT_EQ(clusters(1024, 1), 264);
  EXPECT_EQ(clusters(1024, 2), 132);
  EXPECT_EQ(clusters(1024, 3), 79) << "two SMs could hold one of 3, but have no SM for each block";
  EXPECT_EQ(clusters(1024, 8), 30);
  EXPECT_EQ(clusters(1024, 9), 23) << "nor have 8 SMs for one of 9";
  EXPECT_EQ(clusters(1024, 16), 14);
  // 5, 8 and 32
  EXPECT_EQ(clusters(384, 7), 84);
  EXPECT_EQ(clusters(256, 1), 1056);
  EXPECT_EQ(clusters(256, 5), 193);
  EXPECT_EQ(clusters(32, 1), 1056) << "more than 8 blocks per SM do not count";
  EXPECT_EQ(clusters(32, 5), 193);
}

// Grids that were recorded as one wave on an H100 and an H200 with these GPCs.
TEST(FullWave, OfClustersIsThatOfWholeOnesInGpcs) {
  const std::vector<int> gpcs = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  const auto wave = [&](int block_threads, int cluster_blocks, const std::vector<int>& sms_per_gpc) {
    const Occupancy occupancy = theoretical_occupancy(
        limits_of({9, 0}), {.block_threads = block_threads, .cluster_blocks = cluster_blocks}, {});
    return full_wave_of_clusters(occupancy, cluster_blocks, 132, sms_per_gpc);
  };
  EXPECT_EQ(wave(256, 2, gpcs), 1056);
  EXPECT_EQ(wave(256, 8, gpcs), 992);
  EXPECT_EQ(wave(256, 16, gpcs), 928);
  EXPECT_EQ(wave(1024, 8, gpcs), 240);
  EXPECT_EQ(wave(1024, 16, gpcs), 224);
  EXPECT_EQ(wave(1024, 16, {}), 256) << "at most: 264 places hold 16 clusters";
  EXPECT_EQ(wave(32, 1, gpcs), 4224) << "without clusters all places count";
}

// Compute capabilities 1.0 to 3.7 against the rules of NVIDIA's occupancy calculator spreadsheet, which the
// toolkit's header does not know (1.x, 2.x) or knows otherwise (3.7). The figures are the spreadsheet's own
// (versions 2.1, 5.1, 7.5 and 11.1), the formulas its FLOOR and CEILING to a multiple.
struct Sheet {
  const char* compute_capability;
  bool allocates_by_block;
  double warps, blocks, threads_per_block, registers, registers_per_block, registers_per_thread,
      register_unit, warp_granularity, shared, shared_per_block, shared_unit;
};

constexpr Sheet kSheets[] = {
    {"1.0", true, 24, 8, 512, 8192, 8192, 124, 256, 2, 16384, 16384, 512},
    {"1.1", true, 24, 8, 512, 8192, 8192, 124, 256, 2, 16384, 16384, 512},
    {"1.2", true, 32, 8, 512, 16384, 16384, 124, 512, 2, 16384, 16384, 512},
    {"1.3", true, 32, 8, 512, 16384, 16384, 124, 512, 2, 16384, 16384, 512},
    {"2.0", false, 48, 8, 1024, 32768, 32768, 63, 64, 2, 49152, 49152, 128},
    {"2.1", false, 48, 8, 1024, 32768, 32768, 63, 64, 2, 49152, 49152, 128},
    {"3.0", false, 64, 16, 1024, 65536, 65536, 63, 256, 4, 49152, 49152, 256},
    {"3.2", false, 64, 16, 1024, 65536, 65536, 255, 256, 4, 49152, 49152, 256},
    {"3.5", false, 64, 16, 1024, 65536, 65536, 255, 256, 4, 49152, 49152, 256},
    {"3.7", false, 64, 16, 1024, 131072, 65536, 255, 256, 4, 114688, 49152, 256},
};

double ceiling(double value, double multiple) {
  return std::ceil(value / multiple) * multiple;
}

double floor(double value, double multiple) {
  return std::floor(value / multiple) * multiple;
}

double block_limit_registers(const Sheet& sheet, double warps, double registers) {
  if (registers == 0) return kUnlimited;
  if (sheet.allocates_by_block) {
    const double of_block =
        ceiling(ceiling(warps, sheet.warp_granularity) * 32 * registers, sheet.register_unit);
    return floor(sheet.registers / of_block, 1);
  }
  static const std::set<double> coarse{21, 22, 29, 30, 37, 38, 45, 46};
  const bool fermi = sheet.compute_capability[0] == '2';
  const double unit = fermi && coarse.contains(registers) ? 128 : sheet.register_unit;
  const double warps_of_registers =
      floor(sheet.registers_per_block / ceiling(registers * 32, unit), sheet.warp_granularity);
  return floor(warps_of_registers / warps, 1) * floor(sheet.registers / sheet.registers_per_block, 1);
}

double block_limit_shared(const Sheet& sheet, double bytes) {
  if (bytes == 0) return kUnlimited;
  const double allocated = ceiling(bytes, sheet.shared_unit);
  return allocated > sheet.shared_per_block ? 0 : floor(sheet.shared / allocated, 1);
}

void PrintTo(const Sheet& sheet, std::ostream* out) {
  *out << sheet.compute_capability;
}

class SpreadsheetRules : public testing::TestWithParam<Sheet> {};

TEST_P(SpreadsheetRules, HoldForEveryBlockSizeAndRegisterCount) {
  const Sheet& sheet = GetParam();
  const Limits& limits = limits_of(parse_compute_capability(sheet.compute_capability));
  for (int threads = 1; threads <= sheet.threads_per_block; ++threads) {
    for (int registers = 0; registers <= sheet.registers_per_thread; ++registers) {
      const double warps = ceiling(threads, 32) / 32;
      const double expected = std::min(
          {floor(sheet.warps / warps, 1), sheet.blocks, block_limit_registers(sheet, warps, registers)});
      const Occupancy found =
          theoretical_occupancy(limits, {.block_threads = threads}, {.registers_per_thread = registers});
      ASSERT_EQ(found.blocks_per_sm, expected) << threads << " threads, " << registers << " registers";
      ASSERT_DOUBLE_EQ(found.theoretical_pct, 100 * expected * warps / sheet.warps);
    }
  }
}

TEST_P(SpreadsheetRules, HoldForSharedMemoryToBeyondTheLimit) {
  const Sheet& sheet = GetParam();
  const Limits& limits = limits_of(parse_compute_capability(sheet.compute_capability));
  for (int bytes = 0; bytes <= sheet.shared_per_block + 1024; ++bytes) {
    const Occupancy found =
        theoretical_occupancy(limits, {.block_threads = 64}, {.static_shared_bytes = bytes});
    ASSERT_EQ(found.block_limits.shared_memory, block_limit_shared(sheet, bytes)) << bytes << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(Capabilities, SpreadsheetRules, testing::ValuesIn(kSheets),
                         [](const testing::TestParamInfo<Sheet>& of) {
                           std::string name = of.param.compute_capability;
                           name[1] = '_';
                           return "cc_" + name;
                         });

}  // namespace
}  // namespace occbench
