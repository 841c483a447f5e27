#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../cli/run_command.hpp"
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
    EXPECT_EQ(run(large_grids(40), {"--occ_list", "--occ_predict"}), ExitStatus::done);
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::HasSubstr(
                    "7 of 40 cases are listed without a prediction: a list simulates no more than 50 s"));
    return out;
  };
  const std::string first = listed();
  std::istringstream lines(first);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number)
    EXPECT_EQ(nlohmann::json::parse(line).contains("predicted_pct"), number < 33) << number;
  EXPECT_EQ(number, 40);
  EXPECT_EQ(listed(), first);
}

/// Partial waves, uneven blocks and warps, contention: what differs from one simulated run to the next.
Experiment uncertain() {
  return {"uncertain", "a claim", "a source", [](const Planner&) {
            const std::pair<int, const char*> launches[] = {{1'320, "equal:20000"},
                                                            {792, "uniform:200000:0.5:1.5:seed=3"},
                                                            {1'500, "lognormal:50000:1:seed=2"},
                                                            {1'000, "warp/uniform:20000:0.5:1.5:seed=4"},
                                                            {1'200, "equal:80000:issue=20000"}};
            std::vector<Case> cases;
            for (const auto& [grid, work] : launches) {
              cases.push_back({.kernel = &kFake,
                               .variant = "plain",
                               .launch = {.block_threads = 256, .grid_blocks = grid},
                               .work = parse_work(work),
                               .suite = Suite::smoke,
                               .parameters = {{"grid", std::to_string(grid)}}});
            }
            return cases;
          }};
}

class Listed : public RunCases {
 protected:
  /// As `occbench predict` on that GPU has it, and the row that is measured there.
  void expect_same(const std::vector<std::string>& gpu) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(run(uncertain(), {"--occ_list", "--occ_predict"}), ExitStatus::done);
    std::istringstream lines(testing::internal::GetCapturedStdout());
    EXPECT_EQ(run(uncertain()), ExitStatus::done);
    for (const Row& row : read_rows(csv())) {
      std::string line;
      ASSERT_TRUE(std::getline(lines, line));
      const nlohmann::json listed = nlohmann::json::parse(line);
      ASSERT_EQ(listed.at("case"), row.case_);
      EXPECT_NEAR(listed.at("predicted_pct"), row.predicted_pct.value(), 1e-4) << row.case_;
      std::vector<std::string> predict = {"predict",
                                          "--block-size",
                                          "256",
                                          "--registers",
                                          "20",
                                          "--grid",
                                          std::to_string(*row.grid_blocks),
                                          "--work",
                                          row.work,
                                          "--format",
                                          "json"};
      predict.insert(predict.end(), gpu.begin(), gpu.end());
      const Outcome outcome = run_command(predict);
      ASSERT_EQ(outcome.status, ExitStatus::done) << outcome.err;
      const nlohmann::json predicted = nlohmann::json::parse(outcome.out);
      EXPECT_NEAR(listed.at("predicted_pct"), predicted.at("predicted_pct"), 1e-6) << row.case_;
      for (const char* end : {"predicted_low_pct", "predicted_high_pct"}) {
        if (!listed.contains(end)) continue;
        EXPECT_NEAR(listed.at(end), predicted.at(end), 1e-6) << row.case_;
      }
    }
  }
};

TEST_F(Listed, ACaseHasThePredictionOfItsRowAndOfTheCommandPredict) {
  expect_same({"--gpu", "h200"});
}

TEST_F(Listed, ACaseOfAGpuThatNobodyCalibratedHasThemToo) {
  device_.name = "NVIDIA A100-SXM4-80GB";
  device_.compute_capability = {8, 0};
  device_.limits = limits_of({8, 0});
  device_.sm_count = 108;
  expect_same({"--cc", "8.0", "--sm-count", "108"});
}

}  // namespace
}  // namespace occbench
