#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "gate/compare.hpp"
#include "gate/outputs.hpp"

namespace occbench {
namespace {

/// What a build was made worse in, and what the gate must name.
struct Injected {
  std::string plant;
  std::string case_;  ///< the end of the case's name
  std::string cause;
};

/// Six pairs of runs that tests/gate/on_gpu.py injected recorded on an H200, a build with one thing made
/// worse in turn with the one in which nothing was.
Comparison recorded(const std::string& plant) {
  std::vector<RecordedRun> uninjected;
  std::vector<RecordedRun> injected;
  for (int run = 0; run < 12; ++run) {
    const bool is_a = run % 4 == 0 || run % 4 == 3;
    (is_a ? uninjected : injected)
        .push_back(
            read_run(fmt::format("{}/{}/{:02}-{}.csv", OCC_PLANTED, plant, run + 1, is_a ? 'a' : 'b')));
  }
  return compare_pairs(uninjected, injected, {});
}

TEST(RecordedPairs, OfOneBuildPass) {
  const Comparison comparison = recorded("none");
  EXPECT_EQ(headline(comparison), "pass: 4 cases, 4 pass");
  for (const ComparedCase& compared : comparison.cases) {
    EXPECT_TRUE(compared.findings.empty()) << reason(compared);
    EXPECT_LT(*compared.caught_time_pct, 3) << compared.name;
  }
}

TEST(RecordedPairs, OfABuildThatIsWorseNameTheCaseAndTheCause) {
  const Injected plants[] = {{"registers", "=registers", "registers_per_thread"},
                             {"shared_memory", "=shared_memory", "dynamic_shared_bytes"},
                             {"block_size", "=block_size", "block_threads"},
                             {"slow_warp", "=slow_warp_or_slower", "achieved_pct"},
                             {"slower", "=slow_warp_or_slower", "time_us"}};
  for (const Injected& injected : plants) {
    const Comparison comparison = recorded(injected.plant);
    EXPECT_EQ(headline(comparison), "regression: 4 cases, 1 regression, 3 pass") << injected.plant;
    const ComparedCase& worst = comparison.cases.front();
    EXPECT_TRUE(worst.name.ends_with(injected.case_)) << worst.name;
    ASSERT_FALSE(worst.findings.empty()) << injected.plant;
    EXPECT_EQ(worst.findings.front().subject, injected.cause);
  }
}

}  // namespace
}  // namespace occbench
