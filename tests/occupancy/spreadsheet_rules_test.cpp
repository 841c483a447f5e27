// Compute capabilities 1.0 to 3.7 against the rules of NVIDIA's occupancy calculator spreadsheet, which the
// toolkit's header does not know (1.x, 2.x) or knows otherwise (3.7). The figures are the spreadsheet's own
// (versions 2.1, 5.1, 7.5 and 11.1), the formulas its FLOOR and CEILING to a multiple.
#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

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
