#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "occupancy/gpus.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

Outcome predict_for(std::vector<const char*> gpu, const char* block_size, const char* grid,
                    const char* format = "json") {
  std::vector<const char*> arguments{"predict",      "--block-size", block_size, "--grid",
                                     grid,           "--registers",  "32",       "--work",
                                     "equal:200000", "--format",     format};
  arguments.insert(arguments.end(), gpu.begin(), gpu.end());
  return run_command(arguments);
}

TEST(GpuOption, ANameOfTheTableGivesCapabilityAndSms) {
  const Outcome outcome = predict_for({"--gpu", "a100-sxm4-80gb"}, "256", "2000");
  ASSERT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  const json answer = json::parse(outcome.out);
  EXPECT_EQ(answer.at("gpu"), "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(answer.at("compute_capability"), "8.0");
  EXPECT_EQ(answer.at("sm_count"), 108);
}

TEST(GpuOption, AGpuThatNobodyCalibratedIsUnverifiedWithARange) {
  const json answer = json::parse(predict_for({"--gpu", "a100-sxm4-80gb"}, "256", "2000").out);
  EXPECT_EQ(answer.at("profile_quality"), "generic");
  EXPECT_THAT(answer.at("note").get<std::string>(), HasSubstr("unverified"));
  EXPECT_LT(answer.at("predicted_low_pct"), answer.at("predicted_pct"));
  EXPECT_GT(answer.at("predicted_high_pct"), answer.at("predicted_pct"));
  EXPECT_THAT(predict_for({"--gpu", "a100-sxm4-80gb"}, "256", "2000", "table").out, HasSubstr("unverified"));
}

TEST(GpuOption, AModelWithABuiltInProfileHasItsOwn) {
  const json answer = json::parse(predict_for({"--gpu", "h200"}, "256", "2000").out);
  EXPECT_EQ(answer.at("device_profile"), "h200 (calibrated_model)");
  EXPECT_EQ(answer.at("profile_quality"), "calibrated_model");
  EXPECT_FALSE(answer.contains("note"));
}

TEST(GpuOption, AProfileForAnotherGpuIsGenericForIt) {
  const json answer =
      json::parse(predict_for({"--gpu", "h100-sxm5-80gb", "--profile", "h200"}, "256", "2000").out);
  EXPECT_EQ(answer.at("device_profile"), "h200 (generic)");
  EXPECT_EQ(answer.at("profile_quality"), "generic");
}

TEST(GpuOption, ANameOfTheTableGivesTheClockThatATimeIsMeasuredIn) {
  const auto work_of = [](std::vector<const char*> more) {
    std::vector<const char*> arguments{
        "predict",     "--gpu", "a100-sxm4-80gb", "--block-size", "256",      "--grid", "864",
        "--registers", "32",    "--time-us",      "100",          "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
    return json::parse(outcome.out).at("work");
  };
  EXPECT_EQ(work_of({}), work_of({"--clock-mhz", "1410"}));
  EXPECT_NE(work_of({}), work_of({"--clock-mhz", "700"}));
}

// The worked example wave-15sm-45: 45 blocks on 15 SMs that hold four each.
TEST(GpuOption, FortyFiveBlocksOn15SmsOfFourBlocksComeOutAt75Percent) {
  const Outcome outcome = predict_for({"--cc", "3.5", "--sm-count", "15"}, "512", "45");
  ASSERT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  const json answer = json::parse(outcome.out);
  EXPECT_EQ(answer.at("blocks_per_sm"), 4);
  EXPECT_NEAR(answer.at("predicted_pct").get<double>(), 75, 0.1);
  EXPECT_NEAR(answer.at("predicted_low_pct").get<double>(), 75, 0.3);
  EXPECT_LT(answer.at("predicted_low_pct"), answer.at("predicted_pct"));
  EXPECT_LE(answer.at("predicted_high_pct").get<double>(), 75);
}

TEST(GpuOption, WrongNamesAndMissingSmsAreRefusedWithTheRemedy) {
  const auto refused = [](std::vector<const char*> gpu, const char* because) {
    const Outcome outcome = predict_for(std::move(gpu), "256", "2000");
    EXPECT_EQ(outcome.status, ExitStatus::usage) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(because));
  };
  refused({"--gpu", "a1000"}, "the nearest are");
  refused({"--cc", "8.0"}, "--sm-count N");
  refused({"--cc", "8.8", "--sm-count", "10"}, "8.8");
  refused({"--cc", "8.0", "--sm-count", "0"}, "--sm-count = '0' is not a whole number from 1 to 1024");
  refused({"--cc", "8.0", "--sm-count", "2000"}, "1 to 1024");
  refused({"--gpu", "h200", "--cc", "9.0"}, "--gpu");
  refused({"--gpu", "h200", "--sm-count", "10"}, "--gpu");
}

TEST(GpuOption, CalcTakesANameForItsCapabilityAndSms) {
  const auto waves = [](std::vector<const char*> gpu) {
    std::vector<const char*> arguments{"calc",   "--block-size", "256",      "--registers", "32",
                                       "--grid", "864",          "--format", "json"};
    arguments.insert(arguments.end(), gpu.begin(), gpu.end());
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
    return json::parse(outcome.out);
  };
  json by_name = waves({"--gpu", "a100-sxm4-80gb"});
  EXPECT_EQ(by_name.at("waves"), 1);
  EXPECT_EQ(by_name.at("gpu"), "a100-sxm4-80gb");
  by_name["gpu"] = nullptr;
  EXPECT_EQ(by_name, waves({"--cc", "8.0", "--sm-count", "108"}));
}

TEST(GpuOption, ANameThatSeveralGpusShareServesWhereTheyAgree) {
  const auto calculate = [](const char* gpu, const char* grid) {
    return run_command({"calc", "--gpu", gpu, "--block-size", "256", "--grid", grid});
  };
  // 108 SMs in each A100; 114 or 132 in an H100.
  EXPECT_THAT(calculate("a100", "864").out,
              AllOf(HasSubstr("a100, compute"), HasSubstr("864 blocks: 1 waves")));
  EXPECT_THAT(calculate("4090", "0").out, HasSubstr("rtx-4090, compute capability 8.9"));
  EXPECT_THAT(calculate("3080", "0").out, HasSubstr("3080, compute capability 8.6"));
  EXPECT_THAT(calculate("h100", "0").out, HasSubstr("h100, compute capability 9.0"));
  const Outcome unclear = calculate("h100", "864");
  EXPECT_EQ(unclear.status, ExitStatus::usage);
  EXPECT_THAT(unclear.err, AllOf(HasSubstr("h100-pcie-80gb (114 SMs)"), HasSubstr("name one of them")));
  EXPECT_THAT(predict_for({"--gpu", "h100"}, "256", "2000").err, HasSubstr("name one of them"));
  EXPECT_THAT(run_command({"explain", "--gpu", "h100", "--block-size", "256", "--grid", "600", "--registers",
                           "72", "--achieved", "31"})
                  .err,
              HasSubstr("name one of them"));
}

TEST(GpuOption, TheListHasEachGpuUnderANameThatIsTaken) {
  const Outcome outcome = run_command({"calc", "--gpu", "list", "--format", "json"});
  const json gpus = json::parse(outcome.out);
  EXPECT_EQ(gpus.size(), all_gpus().size());
  for (const json& gpu : gpus)
    EXPECT_EQ(gpu_of(gpu.at("name").get<std::string>()).sm_count, gpu.at("sm_count"));
}

}  // namespace
}  // namespace occbench
