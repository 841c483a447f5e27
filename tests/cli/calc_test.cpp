#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "record/columns.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// A file that is gone when the test ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::temp_directory_path() / fmt::format("occbench_{}_{}.csv", test->name(), getpid());
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() {
    fs::remove(path_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const char* name() const {
    return path_.c_str();
  }

 private:
  fs::path path_;
};

Outcome batch(const std::string& text, const char* format) {
  const TemporaryFile file(text);
  return run_command({"calc", "--batch", file.name(), "--format", format});
}

std::string cell(const CsvTable& table, std::size_t row, std::string_view name) {
  const auto column = std::ranges::find(table.names, name);
  return column == table.names.end()
             ? "no such column"
             : table.rows.at(row).at(static_cast<std::size_t>(column - table.names.begin()));
}

// Ada, 90 registers, 128 threads: 5 blocks of 4 warps of 48.
TEST(Calc, SaysOccupancyLimiterAndCliffsInWords) {
  const Outcome outcome = run_command({"calc", "--cc", "8.9", "--block-size", "128", "--registers", "90"});
  EXPECT_EQ(outcome.status, ExitStatus::done);
  EXPECT_THAT(outcome.out, HasSubstr("theoretical occupancy 41.67 %"));
  EXPECT_THAT(outcome.out, HasSubstr("20 of 48 warps per SM"));
  EXPECT_THAT(outcome.out, ContainsRegex("registers +11520 +12288 +65536 +4096 +5  ◀ limits"));
  // 32 x 80 = 2560 registers a warp: 24 warps.
  EXPECT_THAT(outcome.out,
              ContainsRegex("10 fewer registers per thread .90 → 80. +41.67 → 50 % +5 → 6 blocks"));
}

TEST(Calc, OfAKernelThatCannotLaunchIsAnAnswerWithTheReason) {
  const Outcome outcome =
      run_command({"calc", "--cc", "sm_90", "--block-size", "1024", "--registers", "255"});
  EXPECT_EQ(outcome.status, ExitStatus::done);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("theoretical occupancy 0 %"), HasSubstr("cannot launch: a block of 1024")));
}

TEST(Calc, GivesJsonUnderTheNamesOfTheColumns) {
  const Outcome outcome = run_command({"calc", "--cc", "90", "--block-size", "256", "--registers", "40",
                                       "--static-smem", "20000", "--grid", "1980", "--sm-count", "132",
                                       "--gpc-sms", "18,18,16", "--cluster", "2", "--format", "json"});
  ASSERT_EQ(outcome.status, ExitStatus::done);
  const json answer = json::parse(outcome.out);
  EXPECT_EQ(answer["compute_capability"], "9.0");
  EXPECT_EQ(answer["blocks_per_sm"], 6);
  EXPECT_EQ(answer["limiter"], "registers");
  EXPECT_EQ(answer["theoretical_pct"], 75.0);
  EXPECT_EQ(answer["warps_per_sm"], 48);
  EXPECT_EQ(answer["threads_per_sm"], 1536);
  EXPECT_EQ(answer["block_limit_warps"], 8);
  EXPECT_EQ(answer["block_limit_blocks"], 8);  // of clusters
  EXPECT_EQ(answer["block_limit_registers"], 6);
  EXPECT_EQ(answer["block_limit_shared_memory"], 11);
  EXPECT_TRUE(answer["block_limit_barriers"].is_null());
  EXPECT_EQ(answer["full_wave_blocks"], 792);
  EXPECT_EQ(answer["waves"], 2.5);
  EXPECT_EQ(answer["active_clusters"], 54 + 54 + 48);
  EXPECT_TRUE(answer["carveout_pct"].is_null());
  EXPECT_EQ(answer["cliffs"][1]["change"], "8 fewer registers per thread");
}

TEST(Calc, SaysHowManyResidentThreadsShareALaneOfTheSm) {
  // 8 blocks of 256 threads on the 128 FP32 lanes of compute capability 9.0, 6 of them on the 64 of 8.0.
  const auto answer = [](const char* cc, const char* registers) {
    const Outcome outcome = run_command(
        {"calc", "--cc", cc, "--block-size", "256", "--registers", registers, "--format", "json"});
    return json::parse(outcome.out);
  };
  EXPECT_EQ(answer("9.0", "32")["fp32_lanes"], 128);
  EXPECT_EQ(answer("9.0", "32")["threads_per_lane"], 16);
  EXPECT_EQ(answer("8.0", "40")["threads_per_lane"], 24);
  const Outcome text = run_command({"calc", "--cc", "9.0", "--block-size", "256", "--registers", "32"});
  EXPECT_THAT(text.out, HasSubstr("threads per FP32 lane 16: 2048 resident threads, 128 lanes per SM"));
}

TEST(Calc, GivesTheThreeCurvesAsCsvWithTheCurrentPoint) {
  const Outcome outcome = run_command({"calc", "--cc", "9.0", "--block-size", "100", "--registers", "40",
                                       "--static-smem", "5000", "--curves", "--format", "csv"});
  const CsvTable table = parse_csv(outcome.out, "curves");
  std::vector<std::string> current;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (cell(table, row, "current") != "1") continue;
    current.push_back(cell(table, row, "axis") + " " + cell(table, row, "value"));
    EXPECT_EQ(cell(table, row, "theoretical_pct"), "75");
  }
  EXPECT_THAT(current, testing::ElementsAre("block_threads 100", "registers_per_thread 40",
                                            "shared_bytes_per_block 5000"));
}

TEST(Calc, DrawsTheCurvesWithTheCurrentPointMarked) {
  const Outcome outcome =
      run_command({"calc", "--cc", "9.0", "--block-size", "256", "--registers", "64", "--curves"});
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("▲ 256: 50 %"), HasSubstr("▲ 64: 50 %"), HasSubstr("▲ 0: 50 %")));
}

TEST(Calc, NamesTheLimitThatBadInputBreaksAndEndsWith64) {
  const auto refused = [](std::initializer_list<const char*> changed) {
    std::vector<const char*> arguments = {"calc", "--cc", "9.0", "--block-size", "256", "--registers", "32"};
    arguments.insert(arguments.end(), changed.begin(), changed.end());
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.status, ExitStatus::usage) << *changed.begin();
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.err;
  };
  EXPECT_THAT(refused({"--dynamic-smem", "-1"}), HasSubstr("dynamic_shared_bytes = -1"));
  EXPECT_THAT(refused({"--dynamic-smem", "99999999999"}), HasSubstr("allows 0 to 2147483647"));
  for (const char* size : {"99999999999999999999", "9999999999G", "12X", "1.5K", "K", "", "12 K"}) {
    EXPECT_THAT(
        refused({"--static-smem", size}),
        HasSubstr(fmt::format("--static-smem = {} is not a size: write it in bytes, or as 12K", size)));
  }
  EXPECT_THAT(refused({"--carveout", "101"}), HasSubstr("carveout_pct = 101"));
  EXPECT_THAT(refused({"--cluster", "0"}), HasSubstr("cluster_blocks = 0"));
  EXPECT_THAT(refused({"--grid", "-4"}), HasSubstr("grid_blocks = -4"));
  EXPECT_THAT(refused({"--sm-count", "0"}), HasSubstr("sm_count = 0"));
  EXPECT_THAT(refused({"--gpc-sms", "18,-2"}), HasSubstr("SMs of a GPC = -2"));
  EXPECT_THAT(refused({"--batch", "rows.csv"}), HasSubstr("--cc does not go with --batch"));
  const auto error_of = [](const char* capability, const char* block_size, const char* registers) {
    return run_command({"calc", "--cc", capability, "--block-size", block_size, "--registers", registers})
        .err;
  };
  EXPECT_THAT(error_of("8.8", "256", "32"), HasSubstr("nearest known is 8.7"));
  EXPECT_THAT(error_of("hopper", "256", "32"), HasSubstr("'hopper' is not a compute capability"));
  EXPECT_THAT(error_of("9.0", "0", "32"), HasSubstr("block_threads = 0 is out of range"));
  EXPECT_THAT(error_of("9.0", "1025", "32"), HasSubstr("compute capability 9.0 allows 1 to 1024"));
  EXPECT_THAT(error_of("9.0", "256", "300"), HasSubstr("allows 0 to 255"));
  EXPECT_THAT(run_command({"calc", "--cc", "9.0", "--registers", "32"}).err,
              HasSubstr("calc needs --block-size"));
}

TEST(Calc, TakesSizesInKilobytes) {
  const auto shared_of = [](const char* size) {
    const Outcome outcome = run_command({"calc", "--cc", "9.0", "--block-size", "256", "--registers", "32",
                                         "--static-smem", size, "--format", "json"});
    return json::parse(outcome.out)["static_shared_bytes"].get<int>();
  };
  for (const char* size : {"12288", "12K", "12k", "12KB", "12KiB", "12288B"})
    EXPECT_EQ(shared_of(size), 12'288);
}

TEST(Calc, RefusesMoreThan48KilobytesOfStaticSharedMemoryWithTheRemedy) {
  const auto calculate = [](const char* capability, const char* size) {
    return run_command(
        {"calc", "--cc", capability, "--block-size", "256", "--registers", "32", "--static-smem", size});
  };
  EXPECT_EQ(calculate("9.0", "48K").status, ExitStatus::done);
  const Outcome refused = calculate("9.0", "100K");
  EXPECT_EQ(refused.status, ExitStatus::usage);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("static_shared_bytes = 102400 is more than the 49152"),
                    HasSubstr("declare it extern __shared__"), HasSubstr("--dynamic-smem 102400")));
  EXPECT_THAT(calculate("9.0", "1M").err, HasSubstr("allows; use less"));
  EXPECT_THAT(calculate("1.0", "17K").err, HasSubstr("more than the 16384"));
}

TEST(Calc, SaysWhatToDoAndWhatNot) {
  const auto advice = [](std::initializer_list<const char*> launch) {
    std::vector<const char*> arguments = {"calc", "--cc", "9.0"};
    arguments.insert(arguments.end(), launch.begin(), launch.end());
    const std::string out = run_command(arguments).out;
    const std::size_t begin = out.find("what to do\n");
    return begin == std::string::npos ? "" : out.substr(begin, out.find("\n\n", begin) - begin);
  };
  EXPECT_EQ(advice({"--block-size", "512", "--registers", "32"}), "what to do\n  nothing to gain: 100 %");
  const std::string cliff = advice({"--block-size", "512", "--registers", "33", "--dynamic-smem", "12K"});
  EXPECT_THAT(cliff,
              HasSubstr("one less register per thread: 33 -> 32 gives 100 %, 4 blocks per SM; price: the "
                        "compiler may spill"));
  EXPECT_THAT(cliff, HasSubstr("less shared memory alone gains nothing: limited by registers"));
  // What the project recorded at that very step, in results/nvidia-h200.
  EXPECT_THAT(
      cliff, ContainsRegex("register_cliff, 512 threads per block: 33 -> 32 registers, latency-bound kernel: "
                           "-2[0-9] % time"));
  // 800 threads would give 78.12 % instead of 75.
  EXPECT_THAT(
      advice({"--block-size", "768", "--registers", "32"}),
      HasSubstr("512 or 1024 threads per block, 768 now, give 100 %, 4 blocks or 2 blocks per SM; price: the "
                "grid needs another number of blocks"));
  EXPECT_THAT(advice({"--block-size", "32", "--registers", "32"}),
              HasSubstr("64 threads per block, 32 now, give 100 %, 32 blocks per SM; price: the grid"));
  EXPECT_THAT(advice({"--block-size", "64", "--registers", "32", "--static-smem", "8K"}),
              HasSubstr("fewer registers alone gain nothing: limited by shared memory"));
}

TEST(Calc, NamesEachRuleThatWasApplied) {
  const Outcome outcome = run_command({"calc", "--cc", "9.0", "--block-size", "500", "--registers", "33",
                                       "--static-smem", "20000", "--barriers", "5", "--cluster", "2"});
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("500 threads are 16 warps of 32, the last with 20 threads"),
                    HasSubstr("at most 8 blocks of clusters"),
                    HasSubstr("33 -> 40 per thread by the 256-register unit"),
                    HasSubstr("1,024 B that the driver reserves"), HasSubstr("64 / 5 = 12 blocks")));
  const Outcome as_json =
      run_command({"calc", "--cc", "9.0", "--block-size", "512", "--registers", "33", "--format", "json"});
  const json rules = json::parse(as_json.out)["rules"];
  EXPECT_EQ(rules[2]["resource"], "registers");
  EXPECT_EQ(rules[2]["blocks"], 3);
  EXPECT_EQ(rules[2]["limits"], true);
  EXPECT_THAT(rules[2]["rule"].get<std::string>(), testing::EndsWith("65,536 / 20,480 = 3 blocks"));
}

TEST(Calc, ListsTheLimitsOfOneOrAllComputeCapabilities) {
  const Outcome all = run_command({"calc", "--limits", "--format", "csv"});
  const CsvTable table = parse_csv(all.out, "limits");
  EXPECT_EQ(table.rows.size(), 30u);
  // NVIDIA's programming guide, technical specifications of compute capability 9.0.
  const json one = json::parse(run_command({"calc", "--limits", "--cc", "90", "--format", "json"}).out);
  ASSERT_EQ(one.size(), 1u);
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, int>>{{"max_warps_per_sm", 64},
                                                          {"max_threads_per_sm", 2048},
                                                          {"max_blocks_per_sm", 32},
                                                          {"registers_per_sm", 65'536},
                                                          {"max_registers_per_thread", 255},
                                                          {"shared_bytes_per_sm", 228 * 1024},
                                                          {"max_shared_bytes_per_block", 227 * 1024},
                                                          {"max_threads_per_block", 1024}}) {
    EXPECT_EQ(one[0][name], value) << name;
  }
  EXPECT_EQ(one[0]["carveouts_kb"], json({0, 8, 16, 32, 64, 100, 132, 164, 196, 228}));
  EXPECT_THAT(run_command({"calc", "--limits"}).out, AllOf(HasSubstr("\n12.1 "), HasSubstr("\n1.0 ")));
  EXPECT_THAT(run_command({"calc", "--limits", "--cc", "9.0"}).out,
              HasSubstr("shared memory that the driver takes of each block"));
  EXPECT_THAT(run_command({"calc", "--limits", "--cc", "8.8"}).err, HasSubstr("nearest known is 8.7"));
  EXPECT_THAT(run_command({"calc", "--limits", "--registers", "3"}).err,
              HasSubstr("--registers does not go with --limits"));
}

TEST(Calc, CurvesNeedNoBlockSizeAndAreRows) {
  const Outcome drawn = run_command({"calc", "--curves", "--cc", "9.0", "--registers", "40"});
  EXPECT_EQ(drawn.status, ExitStatus::done);
  EXPECT_THAT(drawn.err, HasSubstr("drawn with the best, 768 threads"));
  EXPECT_THAT(drawn.out, HasSubstr("▲ 768: 75 %"));
  const Outcome written =
      run_command({"calc", "--curves", "--cc", "9.0", "--registers", "40", "--format", "csv"});
  const std::vector<Row> rows = parse_rows(written.out, "curves");
  EXPECT_GT(rows.size(), 2000u);
  EXPECT_EQ(rows[0].schema, kSchema);
  EXPECT_EQ(rows[0].experiment, "curves");
  EXPECT_EQ(rows[0].case_, "block_threads=32");
  EXPECT_EQ(rows[0].parameters, "axis=block_threads;current=0");
  EXPECT_EQ(rows[0].block_threads, 32);
  EXPECT_THAT(
      run_command({"calc", "--curves", "--cc", "9.0", "--registers", "40", "--dynamic-smem", "1M"}).err,
      HasSubstr("no block size can launch such a block"));
}

TEST(CalcBatch, RefusesAColumnThatItDoesNotKnowWithTheNearestName) {
  const auto refusal = [](const std::string& column) {
    const Outcome outcome =
        batch("compute_capability,block_threads,registers_per_thread," + column + "\n9.0,256,32,1\n", "csv");
    EXPECT_EQ(outcome.status, ExitStatus::usage) << column;
    return outcome.err;
  };
  for (const auto& [wrong, nearest] :
       std::initializer_list<std::pair<const char*, const char*>>{{"dynamic_smem", "dynamic_shared_bytes"},
                                                                  {"static_smem", "static_shared_bytes"},
                                                                  {"dynamic_shared", "dynamic_shared_bytes"},
                                                                  {"barrier", "barriers"},
                                                                  {"carveout", "carveout_pct"},
                                                                  {"cluster_size", "cluster_blocks"},
                                                                  {"sms", "sm_count"},
                                                                  {"name", "case"}}) {
    EXPECT_THAT(refusal(wrong), AllOf(HasSubstr(fmt::format("does not know the column '{}'", wrong)),
                                      HasSubstr(fmt::format("the nearest is {} ", nearest))));
  }
}

TEST(CalcBatch, TakesItsOwnAnswersAndCountersAgain) {
  const Outcome once = batch(
      "case,compute_capability,block_threads,registers_per_thread,sm__warps_active.sum\n"
      "a,9.0,256,32,5\n",
      "csv");
  ASSERT_EQ(once.status, ExitStatus::done) << once.err;
  const Outcome twice = batch(once.out, "csv");
  EXPECT_EQ(twice.status, ExitStatus::done) << twice.err;
  EXPECT_EQ(twice.out, once.out);
}

TEST(CalcBatch, TakesSizesInKilobytesAndWritesThemInFull) {
  const Outcome outcome = batch(
      "case,compute_capability,block_threads,registers_per_thread,dynamic_shared_bytes\na,9.0,256,32,100K\n",
      "csv");
  ASSERT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  const CsvTable table = parse_csv(outcome.out, "answers");
  EXPECT_EQ(cell(table, 0, "dynamic_shared_bytes"), "102400");
  EXPECT_EQ(cell(table, 0, "blocks_per_sm"), "2");
}

TEST(CalcBatch, RefusesMoreThan48KilobytesOfStaticSharedMemory) {
  const Outcome outcome = batch(
      "compute_capability,block_threads,registers_per_thread,static_shared_bytes\n9.0,256,32,50000\n", "csv");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("line 2"), HasSubstr("static_shared_bytes = 50000 is more than")));
}

TEST(CalcBatch, RanksTwentyConfigurationsAndMarksTheBest) {
  std::string text = "case,compute_capability,block_threads,registers_per_thread\n";
  for (int number = 0; number < 20; ++number)
    text += fmt::format("registers={0},9.0,256,{0}\n", 64 - 2 * number);
  const TemporaryFile file(text);
  const Outcome ranked = run_command({"calc", "--batch", file.name(), "--rank", "--format", "csv"});
  ASSERT_EQ(ranked.status, ExitStatus::done) << ranked.err;
  const CsvTable table = parse_csv(ranked.out, "ranked");
  ASSERT_EQ(table.rows.size(), 20u);
  // 32, 30, 28 and 26 registers leave room for 64 warps.
  EXPECT_EQ(cell(table, 0, "case"), "registers=32");
  EXPECT_EQ(cell(table, 3, "rank"), "1");
  EXPECT_EQ(cell(table, 4, "rank"), "5");
  EXPECT_EQ(cell(table, 4, "theoretical_pct"), "75");
  EXPECT_EQ(cell(table, 19, "theoretical_pct"), "50");
  const Outcome shown = run_command({"calc", "--batch", file.name(), "--rank"});
  std::size_t best = 0;
  for (std::size_t at = 0; (at = shown.out.find("◀ best", at)) != std::string::npos; ++at) ++best;
  EXPECT_EQ(best, 4u);
}

TEST(CalcBatch, NamesRowsByTheirColumnCase) {
  const Outcome outcome =
      batch("case,compute_capability,block_threads,registers_per_thread\nmine,9.0,256,32\n", "csv");
  const std::vector<Row> rows = parse_rows(outcome.out, "answers");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].schema, kSchema);
  EXPECT_EQ(rows[0].experiment, "batch");
  EXPECT_EQ(rows[0].case_, "mine");
  EXPECT_THAT(batch("case,compute_capability,block_threads,registers_per_thread\n,9.0,256,32\n", "csv").err,
              HasSubstr("line 2: case is empty"));
}

TEST(CalcBatch, GivesTheSameRowsWithTheAnswersAdded) {
  const Outcome outcome = batch(
      "case,compute_capability,block_threads,registers_per_thread,dynamic_shared_bytes,carveout_pct\n"
      "\"a, quoted\",8.9,128,90,,\n"
      "b,sm_35,256,,49152,\n",
      "csv");
  EXPECT_EQ(outcome.status, ExitStatus::usage);
  EXPECT_THAT(outcome.err, HasSubstr("line 3: registers_per_thread is empty"));

  const Outcome whole = batch(
      "case,compute_capability,block_threads,registers_per_thread,dynamic_shared_bytes,carveout_pct\n"
      "\"a, quoted\",8.9,128,90,,\n"
      "b,sm_35,256,0,49152,\n",
      "csv");
  ASSERT_EQ(whole.status, ExitStatus::done) << whole.err;
  EXPECT_THAT(
      whole.out,
      StartsWith(
          "schema,experiment,case,compute_capability,block_threads,registers_per_thread,dynamic_shared_bytes,"
          "carveout_pct,blocks_per_sm,limiter,"));
  const CsvTable table = parse_csv(whole.out, "answers");
  EXPECT_EQ(cell(table, 0, "case"), "a, quoted");
  EXPECT_EQ(cell(table, 0, "theoretical_pct"), "41.6667");
  EXPECT_EQ(cell(table, 0, "limiter"), "registers");
  EXPECT_EQ(cell(table, 1, "compute_capability"), "sm_35");
  EXPECT_EQ(cell(table, 1, "blocks_per_sm"), "1");
}

TEST(CalcBatch, PutsItsAnswersInTheColumnsOfARecordedRun) {
  const Outcome outcome = batch(
      "compute_capability,block_threads,registers_per_thread,sm_count,grid_blocks,theoretical_pct,achieved_"
      "pct\n"
      "9.0,256,32,132,528,12,49.5\n",
      "json");
  ASSERT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  const json rows = json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["theoretical_pct"], 100.0);
  EXPECT_EQ(rows[0]["achieved_pct"], 49.5);
  EXPECT_EQ(rows[0]["waves"], 0.5);
}

TEST(CalcBatch, NamesLineAndColumnOfWhatIsWrong) {
  const std::string names = "compute_capability,block_threads,registers_per_thread\n";
  const auto error_of = [](const std::string& text) {
    const Outcome outcome = batch(text, "csv");
    EXPECT_EQ(outcome.status, ExitStatus::usage);
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.err;
  };
  EXPECT_THAT(
      error_of(names + "9.0,256,32\n9.0,256,many\n"),
      AllOf(HasSubstr("line 3"), HasSubstr("'many' is not a whole number for column registers_per_thread")));
  EXPECT_THAT(error_of(names + "9.0,256,300\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("registers_per_thread = 300")));
  EXPECT_THAT(error_of(names + "9.0,4294967552,32\n"), HasSubstr("block_threads = 4294967552"));
  EXPECT_THAT(error_of(names + "9.9,256,32\n"), AllOf(HasSubstr("line 2"), HasSubstr("9.9")));
  EXPECT_THAT(error_of(names + "9.0,256\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of("compute_capability,block_threads\n9.0,256\n"),
              HasSubstr("no column registers_per_thread"));
  EXPECT_EQ(run_command({"calc", "--batch", "/no/such/file.csv"}).status, ExitStatus::usage);
}

}  // namespace
}  // namespace occbench
