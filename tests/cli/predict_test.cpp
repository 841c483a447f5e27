#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "files/input.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/statuses.hpp"
#include "predict/profile_choice.hpp"
#include "record/case_record.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"
#include "simulate/work.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// `occbench predict` of a grid on the built-in H200, with further arguments.
Outcome predict(std::string_view grid, std::string_view more) {
  return run_command(
      fmt::format("predict --profile h200 --block-size 256 --registers 20 --grid {} {}", grid, more));
}

class PredictFromFile : public testing::Test {
 protected:
  std::string file(std::string_view text) {
    const std::filesystem::path path = folder_ / "cycles.txt";
    std::ofstream(path) << text;
    return path.string();
  }

  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
};

TEST(Predict, AnAdvisedLaunchReadsAndTakesWhatTheAdviceSays) {
  struct Question {
    const char* kernel;
    int block_threads;
    int grid;
    const char* work;
    const char* advised;  ///< in the sentence
  };
  const Question questions[] = {
      {"--gpu rtx-4090 --registers 64 --dynamic-smem 12000", 192, 1409, "equal:100000",
       "1,024 blocks of 256 threads and 12000 B of shared memory would"},
      {"--gpu t4 --registers 64 --dynamic-smem 45000", 768, 13, "equal:500000",
       "40 blocks of 1024 threads and 45000 B of shared memory would"},
      {"--gpu a100-sxm4-40gb --registers 40 --static-smem 20000 --dynamic-smem 1000", 192, 864,
       "equal:116705", "threads and 21000 B of shared memory would"},
      {"--gpu h200 --registers 32 --dynamic-smem 9000", 256, 1900, "every:90000:11:5",
       "of 256 threads would"},
  };
  for (const auto& [kernel, block_threads, grid, work, advised] : questions) {
    const auto predicted = [&](const std::string& block, const std::string& blocks, const std::string& of) {
      return nlohmann::json::parse(printed(fmt::format(
          "predict {} --block-size {} --grid {} --work {} --format json", kernel, block, blocks, of)));
    };
    const auto asked = predicted(std::to_string(block_threads), std::to_string(grid), work);
    const auto& advice = asked.at("advice");
    EXPECT_THAT(advice["sentence"].get<std::string>(), HasSubstr(advised));
    const auto taken =
        predicted(advice["block_threads"].dump(), advice["grid_blocks"].dump(), advice["work"]);
    for (const char* value : {"predicted_pct", "predicted_low_pct", "predicted_high_pct"})
      EXPECT_NEAR(taken[value].get<double>(), advice[value].get<double>(), 0.01) << advice << value;
    const auto cycles = [](const nlohmann::json& of) {
      return of["predicted_cycles_active_max"].get<double>();
    };
    EXPECT_NEAR(advice["time_saved_pct"].get<double>(), 100 * (1 - cycles(taken) / cycles(asked)), 0.01)
        << advice;
  }
}

TEST(Predict, ReadsNoMoreThanTheLaunchCanReach) {
  EXPECT_THAT(printed("predict --gpu h200 --block-size 256 --registers 32 --grid 1 --work equal:30000"),
              AllOf(HasSubstr("12.5 % at most"), HasSubstr("12.50 % (90 %: 12.4 to 12.5)")));
  const std::string full = "predict --gpu t4 --block-size 1000 --registers 64 --grid 1000 --work equal:30000";
  EXPECT_THAT(printed(full), HasSubstr("(range: 99.5 to 100.0;"));
  EXPECT_LE(nlohmann::json::parse(printed(full + " --format json"))["predicted_pct"].get<double>(), 100);
}

TEST(Predict, RoundsANumberInOneWay) {
  EXPECT_THAT(printed("predict --gpu a100-sxm4-40gb --block-size 192 --registers 40 --static-smem 20000 "
                      "--grid 864 --work equal:116705"),
              AllOf(ContainsRegex("theoretical +65.62 %"), HasSubstr("theory is 65.62 %")));
}

TEST(Predict, AdvisesNothingWhereTheRangesLeaveItOpenWhatSavesTime) {
  // Overheads of a GPU that nobody measured are many times these blocks.
  EXPECT_THAT(printed("predict --gpu rtx-4090 --block-size 256 --registers 32 --grid 768 --work equal:10"),
              AllOf(HasSubstr("range: 0 to 100;"), Not(HasSubstr("less time"))));
  const std::string limited = "predict --gpu rtx-4090 --block-size 192 --registers 64 --grid 1409 --work ";
  EXPECT_THAT(printed(limited + "equal:10"),
              AllOf(HasSubstr("56 registers per thread instead of 64"), Not(HasSubstr("less time"))));
  EXPECT_THAT(printed(limited + "equal:100000"),
              ContainsRegex("would take 31 % less time .range: 30 to 32 %. for the same work"));
  EXPECT_THAT(printed("predict --gpu h200 --block-size 192 --registers 64 --grid 1409 --work equal:100000"),
              AllOf(HasSubstr("less time for the same work"), Not(HasSubstr("range"))));
}

TEST(Predict, SpreadsAFewBlocksOverTheSms) {
  const std::string one = "predict --gpu a100-sxm4-40gb --block-size 256 --registers 40 --grid 1 --work ";
  EXPECT_THAT(printed(one + "equal:30000"), HasSubstr("108 blocks of 256 threads would take 98 % less time"));
  EXPECT_THAT(printed(one + "equal:100000"),
              HasSubstr("324 blocks of 256 threads would take 99 % less time"));
  // As many as are twice as long as overheads are uncertain.
  EXPECT_THAT(printed("predict --gpu h200 --block-size 832 --registers 32 --grid 1 --work equal:16000"),
              HasSubstr("67 blocks of 832 threads would take 97 % less time"));
}

TEST(Predict, SaysWhatBandwidthItTakesOfAGpuThatNobodyMeasured) {
  const std::string launch = " --block-size 256 --registers 32 --grid 1044 --work equal:20000";
  const std::string bytes = launch + ":bytes=4096";
  const std::string by_others =
      "the middle of GPUs of the nearest compute capability: another card may have more or less";
  // 0.93 of 300 GB/s over 2,040 MHz and 58 SMs.
  EXPECT_THAT(printed("predict --gpu l4" + bytes),
              AllOf(HasSubstr("device memory is taken to move 2.36 B a cycle for each SM\n"),
                    Not(HasSubstr(by_others))));
  EXPECT_THAT(printed("predict --cc 8.9 --sm-count 58" + bytes),
              HasSubstr("device memory is taken to move 3 B a cycle for each SM, " + by_others));
  EXPECT_THAT(printed("predict --cc 8.9 --sm-count 58" + launch), Not(HasSubstr("device memory")));
  EXPECT_THAT(printed("predict --gpu h200" + bytes), Not(HasSubstr("device memory is taken")));
}

TEST(Predict, SmallerClustersAreTriedWithTheirWholeWavesToo) {
  // 15 % is what 560 blocks in clusters of 16 save.
  EXPECT_THAT(printed("predict --gpu h100-sxm5-80gb --block-size 256 --registers 48 --dynamic-smem 40K "
                      "--cluster 16 --grid 960 --work equal:90000"),
              HasSubstr("660 blocks of 256 threads in clusters of 2 would take 27 % less time"));
}

TEST(Predict, WhatMoreWarpsSaveHoldsIfTheyWaitForLatency) {
  const std::string launch = "predict --gpu h200 --block-size 384 --registers 38 --grid 730 ";
  const std::string condition = ", if warps wait for latency rather than for memory, issue slots or a pipe.";
  EXPECT_THAT(printed(launch + "--time-us 125"), HasSubstr(condition));
  EXPECT_THAT(
      printed("predict --gpu h200 --block-size 384 --registers 45 --grid 700 --time-us 125"),
      HasSubstr("for the same work, if its blocks take equally long, of which a thread does 1.59 times "
                "as much, if warps wait for latency, and read"));
  EXPECT_THAT(printed(launch + "--work equal:125us"), HasSubstr(condition));
  EXPECT_THAT(
      printed("predict --gpu h200 --block-size 256 --registers 64 --grid 4224 --work equal:40000:issue=9500"),
      AllOf(HasSubstr("48 registers per thread instead of 64"), Not(HasSubstr("Time saved"))))
      << "they contend";
  // 23 % are saved, and the bound of equal blocks is 20.
  EXPECT_THAT(
      printed("predict --gpu h200 --block-size 256 --grid 2400 --registers 64 --work linear:100000:1.8:0.2"),
      AllOf(HasSubstr("48 registers per thread instead of 64"), Not(HasSubstr("Time saved"))));
}

/// A warp of sixteen threads takes as long as one of thirty-two, of which half as many do the same.
TEST(Predict, OtherBlockSizesDoTheSameThreads) {
  const auto answer = nlohmann::json::parse(printed(
      "predict --gpu h200 --block-size 16 --registers 32 --grid 100000 --work equal:20000 --format json"));
  EXPECT_EQ(answer["advice"]["block_threads"], 32) << answer["advice"];
  EXPECT_NEAR(answer["advice"]["time_saved_pct"].get<double>(), 50, 2) << answer["advice"];
  EXPECT_THAT(
      printed("predict --gpu a100-sxm4-80gb --block-size 128 --registers 40 --grid 1 --work equal:20000"),
      Not(HasSubstr("1,080 blocks")))
      << "of 18 cycles: overheads decide";
}

TEST(Predict, NeverSavesAllOfTheTime) {
  EXPECT_THAT(printed("predict --gpu h200 --block-size 320 --registers 48 --grid 1 --work equal:500000"),
              AllOf(HasSubstr("over 99 % less time"), Not(HasSubstr("100 % less"))));
}

/// A file of equal durations is equal work.
TEST(Predict, OfEqualDurationsHasTheIntervalOfEqualWork) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "equal.txt";
  std::ofstream lines(file);
  std::ofstream noise(file + ".noise");
  for (int block = 0; block < 1584; ++block) {
    lines << "400000\n";
    noise << 400'000 + block % 3 << "\n";
  }
  lines.close();
  noise.close();
  const std::string launch =
      "predict --gpu h200 --first-gpc 0 --block-size 256 --grid 1584 --registers 16 --format json ";
  const auto width = [&](const std::string& of) {
    const auto answer = nlohmann::json::parse(printed(launch + of));
    return answer["predicted_high_pct"].get<double>() - answer["predicted_low_pct"].get<double>();
  };
  const double equal = width("--work equal:400000");
  EXPECT_NEAR(width("--durations " + file), equal, 0.1);
  EXPECT_NEAR(width("--durations " + file + ".noise"), equal, 0.5);
}

/// Of draws of one launch whose uneven blocks cost the counter 0.7 to 2 points and the time 17 to 18 %.
TEST(Predict, UnevenBlocksHaveTheirRemedyByTheTimeThatTheyCost) {
  for (const char* seed : {"1", "2", "11"})
    EXPECT_THAT(printed(std::string("predict --gpu h200 --block-size 128 --registers 40 --grid 3500 "
                                    "--work uniform:90000:0.4:1.6:seed=") +
                        seed),
                testing::ContainsRegex("The longest block takes 50 % of the launch. The same work that fills "
                                       "all places to the end takes at most 3[0-9] % less time"))
        << seed;
}

TEST(Predict, OfAShapeIsThatOfItsTotal) {
  const auto of = [](const char* block, const char* grid) {
    return printed({"predict", "--profile", "h200", "--block-size", block, "--grid", grid, "--registers",
                    "40", "--work", "equal:20000", "--format", "json"});
  };
  const std::string shaped = of("32x8", "50x20");
  EXPECT_THAT(shaped, HasSubstr("\"block_threads\": 256"));
  const auto from = [](const std::string& text) { return text.substr(text.find("\"blocks_per_sm\"")); };
  EXPECT_EQ(from(shaped), from(of("256", "1000")));
}

TEST(Predict, SaysWhatTheCounterWillReadAndWhereTheRestWent) {
  const std::string said = printed(predict("2218", "--work equal:200000"));
  EXPECT_THAT(said, HasSubstr("predicted"));
  EXPECT_THAT(said, HasSubstr("points: the last wave has 106 of 1,056 blocks"));
  EXPECT_THAT(said,
              ContainsRegex("predicted +9[0-9.]+ % .90 %: [0-9.]+ to [0-9.]+; a partial wave depends on the "
                            "clocks of this GPU, which change"));
  EXPECT_THAT(said, ContainsRegex("predicted over elapsed cycles +[0-9.]+ % .90 %: "));
  for (const char* cause : {"grid smaller than one wave", "partial last wave", "uneven blocks",
                            "uneven warps within a block", "launch and replacement overhead", "contention"}) {
    EXPECT_THAT(said, HasSubstr(cause)) << "as docs/prediction.md names the losses";
  }
}

TEST(Predict, TakesSizesInKilobytesAndRefusesTooMuchStaticSharedMemory) {
  const auto theory = [](const std::string& size) {
    return predict("1056", "--work equal:20000 --format csv --dynamic-smem " + size).out;
  };
  EXPECT_EQ(theory("100K"), theory("102400"));
  EXPECT_THAT(refusal(predict("1056", "--work equal:20000 --static-smem 49K")),
              HasSubstr("static_shared_bytes = 50176 is more than the 49152"));
}

TEST(Predict, TheSameQuestionHasTheSameAnswerByteForByte) {
  const char* const question = "--work uniform:20000:0.5:1.5:seed=3 --format json";
  EXPECT_EQ(predict("2218", question).out, predict("2218", question).out);
}

TEST(Predict, WorkThatIsEmptyOrCannotStayInLockstepIsRefused) {
  EXPECT_THAT(refusal(predict("1056", "--work equal:24768:issue=6192:lockstep=5")),
              HasSubstr("by the profile h200 issue must be at least 19814"));
  EXPECT_THAT(refusal({"predict", "--profile", "h200", "--block-size", "256", "--registers", "20", "--grid",
                       "9", "--work", ""}),
              HasSubstr("--work is empty: give a value"));
}

TEST(Predict, JsonHasTheNamesOfTheColumns) {
  const Outcome outcome = predict("1584", "--work equal:20000 --format json");
  const nlohmann::json answer = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(answer.at("device_profile"), "h200 (calibrated_model)");
  EXPECT_EQ(answer.at("work"), "equal:20000");
  double left = answer.at("theoretical_pct");
  for (const char* loss : {"small_grid", "tail", "between_blocks", "within_block", "overhead", "contention"})
    left -= answer.at(fmt::format("loss_{}_points", loss)).get<double>();
  EXPECT_NEAR(left, answer.at("predicted_pct").get<double>(), 1e-9);
  EXPECT_GT(answer.at("timeline").at("warps").size(), 100u);
}

TEST(Predict, TheGpcThatALaunchBeginsWithNarrowsTheIntervalAndStandsInTheAnswer) {
  const auto answer = [](const std::string& more) {
    return nlohmann::json::parse(
        printed(predict("792", "--work uniform:200000:0.5:1.5:seed=3 --format json " + more)));
  };
  const auto range = [](const nlohmann::json& of) {
    return of.at("predicted_high_pct").get<double>() - of.at("predicted_low_pct").get<double>();
  };
  const nlohmann::json any = answer("");
  const nlohmann::json known = answer("--first-gpc 3");
  EXPECT_FALSE(any.contains("first_gpc"));
  EXPECT_EQ(known.at("first_gpc"), 3);
  EXPECT_LT(range(known), range(any));
}

TEST(Predict, CsvIsAHeaderAndARow) {
  const Outcome outcome = predict("1584", "--work equal:20000 --format csv");
  EXPECT_THAT(outcome.out,
              StartsWith("compute_capability,sm_count,work,work_source,block_threads,grid_blocks,"));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
}

TEST_F(PredictFromFile, DurationsOfEveryBlockAreTheSameAsTheWorkThatDrawsThem) {
  std::string lines;
  for (int block = 0; block < 1056; ++block) lines += block % 8 == 0 ? "80000\n" : "20000\n";
  const std::string path = file(lines);
  const Outcome from_file = predict("1056", "--format json --durations " + path);
  const Outcome from_work = predict("1056", "--work every:20000:8:4 --format json");
  EXPECT_EQ(nlohmann::json::parse(from_file.out).at("predicted_pct"),
            nlohmann::json::parse(from_work.out).at("predicted_pct"));
}

TEST_F(PredictFromFile, ABadFileIsWrongInputWithFileAndLine) {
  const std::string path = file("1\n2\n3\n");
  const Outcome outcome = predict("3", "--per-warp --durations " + path);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(refusal(outcome), HasSubstr(path + ":4: 3 durations for a grid of 24 warps"));
}

TEST(Predict, AGridThatTakesTooLongToSimulateIsRefusedWithOneThatDoesNot) {
  const std::clock_t begin = std::clock();
  for (const std::string work :
       {"lognormal:2000:0.5", "uniform:2000:0.5:1.5:issue=900", "warp/uniform:2000:0.5:1.5"}) {
    for (const std::string grid : {"100000000", "2147483647"}) {
      const Outcome outcome = predict(grid, "--work " + work);
      EXPECT_EQ(outcome.out, "");
      EXPECT_THAT(refusal(outcome),
                  AllOf(HasSubstr(grid == "100000000" ? "these 100,000,000 uneven blocks" : "2,147,483,647"),
                        HasSubstr("at most 10 s are taken: predict the same work in a grid of at most")));
    }
  }
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC);
}

TEST(Predict, OfManyEqualBlocksAdvisesAndOfManyUnevenOnesSaysThatItDoesNot) {
  const std::string launch = "predict --gpu h200 --block-size 768 --registers 32 --work ";
  EXPECT_THAT(printed(launch + "equal:20000 --grid 65537"),
              ContainsRegex("blocks of (512|1024) threads would take 25 % less time"));
  const std::string none = "no advice: it simulates no more than 65,536 uneven blocks";
  EXPECT_THAT(printed(launch + "uniform:20000:0.5:1.5 --grid 65537"), HasSubstr(none));
  const std::string some = printed(launch + "uniform:20000:0.5:1.5 --grid 65536");
  EXPECT_THAT(
      some, AllOf(Not(HasSubstr(none)), HasSubstr("no other grid is advised, for it would be another draw")));
}

TEST(Predict, SaysWhatToDoAboutUnevenBlocksWhereNoGridIsAdvised) {
  EXPECT_THAT(
      printed("predict --gpu l40s --block-size 160 --registers 44 --grid 3000 --work uniform:60000:0.5:1.5"),
      HasSubstr("begin the longest blocks first"));
  // Other grids are not simulated: none is the remedy.
  EXPECT_THAT(
      printed("predict --gpu h200 --block-size 256 --registers 32 --grid 1500 --work uniform:200000:0.5:1.5"),
      Not(HasSubstr("Use 1,056 or 2,112 blocks")));
}

TEST(Predict, OrdersNoBlocksThatAllBeginAtOnce) {
  const std::string launch =
      "predict --gpu h200 --block-size 128 --registers 32 --work bimodal:60000:0.05:10:seed=3 --grid ";
  EXPECT_THAT(printed(launch + "2112"),
              AllOf(HasSubstr("their order saves no time"), Not(HasSubstr("longest blocks first"))));
  EXPECT_THAT(printed(launch + "4224"), HasSubstr("begin the longest blocks first"));
}

/// Cycles of 1,584 blocks, two waves where six fit each of 132 SMs: one of 400,000, the others of 20,000.
std::string one_long_block(int place) {
  std::string lines;
  for (int block = 0; block < 1584; ++block) lines += block == place ? "400000\n" : "20000\n";
  return lines;
}

TEST_F(PredictFromFile, SaysWhatTheLongestBlockTakesOfALaunch) {
  const auto remedies = [&](int place) {
    return nlohmann::json::parse(
               printed("predict --gpu h200 --block-size 256 --registers 40 --grid 1584 --format json "
                       "--durations " +
                       file(one_long_block(place))))
        .at("remedies")
        .get<std::vector<std::string>>();
  };
  // It begins after 20,000 cycles.
  EXPECT_THAT(remedies(1583),
              testing::ElementsAre(HasSubstr("32 registers per thread instead of 40"),
                                   HasSubstr("begin the longest blocks first"),
                                   AllOf(StartsWith("The longest block takes 95 % of the launch."),
                                         HasSubstr("to the end takes at most 9"))));
  EXPECT_THAT(remedies(0).back(), StartsWith("The longest block takes 100 % of the launch."));
}

TEST(Predict, OfUnevenWarpsSaysWhatNarrowerBlocksAssume) {
  const std::string launch = "predict --gpu h200 --registers 32 --block-size ";
  EXPECT_THAT(
      printed(launch + "384 --grid 700 --work warp/every:40000:12:1.1"),
      ContainsRegex(
          "blocks of 256 threads would take .* for the same work with as many slow warps, if warps wait for "
          "latency, and"));
  // Of blocks with a slow warp each.
  const auto cycles = [](const std::string& command) {
    return nlohmann::json::parse(printed(command + " --format json"))["predicted_cycles_active_max"]
        .get<double>();
  };
  const double now = cycles(launch + "384 --grid 3960 --work warp/every:40000:12:3");
  EXPECT_NEAR(cycles(launch + "256 --grid 5940 --work warp/every:40000:8:3") / now, 1, 0.01);
  EXPECT_NEAR(cycles(launch + "192 --grid 7920 --work warp/every:40000:6:3") / now, 1, 0.01);
  EXPECT_THAT(printed(launch + "384 --grid 3960 --work equal:40000"),
              AllOf(HasSubstr("256 threads per block instead of 384"), Not(HasSubstr("slow warps"))));
}

TEST(Predict, BoundsWhatShorterBlocksOfUnevenWorkWereMeasuredToSave) {
  int compared = 0;
  for (const std::string model : {"nvidia-h200", "nvidia-h100-80gb-hbm3"}) {
    std::map<std::string, CaseRecord> rows;
    for (CaseRecord& row : read_case_records(OCCBENCH_SOURCE_DIR "/results/" + model + "/full.csv")) {
      if (row.identity.experiment == "tail_remedies") rows.emplace(full_name(row.identity), row);
    }
    for (const char* waves : {"1.05", "1.25", "1.50", "2.10"}) {
      const auto row = [&](const std::string& remedy) {
        return rows.at(
            fmt::format("tail_remedies/spin/plain/remedy={}/waves={}/shape=uniform", remedy, waves));
      };
      const CaseRecord plain = row("plain");
      const double saved = 100 * (1 - *row("shorter_blocks").times.time_us / *plain.times.time_us);
      const std::string said =
          printed(fmt::format("predict --gpu {} --block-size {} --registers {} --grid {} --work {}",
                              model == "nvidia-h200" ? "h200" : "h100-sxm5-80gb", plain.launch->block_threads,
                              plain.compiled->usage.registers_per_thread, plain.launch->grid_blocks,
                              to_string(*plain.identity.work)));
      constexpr std::string_view kBefore = "to the end takes at most ";
      const std::size_t at = said.find(kBefore);
      ASSERT_NE(at, said.npos) << said;
      const double at_most = std::atof(said.c_str() + at + kBefore.size());
      EXPECT_GE(at_most, saved) << model << " " << waves;
      EXPECT_LE(at_most, saved + 20) << model << " " << waves << ": a bound that says nothing";
      ++compared;
    }
  }
  EXPECT_EQ(compared, 8);
}

TEST(Predict, SaysWhatPointsAboveZeroAre) {
  // SMs that have fewer blocks in the last wave move their bytes faster: the tail costs less than that of equal blocks.
  const std::string launch =
      "predict --gpu h200 --block-size 256 --registers 20 --grid 1100 --work equal:20000";
  EXPECT_THAT(printed(launch + ":bytes=20000"), HasSubstr("points above 0 are a gain"));
  EXPECT_THAT(printed(launch), Not(HasSubstr("a gain")));
  // Of 0.4 points as well.
  EXPECT_THAT(printed("predict --gpu l40s --block-size 320 --registers 42 --grid 1700 --work "
                      "lognormal:200000:0.75:seed=7"),
              HasSubstr("points above 0 are a gain"));
}

TEST(Predict, SaysWhatARemedyOfTheLimitSavesAtMostAndWhatToDoAboutTheLargestLoss) {
  const std::string launch =
      "predict --gpu h200 --block-size 256 --registers 40 --grid 8448 --work equal:20000";
  // Eight whole waves instead of eleven.
  EXPECT_THAT(printed(launch),
              AllOf(HasSubstr("32 registers per thread instead of 40: 100 %"),
                    HasSubstr("Time saved by that alone: At most 27 % of it, if warps wait")));
  // The bandwidth is full with six blocks per SM as with eight.
  EXPECT_THAT(printed(launch + ":bytes=32768"),
              AllOf(HasSubstr("32 registers per thread instead of 40: 100 %"), HasSubstr("Move fewer bytes"),
                    Not(HasSubstr("Time saved"))));
  EXPECT_THAT(
      printed("predict --gpu h200 --block-size 384 --registers 32 --grid 3960 --work warp/every:40000:12:3"),
      AllOf(HasSubstr("256 threads per block instead of 384"), Not(HasSubstr("Time saved"))))
      << "narrower blocks mend uneven warps, too";
}

TEST(Predict, AdvisesSmallerClustersThatTakeFewerRounds) {
  const std::string launch =
      "predict --gpu h200 --block-size 384 --registers 80 --grid 240 --work equal:50000 ";
  EXPECT_THAT(printed(launch + "--cluster 12"),
              HasSubstr("264 blocks of 384 threads in clusters of 2 would take 55 % less time"));
  // An H200 took 407 and 205 us with clusters of 12 and of 8.
  const auto cycles = [&](const char* cluster) {
    const auto answer = nlohmann::json::parse(printed(launch + "--format json --cluster " + cluster));
    return answer["predicted_cycles_active_max"].get<double>();
  };
  EXPECT_NEAR(cycles("8") / cycles("12"), 205. / 407, 0.01);
}

TEST(Predict, DividesUnevenBlocksAsLongAsThatSavesTime) {
  EXPECT_THAT(
      printed("predict --gpu h200 --block-size 256 --grid 1056 --registers 32 --work every:90000:11:5"),
      ContainsRegex("(8,448|16,896) blocks of 256 threads would take 6[2-9] % less time"));
}

TEST(Predict, WrongInputIsStatus64) {
  const auto refuses = [](std::string_view grid, std::string_view more, const char* about) {
    EXPECT_THAT(refusal(predict(grid, more)), HasSubstr(about));
  };
  refuses("3", "--work equal:many", "character 7");
  refuses("3", "", "--work, --durations, --time-us or --sm-cycles-active-avg");
  refuses("3", "--work equal:5 --durations file", "--work,--durations");
  refuses("3", "--work equal:5 --per-warp", "--durations");
  refuses("3", "--durations no/such/file", "no/such/file");
  refuses("0", "--work equal:5", "--grid: give the blocks in the grid, at least 1");
  EXPECT_THAT(run_command("predict --gpu h200 --block-size 256").err,
              AllOf(HasSubstr("--grid: give"), HasSubstr("--registers: give")))
      << "all that is missing";
  refuses("3", "--work equal:5 --dynamic-smem 300000", "300000");
  refuses("3", "--work equal:5 --cluster 2", "cluster_blocks = 2");
  refuses("3", "--work equal:5 --first-gpc 8", "first_gpc = 8 is out of range: 132 SMs have GPCs 0 to 7");
  refuses("3", "--work equal:5 --first-gpc -1", "--first-gpc = '-1'");
  refuses("3", "--work equal:5 --format xml", "xml");
}

class PredictBatch : public testing::Test {
 protected:
  Outcome batch(const std::string& text, const std::vector<std::string>& options = {}) {
    std::ofstream(file_) << text;
    std::vector<std::string> words = {"predict", "--batch", file_};
    words.insert(words.end(), options.begin(), options.end());
    return run_command(words);
  }
  CsvTable table(const std::string& text, const std::vector<std::string>& options = {}) {
    return parse_csv(batch(text, options).out, "out");
  }

  TemporaryFolder folder_;
  std::string file_ = folder_.path() / "batch.csv";
};

TEST_F(PredictBatch, RefusesColumnsAndFilesThatItWouldPassOverAndTakesSizes) {
  const std::string head = "compute_capability,sm_count,block_threads,grid_blocks,registers_per_thread,work,";
  const std::string launch = "9.0,132,256,2218,20,equal:200000,";
  EXPECT_THAT(batch(head + "dynamic_smem\n" + launch + "204800\n").err,
              AllOf(HasSubstr("does not know the column 'dynamic_smem'"),
                    HasSubstr("the nearest is dynamic_shared_bytes ")));
  EXPECT_THAT(batch(head + "cycles_active_avg\n" + launch + "1\n").err,
              HasSubstr("the nearest is sm_cycles_active_avg "));
  EXPECT_EQ(printed(batch(head + "dynamic_shared_bytes\n" + launch + "200K\n")),
            printed(batch(head + "dynamic_shared_bytes\n" + launch + "204800\n")));
  EXPECT_THAT(batch("{\"schemaVersion\": 1}\n").err, HasSubstr("occbench trace --import"));
}

TEST_F(PredictBatch, TakesTheGpuOfAllRowsFromTheCommandLineAndRefusesWhatItWouldPassOver) {
  const std::string launch = "256,2218,20,equal:200000\n";
  const std::string columns = "block_threads,grid_blocks,registers_per_thread,work\n";
  const CsvTable by_option = table(columns + launch, {"--gpu", "h200"});
  EXPECT_EQ(table_cell(by_option, 0, "gpu"), "NVIDIA H200");
  EXPECT_EQ(table_cell(by_option, 0, "sm_count"), "132");
  const std::string named = "compute_capability,sm_count,gpu," + columns + "9.0,132,NVIDIA H200," + launch;
  const CsvTable by_columns = table(named);
  for (const char* answer : {"predicted_pct", "predicted_low_pct", "predicted_high_pct", "device_profile"})
    EXPECT_EQ(table_cell(by_option, 0, answer), table_cell(by_columns, 0, answer)) << answer;
  // Of a list each row is asked for each.
  const CsvTable both = table(columns + launch, {"--gpu", "a100-sxm4-40gb,h200"});
  ASSERT_EQ(both.rows.size(), 2U);
  EXPECT_EQ(table_cell(both, 0, "sm_count"), "108");
  EXPECT_EQ(table_cell(both, 1, "predicted_pct"), table_cell(by_option, 0, "predicted_pct"));
  const CsvTable timed = table("time_us," + columns + "301,256,2218,20,\n", {"--gpu", "a100-sxm4-40gb,h200"});
  for (const std::size_t row : {0, 1})
    EXPECT_THAT(table_cell(timed, row, "note"), HasSubstr("what was measured is of one GPU: give one --gpu"));
  EXPECT_THAT(batch(columns + launch, {"--gpu", "h200,"}).err, HasSubstr("has an empty item"));
  const auto refused = [&](const std::vector<std::string>& words) { return batch(named, words).err; };
  EXPECT_THAT(refused({"--gpu", "h200"}), HasSubstr("has the column compute_capability: leave out --gpu"));
  EXPECT_THAT(refused({"--work", "equal:5"}), HasSubstr("--work does not go with --batch"));
  EXPECT_THAT(refused({"--cluster", "2"}), HasSubstr("--cluster does not go with --batch"));
  EXPECT_THAT(refused({"--format", "json"}), HasSubstr("--format does not go with --batch"));
  EXPECT_THAT(refused({"--format", "csv"}), Not(HasSubstr("--format")));
}

TEST_F(PredictBatch, InfersWorkThatIsNotGivenAndSaysSo) {
  const CsvTable found = table(
      "case,compute_capability,sm_count,block_threads,grid_blocks,registers_per_thread,work,"
      "time_us,sm_clock_mhz,sm_cycles_active_avg\n"
      "given,9.0,132,256,2218,20,equal:200000,,,\n"
      "microseconds,9.0,132,256,2218,20,equal:100us,,2000,\n"
      "time,9.0,132,256,2218,20,,301,2000,\n"
      "cycles,9.0,132,256,1056,20,,,,200233\n",
      {"--profile", "h200"});
  ASSERT_EQ(found.rows.size(), 4U);
  const auto cell = [&](std::size_t row, std::string_view name) { return table_cell(found, row, name); };
  EXPECT_EQ(cell(0, "case"), "given");
  EXPECT_THAT(cell(0, "device_profile"), HasSubstr("(generic)")) << "no column names the GPU";
  EXPECT_EQ(cell(0, "work_source"), "given");
  EXPECT_EQ(cell(1, "work"), "equal:200000");
  EXPECT_EQ(cell(0, "predicted_pct"), cell(1, "predicted_pct"));
  EXPECT_EQ(cell(2, "work_source"), "inferred from time");
  // Three rounds of blocks in 600,000 cycles.
  EXPECT_NEAR(parse_work(cell(2, "work")).cycles, 200'000, 2'000);
  EXPECT_EQ(cell(3, "work_source"), "inferred from cycles");
  EXPECT_NEAR(parse_work(cell(3, "work")).cycles, 200'000, 500);
  EXPECT_THAT(cell(0, "explanation"), HasSubstr("the last wave has 106 of 1,056 blocks"));
}

TEST_F(PredictBatch, ARowThatSaysNothingOfItsWorkSaysSoAndTheOthersArePredicted) {
  const std::string head =
      "compute_capability,sm_count,gpu,block_threads,grid_blocks,registers_per_thread,work,time_us\n";
  const CsvTable found = table(head +
                               "9.0,132,NVIDIA H200,256,2218,20,,\n"
                               "9.0,132,,256,2218,20,,301\n"
                               "9.0,132,,256,2218,20,equal:200000,\n");
  ASSERT_EQ(found.rows.size(), 3U);
  for (const std::size_t row : {0, 1}) {
    EXPECT_EQ(table_cell(found, row, "predicted_pct"), "");
    EXPECT_THAT(table_cell(found, row, "note"),
                HasSubstr("no prediction: work is empty and cannot be inferred: give work"));
  }
  EXPECT_NE(table_cell(found, 2, "predicted_pct"), "");
}

TEST_F(PredictBatch, SaysOfARowWhatItLacksAndOfADrawItsSeedAndKnowsThatWhatSpillsHasLocalMemory) {
  const CsvTable found = table(
      "compute_capability,sm_count,gpu,block_threads,grid_blocks,registers_per_thread,spill_bytes,work\n"
      "9.0,132,NVIDIA H200,256,15840,,,equal:18288\n"
      "9.0,132,NVIDIA H200,256,1000,48,,lognormal:20000:0.5:seed=7\n"
      "9.0,132,NVIDIA H200,256,15840,48,,equal:18288:issue=1532\n"
      "9.0,132,NVIDIA H200,256,15840,48,924,equal:18288:issue=1532\n");
  ASSERT_EQ(found.rows.size(), 4U);
  EXPECT_EQ(table_cell(found, 0, "note"), "no prediction: registers_per_thread is empty");
  EXPECT_THAT(table_cell(found, 1, "note"), HasSubstr("the work is the draw of seed 7"));
  const auto low = [&](std::size_t row) { return std::stod(table_cell(found, row, "predicted_low_pct")); };
  EXPECT_LT(low(3), low(2) - 5);
}

TEST_F(PredictBatch, ARowThatNoLaunchCanHaveSaysSoAndTheOthersArePredicted) {
  const Outcome outcome = batch(
      "compute_capability,sm_count,block_threads,grid_blocks,registers_per_thread,work,"
      "note,predicted_pct\n"
      "9.0,132,2000,1056,32,equal:100000,mine,50\n"
      "9.0,132,256,1056,32,equal:100000,,50\n"
      "9.0,132,256,1056,many,equal:100000,,50\n");
  EXPECT_EQ(outcome.status, ExitStatus::no_verdict);
  EXPECT_THAT(outcome.err, HasSubstr("2 of 3 rows have no answer, and their note says why; the first is " +
                                     file_ + ", line 2: block_threads = 2000"));
  const CsvTable found = parse_csv(outcome.out, "out");
  ASSERT_EQ(found.rows.size(), 3U);
  EXPECT_THAT(table_cell(found, 0, "note"), StartsWith("mine; no prediction: block_threads = 2000"));
  EXPECT_EQ(table_cell(found, 0, "work"), "equal:100000");
  EXPECT_EQ(table_cell(found, 0, "predicted_pct"), "") << "what it was before is none";
  EXPECT_GT(std::stod(table_cell(found, 1, "predicted_pct")), 90);
  EXPECT_THAT(table_cell(found, 2, "note"), HasSubstr("'many' is not a whole number"));
}

TEST_F(PredictBatch, ALaunchThatNoSmCanHoldIsRefusedAsByItself) {
  const std::string head =
      "compute_capability,sm_count,block_threads,grid_blocks,registers_per_thread,dynamic_shared_bytes,"
      "work\n";
  const std::string illegal = "9.0,132,256,1056,32,300000,equal:100000\n";
  const std::string legal = "9.0,132,256,1056,32,0,equal:100000\n";
  const auto rows = [&](const std::string& text) { return batch(head + text); };
  const std::string why = "a block asks 300000 bytes of shared memory; a block may have 232448";
  const Outcome beside = rows(illegal + legal);
  EXPECT_EQ(beside.status, ExitStatus::no_verdict);
  EXPECT_THAT(beside.err, HasSubstr("1 of 2 rows have no answer, and their note says why; the first is " +
                                    file_ + ", line 2: " + why));
  const CsvTable found = parse_csv(beside.out, "out");
  EXPECT_THAT(table_cell(found, 0, "note"), StartsWith("no prediction: " + why));
  EXPECT_EQ(table_cell(found, 0, "theoretical_pct"), "0");
  EXPECT_EQ(table_cell(found, 0, "limiter"), "shared_memory");
  EXPECT_NE(table_cell(found, 1, "predicted_pct"), "");
  const Outcome two = rows(illegal + legal + "9.0,132,256,1056,many,0,equal:100000\n");
  EXPECT_THAT(two.err, HasSubstr("2 of 3 rows have no answer"));
  EXPECT_THAT(refusal(rows(illegal)), HasSubstr("line 2: " + why));
}

TEST_F(PredictBatch, CountsEveryRowWithoutAPrediction) {
  const std::string head =
      "compute_capability,sm_count,block_threads,grid_blocks,registers_per_thread,dynamic_shared_bytes,"
      "work,predicted_pct\n";
  const std::string good = "9.0,132,256,1056,32,0,equal:100000,50\n";
  const std::string no_work = "9.0,132,256,1056,32,0,,50\n";
  const std::string no_registers = "9.0,132,256,1056,,0,equal:100000,50\n";
  const std::string illegal = "9.0,132,256,1056,32,300000,equal:100000,50\n";
  const std::string wrong_work = "9.0,132,256,1056,32,0,equal:many,50\n";
  const auto rows = [&](const std::string& text) { return batch(head + text); };
  const Outcome seven = rows(good + no_work + no_registers + illegal + illegal + wrong_work + good);
  EXPECT_EQ(seven.status, ExitStatus::no_verdict);
  EXPECT_THAT(seven.err, HasSubstr("5 of 7 rows have no answer, and their note says why; the first is " +
                                   file_ + ", line 3: no prediction: work is empty"));
  const CsvTable found = parse_csv(seven.out, "out");
  for (const std::size_t row : {1, 2, 3, 4, 5}) {
    EXPECT_EQ(table_cell(found, row, "predicted_pct"), "") << row;
    EXPECT_THAT(table_cell(found, row, "note"), HasSubstr("no prediction: ")) << row;
  }
  const Outcome incomplete = rows(good + no_registers);
  EXPECT_EQ(incomplete.status, ExitStatus::done);
  EXPECT_THAT(incomplete.err, HasSubstr("1 of 2 rows have no answer"));
}

TEST_F(PredictBatch, WorkThatIsWrongLeavesTheoryAsItIs) {
  const Outcome outcome = batch(
      "compute_capability,sm_count,block_threads,grid_blocks,registers_per_thread,work,"
      "predicted_pct\n"
      "9.0,132,256,1056,40,equal:100us,50\n"
      "9.0,132,256,1056,40,equal:many,50\n"
      "9.0,132,256,1056,40,equal:100000,50\n");
  EXPECT_EQ(outcome.status, ExitStatus::no_verdict);
  const CsvTable found = parse_csv(outcome.out, "out");
  ASSERT_EQ(found.rows.size(), 3U);
  for (const std::size_t row : {0, 1}) {
    for (const char* theory : {"theoretical_pct", "blocks_per_sm", "limiter", "waves"})
      EXPECT_EQ(table_cell(found, row, theory), table_cell(found, 2, theory)) << theory;
    EXPECT_EQ(table_cell(found, row, "predicted_pct"), "");
  }
  EXPECT_EQ(table_cell(found, 0, "work"), "equal:100us");
  EXPECT_THAT(table_cell(found, 0, "note"),
              HasSubstr("the GPU's clock is not known: give --clock-mhz, or cycles"));
}

TEST_F(PredictBatch, ACaseThatWasSkippedComesOutWithANote) {
  const CsvTable found = table(
      "compute_capability,sm_count,block_threads,grid_blocks,registers_per_thread,work,note\n"
      "9.0,132,,,,,refused\n"
      "9.0,132,256,1056,32,equal:100000,\n");
  ASSERT_EQ(found.rows.size(), 2U);
  EXPECT_THAT(table_cell(found, 0, "note"), "refused; no prediction: there is no launch");
  EXPECT_NE(table_cell(found, 1, "predicted_pct"), "");
}

TEST_F(PredictBatch, WorkInMicrosecondsIsReadAtTheHighestClockOfTheGpuAndSaysSo) {
  const std::string launch = "9.0,132,NVIDIA H200,256,2218,20,";
  const CsvTable found = table(
      "compute_capability,sm_count,gpu,block_threads,grid_"
      "blocks,registers_per_thread,work,sm_clock_mhz\n" +
      launch + "equal:100us,\n" + launch + "equal:100us,1980\n" + launch + "equal:198000,\n");
  ASSERT_EQ(found.rows.size(), 3U);
  for (const std::size_t row : {0, 1, 2}) EXPECT_EQ(table_cell(found, row, "work"), "equal:198000");
  EXPECT_EQ(table_cell(found, 0, "note"), "work is read at 1980 MHz, the GPU's highest clock");
  EXPECT_EQ(table_cell(found, 1, "note") + table_cell(found, 2, "note"), "");
}

TEST_F(PredictBatch, SpillsWidenAnInterval) {
  const std::string launch = "9.0,132,NVIDIA H200,256,";
  const CsvTable found = table(
      "compute_capability,sm_count,gpu,block_threads,grid_blocks,registers_per_thread,work,spill_bytes\n" +
      launch + "13108,48,equal:18288,\n" + launch + "13108,48,equal:18288,992\n" + launch +
      "1300,32,equal:20000,\n" + launch + "1300,32,equal:20000,64\n");
  for (const std::size_t plain : {std::size_t{0}, std::size_t{2}}) {
    const auto cell = [&](std::size_t row, const char* name) {
      return std::stod(table_cell(found, row, name));
    };
    EXPECT_LT(cell(plain + 1, "predicted_low_pct"), cell(plain, "predicted_low_pct") - 5);
    EXPECT_GE(cell(plain + 1, "predicted_high_pct"), cell(plain, "predicted_high_pct"));
  }
}

TEST_F(PredictBatch, TimeAloneIsReadAtTheHighestClockOfTheGpu) {
  // 303 us at the 1,980 MHz of an H200's data sheet are 600,000 cycles, three rounds of blocks.
  const std::string launch = "9.0,132,NVIDIA H200,256,2218,20,303.03,";
  const CsvTable found = table(
      "compute_capability,sm_count,gpu,block_threads,grid_"
      "blocks,registers_per_thread,time_us,sm_clock_mhz\n" +
      launch + "\n" + launch + "1980\n");
  EXPECT_EQ(table_cell(found, 0, "work_source"), "inferred from time");
  EXPECT_NEAR(parse_work(table_cell(found, 0, "work")).cycles, 200'000, 2'000);
  EXPECT_EQ(table_cell(found, 0, "predicted_pct"), table_cell(found, 1, "predicted_pct"));
  EXPECT_EQ(table_cell(found, 0, "sm_clock_mhz"), "") << "what was given stays as it was";
  EXPECT_EQ(table_cell(found, 0, "note"), "time_us is read at 1980 MHz, the GPU's highest clock");
  EXPECT_EQ(table_cell(found, 1, "note"), "");
  // The option takes a time for the same.
  const auto alone = nlohmann::json::parse(printed(
      "predict --gpu h200 --block-size 256 --grid 2218 --registers 20 --time-us 303.03 --format json"));
  EXPECT_EQ(alone.at("work"), table_cell(found, 0, "work"));
}

TEST(PredictWork, InMicrosecondsSaysTheClockThatItWasTakenAt) {
  const Outcome outcome =
      run_command("predict --gpu rtx-4090 --block-size 256 --registers 48 --grid 1000 --work equal:50us");
  EXPECT_THAT(outcome.out, HasSubstr("equal:50us is equal:126000 at 2520 MHz."));
}

TEST(PredictWork, InferredFromATimeSaysTheClockThatItWasTakenAt) {
  const std::string launch = "predict --gpu h200 --block-size 384 --registers 40 --grid 600 --time-us 300";
  const std::string less = ", less the 0.75 us that a profiler adds.\n";
  EXPECT_THAT(printed(launch), HasSubstr("\n--time-us is read at 1980 MHz" + less));
  EXPECT_THAT(printed(launch + " --clock-mhz 1500"), HasSubstr("\n--time-us is read at 1500 MHz" + less));
}

TEST_F(PredictFromFile, ALineABlockSaysHowManyThereAre) {
  const std::string launch = "predict --gpu h200 --block-size 256 --registers 32 --durations ";
  const Outcome said = run_command(launch + file("50.5\n3\n70\n"));
  EXPECT_EQ(said.out, run_command(launch + file("50.5\n3\n70\n") + " --grid 3").out);
  EXPECT_THAT(said.out, HasSubstr("--durations is read as cycles"));
  EXPECT_THAT(run_command(launch + file("20000\n30000\n")).out, Not(HasSubstr("is read as cycles")));
  EXPECT_THAT(refusal(launch + file("20000\n")), HasSubstr("--grid: give the blocks in the grid"));
}

TEST(Predict, OfAGpuThatNobodyRecordedNamesItAndARangeInsteadOf90Percent) {
  const std::string said = printed(
      "predict --gpu jetson-agx-orin-64gb --block-size 320 --registers 42 --grid 1700 --work equal:20000");
  EXPECT_THAT(said, AllOf(HasSubstr("% (range: "), Not(HasSubstr("90 %: ")), HasSubstr("69 % of 26"),
                          HasSubstr("none but GH100s was ever compared"), HasSubstr("on GH100s held out"),
                          HasSubstr("\njetson-agx-orin-64gb, 16 SMs; profile generic")));
  const CsvTable recorded =
      parse_csv(read_text(OCCBENCH_SOURCE_DIR "/results/interval_coverage.csv"), "shares");
  std::map<std::string, std::string> shares;
  for (std::size_t row = 0; row < recorded.rows.size(); ++row) {
    if (table_cell(recorded, row, "profile") == "generic" &&
        table_cell(recorded, row, "launches_of") == "held-out GPUs")
      shares[std::string(table_cell(recorded, row, "kind"))] =
          fmt::format("{:.0f} % of {}", std::stod(std::string(table_cell(recorded, row, "inside_pct"))),
                      table_cell(recorded, row, "launches"));
  }
  for (const char* kind : {"all", "uneven blocks", "clusters"}) EXPECT_THAT(said, HasSubstr(shares.at(kind)));
}

TEST(PredictHelp, ShowsEachFormOfWorkAsItIsRead) {
  const std::string help = run_command("predict --help").out;
  for (const char* form : {"equal:200000", "equal:100us", "linear:", "uniform:", "lognormal:", "exponential:",
                           "bimodal:", "every:", "last:", "warp/"})
    EXPECT_THAT(help, HasSubstr(form));
  // Every example is work.
  std::istringstream lines(work_grammar());
  int examples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) continue;
    const std::string example = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_NO_THROW(parse_work(work_in_cycles(example, 1980))) << example;
    ++examples;
  }
  EXPECT_GE(examples, 10);
}

TEST(WorkInMicroseconds, NeedsTheClock) {
  EXPECT_EQ(work_in_cycles("warp/uniform:100us:0.5:1.5:seed=2", 1980), "warp/uniform:198000:0.5:1.5:seed=2");
  EXPECT_EQ(work_in_cycles("equal:20000", std::nullopt), "equal:20000");
  EXPECT_THROW(work_in_cycles("equal:100us", std::nullopt), InputError);
  EXPECT_THROW(work_in_cycles("equal:x1us", 1980), InputError);
}

Row drawn(const char* kind, double achieved_pct, double predicted_pct) {
  Row row;
  row.schema = kSchema;
  row.experiment = "validation";
  row.parameters = fmt::format("kind={};number=1", kind);
  row.gpu = "NVIDIA H200";
  row.compute_capability = "9.0";
  row.sm_count = 132;
  row.block_threads = 256;
  row.grid_blocks = 1056;
  row.registers_per_thread = 20;
  row.work = "equal:200000";
  row.device_profile = "unit";
  row.theoretical_pct = 100;
  row.achieved_pct = achieved_pct;
  for (const Column& column : columns()) {
    if (column.name.starts_with("predicted_") || column.name.starts_with("loss_")) set_cell(row, column, "0");
  }
  row.predicted_pct = predicted_pct;
  row.predicted_low_pct = std::max(0.0, predicted_pct - 2);
  row.predicted_high_pct = predicted_pct + 2;
  row.sm_cycles_active_avg = 1000;
  row.predicted_cycles_active = 1020;
  return row;
}

class Validate : public testing::Test {
 protected:
  std::string write(std::initializer_list<Row> rows) const {
    const std::filesystem::path path = folder_.path() / "rows.csv";
    std::ofstream file(path);
    file << csv_header();
    for (const Row& row : rows) file << csv_record(row);
    return path.string();
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Validate, SaysHowFarPredictionsOfEachKindAreOff) {
  Row without = drawn("short", 50, 0);
  without.predicted_pct.reset();
  const std::string file =
      write({drawn("blocks", 90, 91), drawn("blocks", 80, 77), drawn("warps", 70, 70), without});
  const std::string said = printed({"validate", "--rows", file.c_str()});
  EXPECT_THAT(said, HasSubstr("NVIDIA H200, predicted with the profile unit"));
  // Launches, theory's mean, predictions' mean, median and 95th percentile, counters in the interval, its width,
  // active cycles.
  EXPECT_THAT(said, ContainsRegex("blocks +2 +15.00 +2.00 +2.00 +2.90 +50 % +4.00 +2.00 %"));
  EXPECT_THAT(said, ContainsRegex("warps +1 +30.00 +0.00 +0.00 +0.00 +100 % +4.00 +2.00 %"));
  EXPECT_THAT(said, Not(HasSubstr("short")));
}

TEST_F(Validate, PredictsAnewWithAnotherProfile) {
  const std::string file = write({drawn("blocks", 99.8, 50)});
  const std::string said = printed({"validate", "--profile", "h200", "--rows", file.c_str()});
  EXPECT_THAT(said, HasSubstr("predicted with the profile h200"));
  EXPECT_THAT(said, ContainsRegex("blocks +1 +0.20 +0.[01]"));
}

TEST_F(Validate, NeedsRowsWithAPredictionAndACountersValue) {
  Row row = drawn("blocks", 0, 0);
  row.achieved_pct.reset();
  const std::string file = write({row});
  EXPECT_THAT(refusal({"validate", "--rows", file.c_str()}),
              HasSubstr("has no row with a prediction and a counter's value"));
}

TEST_F(Validate, MixesNoRowsWithThoseOfAnotherRun) {
  const std::string file = write({drawn("blocks", 90, 91)});
  EXPECT_THAT(refusal({"validate", "--out", file.c_str()}), HasSubstr("exists"));
}

class KeptProfile : public testing::Test {
 protected:
  KeptProfile() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    profile_.gpu_uuid = "GPU-1";
    profile_.name = name_of_profile(profile_.gpu, "GPU-91faaf4a-9cbf-8598-1b86-a06954d2532f");
  }
  ~KeptProfile() override {
    ::unsetenv("XDG_CONFIG_HOME");
  }

  TemporaryFolder folder_;
  DeviceProfile profile_ = find_profile("h200");
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{out_, err_};
};

TEST_F(KeptProfile, IsTheOneThatItsGpuIsThenPredictedWith) {
  const GpuIdentity gpu = identity_of(profile_);
  EXPECT_EQ(choose_profile(gpu).quality, ProfileQuality::calibrated_model);
  keep_profile(profile_, "", console_);
  EXPECT_EQ(choose_profile(gpu).quality, ProfileQuality::calibrated_device);
  EXPECT_EQ(choose_profile(gpu).profile.name, "h200-91faaf4a");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(KeptProfile, GoesWhereItIsToldTo) {
  const std::filesystem::path file = folder_.path() / "new" / "my.profile";
  keep_profile(profile_, file, console_);
  EXPECT_EQ(find_profile(file.string()), profile_);
  EXPECT_EQ(choose_profile(identity_of(profile_)).quality, ProfileQuality::calibrated_model);
  keep_profile(profile_, "-", console_);
  EXPECT_EQ(out_.str(), to_string(profile_));
}

TEST_F(KeptProfile, IsPrintedWhereItCannotBeWritten) {
  EXPECT_THROW(keep_profile(profile_, folder_.path(), console_), InputError);
  EXPECT_EQ(out_.str(), to_string(profile_));
}

}  // namespace
}  // namespace occbench
