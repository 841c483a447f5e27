// The calculator against the toolkit's cuda_occupancy.h, for every compute capability that the header knows.
#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "occupancy/runtime_answers.hpp"
#include "toolkit_oracle.hpp"

namespace occbench {

/// In the names of tests.
void PrintTo(const Limits& limits, std::ostream* out) {
  *out << to_string(limits.compute_capability);
}

namespace {

/// Over 20 million for 24 capabilities, as docs/calculator.md says.
constexpr long kPointsPerCapability = 850'000;

std::vector<Limits> known_to_the_header() {
  std::vector<Limits> known;
  for (const Limits& limits : all_limits()) {
    if (limits.compute_capability.major >= 3) known.push_back(limits);
  }
  return known;
}

// 3.7 has twice the registers that a block may have. NVIDIA's last spreadsheet fills the halves one by one;
// the header shares all of them out over the sub-partitions. The spreadsheet is the newer source for Kepler
// and is followed (runtime_answers_test.cpp).
bool header_has_other_register_rule(const Limits& limits) {
  return limits.compute_capability == ComputeCapability{3, 7};
}

std::string as_text(const Limits& limits, const Configuration& asked) {
  std::string text = to_string(limits.compute_capability);
  for (const Axis axis : kAllAxes) {
    text += ' ';
    text += to_string(axis);
    text += ' ' + std::to_string(value_on(axis, asked));
  }
  return text;
}

class AgainstToolkit : public testing::TestWithParam<Limits> {
 protected:
  // Stops at the first difference: there would be thousands.
  void compare(const Configuration& asked) {
    ++points_;
    if (HasFailure()) return;
    const cudaOccFuncAttributes kernel = oracle_kernel(asked.usage);
    const cudaOccDeviceState state = oracle_state(limits_, asked.launch);
    cudaOccResult expected;
    const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
        &expected, &device_, &kernel, &state, asked.launch.block_threads,
        static_cast<std::size_t>(asked.launch.dynamic_shared_bytes));
    const Occupancy found = theoretical_occupancy(limits_, asked.launch, asked.usage);
    if (error != CUDA_OCC_SUCCESS || !same(found, expected)) {
      ADD_FAILURE() << as_text(limits_, asked) << ": " << found.blocks_per_sm << " blocks, the header says "
                    << expected.activeBlocksPerMultiprocessor << " (error " << error << ")";
    }
  }

  bool same(const Occupancy& found, const cudaOccResult& expected) const {
    const BlockLimits& of = found.block_limits;
    const bool same_limits =
        of.warps == expected.blockLimitWarps && of.blocks == expected.blockLimitBlocks &&
        of.shared_memory == expected.blockLimitSharedMem && of.barriers == expected.blockLimitBarriers &&
        found.registers_per_block == expected.allocatedRegistersPerBlock &&
        static_cast<std::size_t>(found.shared_bytes_per_block) == expected.allocatedSharedMemPerBlock;
    if (header_has_other_register_rule(limits_)) return same_limits;
    return same_limits && of.registers == expected.blockLimitRegs &&
           found.blocks_per_sm == expected.activeBlocksPerMultiprocessor && same_limiters(found, expected);
  }

  // Where barriers limit more than all else the header still lists what limited before it looked at them.
  static bool same_limiters(const Occupancy& found, const cudaOccResult& expected) {
    const bool barriers_alone = found.limiters == Limiters{Limiter::barriers};
    const auto bit = [&](Limiter limiter, unsigned value) {
      return found.limiters.contains(limiter) ? value : 0u;
    };
    const unsigned limiters = bit(Limiter::warps, OCC_LIMIT_WARPS) | bit(Limiter::blocks, OCC_LIMIT_BLOCKS) |
                              bit(Limiter::registers, OCC_LIMIT_REGISTERS) |
                              bit(Limiter::shared_memory, OCC_LIMIT_SHARED_MEMORY) |
                              bit(Limiter::barriers, OCC_LIMIT_BARRIERS);
    return barriers_alone ? (expected.limitingFactors & OCC_LIMIT_BARRIERS) != 0
                          : limiters == expected.limitingFactors;
  }

  std::vector<std::optional<int>> carveouts() const {
    if (limits_.compute_capability.major < 7) return {std::nullopt, 0, 50, 100};
    std::vector<std::optional<int>> all{std::nullopt};
    for (int percent = 0; percent <= 100; ++percent) all.emplace_back(percent);
    return all;
  }

  const Limits limits_ = GetParam();
  const cudaOccDeviceProp device_ = oracle_device(limits_);
  long points_ = 0;
};

TEST_P(AgainstToolkit, GivesTheSameAnswerForEveryBlockSizeAndRegisterCount) {
  for (int threads = 1; threads <= limits_.max_threads_per_block; ++threads) {
    for (int registers = 0; registers <= limits_.max_registers_per_thread; ++registers) {
      compare({{.block_threads = threads}, {.registers_per_thread = registers}});
    }
  }
}

TEST_P(AgainstToolkit, GivesTheSameAnswerAtEveryBoundaryOfSharedMemory) {
  const std::vector<std::optional<int>> preferences = carveouts();
  std::size_t next = 0;
  for (const std::int64_t bytes : values_of(Axis::shared_bytes_per_block, limits_)) {
    for (const int threads : {32, 96, 128, 256, 1024}) {
      const Usage usage{.registers_per_thread = 24, .static_shared_bytes = bytes / 3};
      compare({{.block_threads = threads,
                .dynamic_shared_bytes = bytes - bytes / 3,
                .carveout_pct = preferences[next++ % preferences.size()]},
               usage});
    }
  }
}

TEST_P(AgainstToolkit, GivesTheSameAnswerForRandomConfigurations) {
  std::mt19937_64 random(20250101);
  const std::vector<std::optional<int>> preferences = carveouts();
  const auto up_to = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  while (points_ < kPointsPerCapability) {
    const bool much = up_to(1) == 1;
    const std::int64_t shared = up_to(much ? limits_.max_shared_bytes_per_block * 11 / 10 : 12'000);
    Configuration asked;
    asked.launch.block_threads = 1 + static_cast<int>(up_to(limits_.max_threads_per_block - 1));
    asked.launch.dynamic_shared_bytes = up_to(shared);
    asked.launch.carveout_pct =
        preferences[static_cast<std::size_t>(up_to(static_cast<std::int64_t>(preferences.size()) - 1))];
    asked.usage.registers_per_thread = static_cast<int>(up_to(limits_.max_registers_per_thread));
    asked.usage.static_shared_bytes = shared - asked.launch.dynamic_shared_bytes;
    asked.usage.barriers = static_cast<int>(up_to(kMaxBarriersPerBlock));
    compare(asked);
  }
}

TEST_P(AgainstToolkit, FindsTheSameBestBlockSize) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    const int at_most = 1 + static_cast<int>(random() % 1024u);
    const Launch launch{.dynamic_shared_bytes = static_cast<int>(random() % 40'000u)};
    const Usage usage{.registers_per_thread = static_cast<int>(
                          random() % (1u + static_cast<unsigned>(limits_.max_registers_per_thread))),
                      .static_shared_bytes = static_cast<int>(random() % 40'000u)};
    if (header_has_other_register_rule(limits_) && usage.registers_per_thread > 32) continue;
    cudaOccFuncAttributes kernel = oracle_kernel(usage);
    kernel.maxThreadsPerBlock = at_most;
    const cudaOccDeviceState state;
    int grid = 0;
    int block = 0;
    ASSERT_EQ(cudaOccMaxPotentialOccupancyBlockSize(&grid, &block, &device_, &kernel, &state,
                                                    static_cast<std::size_t>(launch.dynamic_shared_bytes)),
              CUDA_OCC_SUCCESS);
    Limits bounded = limits_;
    bounded.max_threads_per_block = at_most;
    const BestBlockSize best = best_block_size(bounded, launch, usage);
    EXPECT_EQ(best.block_threads, block) << "at most " << at_most;
    EXPECT_EQ(best.blocks_per_sm, grid);
  }
}

// The header forgets to take off what the driver reserves of each block (1 KB from 8.0 on): a block with what
// it says is available would not launch.
TEST_P(AgainstToolkit, LeavesAsMuchDynamicSharedMemoryLessTheReserve) {
  for (const std::optional<int> carveout : carveouts()) {
    for (const std::int64_t static_bytes : {0, 100, 5'000}) {
      for (int blocks = 1; blocks <= limits_.max_blocks_per_sm; ++blocks) {
        const Launch launch{.block_threads = 64, .carveout_pct = carveout};
        const Usage usage{.registers_per_thread = 16, .static_shared_bytes = static_bytes};
        const cudaOccFuncAttributes kernel = oracle_kernel(usage);
        const cudaOccDeviceState state = oracle_state(limits_, launch);
        std::size_t expected = 0;
        const cudaOccError error = cudaOccAvailableDynamicSMemPerBlock(&expected, &device_, &kernel, &state,
                                                                       blocks, launch.block_threads);
        const std::optional<std::int64_t> found =
            available_dynamic_shared_bytes(limits_, launch, usage, blocks);
        ASSERT_EQ(found.has_value(), error == CUDA_OCC_SUCCESS);
        if (!found) continue;
        const std::int64_t most = limits_.max_shared_bytes_per_block - static_bytes;
        const std::int64_t less_reserve =
            static_cast<std::int64_t>(expected) - limits_.reserved_shared_bytes_per_block;
        EXPECT_EQ(*found, std::min(less_reserve, most))
            << blocks << " blocks, carveout " << carveout.value_or(-1);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Capabilities, AgainstToolkit, testing::ValuesIn(known_to_the_header()),
                         [](const testing::TestParamInfo<Limits>& of) {
                           const ComputeCapability capability = of.param.compute_capability;
                           return "sm_" + std::to_string(capability.major) + std::to_string(capability.minor);
                         });

}  // namespace
}  // namespace occbench
