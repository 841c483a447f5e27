#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "files/output.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"
#include "simulate/work.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;
using testing::Not;

Row measured(const char* name, std::int64_t grid_blocks, double achieved_pct) {
  Row row;
  row.schema = kSchema;
  row.experiment = "waves";
  row.case_ = name;
  row.gpu = "NVIDIA H200";
  row.compute_capability = "9.0";
  row.sm_count = 132;
  row.block_threads = 256;
  row.grid_blocks = grid_blocks;
  row.registers_per_thread = 20;
  row.work = "equal:200000";
  row.theoretical_pct = 100;
  row.achieved_pct = achieved_pct;
  return row;
}

constexpr const char* kRecordedProfile = OCCBENCH_SOURCE_DIR "/results/nvidia-h200/h200_recorded.profile";

class Explain : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream rows(folder_ / "rows.csv");
    rows << csv_header() << csv_record(measured("full", 1056, 99.8))
         << csv_record(measured("tail", 2218, 90));
    Row plain = measured("no work", 1056, 95);
    plain.work.clear();
    rows << csv_record(plain);
  }
  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
  std::string file_ = (folder_ / "rows.csv").string();
};

TEST_F(Explain, SaysWhereTheRestWentWorstFirstOfAsManyAsAskedFor) {
  const std::string said = printed({"explain", file_.c_str()});
  EXPECT_THAT(said, HasSubstr("the last wave has 106 of 1,056 blocks"));
  EXPECT_THAT(said, HasSubstr("Within half a point"));
  EXPECT_THAT(said, HasSubstr("no cause has evidence for them"));
  EXPECT_LT(said.find("waves/tail"), said.find("waves/no work"));
  EXPECT_LT(said.find("waves/no work"), said.find("waves/full"));
  EXPECT_THAT(printed({"explain", file_.c_str(), "--top", "1"}),
              testing::AllOf(HasSubstr("waves/tail"), Not(HasSubstr("waves/full"))));
}

TEST_F(Explain, WritesALineARowInTheOrderOfTheFile) {
  const Outcome outcome = run_command({"explain", file_.c_str(), "--format", "lines"});
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("waves/full +100.0 +99.8 +NVIDIA H200\nwaves/tail +100.0 +90.0"));
  EXPECT_THAT(run_command({"explain", file_.c_str(), "--format", "lines", "--top", "1"}).out,
              Not(HasSubstr("waves/tail")));
}

TEST_F(Explain, WritesRowsThatCanBeReadAgain) {
  const Outcome outcome = run_command({"explain", file_.c_str(), "--filter", "tail", "--format", "csv"});
  const std::vector<Row> rows = parse_rows(outcome.out, "out");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].device_profile, "h200 (calibrated_model)");
  EXPECT_THAT(rows[0].explanation, HasSubstr("the last wave"));
}

TEST_F(Explain, WritesAsJsonEachRowWithItsColumnsAndFindingsTheLargestFirst) {
  const auto rows = nlohmann::json::parse(printed({"explain", file_.c_str(), "--format", "json"}));
  ASSERT_EQ(rows.size(), 3U);
  const auto& tail = rows.at(0);
  EXPECT_EQ(tail.at("case"), "tail");
  EXPECT_EQ(tail.at("achieved_pct"), 90);
  EXPECT_TRUE(tail.at("local_bytes_per_thread").is_null()) << "an empty cell";
  double before = 100;
  double together = 0;
  for (const auto& finding : tail.at("findings")) {
    for (const char* key : {"cause", "list", "points", "confidence", "evidence", "remedy"})
      EXPECT_TRUE(finding.contains(key)) << key;
    EXPECT_LE(finding.at("points").get<double>(), before);
    before = finding.at("points");
    together += before;
  }
  EXPECT_NEAR(together, 10, 0.5);
  EXPECT_EQ(tail.at("findings").at(0).at("cause"), "tail");
  EXPECT_EQ(tail.at("findings").at(0).at("evidence").at("grid_blocks"), 2218);
  EXPECT_EQ(tail.at("explanation"), tail.at("findings").at(0).at("sentence"));
}

TEST(ExplainNumbers, SaysTheRuleOfTheoryTheWavesAndWhatIsDueToSomethingElse) {
  const std::string said = printed(
      "explain --cc 9.0 --sm-count 132 --block-size 512 --grid 2218 --registers 33 --achieved 60 --time-us "
      "410");
  EXPECT_THAT(said, HasSubstr("theory 75 %: an SM holds 3 blocks, limited by registers"));
  EXPECT_THAT(said, HasSubstr("33 registers x 512 threads: 33 -> 40 per thread"));
  EXPECT_THAT(said, HasSubstr("5.6 waves of 396"));
  EXPECT_THAT(said, HasSubstr("[register_limit, inferred]"));
  EXPECT_THAT(said, HasSubstr("the last wave has 238 of 396 blocks"));
  EXPECT_THAT(
      said,
      HasSubstr(
          "14 points: no cause has evidence for them, but up to 4 may be the last wave's. [unexplained"));
  EXPECT_THAT(said, HasSubstr("`ncu --metrics sm__ctas_active.avg.per_cycle_active"));
  EXPECT_THAT(said, HasSubstr("At most 0.102 of 0.41 ms per launch"));
}

TEST(ExplainNumbers, SayThatTheCounterLeavesOutSmsWithoutABlock) {
  const std::string launch = "explain --gpu 4090 --block-size 256 --registers 40 --achieved 100 --grid ";
  EXPECT_THAT(printed(run_command(launch + "2000")),
              HasSubstr("leaves SMs without a block: 13 points over elapsed cycles"));
  EXPECT_THAT(printed(run_command(launch + "1536")), HasSubstr("Nothing to speak of is lost.\n"));
}

TEST(ExplainNumbers, AdvisesSmallerClustersAndNoWavesOfThem) {
  const auto said = [](const std::string& gpu, const char* grid) {
    return run_command(
        "explain --block-size 256 --registers 40 --dynamic-smem 40K --cluster 16 --achieved 50 " + gpu +
        " --grid " + grid);
  };
  // GPCs of 16 and 18 SMs hold five clusters each, in places for 80 and 90 blocks.
  EXPECT_THAT(said("--gpu h100-sxm5-80gb", "1600").out,
              AllOf(HasSubstr("2.86 waves of 560"), HasSubstr("has 480 of 560 blocks (2.86 waves);"),
                    HasSubstr("Use smaller clusters, or more and shorter blocks."),
                    HasSubstr("`occbench predict` simulates them")));
  EXPECT_THAT(said("--cc 9.0 --sm-count 132", "1600").out,
              AllOf(HasSubstr("at least 2.44 waves of at most 656"),
                    HasSubstr("if whole clusters fill the GPCs"), Not(HasSubstr("for the same work"))));
  EXPECT_THAT(refusal(said("--gpu h200", "1001")),
              HasSubstr("grid_blocks = 1001 is not a multiple of cluster_blocks = 16"));
}

TEST(ExplainNumbers, ShortBlocksAreNotCalledUneven) {
  // As `overhead` with blocks of no work was recorded on an H100: a block about every cycle.
  const std::string launch =
      "explain --gpu h100-sxm5-80gb --block-size 64 --grid 409600 --registers 8 --achieved 25.6 "
      "--counter resident_blocks=7.693";
  for (const char* known : {" --counter sm_cycles_active_avg=488208", " --time-us 248.352"})
    EXPECT_THAT(printed(launch + known),
                HasSubstr("74 points: blocks end about as fast as they can be given out"));
  EXPECT_THAT(printed(launch), testing::AllOf(HasSubstr("blocks are uneven, or so short"),
                                              HasSubstr("[uneven_blocks, inferred]"),
                                              HasSubstr("on the 132 SMs of NVIDIA H100")));
}

TEST(ExplainNumbers, WithoutResidentBlocksTheDispatcherIsNotBlamedForAll) {
  // Giving blocks out takes 59 % of the time, and equal blocks lose 9 points by it, as `predict` says: of what else is lost nothing tells.
  const std::string out = printed(
      "explain --gpu h200 --block-size 128 --grid 40000 --registers 32 --achieved 20 --counter "
      "sm_cycles_active_avg="
      "79000");
  EXPECT_THAT(
      out, testing::AllOf(testing::ContainsRegex("\n    (9|10) points: giving blocks out takes about 59 %"),
                          HasSubstr("uneven blocks may leave as many places empty"),
                          HasSubstr("sm__ctas_active.avg.per_cycle_active"), HasSubstr("[unexplained")));
}

TEST(ExplainNumbers, SmsThatWereIdleAreToldByActiveCyclesAndTheTime) {
  // Two whole waves of equal blocks: 0.4 of 2.21 million cycles, worked out by hand.
  const std::string idle =
      "explain --gpu h200 --block-size 1024 --grid 264 --registers 20 --achieved 99.6 "
      "--counter sm_cycles_active_avg=400000 --time-us 1118.112";
  for (const char* clock : {" --clock-mhz 1976.9", ""})
    EXPECT_THAT(printed(idle + clock),
                testing::AllOf(HasSubstr("over elapsed cycles occupancy is 18 %"),
                               HasSubstr("MHz SMs had blocks for 18 % of the time"),
                               HasSubstr("[idle_sms, inferred]"), HasSubstr("At most 0.916 of 1.12 ms")));
  // A clock that was not given may have been lower: no more than half of a time is said to be idle by it.
  const std::string busy =
      "explain --gpu h200 --block-size 1024 --grid 264 --registers 20 --achieved 99.6 "
      "--counter sm_cycles_active_avg=1300000 --time-us 1118.112";
  EXPECT_THAT(printed(busy), Not(HasSubstr("idle_sms")));
  EXPECT_THAT(printed(busy + " --clock-mhz 1976.9"), HasSubstr("idle_sms"));
  // Of equal blocks, as an H200 recorded them (placement, 1.50 waves): some 2 of the 104 us are no SM's.
  const std::string equal = printed(
      "explain --gpu h200 --block-size 512 --registers 20 --grid 792 --achieved 87.226 --counter "
      "resident_blocks=3.4926 "
      "--counter sm_cycles_active_avg=172611.36 --time-us 103.744 --clock-mhz 1972.58");
  EXPECT_THAT(equal, testing::AllOf(Not(HasSubstr("not equal")),
                                    HasSubstr("over elapsed cycles occupancy is 73.6 %")));
  // As it was recorded on an H200 (imbalance_between_blocks, lognormal_1, 16 waves): 65.9 % over elapsed cycles.
  EXPECT_THAT(printed("explain --gpu h200 --block-size 256 --grid 16896 --registers 20 --achieved 90.8882 "
                      "--counter sm_cycles_active_avg=880373.9 --time-us 616.736 --clock-mhz 1975.5"),
              HasSubstr("over elapsed cycles occupancy is 65.7 %"));
}

TEST(ExplainNumbers, ATailCostsNoMoreThanActiveCyclesAndTheTimeLeaveEmpty) {
  const std::string out = printed(
      "explain --gpu l40s --block-size 256 --grid 900 --registers 40 --achieved 90 --counter "
      "resident_blocks=5.5 "
      "--counter sm_cycles_active_avg=230900 --time-us 110 --clock-mhz 2100");
  EXPECT_THAT(out, testing::AllOf(HasSubstr("blocks are not equal: that would cost 47 points over elapsed "
                                            "cycles, of which 10 are missing"),
                                  Not(HasSubstr("0.0519"))));
}

TEST(ExplainNumbers, UnevenBlocksAreBoundedByTheTimeInWhichOtherSmsHaveNone) {
  // As `predict` has lognormal:80000:1.2:seed=7 on an H200: 34 % of the time an SM is active, mean, and 87.5 % of theory is reached then.
  const std::string launch =
      "explain --gpu h200 --block-size 256 --grid 2112 --registers 20 --achieved 87.5114 "
      "--counter resident_blocks=7.0019";
  const std::string cycles = " --counter sm_cycles_active_avg=1236203.5";
  const std::string timed = launch + cycles + " --time-us 1825.504";
  EXPECT_THAT(printed(timed), testing::AllOf(HasSubstr("At most 1.28 of 1.83 ms"),
                                             HasSubstr("At 1980 MHz SMs had blocks for 34 % of the time")));
  EXPECT_THAT(printed(timed + " --clock-mhz 1000"), HasSubstr("At 1000 MHz SMs had blocks for 68 % of"));
  EXPECT_THAT(refusal(launch + " --clock-mhz 1000"), HasSubstr("--clock-mhz requires --time-us"));
  for (const std::string& known : {std::string(), cycles, std::string(" --time-us 1825.504")})
    EXPECT_THAT(
        printed(launch + known),
        testing::AllOf(HasSubstr("Time saved by that alone: Not known: read occupancy over elapsed cycles"),
                       testing::Not(HasSubstr("MHz"))));
}

TEST(ExplainNumbers, ShortBlocksAreCalledUnevenWhereTheTimeIsFarLongerThanTheMeanSmIsActive) {
  // `predict` of lognormal:1600:1.6:seed=3 has these: 47 points uneven_blocks, 7 overhead; 237,600 cycles are 120 us.
  const std::string launch =
      "explain --gpu h100-sxm5-80gb --block-size 128 --grid 40000 --registers 32 --achieved 45.6 "
      "--counter resident_blocks=7.3 --counter sm_cycles_active_avg=74000";
  const std::string said = printed(launch + " --time-us 120");
  EXPECT_LT(said.find("[uneven_blocks, inferred]"), said.find("[overhead, inferred]")) << said;
  EXPECT_THAT(said, HasSubstr("44 points: an SM's places stay empty once no block waits: blocks are uneven"));
  // Where nothing tells them apart, that is said.
  EXPECT_THAT(printed(launch), testing::AllOf(HasSubstr("[overhead, inferred]"),
                                              HasSubstr("uneven blocks may leave as many places empty"),
                                              HasSubstr("If sm__cycles_active.max is far above the mean")));
  EXPECT_THAT(printed(launch), testing::Not(HasSubstr("pace of an H100")));
  EXPECT_THAT(
      printed("explain --gpu a100-sxm4-80gb --block-size 128 --grid 40000 --registers 32 --achieved 45.6 "
              "--counter resident_blocks=7.3 --counter sm_cycles_active_avg=54000"),
      HasSubstr("of the time at the pace of an H100"));
}

TEST(ExplainNumbers, AHigherTheoryMayTakeARoundOfBlocksLess) {
  // 661 blocks are 1.02 waves of 648, and less than one of 864.
  EXPECT_THAT(printed("explain --gpu a100-sxm4-80gb --block-size 256 --grid 661 --registers 40 --achieved 70 "
                      "--time-us 300"),
              HasSubstr("At most 0.15 of 0.3 ms per launch"));
  EXPECT_THAT(printed("calc --gpu 4090 --block-size 384 --registers 42 --static-smem 24K --grid 1000"),
              HasSubstr("100 % takes at most 33 % less"));
  EXPECT_THAT(printed("calc --gpu 4090 --block-size 384 --registers 42 --static-smem 24K --grid 300"),
              HasSubstr("none is saved with this grid, whose blocks are all resident at once"));
}

TEST_F(Explain, TellsOfAKernelItsShareOfTheProgramsTimeAndInALineTheTimeOfAllLaunches) {
  std::vector<std::string> kernel = {
      "explain", OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs/jax_gradient.csv", "--filter",
      "RedzoneAllocator.*8192, 1024"};
  EXPECT_THAT(printed(run_command(kernel)), HasSubstr("; 18.7 ms in 674 launches, 64.3 % of the time\n"));
  kernel.insert(kernel.end(), {"--format", "lines"});
  EXPECT_THAT(printed(run_command(kernel)),
              testing::ContainsRegex("time, us .*all launches, ms +GPU\n.* 18\\.7 +NVIDIA H100"));
}

TEST(ExplainNumbers, ALastWaveThatTheCounterHardlyShowsIsNamed) {
  EXPECT_THAT(
      printed("explain --gpu h200 --block-size 320 --registers 40 --grid 3712 --achieved 61.5 --time-us 380"),
      testing::AllOf(HasSubstr("the last of 7.03 waves leaves SMs without a block"),
                     HasSubstr("At most 0.0461 of 0.38 ms")));
}

TEST(ExplainNumbers, TakeNothingAsMeasuredThatUnevenBlocksAndTheLastWaveMayShare) {
  int rows = 0;
  int uneven_first = 0;
  for (const auto& [model, gpu] :
       {std::pair("nvidia-h200", "h200"), std::pair("nvidia-h100-80gb-hbm3", "h100-sxm5-80gb")}) {
    for (const Row& row : read_rows(fmt::format("{}/results/{}/full.csv", OCCBENCH_SOURCE_DIR, model))) {
      if (row.loss_between_blocks_points < 3 * std::max(1.0, row.loss_tail_points.value_or(0)) ||
          !row.achieved_pct || row.waves <= 1 || *row.waves == std::floor(*row.waves))
        continue;
      ++rows;
      const auto findings =
          nlohmann::json::parse(
              printed(fmt::format(
                  "explain --gpu {} --block-size {} --grid {} --registers {} --achieved {} --time-us {} "
                  "--counter resident_blocks={} --counter sm_cycles_active_avg={} --format json",
                  gpu, *row.block_threads, *row.grid_blocks, *row.registers_per_thread, *row.achieved_pct,
                  *row.time_us, *row.resident_blocks, *row.sm_cycles_active_avg)))
              .at("findings");
      const auto is_of_blocks = [](const auto& each) {
        return each.at("cause") == "tail" || each.at("cause") == "uneven_blocks";
      };
      const auto first = std::ranges::find_if(findings, is_of_blocks);
      ASSERT_NE(first, findings.end());
      uneven_first += first->at("cause") == "uneven_blocks" ? 1 : 0;
      for (const auto& each : findings)
        EXPECT_TRUE(!is_of_blocks(each) || each.at("confidence") == "inferred") << row.case_ << each;
    }
  }
  EXPECT_GT(rows, 10);
  EXPECT_GE(uneven_first, rows - 2);
}

TEST(ExplainNumbers, ListLimitsOfTheoryAndLossesBelowItUnderTheirHeadings) {
  const Outcome outcome =
      run_command("explain --gpu h200 --block-size 256 --grid 600 --registers 72 --achieved 31");
  const std::size_t limits = outcome.out.find("  Limits of theory: 100 to 37.5 %\n    62 points");
  const std::size_t losses = outcome.out.find("  Lost below theory: 37.5 to 31 %\n    2 points");
  EXPECT_LT(limits, losses);
  EXPECT_LT(outcome.out.find("[tail,"), outcome.out.find("4 points: no cause has evidence"))
      << "what no cause explains comes last, however much it is";
  EXPECT_NE(losses, std::string::npos);
  EXPECT_THAT(outcome.out, HasSubstr("\nachieved 31 %\n"));
}

/// The launch whose 40 registers only one of them named.
TEST(ExplainNumbers, GiveTheSameAdviceAboutTheoryAsCalc) {
  const std::string launch =
      " --gpu rtx-4090 --block-size 384 --registers 44 --dynamic-smem 20K --format json";
  const auto calc = nlohmann::json::parse(printed("calc --grid 1000" + launch));
  const auto findings =
      nlohmann::json::parse(printed("explain --grid 1000 --achieved 60" + launch)).at("findings");
  const auto& limit = findings.at(0);
  ASSERT_EQ(limit.at("cause"), "register_limit");
  EXPECT_EQ(limit.at("steps"), calc.at("steps"));
  EXPECT_EQ(calc.at("steps").at(0).at("axis"), "registers_per_thread");
  EXPECT_EQ(calc.at("steps").at(0).at("to"), 40);
  EXPECT_EQ(calc.at("steps").at(0).at("theoretical_pct"), 100);
  for (const auto& sentence : calc.at("what_to_do")) {
    const std::string text = sentence.get<std::string>();
    if (!text.starts_with("Time:") && !text.starts_with("Grid:")) {
      EXPECT_THAT(limit.at("remedy").get<std::string>(), HasSubstr(text));
    }
  }
  EXPECT_THAT(calc.at("what_to_do").dump(), HasSubstr("100 % takes at most 33 % less"));
  EXPECT_NEAR(limit.at("time_saved_at_most_pct"), 100 / 3.0, 0.001);
}

/// Recorded with 1.25 waves: 87.7 % over active cycles, 62.4 % over elapsed ones.
TEST(ExplainNumbers, TheLastWaveCostsTheCounterLessThanElapsedCycles) {
  const auto with = [](const std::string& command, const char* grid) {
    return nlohmann::json::parse(
        printed(command + " --gpu h200 --block-size 256 --registers 32 --format json --grid " + grid));
  };
  for (const auto& [grid, over_elapsed] : {std::pair("1162", "45 points"), std::pair("1320", "38 points")}) {
    const auto findings = with("explain", grid).at("findings");
    ASSERT_EQ(findings.size(), 1) << findings;
    EXPECT_EQ(findings.at(0).at("cause"), "tail");
    const double predicted = with("predict --work equal:200000", grid).at("loss_tail_points").get<double>();
    EXPECT_NEAR(findings.at(0).at("points").get<double>(), predicted, 1);
    EXPECT_THAT(findings.at(0).at("sentence").get<std::string>(), HasSubstr(over_elapsed));
  }
}

TEST(ExplainNumbers, WithoutAReadingSayThatTheLossIsPredictedOfTheGridAlone) {
  EXPECT_THAT(printed("explain --gpu h200 --block-size 384 --registers 40 --grid 600"),
              HasSubstr("Lost below theory, predicted of the grid alone: 75 to 68."));
  EXPECT_THAT(printed("explain --gpu l40s --block-size 256 --registers 40 --grid 1000"),
              testing::ContainsRegex("elapsed cycles and [0-9]+ to [0-9]+ .range. of the counter"));
}

TEST(ExplainNumbers, ALastWaveOfAGivenTimeCostsWhatPredictSays) {
  for (const char* time_us : {"100", "1000"}) {
    const std::string launch = fmt::format(
        " --gpu h100-sxm5-80gb --block-size 256 --registers 32 --grid 1500 --time-us {} --format json",
        time_us);
    const auto tail = nlohmann::json::parse(printed("explain" + launch)).at("findings").at(0);
    EXPECT_EQ(tail.at("cause"), "tail");
    const auto predicted = nlohmann::json::parse(printed("predict" + launch));
    EXPECT_NEAR(tail.at("points").get<double>(), predicted.at("loss_tail_points").get<double>(), 1)
        << time_us;
  }
}

/// Blocks that are equal, also where their length is inferred from the time. The second is number 8 of an H200's random launches.
TEST(ExplainNumbers, ALastWaveOfEqualBlocksIsToldWithTheIntervalThatPredictHasOfThem) {
  for (const auto& [launch, time_us, given] :
       {std::tuple("--block-size 256 --registers 128 --grid 400 --dynamic-smem 30K", "103", "equal:101970"),
        std::tuple("--block-size 256 --registers 20 --grid 1201", "267.296", "equal:261962")}) {
    const std::string asked = fmt::format(" --gpu h200 {} --format json", launch);
    for (const std::string& time : {std::string(), fmt::format(" --time-us {}", time_us)}) {
      std::string work = given;
      if (!time.empty()) work = nlohmann::json::parse(printed("predict" + asked + time)).at("work");
      EXPECT_NEAR(parse_work(work).cycles / parse_work(given).cycles, 1, 0.02);
      const auto predicted = nlohmann::json::parse(printed("predict --work " + work + asked));
      const double theory = predicted.at("theoretical_pct");
      const auto findings = nlohmann::json::parse(printed("explain" + asked + time)).at("findings");
      const auto tail =
          std::ranges::find(findings, "tail", [](const auto& each) { return each.at("cause"); });
      ASSERT_NE(tail, findings.end()) << time;
      const std::string sentence = tail->at("sentence");
      double least = 0;
      double most = 0;
      const std::size_t range = sentence.find("elapsed cycles and ");
      ASSERT_EQ(std::sscanf(sentence.c_str() + range, "elapsed cycles and %lf to %lf (90", &least, &most), 2)
          << sentence;
      EXPECT_NEAR(least, theory - predicted.at("predicted_high_pct").get<double>(), 2.5) << sentence;
      EXPECT_NEAR(most, theory - predicted.at("predicted_low_pct").get<double>(), 2.5) << sentence;
    }
  }
}

TEST(ExplainNumbers, SayBetweenWhatTheLossOfALastWaveOfEqualBlocksLiesAndNoMoreTimeThanItCosts) {
  const std::string launch = "--gpu h200 --block-size 256 --grid 1400 --registers 32 --format json";
  const auto predicted = nlohmann::json::parse(printed("predict --work equal:200000 " + launch));
  const auto range = [&](const char* column) {
    return fmt::format("{:.0f}", 100 - predicted.at(column).get<double>());
  };
  for (const char* achieved : {"64", "10"}) {
    const auto findings =
        nlohmann::json::parse(printed(fmt::format("explain {} --achieved {}", launch, achieved)))
            .at("findings");
    const auto tail = std::ranges::find(findings, "tail", [](const auto& each) { return each.at("cause"); });
    ASSERT_NE(tail, findings.end());
    EXPECT_THAT(tail->at("sentence").get<std::string>(),
                HasSubstr(fmt::format(
                    "costs 34 points over elapsed cycles and {} to {} (90 % interval) of the counter",
                    range("predicted_high_pct"), range("predicted_low_pct"))));
    EXPECT_NEAR(tail->at("time_saved_at_most_pct").get<double>(), 100 * (1 - 1400.0 / 2112), 0.1);
  }
  EXPECT_THAT(printed("explain --achieved 64 --gpu h200 --block-size 256 --grid 1400 --registers 32"),
              HasSubstr("13 points: no cause has evidence for them, but up to 9 may be the last wave's."));
}

TEST(ExplainNumbers, TimeSaysWhetherBlocksAreShortWhereTheGpusClockIsKnown) {
  const auto first_loss = [](const std::string& more) {
    const std::string launch = "--block-size 512 --grid 2218 --registers 32 --achieved 60 --format json ";
    return nlohmann::json::parse(printed("explain " + launch + more)).at("findings").at(0).at("cause");
  };
  // 4.2 waves in 2 us: 940 cycles a block.
  EXPECT_EQ(first_loss("--gpu h200 --time-us 2"), "overhead");
  EXPECT_EQ(first_loss("--gpu h200 --time-us 410"), "unexplained");
  EXPECT_EQ(first_loss("--gpu h200"), "unexplained");
  EXPECT_EQ(first_loss("--cc 9.0 --sm-count 132 --time-us 3"), "unexplained");
}

TEST_F(Explain, ListsKernelsOfAProgramByTheTimeThatAdviceCanSave) {
  const Outcome outcome =
      run_command({"explain", OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs/inference.csv",
                   "--format", "json"});
  double before_us = 1e300;
  for (const auto& row : nlohmann::json::parse(outcome.out)) {
    double saved_pct = 0;
    for (const auto& finding : row.at("findings"))
      saved_pct = std::max(saved_pct, finding.value("time_saved_at_most_pct", 0.0));
    const double saved_us = saved_pct / 100 * row.at("total_time_us").get<double>();
    EXPECT_LE(saved_us, before_us + 0.01) << row.at("case");
    before_us = saved_us;
  }
  EXPECT_LT(before_us, 1e300);
  EXPECT_THAT(outcome.err, HasSubstr("those first that can save most time"));
}

TEST_F(Explain, PredictsNoLinesAsTheyWereRecorded) {
  const Outcome outcome = run_command({"explain", file_.c_str(), "--format", "lines", "--profile", "h200"});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("--format lines prints rows as they were recorded"));
}

TEST_F(Explain, TakesPlacesThatWaitForBlocksToBeGivenOutForNoUnevenBlocks) {
  // A store a thread: blocks are equal and end faster than they can be given out.
  const auto rows = nlohmann::json::parse(
      printed({"explain", OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs/sample.csv",
               "--filter", "^trace/fill", "--format", "json"}));
  for (const auto& finding : rows.at(0).at("findings")) EXPECT_NE(finding.at("cause"), "uneven_blocks");
  EXPECT_EQ(rows.at(0).at("findings").at(0).at("cause"), "overhead");
  EXPECT_GT(rows.at(0).at("findings").at(0).at("points"), 70);
}

TEST_F(Explain, EndsOfAProgramWithItsLaunchesTimeAndMeanAchievedOccupancy) {
  Row one = measured("one", 1056, 80);
  one.total_time_us = 3000;
  one.launches = 10;
  Row other = measured("other", 1056, 40);
  other.total_time_us = 1000;
  other.launches = 5;
  Row uncounted = measured("uncounted", 1056, 0);
  uncounted.achieved_pct.reset();
  uncounted.total_time_us = 1000;
  uncounted.launches = 1;
  uncounted.note = "not counted: launched once; sm_clock_mhz is the median of kernels that were counted";
  const std::string file = (folder_ / "program.csv").string();
  std::ofstream(file) << csv_header() << csv_record(one) << csv_record(other) << csv_record(uncounted);
  EXPECT_THAT(printed({"explain", file.c_str(), "--top", "1"}),
              testing::EndsWith(
                  "\nTogether 3 kernels and configurations, 16 launches, 5.000 ms, 80.0 % of it "
                  "with a counter, mean achieved 70.0 %; not counted 1: launched once. The column kernel has "
                  "whole names.\n"));
  EXPECT_THAT(printed({"explain", file_.c_str()}), testing::Not(HasSubstr("Together")));
}

TEST_F(Explain, FindsAndTellsApartKernelsOfOneShortNameByTheirWholeNames) {
  const std::string file = (folder_ / "program.csv").string();
  std::ofstream rows(file);
  rows << csv_header();
  for (const std::string functor : {"Flux", "Source"}) {
    Row row = measured("for_each<...><<<1056, 256>>>", 1056, functor == "Flux" ? 80 : 70);
    row.experiment = "trace";
    row.kernel = "void for_each<" + functor + ">()";
    row.launches = 1;
    row.total_time_us = 10;
    rows << csv_record(row);
  }
  Row suite = measured("hold", 1056, 90);
  suite.kernel = "Flux";  // a family, which filters do not look at
  rows << csv_record(suite);
  rows.close();
  const auto lines = [&](const std::string& filter) {
    return printed(run_command({"explain", file, "--format", "lines", "--filter", filter}));
  };
  const std::string both = lines("trace");
  const std::size_t first = both.find(">>> #");
  ASSERT_NE(first, std::string::npos);
  const std::size_t second = both.find(">>> #", first + 1);
  ASSERT_NE(second, std::string::npos);
  EXPECT_NE(both.substr(first, 13), both.substr(second, 13));
  const std::string flux = lines("Flux");
  EXPECT_THAT(flux, testing::AllOf(HasSubstr(" 80.0 "), Not(HasSubstr(" 70.0 ")), Not(HasSubstr("hold"))));
  EXPECT_EQ(lines("<Flux>.*$"), flux);
  EXPECT_EQ(lines("-Source|hold"), flux);
  EXPECT_EQ(lines("^trace/for_each"), both);
}

TEST_F(Explain, SaysWhichSavingsOfACaseAreNotToBeAdded) {
  // Few blocks, and SMs without one: of 2.41 ms at most 2.1 and 1.26.
  const Outcome outcome =
      run_command({"explain", OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs/training.csv",
                   "--filter", "bn_bw_1C11_kernel_new<.*<<<64, 512>>>", "--top", "1"});
  EXPECT_THAT(outcome.out,
              testing::AllOf(HasSubstr("Time saved by that alone: At most 0.2"),
                             HasSubstr("Time saved by that alone, not to be added: At most 0.1")));
}

/// A recorded row and its numbers give the same words; the clock is told in Hz by ncu, in MHz by a column.
TEST(ExplainNumbers, CountersBesideOccupancyCountAsThoseOfARow) {
  const std::string launch =
      "explain --gpu h200 --block-size 256 --grid 1056 --registers 40 --achieved 74 --time-us 90";
  EXPECT_THAT(printed(launch), Not(HasSubstr("dram_busy_pct")));
  const std::string metric = "dram__throughput.avg.pct_of_peak_sustained_elapsed=93";
  for (const std::string& busy : {std::string("dram_busy_pct=93"), metric,
                                  std::string("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed=93")})
    EXPECT_THAT(printed(launch + " --counter issue_active_pct=20," + busy),
                HasSubstr("At most 0.0063 of 0.09 ms per launch, since dram_busy_pct is 93 %"));
  // Sections of ncu tell it as a rate.
  const std::string issue = launch + " --format json --counter smsp__issue_active.avg.per_cycle_active=";
  EXPECT_EQ(nlohmann::json::parse(printed(issue + "0.2")).at("issue_active_pct"), 20);
  EXPECT_THAT(refusal(issue + "20"), HasSubstr("from 0 to 1"));
  const auto row = nlohmann::json::parse(
      printed(launch + " --counter sm__cycles_elapsed.avg.per_second=1.755e9 --format json"));
  EXPECT_EQ(row.at("sm_clock_mhz"), 1755);
  for (const char* elapsed :
       {"achieved_elapsed_pct=60", "sm_cycles_active_avg=90000,sm_cycles_active_max=111000"})
    EXPECT_THAT(printed(launch + " --counter " + elapsed),
                HasSubstr("over elapsed cycles occupancy is 60 %"));
  EXPECT_THAT(refusal(launch + " --counter achieved_pct=60"), HasSubstr("beside --achieved"));
  // A column that is the sum of two counters takes each of them by itself, too.
  const std::string stalled = " --format json --counter smsp__warps_issue_stalled_";
  const auto stalls =
      nlohmann::json::parse(printed(launch + stalled +
                                    "long_scoreboard.avg.per_cycle_active=3,smsp__warps_issue_stalled_"
                                    "lg_throttle.avg.per_cycle_active=0.5"));
  EXPECT_EQ(stalls.at("memory_stall_warps"), 3.5);
  EXPECT_THAT(refusal(launch + stalled + "long_scoreboard.avg.per_cycle_active=3"),
              HasSubstr("memory_stall_warps is a sum; give smsp__warps_issue_stalled_lg_throttle."));
  for (const char* again :
       {"smsp__warps_issue_stalled_long_scoreboard.avg.per_cycle_active=3", "memory_stall_warps=3"})
    EXPECT_THAT(refusal(launch + stalled + "long_scoreboard.avg.per_cycle_active=3," + again),
                HasSubstr("gives memory_stall_warps twice"));
  EXPECT_THAT(refusal(launch + " --counter smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active"
                               ".ratio=3"),
              HasSubstr("issue_active_pct / 100"));
}

TEST(ExplainNumbers, APipeThatIsIdleSaysNothingOfTheOthers) {
  const std::string launch =
      "explain --gpu h200 --block-size 256 --grid 528 --registers 200 --achieved 12.5 --time-us 412 "
      "--counter "
      "issue_active_pct=12.7,dram_busy_pct=0";
  EXPECT_THAT(printed(launch), HasSubstr("; not if L1 or L2 or a pipe is saturated, which was not read"));
  for (const char* idle : {",fma_use_pct=0.19", ",xu_use_pct=3", ",fma_use_pct=0.19,xu_use_pct=3"})
    EXPECT_THAT(printed(launch + idle),
                HasSubstr("; not if L1 or L2 or another pipe is saturated, which was not read"));
}

TEST(ExplainNumbers, TensorCoresThatAreBusyNeedNoMoreWarps) {
  // A matrix product: one block of 384 threads on an SM.
  const std::string launch =
      "explain --gpu h200 --block-size 384 --grid 1320 --registers 168 --dynamic-smem 200K --achieved 18.4 "
      "--time-us 412 --counter issue_active_pct=24,dram_busy_pct=31,";
  for (const char* name : {"tensor_use_pct", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
                           "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active"}) {
    const auto said = [&](const char* use) { return printed(launch + name + "=" + use); };
    EXPECT_THAT(said("91"), HasSubstr("More warps can save 9 % of the time at most: tensor_use_pct is 91 %"));
    EXPECT_THAT(said("99.5"), HasSubstr("Low occupancy does no harm: tensor_use_pct is 100 %"));
    EXPECT_THAT(said("30"), Not(HasSubstr("tensor_use_pct is")));
  }
  EXPECT_THAT(printed(launch + "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active=91,"
                               "sm__inst_executed_pipe_tensor_op_imma.avg.pct_of_peak_sustained_active=3"),
              HasSubstr("tensor_use_pct is 91 %"));
  EXPECT_THAT(refusal(launch + "tensor_use_pct=91,tensor_use_pct=3"),
              HasSubstr("gives tensor_use_pct twice"));
  for (const char* other : {"sm__pipe_shared_cycles_active", "sm__inst_executed_pipe_fmaheavy"})
    EXPECT_THAT(refusal(launch + other + ".avg.pct_of_peak_sustained_active=3"),
                HasSubstr("is none that explain uses"));
}

TEST(ExplainNumbers, WhatWasReadIsNotSaidToBeUnread) {
  const std::string launch =
      "explain --gpu h200 --block-size 256 --grid 528 --registers 200 --static-smem 8K --achieved 12.5 "
      "--time-us 412 "
      "--counter issue_active_pct=12.7,dram_busy_pct=9,memory_stall_warps=1.9";
  EXPECT_THAT(printed(launch), AllOf(HasSubstr("not if L1 or L2 or shared memory or a pipe is saturated"),
                                     HasSubstr("unless L1 or L2 is busy, which was not read")));
  EXPECT_THAT(printed(launch + ",l2_use_pct=11,l1_use_pct=12,fma_use_pct=3,alu_use_pct=3,fp64_use_pct=3,"
                               "xu_use_pct=3,tensor_use_pct=3"),
              Not(HasSubstr("not read")));
  EXPECT_THAT(printed(launch + ",lts__throughput.avg.pct_of_peak_sustained_elapsed=84"),
              AllOf(HasSubstr("l2_use_pct is 84 %"), Not(HasSubstr("loads in flight"))));
}

TEST(ExplainNumbers, WarpsThatWaitForAFullL1HaveLoadsEnough) {
  // As l1_reuse over 96 KB.
  const std::string launch =
      "explain --gpu h200 --block-size 256 --grid 10560 --registers 32 --achieved 70 --time-us 412 --counter "
      "issue_active_pct=12,dram_busy_pct=0,l2_use_pct=1,memory_stall_warps=9.4,eligible_warps=0.1,l1_use_"
      "pct=";
  EXPECT_THAT(printed(launch + "98.7"),
              AllOf(HasSubstr("warps contend for L1 or shared memory"),
                    HasSubstr("Keep in registers what is read again"), Not(HasSubstr("loads in flight"))));
  EXPECT_THAT(printed(launch + "40"), AllOf(HasSubstr("84 % of the active warps wait for memory"),
                                            HasSubstr("Have more loads in flight, or spread")));
}

TEST(ExplainNumbers, TheFullestUnitIsNamedWhereMemoryIsHalfBusy) {
  const std::string launch =
      "explain --gpu h200 --block-size 256 --registers 64 --grid 13200 --time-us 1000 --achieved 45 "
      "--counter resident_blocks=4,";
  EXPECT_THAT(printed(launch + "tensor_use_pct=99,dram_busy_pct=52"),
              AllOf(HasSubstr("contend for the tensor pipe"), HasSubstr("Less work for this pipe helps"),
                    Not(HasSubstr("Move fewer bytes"))));
  EXPECT_THAT(printed(launch + "l1_use_pct=99,l2_use_pct=50"),
              AllOf(HasSubstr("contend for L1 or shared memory"), Not(HasSubstr("from shared memory"))));
  EXPECT_THAT(printed(launch + "tensor_use_pct=60,dram_busy_pct=52"), HasSubstr("Move fewer bytes"));
}

TEST(ExplainNumbers, AGridThatLeavesMoreSmsThanClustersDoIsWhy) {
  const std::string launch =
      "explain --gpu h200 --block-size 384 --registers 168 --dynamic-smem 160K --cluster 4 --achieved 14.2 "
      "--counter achieved_elapsed_pct=3.4 --grid ";
  EXPECT_THAT(printed(launch + "32"), HasSubstr("100 of 132 SMs get no block"));
  EXPECT_THAT(printed(launch + "124"), HasSubstr("8 of 132 SMs lie in GPCs of fewer SMs than a cluster has"));
}

TEST(ExplainNumbers, BoundsOfMoreWarpsAreOverElapsedCycles) {
  EXPECT_THAT(printed("explain --gpu h200 --block-size 384 --grid 1320 --registers 168 --dynamic-smem 200K "
                      "--achieved 18.4 --counter tensor_use_pct=95,sm_cycles_active_avg=96000,"
                      "sm_cycles_active_max=100000"),
              HasSubstr("More warps can save 9 % of the time at most: tensor_use_pct is 91 % over elapsed"));
}

TEST(ExplainNumbers, APipeIsNotBusierThanWhatIsIssuedAllows) {
  const std::string launch =
      "explain --gpu h200 --block-size 256 --registers 64 --grid 13200 --achieved 45 --counter ";
  EXPECT_THAT(printed(launch + "fma_use_pct=95,issue_active_pct=30"), HasSubstr("belong to another launch"));
  EXPECT_THAT(printed(launch + "fma_use_pct=95,issue_active_pct=50"),
              Not(HasSubstr("belong to another launch")));
  EXPECT_THAT(printed(launch + "xu_use_pct=95,issue_active_pct=13"),
              Not(HasSubstr("belong to another launch")));
}

TEST(ExplainNumbers, NothingSavesWhatATimeHasBesideCycles) {
  // A record of a launch is 0.75 us longer than its warps are active.
  EXPECT_THAT(
      printed("explain --gpu h200 --block-size 256 --registers 16 --grid 4 --achieved 12.4 --time-us 1.5"),
      HasSubstr("At most 0.000750 of 0.0015 ms per launch"));
}

TEST(ExplainNumbers, BytesOfDeviceMemoryAndTheTimeCountAsItsUse) {
  const auto findings = [](const std::string& counter) {
    auto of =
        nlohmann::json::parse(
            printed(
                "explain --gpu a100-sxm4-80gb --block-size 192 --grid 3000 --registers 56 --achieved 41.3 "
                "--time-us 812 --clock-mhz 1095 --format json --counter " +
                counter))
            .at("findings");
    for (auto& each : of) each.erase("evidence");
    return of;
  };
  // Of 2,039 GB/s.
  const auto by_bytes = findings("dram__bytes.sum=1200000000");
  EXPECT_EQ(by_bytes, findings("dram_busy_pct=72.48"));
  EXPECT_THAT(by_bytes.dump(), HasSubstr("memory_contention"));
  EXPECT_THAT(by_bytes.dump(), Not(HasSubstr("device memory is saturated, which was not read")));
}

TEST(ExplainNumbers, AClockIsThatOfTheTimeHoweverItIsGiven) {
  const std::string launch =
      "explain --gpu h100-sxm5-80gb --block-size 256 --registers 32 --grid 10560 --achieved 60 --time-us "
      "100 ";
  for (const char* clock : {"--clock-mhz 1000 --counter ", "--counter sm_clock_mhz=1000,",
                            "--counter sm__cycles_elapsed.avg.per_second=1e9,"})
    EXPECT_THAT(
        printed(launch + clock + "sm_cycles_active_avg=150000"),
        HasSubstr("room for 100,000 cycles at the clock that was given, so 150,000 active cycles belong"));
  for (const char* value : {"2.2", "1.7e9", "2800"})
    for (const char* option : {"--clock-mhz ", "--counter sm_clock_mhz="})
      EXPECT_THAT(refusal(launch + option + value),
                  AllOf(HasSubstr(fmt::format(" = {}: ", std::stod(value))),
                        HasSubstr("clocks of this GPU are 100 to 2772 MHz; give MHz")));
  EXPECT_THAT(
      refusal("explain --cc 9.0 --sm-count 132 --block-size 256 --registers 32 --grid 1056 --time-us 9 "
              "--clock-mhz 2.2"),
      HasSubstr("--clock-mhz = 2.2: clocks of GPUs are 100 to "));
  EXPECT_THAT(refusal(launch + "--clock-mhz 1000 --counter sm_clock_mhz=1000"), HasSubstr("are one clock"));
}

TEST(ExplainNumbers, BlockSlotsThatWereSeenOnAnotherGpuAreToldAsAssumed) {
  const std::string launch =
      " --gpu b200 --block-size 128 --registers 32 --cluster 2 --grid 30000 --format json";
  const char* const seen = "as found on compute capability 9.0 alone";
  const auto told = [&](const std::string& command, const char* column) {
    const auto row = nlohmann::json::parse(printed(command + launch));
    return row.at(column).is_null() ? "" : row.at(column).get<std::string>();
  };
  EXPECT_THAT(told("calc", "assumed"), HasSubstr(seen));
  EXPECT_THAT(told("predict --work equal:20000", "note"), HasSubstr(seen));
  EXPECT_THAT(told("explain --achieved 45", "note"), HasSubstr(seen));
  EXPECT_EQ(told("calc --dynamic-smem 60K", "assumed"), "") << "shared memory limits";
  const auto above = nlohmann::json::parse(printed("explain --achieved 95" + launch));
  EXPECT_EQ(above.at("theoretical_pct"), 100);
  EXPECT_THAT(above.at("note").get<std::string>(), HasSubstr("more blocks of clusters were read"));
}

TEST(ExplainNumbers, AsJsonHaveTheColumnsThatAreKnownAndFindings) {
  const Outcome outcome = run_command(
      "explain --cc 9.0 --sm-count 132 --block-size 256 --grid 792 --registers 32 --achieved 75 "
      "--counter resident_blocks=6 --format json");
  const auto row = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(row.at("findings").at(0).at("cause"), "small_grid");
  EXPECT_FALSE(row.contains("time_us"));
}

TEST(ExplainNumbers, RefuseWhatIsMissingOrCannotBeWithTheOptionTheValueAndTheRange) {
  const auto refused = [](const std::string& more) {
    return refusal("explain --cc 9.0 --sm-count 132 --block-size 256 --grid 792 --registers 32 " + more);
  };
  EXPECT_THAT(refused("--achieved 101"), HasSubstr("--achieved = '101' is not a number from 0 to 100"));
  EXPECT_THAT(refused("--counter resident_blocks=33"), HasSubstr("more than the 32 blocks"));
  EXPECT_THAT(refused("--counter resident_blocks"),
              HasSubstr("--counter resident_blocks = '' is not a number"));
  EXPECT_THAT(refused("--counter sm_cycles_active_avg=0"),
              HasSubstr("no block of such a launch can have run"));
  EXPECT_THAT(refused("--counter issue=4"),
              HasSubstr("'issue' is none that explain uses beside --achieved: achieved_elapsed_pct, "));
  EXPECT_THAT(refused("--achieved 50%"), HasSubstr("'50%' is not a number from 0 to 100: leave out %"));
  EXPECT_THAT(refused("--counter issue_active_pct=101"),
              HasSubstr("issue_active_pct = '101' is not a number from 0 to 100"));
  EXPECT_THAT(refused("--counter sm_cycles_active_avg=702,000"),
              HasSubstr("'000' has no NAME=: commas separate counters, so write 702000 for 702,000"));
  EXPECT_THAT(refused("--time-us 0"), HasSubstr("--time-us = '0' is not a number from"));
  EXPECT_THAT(refused("--dynamic-smem 300K"), HasSubstr("cannot be launched"));
  EXPECT_THAT(refused("--format csv"), HasSubstr("--format csv is for rows"));
  EXPECT_THAT(refusal("explain --cc 9.0 --block-size 256"),
              AllOf(HasSubstr("--sm-count: give the number of SMs"), HasSubstr("; --grid: give the blocks"),
                    HasSubstr("; --registers: give")));
  EXPECT_THAT(refusal("explain --gpu h200 --block-size 256 --registers 32 --achieved 31"),
              HasSubstr("--grid: give the blocks in the grid"));
}

TEST_F(Explain, PredictsWithTheProfileThatItIsGiven) {
  const Outcome outcome = run_command(
      {"explain", file_.c_str(), "--filter", "tail", "--format", "csv", "--profile", kRecordedProfile});
  const std::vector<Row> rows = parse_rows(outcome.out, "out");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].device_profile, "h200_recorded (calibrated_model)");
  EXPECT_THAT(refusal({"explain", file_.c_str(), "--profile", "no_such_gpu"}),
              HasSubstr("no device profile 'no_such_gpu'"));
}

TEST_F(Explain, RefusesARowWhoseValueNoColumnOfThatNameCanHave) {
  Row row = measured("wrong", 1056, 90);
  row.sm_count = -5;
  std::ofstream(file_) << csv_header() << csv_record(row);
  EXPECT_THAT(refusal({"explain", file_.c_str()}),
              testing::AllOf(HasSubstr("rows.csv, line 2: sm_count = -5"), HasSubstr("1 to 1024")));
}

TEST_F(Explain, SaysThatTheLimitsOfARowsGpuAreNotKnownAndKeepsWhatTheGpuItselfSaid) {
  Row row = measured("newer", 1056, 90);
  row.compute_capability = "99.0";
  std::ofstream(file_) << csv_header() << csv_record(row);
  EXPECT_THAT(printed({"explain", file_.c_str()}),
              HasSubstr("no explanation: compute capability 99.0 is not in the table of limits; a "
                        "newer occbench may have it"));
  row.explanation = "10 points: an SM is idle.";
  std::ofstream(file_) << csv_header() << csv_record(row);
  EXPECT_THAT(run_command({"explain", file_.c_str()}).out, HasSubstr(row.explanation));
  EXPECT_THAT(run_command({"explain", file_.c_str(), "--format", "csv"}).out, HasSubstr(row.explanation));
}

TEST_F(Explain, RefusesALaunchThatNoLimitsAllowWithItsFileLineAndCase) {
  const std::pair<Integer Row::*, std::pair<std::int64_t, const char*>> refused[] = {
      {&Row::carveout_pct, {900, "carveout_pct = 900 is out of range"}},
      {&Row::cluster_blocks, {1'000'000'000, "cluster_blocks = 1000000000 is out of range"}},
      {&Row::block_threads, {2048, "block_threads = 2048 is out of range"}},
      {&Row::registers_per_thread, {300, "registers_per_thread = 300 is out of range"}}};
  for (const auto& [column, what] : refused) {
    for (const char* work : {"", "equal:200000"}) {
      Row row = measured("wrong", 1056, 90);
      row.work = work;
      row.*column = what.first;
      std::ofstream(file_) << csv_header() << csv_record(measured("right", 1056, 90)) << csv_record(row);
      EXPECT_THAT(refusal({"explain", file_.c_str()}),
                  HasSubstr(fmt::format("rows.csv, line 3: waves/wrong: {}", what.second)));
    }
  }
}

TEST_F(Explain, FindsTheRowsOfTheProjectWhereverTheProgramLiesAndIsStarted) {
  const std::filesystem::path copy = folder_ / "copied_occbench";
  std::filesystem::copy_file(
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../bin/occbench", copy);
  const std::string explain =
      fmt::format("cd / && '{}' explain --filter waves=0.75 --top 1 2>/dev/null", copy.string());
  FILE* output = popen(explain.c_str(), "r");
  std::string text(100, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), output));
  EXPECT_EQ(pclose(output), 0);
  EXPECT_THAT(text, testing::StartsWith("waves/spin/plain/waves=0.75\n"));
}

TEST_F(Explain, SaysThatRowsAreThoseOfTheProjectWhereNoFileIsNamed) {
  const Outcome outcome = run_command("explain --filter waves=0.75 --top 1");
  EXPECT_EQ(outcome.status, ExitStatus::done);
  EXPECT_THAT(outcome.err, testing::ContainsRegex("^no FILE is named: these rows are those of the project, "
                                                  ".*full.csv, of NVIDIA H200\n"));
  EXPECT_THAT(run_command({"explain", file_.c_str()}).err, Not(HasSubstr("no FILE")));
}

TEST_F(Explain, SaysThatATornLastLineIsLeftOut) {
  std::ofstream(file_, std::ios::app) << "3,2026-03-01T12:00:00Z,012";
  const Outcome outcome = run_command({"explain", file_.c_str(), "--top", "1"});
  EXPECT_EQ(outcome.status, ExitStatus::done);
  EXPECT_THAT(outcome.err, testing::StartsWith(file_ + ": the last line has no end and is left out"));
  std::ofstream(file_) << csv_header() << "3,2026";
  for (const char* command : {"explain", "report"})
    EXPECT_THAT(refusal({command, file_.c_str()}), HasSubstr("rows.csv: the last line has no end"))
        << command;
}

TEST_F(Explain, RefusesNumbersOfALaunchBesideAFileAndWithoutAGpu) {
  for (const char* option : {"--achieved", "--registers", "--grid", "--sm-count"}) {
    EXPECT_THAT(refusal({"explain", file_.c_str(), option, "50"}),
                HasSubstr(option +
                          std::string(" describes a launch by numbers, and a FILE has launches of its own")));
    EXPECT_THAT(refusal({"explain", option, "50"}), HasSubstr(option + std::string(": add --gpu or --cc")));
  }
  EXPECT_THAT(refusal({"explain", file_.c_str(), "--cc", "9.0"}),
              HasSubstr("--cc describes a launch by numbers"));
}

TEST_F(Explain, RefusesAFileThatHasNoRows) {
  const std::string per_sm = (folder_ / "waves.per_sm.csv").string();
  std::ofstream(per_sm) << "experiment,case,launch,sm,blocks,achieved_pct\nwaves,a,0,0,4,50\n";
  EXPECT_THAT(refusal({"explain", per_sm.c_str()}), HasSubstr("no row has both theory"));
  std::ofstream(per_sm) << "axis,value\n";
  EXPECT_THAT(refusal({"explain", per_sm.c_str()}), HasSubstr("this is not a file of rows"));
}

TEST_F(Explain, RefusesWhatMatchesNothing) {
  EXPECT_THAT(refusal({"explain", file_.c_str(), "--filter", "nothing"}), HasSubstr("'nothing'"));
  std::ofstream(file_) << csv_header();
  EXPECT_THAT(
      refusal({"explain", file_.c_str()}),
      testing::AllOf(
          HasSubstr(
              "no row has both theory (theoretical_pct) and a counter's value (achieved_pct); a launch"),
          testing::Not(HasSubstr("--filter"))));
}

TEST_F(Explain, SaysHowManyRowsItLeavesOutAndWhereTheyTellWhy) {
  Row uncounted = measured("uncounted", 1056, 0);
  uncounted.achieved_pct.reset();
  std::ofstream(file_, std::ios::app) << csv_record(uncounted);
  const char* const said = "Left out: 1 row without theory, or neither counted nor of inferred work";
  for (const char* const format : {"table", "lines"}) {
    const auto all = run_command({"explain", file_.c_str(), "--top", "0", "--format", format});
    EXPECT_THAT(all.err, testing::AllOf(HasSubstr("3 of 3 rows"), HasSubstr(said))) << format;
  }
  EXPECT_THAT(run_command({"explain", file_.c_str(), "--filter", "full"}).err, Not(HasSubstr("Left out")));
}

TEST_F(Explain, SaysHowManyLaunchesOfAProgramHaveNeitherCounterNorTime) {
  Row uncounted = measured("uncounted", 1056, 0);
  uncounted.achieved_pct.reset();
  uncounted.total_time_us = 0;
  uncounted.launches = 43;
  uncounted.note = "not counted: launched once";
  std::ofstream(file_) << csv_header() << csv_record(uncounted);
  EXPECT_THAT(refusal({"explain", file_.c_str()}),
              testing::AllOf(
                  HasSubstr("no row has a counter's value; `occbench trace --counters 3` reads one of each"),
                  HasSubstr("0.000 ms without 43 launches that have no time, "),
                  HasSubstr("; not counted 1: launched once.")));
}

}  // namespace
}  // namespace occbench
