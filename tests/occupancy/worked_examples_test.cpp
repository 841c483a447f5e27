// The worked examples of worked_examples.csv, one test each, named by their id.
#include "worked_examples.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

/// Without a balanced partial wave on the hardware: that is for the simulator, not for theory.
std::vector<Example> read_examples() {
  std::vector<Example> examples = read_worked_examples();
  std::erase_if(examples,
                [](const Example& example) { return example.at("expect") == "achieved_pct_about"; });
  return examples;
}

double best_pct_over_block_sizes(const Limits& limits, const Usage& usage) {
  double best = 0;
  for (int threads = 1; threads <= limits.max_threads_per_block; ++threads) {
    best = std::max(best, theoretical_occupancy(limits, {.block_threads = threads}, usage).theoretical_pct);
  }
  return best;
}

int max_registers_for_full_occupancy(const Limits& limits) {
  int registers = limits.max_registers_per_thread;
  while (best_pct_over_block_sizes(limits, {.registers_per_thread = registers}) < 100) --registers;
  return registers;
}

class WorkedExample : public testing::TestWithParam<Example> {};

TEST_P(WorkedExample, ComesOutOfTheCalculator) {
  const Example& example = GetParam();
  const std::string& expected = example.at("expect");
  const double value = std::stod(example.at("value"));
  const Limits& limits = limits_of(parse_compute_capability(example.at("compute_capability")));
  if (expected == "max_registers_for_full_occupancy") {
    EXPECT_EQ(max_registers_for_full_occupancy(limits), value);
    return;
  }
  const Launch launch{.block_threads = number(example, "block_threads")};
  const Usage usage{.registers_per_thread = number(example, "registers_per_thread"),
                    .static_shared_bytes = number(example, "shared_bytes_per_block")};
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  if (expected == "theoretical_pct") {
    EXPECT_NEAR(occupancy.theoretical_pct, value, 5e-5);
  } else if (expected == "theoretical_pct_at_most") {
    EXPECT_LE(occupancy.theoretical_pct, value);
    EXPECT_EQ(best_pct_over_block_sizes(limits, usage), value);
  } else {
    const std::map<std::string, double> answers{
        {"blocks_per_sm", occupancy.blocks_per_sm},
        {"warps_per_sm", occupancy.warps_per_sm()},
        {"threads_per_sm", occupancy.blocks_per_sm * launch.block_threads},
        {"block_limit_shared_memory", occupancy.block_limits.shared_memory},
        {"full_wave_blocks", full_wave_blocks(occupancy, number(example, "sm_count"))},
    };
    EXPECT_EQ(answers.at(expected), value);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WorkedExample, testing::ValuesIn(read_examples()),
                         [](const testing::TestParamInfo<Example>& example) {
                           std::string name = example.param.at("id");
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(WorkedExamples, AreAllRead) {
  EXPECT_EQ(read_examples().size(), 43u);
}

}  // namespace
}  // namespace occbench
