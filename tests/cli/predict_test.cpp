#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/statuses.hpp"
#include "predict/work.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"
#include "table_cell.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// `occbench predict` of a grid on the built-in H200, with further arguments.
Outcome predict(const std::string& grid, std::vector<const char*> more) {
  std::vector<const char*> arguments{"predict",     "--profile", "h200",   "--block-size", "256",
                                     "--registers", "20",        "--grid", grid.c_str()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_command(arguments);
}

class PredictFromFile : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
  }
  std::string file(std::string_view text) {
    const std::filesystem::path path = folder_ / "cycles.txt";
    std::ofstream(path) << text;
    return path.string();
  }

  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST(Predict, OfAShapeIsThatOfItsTotal) {
  const auto of = [](const char* block, const char* grid) {
    return run_command({"predict", "--profile", "h200", "--block-size", block, "--grid", grid, "--registers",
                        "40", "--work", "equal:20000", "--format", "json"})
        .out;
  };
  const std::string shaped = of("32x8", "50x20");
  EXPECT_THAT(shaped, HasSubstr("\"block_threads\": 256"));
  const auto from = [](const std::string& text) { return text.substr(text.find("\"blocks_per_sm\"")); };
  EXPECT_EQ(from(shaped), from(of("256", "1000")));
}

TEST(Predict, SaysWhatTheCounterWillReadAndWhereTheRestWent) {
  const Outcome outcome = predict("2218", {"--work", "equal:200000"});
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("predicted"));
  EXPECT_THAT(outcome.out, HasSubstr("points: the last wave has 106 of 1,056 blocks"));
  EXPECT_THAT(outcome.out,
              ContainsRegex("predicted +9[0-9.]+ % .90 %: [0-9.]+ to [0-9.]+; a partial wave depends on the "
                            "clocks of this GPU: calibrate"));
  EXPECT_THAT(outcome.out, ContainsRegex("predicted over elapsed cycles +[0-9.]+ % .90 %: "));
  for (const char* cause : {"grid smaller than one wave", "partial last wave", "uneven blocks",
                            "uneven warps within a block", "launch and replacement overhead", "contention"}) {
    EXPECT_THAT(outcome.out, HasSubstr(cause)) << "as docs/prediction.md names the losses";
  }
}

TEST(Predict, AMissingGridIsAskedFor) {
  const Outcome outcome = run_command(
      {"predict", "--profile", "h200", "--block-size", "256", "--registers", "20", "--work", "equal:200000"});
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("--grid: give the blocks in the grid"));
}

TEST(Predict, TakesSizesInKilobytesAndRefusesTooMuchStaticSharedMemory) {
  const auto theory = [](const char* size) {
    return predict("1056", {"--work", "equal:20000", "--dynamic-smem", size, "--format", "csv"}).out;
  };
  EXPECT_EQ(theory("100K"), theory("102400"));
  const Outcome refused = predict("1056", {"--work", "equal:20000", "--static-smem", "49K"});
  EXPECT_EQ(refused.status, ExitStatus::usage);
  EXPECT_THAT(refused.err, HasSubstr("static_shared_bytes = 50176 is more than the 49152"));
}

TEST(Predict, TheSameQuestionHasTheSameAnswerByteForByte) {
  const std::vector<const char*> question{"--work", "uniform:20000:0.5:1.5:seed=3", "--format", "json"};
  EXPECT_EQ(predict("2218", question).out, predict("2218", question).out);
}

TEST(Predict, WhatWasReadSaysForHowLongWarpsStayInLockstep) {
  const char* const work = "equal:24768:issue=24768";
  const Outcome outcome = predict("1056", {"--work", work, "--achieved", "80", "--format", "json"});
  ASSERT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  const nlohmann::json answer = nlohmann::json::parse(outcome.out);
  EXPECT_THAT(answer.at("work").get<std::string>(), StartsWith(std::string(work) + ":lockstep="));
  EXPECT_NEAR(answer.at("predicted_pct").get<double>(), 80, 0.1);
  EXPECT_THAT(predict("1056", {"--work", work, "--achieved", "80"}).out,
              testing::AllOf(HasSubstr("fitted to what was read"),
                             HasSubstr("--work equal:24768:issue=24768:lockstep=")));
}

TEST(Predict, AReadingThatNoTimeInLockstepExplainsIsRefused) {
  const auto refused = [](std::vector<const char*> arguments, const char* because) {
    const Outcome outcome = predict("1056", std::move(arguments));
    EXPECT_EQ(outcome.status, ExitStatus::usage);
    EXPECT_THAT(outcome.err, HasSubstr(because));
  };
  refused({"--work", "equal:24768:issue=24768", "--achieved", "30"},
          "no time in lockstep explains a reading of 30 %");
  for (const char* impossible : {"130", "-1", "nan", "x"}) {
    refused({"--work", "equal:24768:issue=24768", "--achieved", impossible}, "a number from 0 to 100");
  }
  refused({"--work", "equal:24768:issue=6192", "--achieved", "60"}, "issue must be at least 19814");
  refused({"--work", "equal:24768:issue=6192:lockstep=5"},
          "by the profile h200 issue must be at least 19814");
  refused({"--durations", "missing.txt", "--achieved", "60"}, "--work");
  refused({"--work", ""}, "'' is not a distribution");
}

TEST(Predict, JsonHasTheNamesOfTheColumns) {
  const Outcome outcome = predict("1584", {"--work", "equal:20000", "--format", "json"});
  const nlohmann::json answer = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(answer.at("device_profile"), "h200 (calibrated_model)");
  EXPECT_EQ(answer.at("work"), "equal:20000");
  const double losses =
      answer.at("loss_small_grid_points").get<double>() + answer.at("loss_tail_points").get<double>() +
      answer.at("loss_between_blocks_points").get<double>() +
      answer.at("loss_within_block_points").get<double>() + answer.at("loss_overhead_points").get<double>() +
      answer.at("loss_contention_points").get<double>();
  EXPECT_NEAR(answer.at("theoretical_pct").get<double>() - answer.at("predicted_pct").get<double>(), losses,
              1e-9);
  EXPECT_GT(answer.at("timeline").at("warps").size(), 100u);
}

TEST(Predict, TheGpcThatALaunchBeginsWithNarrowsTheIntervalAndStandsInTheAnswer) {
  const auto answer = [](std::vector<const char*> more) {
    more.insert(more.end(), {"--work", "uniform:200000:0.5:1.5:seed=3", "--format", "json"});
    const Outcome outcome = predict("792", more);
    EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  };
  const auto range = [](const nlohmann::json& of) {
    return of.at("predicted_high_pct").get<double>() - of.at("predicted_low_pct").get<double>();
  };
  const nlohmann::json any = answer({});
  const nlohmann::json known = answer({"--first-gpc", "3"});
  EXPECT_FALSE(any.contains("first_gpc"));
  EXPECT_EQ(known.at("first_gpc"), 3);
  EXPECT_LT(range(known), range(any));
}

TEST(Predict, CsvIsAHeaderAndARow) {
  const Outcome outcome = predict("1584", {"--work", "equal:20000", "--format", "csv"});
  EXPECT_THAT(outcome.out,
              StartsWith("compute_capability,sm_count,work,work_source,block_threads,grid_blocks,"));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
}

TEST_F(PredictFromFile, DurationsOfEveryBlockAreTheSameAsTheWorkThatDrawsThem) {
  std::string lines;
  for (int block = 0; block < 1056; ++block) lines += block % 8 == 0 ? "80000\n" : "20000\n";
  const std::string path = file(lines);
  const Outcome from_file = predict("1056", {"--durations", path.c_str(), "--format", "json"});
  const Outcome from_work = predict("1056", {"--work", "every:20000:8:4", "--format", "json"});
  EXPECT_EQ(nlohmann::json::parse(from_file.out).at("predicted_pct"),
            nlohmann::json::parse(from_work.out).at("predicted_pct"));
}

TEST_F(PredictFromFile, ABadFileIsWrongInputWithFileAndLine) {
  const auto refuses = [&](std::string_view text, std::vector<const char*> more, std::string_view about) {
    const std::string path = file(text);
    more.insert(more.end(), {"--durations", path.c_str()});
    const Outcome outcome = predict("3", more);
    EXPECT_EQ(outcome.status, ExitStatus::usage);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(path + std::string(about)));
  };
  refuses("", {}, ":1: no durations");
  refuses("1\n2\n", {}, ":3: 2 durations for a grid of 3 blocks");
  refuses("1\n2\n3\n4\n", {}, ":4: 4 durations");
  refuses("1\n-2\n3\n", {}, ":2: -2 cycles are out of range");
  // Blocks of no time would never fill the GPU.
  refuses("1\n0\n3\n", {}, ":2: 0 cycles are out of range: 1 to");
  refuses("0.4\n", {}, ":1: 0.4 cycles are out of range: 1 to");
  refuses("nan\n", {}, ":1: 'nan' is not a number of cycles");
  refuses("1\ntwo\n3\n", {}, ":2: 'two'");
  refuses("1\n2\n3\n", {"--per-warp"}, ":4: 3 durations for a grid of 24 warps");
}

TEST(Predict, AGridThatTakesTooLongToSimulateIsRefusedWithOneThatDoesNot) {
  const auto begin = std::chrono::steady_clock::now();
  for (const char* work :
       {"lognormal:2000:0.5", "uniform:2000:0.5:1.5:issue=900", "warp/uniform:2000:0.5:1.5"}) {
    for (const std::string grid : {"100000000", "2147483647"}) {
      const Outcome outcome = predict(grid, {"--work", work});
      EXPECT_EQ(outcome.status, ExitStatus::usage);
      EXPECT_EQ(outcome.out, "");
      EXPECT_THAT(outcome.err,
                  HasSubstr(grid == "100000000" ? "these 100,000,000 uneven blocks" : "2,147,483,647"));
      EXPECT_THAT(outcome.err,
                  HasSubstr("at most 10 s are taken: predict the same work in a grid of at most"));
    }
  }
  EXPECT_THAT(predict("100000000", {"--work", "uniform:2000:0.5:1.5:issue=2000", "--achieved", "50"}).err,
              HasSubstr("100,000,000"));
  // Of equal blocks most waves are skipped.
  EXPECT_EQ(predict("2147483647", {"--work", "equal:2000"}).status, ExitStatus::done);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Predict, WrongInputIsStatus64) {
  const auto refuses = [](const std::string& grid, const std::vector<const char*>& more,
                          std::string_view about) {
    const Outcome outcome = predict(grid, more);
    EXPECT_EQ(outcome.status, ExitStatus::usage) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(std::string(about)));
  };
  refuses("3", {"--work", "equal:many"}, "character 7");
  refuses("3", {}, "--work, --durations, --time-us or --sm-cycles-active-avg");
  refuses("3", {"--work", "equal:5", "--durations", "file"}, "--work,--durations");
  refuses("3", {"--work", "equal:5", "--per-warp"}, "--durations");
  refuses("3", {"--durations", "no/such/file"}, "no/such/file");
  refuses("0", {"--work", "equal:5"}, "--grid: give the blocks in the grid, at least 1");
  refuses("3", {"--work", "equal:5", "--dynamic-smem", "300000"}, "300000");
  refuses("3", {"--work", "equal:5", "--cluster", "2"}, "cluster_blocks = 2");
  refuses("3", {"--work", "equal:5", "--first-gpc", "8"},
          "first_gpc = 8 is out of range: 132 SMs have GPCs 0 to 7");
  refuses("3", {"--work", "equal:5", "--first-gpc", "-1"}, "--first-gpc = '-1'");
  refuses("3", {"--work", "equal:5", "--first-gpc", "two"}, "--first-gpc");
  refuses("3", {"--work", "equal:5", "--format", "xml"}, "xml");
}

std::string predict_batch_of(const std::string& text) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "batch.csv";
  std::ofstream(file) << text;
  const Outcome outcome = run_command({"predict", "--batch", file.c_str()});
  return outcome.status == ExitStatus::done ? outcome.out : outcome.err;
}

TEST(PredictBatch, RefusesColumnsAndFilesThatItWouldPassOverAndTakesSizes) {
  const std::string head = "compute_capability,sm_count,block_threads,grid_blocks,registers_per_thread,work,";
  const std::string launch = "9.0,132,256,2218,20,equal:200000,";
  EXPECT_THAT(predict_batch_of(head + "dynamic_smem\n" + launch + "204800\n"),
              AllOf(HasSubstr("does not know the column 'dynamic_smem'"),
                    HasSubstr("the nearest is dynamic_shared_bytes ")));
  EXPECT_THAT(predict_batch_of(head + "cycles_active_avg\n" + launch + "1\n"),
              HasSubstr("the nearest is sm_cycles_active_avg "));
  EXPECT_EQ(predict_batch_of(head + "dynamic_shared_bytes\n" + launch + "200K\n"),
            predict_batch_of(head + "dynamic_shared_bytes\n" + launch + "204800\n"));
  EXPECT_THAT(predict_batch_of("{\"schemaVersion\": 1}\n"), HasSubstr("occbench trace --import"));
  EXPECT_THAT(predict_batch_of("<!doctype html>\n"), HasSubstr("it is a page"));
}

TEST(PredictBatch, InfersWorkThatIsNotGivenAndSaysSo) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "batch.csv";
  std::ofstream(file)
      << "case,compute_capability,sm_count,block_threads,grid_blocks,registers_per_thread,work,"
         "time_us,sm_clock_mhz,sm_cycles_active_avg\n"
         "given,9.0,132,256,2218,20,equal:200000,,,\n"
         "microseconds,9.0,132,256,2218,20,equal:100us,,2000,\n"
         "time,9.0,132,256,2218,20,,301,2000,\n"
         "cycles,9.0,132,256,1056,20,,,,200233\n";
  const Outcome outcome = run_command({"predict", "--batch", file.c_str(), "--profile", "h200"});
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  const CsvTable table = parse_csv(outcome.out, "out");
  ASSERT_EQ(table.rows.size(), 4U);
  const auto cell = [&](std::size_t row, std::string_view name) { return table_cell(table, row, name); };
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

TEST(PredictBatch, ARowThatSaysNothingOfItsWorkSaysSoAndTheOthersArePredicted) {
  const std::string head =
      "compute_capability,sm_count,gpu,block_threads,grid_blocks,registers_per_thread,work,time_us\n";
  const CsvTable table = parse_csv(predict_batch_of(head + "9.0,132,NVIDIA H200,256,2218,20,,\n"
                                                           "9.0,132,,256,2218,20,,301\n"
                                                           "9.0,132,,256,2218,20,equal:200000,\n"),
                                   "out");
  ASSERT_EQ(table.rows.size(), 3U);
  for (const std::size_t row : {0, 1}) {
    EXPECT_EQ(table_cell(table, row, "predicted_pct"), "");
    EXPECT_THAT(table_cell(table, row, "note"),
                HasSubstr("no prediction: work is empty and cannot be inferred: give work"));
  }
  EXPECT_NE(table_cell(table, 2, "predicted_pct"), "");
}

TEST(PredictBatch, WorkInMicrosecondsIsReadAtTheHighestClockOfTheGpuAndSaysSo) {
  const std::string launch = "9.0,132,NVIDIA H200,256,2218,20,";
  const CsvTable table = parse_csv(predict_batch_of("compute_capability,sm_count,gpu,block_threads,grid_"
                                                    "blocks,registers_per_thread,work,sm_clock_mhz\n" +
                                                    launch + "equal:100us,\n" + launch +
                                                    "equal:100us,1980\n" + launch + "equal:198000,\n"),
                                   "out");
  ASSERT_EQ(table.rows.size(), 3U);
  for (const std::size_t row : {0, 1, 2}) EXPECT_EQ(table_cell(table, row, "work"), "equal:198000");
  EXPECT_EQ(table_cell(table, 0, "note"), "work is read at 1980 MHz, the GPU's highest clock");
  EXPECT_EQ(table_cell(table, 1, "note") + table_cell(table, 2, "note"), "");
}

TEST(PredictBatch, TimeAloneIsReadAtTheHighestClockOfTheGpu) {
  // 303 us at the 1,980 MHz of an H200's data sheet are 600,000 cycles, three rounds of blocks.
  const std::string launch = "9.0,132,NVIDIA H200,256,2218,20,303.03,";
  const CsvTable table = parse_csv(predict_batch_of("compute_capability,sm_count,gpu,block_threads,grid_"
                                                    "blocks,registers_per_thread,time_us,sm_clock_mhz\n" +
                                                    launch + "\n" + launch + "1980\n"),
                                   "out");
  EXPECT_EQ(table_cell(table, 0, "work_source"), "inferred from time");
  EXPECT_NEAR(parse_work(table_cell(table, 0, "work")).cycles, 200'000, 2'000);
  EXPECT_EQ(table_cell(table, 0, "predicted_pct"), table_cell(table, 1, "predicted_pct"));
  EXPECT_EQ(table_cell(table, 0, "sm_clock_mhz"), "") << "what was given stays as it was";
  EXPECT_EQ(table_cell(table, 0, "note"), "time_us is read at 1980 MHz, the GPU's highest clock");
  EXPECT_EQ(table_cell(table, 1, "note"), "");
}

TEST(PredictWork, InMicrosecondsSaysTheClockThatItWasTakenAt) {
  const Outcome outcome = run_command({"predict", "--gpu", "rtx-4090", "--block-size", "256", "--registers",
                                       "48", "--grid", "1000", "--work", "equal:50us"});
  EXPECT_THAT(outcome.out, HasSubstr("equal:50us is equal:126000 at 2520 MHz."));
}

TEST(PredictHelp, ShowsEachFormOfWorkAsItIsRead) {
  const std::string help = run_command({"predict", "--help"}).out;
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

}  // namespace
}  // namespace occbench
