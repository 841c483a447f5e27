#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gate/compare.hpp"
#include "gate/outputs.hpp"
#include "recorded_runs.hpp"

namespace occbench {
namespace {

/// What a build was made worse in, and what the gate has to name.
struct Injection {
  std::string name;   ///< of the files in tests/data/gate
  std::string case_;  ///< the end of the case's name
  std::string cause;
};

/// Six pairs of runs that tests/gate/on_gpu.py recorded on an H200: a build with one thing made worse in turn
/// with the one in which nothing was. The runs of the latter end in -a.
Comparison recorded(const std::string& injection) {
  std::vector<RecordedRun> unchanged;
  std::vector<RecordedRun> injected;
  for (auto& [run, recorded] : recorded_runs("gate/" + injection))
    (run.ends_with("-a") ? unchanged : injected).push_back(std::move(recorded));
  EXPECT_EQ(unchanged.size(), 6u);
  EXPECT_EQ(injected.size(), 6u);
  return compare_pairs(unchanged, injected, {});
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
  const Injection injections[] = {{"registers", "=registers", "registers_per_thread"},
                                  {"shared_memory", "=shared_memory", "dynamic_shared_bytes"},
                                  {"block_size", "=block_size", "block_threads"},
                                  {"slow_warp", "=slow_warp_or_slower", "achieved_pct"},
                                  {"slower", "=slow_warp_or_slower", "time_us"}};
  for (const Injection& injection : injections) {
    const Comparison comparison = recorded(injection.name);
    EXPECT_EQ(headline(comparison), "regression: 4 cases, 1 regression, 3 pass") << injection.name;
    const ComparedCase& worst = comparison.cases.front();
    EXPECT_TRUE(worst.name.ends_with(injection.case_)) << worst.name;
    ASSERT_FALSE(worst.findings.empty()) << injection.name;
    EXPECT_EQ(worst.findings.front().subject, injection.cause);
  }
}

}  // namespace
}  // namespace occbench
