#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fake_gpu.hpp"

namespace occbench {
namespace {

/// Grids whose simulation is taken to need 1.5 s each: more than a list simulates.
Experiment large_grids(int cases) {
  return {"large_grids", "a claim", "a source", [cases](const Planner&) {
            std::vector<Case> grids;
            for (int i = 0; i < cases; ++i) {
              grids.push_back({.kernel = &kFake,
                               .variant = "plain",
                               .launch = {.block_threads = 256, .grid_blocks = 10'000'000 + i},
                               .work = Work::equal(20'000),
                               .suite = Suite::smoke,
                               .parameters = {{"number", std::to_string(i)}}});
            }
            return grids;
          }};
}

TEST_F(RunCases, AListLeavesOutTheSamePredictionsOnEveryMachineAndSaysHowMany) {
  const auto listed = [&] {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(large_grids(10), {"--occ_list", "--occ_predict"}), ExitStatus::done);
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::HasSubstr(
                    "4 of 10 cases are listed without a prediction: a list simulates no more than 10 s"));
    return out;
  };
  const std::string first = listed();
  std::istringstream lines(first);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number)
    EXPECT_EQ(nlohmann::json::parse(line).contains("predicted_pct"), number < 6) << number;
  EXPECT_EQ(number, 10);
  EXPECT_EQ(listed(), first);
}

}  // namespace
}  // namespace occbench
