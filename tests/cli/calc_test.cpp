#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "files/output.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Ada, 90 registers, 128 threads: 5 blocks of 4 warps of 48.
TEST(Calc, SaysOccupancyLimiterAndCliffsInWords) {
  const std::string said = printed("calc --cc 8.9 --block-size 128 --registers 90");
  EXPECT_THAT(said, HasSubstr("theoretical occupancy 41.67 %"));
  EXPECT_THAT(said, HasSubstr("20 of 48 warps per SM"));
  EXPECT_THAT(said, ContainsRegex("registers +11520 +12288 +65536 +4096 +5  ◀ limits"));
  // 32 x 80 = 2560 registers a warp: 24 warps.
  EXPECT_THAT(said, ContainsRegex("80 registers per thread instead of 90 +41.67 → 50 % +5 → 6 blocks"));
}

TEST(Calc, OfAKernelThatCannotLaunchIsAnAnswerWithTheReason) {
  EXPECT_THAT(printed("calc --cc sm_90 --block-size 1024 --registers 255"),
              AllOf(HasSubstr("theoretical occupancy 0 %"), HasSubstr("cannot launch: a block of 1024")));
}

TEST(Calc, GivesJsonUnderTheNamesOfTheColumns) {
  const json answer = json::parse(
      printed("calc --cc 90 --block-size 256 --registers 40 --static-smem 20000 --grid 1980 "
              "--sm-count 132 --gpc-sms 18,18,16,16,16,16,16,8,2,2,2,2 --cluster 2 --format json"));
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
  EXPECT_EQ(answer["active_clusters"], 2 * 54 + 5 * 48 + 24 + 4 * 6);
  EXPECT_TRUE(answer["carveout_pct"].is_null());
  EXPECT_EQ(answer["steps"][0]["change"], "32 registers per thread instead of 40");
  EXPECT_EQ(answer["steps"][0]["kind"], "highest");
  EXPECT_EQ(answer["cliffs"][1]["change"], "32 registers per thread instead of 40");
  EXPECT_EQ(answer["cliffs"][1]["direction"], "up");
}

TEST(Calc, OfSmallBlocksInClustersSaysWhatTheyReachWithout) {
  EXPECT_THAT(printed("calc --cc sm_90a --block-size 64 --registers 32 --cluster 2"),
              AllOf(HasSubstr("theoretical occupancy 25 %"),
                    HasSubstr("Without clusters: 100 %, 32 blocks per SM.")));
}

TEST(Calc, CountsLanesWithoutAThread) {
  EXPECT_THAT(printed("calc --gpu h200 --block-size 16 --registers 32 --grid 100000"),
              AllOf(HasSubstr("Time: 100 % takes at most 75 % less"),
                    HasSubstr("in blocks of a multiple of 32 take at most 50 % less time")));
}

TEST(Calc, OfClustersAFullWaveIsOfThoseThatGpcsHold) {
  // Recorded on an H100: 928 blocks in clusters of 16 and 992 of 8, where 132 SMs have 1,056 places.
  const std::string launch = "calc --block-size 256 --registers 20 --grid 1856 --cluster ";
  EXPECT_THAT(
      printed(launch + "16 --gpu h100-sxm5-80gb"),
      AllOf(ContainsRegex("full wave +928 blocks on 132 SMs\n"), HasSubstr("1856 blocks: 2 waves"),
            ContainsRegex("active clusters +58, of 16 blocks each, with the GPCs of the profile h100"),
            HasSubstr("smaller ones fewer; `occbench predict` simulates what a change saves")));
  const json known = json::parse(printed(launch + "8 --gpu h200 --format json"));
  EXPECT_EQ(known["full_wave_blocks"], 992);
  EXPECT_EQ(known["active_clusters"], 124);
  EXPECT_EQ(known["gpcs_by"], "h200");
  // Two blocks of 1,024 threads an SM, in GPCs of 18 and 16.
  EXPECT_THAT(printed("calc --gpu h200 --block-size 1024 --registers 20 --cluster 16 "
                      "--gpc-sms 18,18,16,16,16,16,16,16"),
              AllOf(ContainsRegex("full wave +256 blocks on 132 SMs\n"),
                    ContainsRegex("active clusters +16, of 16 blocks each\n")));
  EXPECT_THAT(
      printed(launch + "16 --cc 9.0 --sm-count 132"),
      AllOf(ContainsRegex("full wave +at most 1056 blocks on 132 SMs, if whole clusters fill the GPCs"),
            HasSubstr("1856 blocks: at least 1.758 waves")));
  const json unknown = json::parse(printed(launch + "16 --cc 9.0 --sm-count 132 --format json"));
  for (const char* name : {"full_wave_blocks", "waves", "active_clusters", "gpcs_by"})
    EXPECT_TRUE(unknown[name].is_null()) << name;
}

TEST(Calc, OfClustersBeyondThePortableSizeSaysHowAKernelOptsIn) {
  const auto said = [](const char* cluster) {
    return printed(std::string("calc --cc 9.0 --block-size 256 --registers 20 --cluster ") + cluster);
  };
  EXPECT_THAT(said("16"), HasSubstr("cudaFuncAttributeNonPortableClusterSizeAllowed, 1"));
  EXPECT_THAT(said("8"), testing::Not(HasSubstr("NonPortable")));
}

TEST(Calc, OfAShapeIsThatOfItsTotal) {
  const auto of = [](const char* block, const char* grid) {
    return run_command({"calc", "--cc", "9.0", "--sm-count", "132", "--block-size", block, "--grid", grid,
                        "--registers", "40", "--format", "json"})
        .out;
  };
  EXPECT_EQ(of("16x8x2", "64x32"), of("256", "2048"));
  const auto refused = [](const char* block) {
    return run_command({"calc", "--cc", "9.0", "--block-size", block, "--registers", "40"}).err;
  };
  EXPECT_THAT(refused("2x2x128"), HasSubstr("--block-size 2x2x128: z = 128, and CUDA allows 1 to 64"));
  EXPECT_THAT(refused("16x"), HasSubstr("a dimension is a whole number; a shape is 256, 16x16 or 8x8x4"));
  EXPECT_THAT(refused("16x16x16x16"), HasSubstr("at most 3 dimensions"));
  EXPECT_THAT(refusal("calc --cc 9.0 --block-size 256 --grid 65535x65535"),
              HasSubstr("--grid 65535x65535: CUDA allows it, but occbench counts up to 2147483647 in all"));
}

TEST(Calc, WavesThatAreNotWholeAreNotShownAsWhole) {
  const std::string launch = "calc --gpu h200 --block-size 256 --registers 20 --grid ";
  for (const auto& [grid, waves] :
       {std::pair("1056", "1 wave\n"), std::pair("1057", "1.001 waves\n"), std::pair("2112", "2 waves\n"),
        std::pair("2111", "1.999 waves\n"), std::pair("10561", "10.001 waves\n"),
        std::pair("1584", "1.5 waves\n"), std::pair("1056000001", "just over 1000000 waves\n")})
    EXPECT_THAT(printed(launch + grid), HasSubstr(fmt::format("{} blocks: {}", grid, waves)));
  EXPECT_THAT(
      printed("explain --gpu h200 --block-size 256 --registers 20 --grid 1057 --achieved 50"),
      AllOf(HasSubstr("grid 1,057: 1.001 waves of 1,056"), HasSubstr("1 of 1,056 blocks (1.001 waves)")));
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
  const Outcome text = run_command("calc --cc 9.0 --block-size 256 --registers 32");
  EXPECT_THAT(text.out, HasSubstr("threads per FP32 lane 16: 2048 resident threads, 128 lanes per SM"));
}

TEST(Calc, GivesTheThreeCurvesAsCsvWithTheCurrentPoint) {
  const Outcome outcome =
      run_command("calc --cc 9.0 --block-size 100 --registers 40 --static-smem 5000 --curves --format csv");
  const CsvTable table = parse_csv(outcome.out, "curves");
  std::vector<std::string> current;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table_cell(table, row, "current") != "1") continue;
    current.push_back(table_cell(table, row, "axis") + " " + table_cell(table, row, "value"));
    EXPECT_EQ(table_cell(table, row, "theoretical_pct"), "75");
  }
  EXPECT_THAT(current, testing::ElementsAre("block_threads 100", "registers_per_thread 40",
                                            "shared_bytes_per_block 5000"));
}

TEST(Calc, NamesTheLimitThatBadInputBreaksAndEndsWith64) {
  const auto refused = [](const std::string& changed) {
    const Outcome outcome = run_command("calc --cc 9.0 --block-size 256 --registers 32 " + changed);
    EXPECT_THAT(outcome.out, IsEmpty());
    return refusal(outcome);
  };
  EXPECT_THAT(refused("--dynamic-smem -1"), HasSubstr("dynamic_shared_bytes = -1"));
  for (const char* size : {"99999999999999999999", "9999999999G", "12X", "1.5K", "K", "12 K"}) {
    EXPECT_THAT(
        refusal({"calc", "--cc", "9.0", "--block-size", "256", "--static-smem", size}),
        HasSubstr(fmt::format("--static-smem = {} is not a size: write it in bytes, or as 12K", size)));
  }
  EXPECT_THAT(
      refused("--cluster 8 --grid 1001"),
      HasSubstr("grid_blocks = 1001 is not a multiple of cluster_blocks = 8: CUDA launches whole clusters; "
                "use 1000 or 1008 blocks"));
  EXPECT_THAT(refused("--sm-count 132 --gpc-sms 18,18"),
              HasSubstr("the GPCs have 36 SMs together, and the GPU has 132"));
  EXPECT_THAT(refused("--grid 0"),
              HasSubstr("--grid = 0 is no grid: give the blocks in the grid, at least 1"));
  EXPECT_THAT(refused("--grid -4"), HasSubstr("--grid = '-4' is not a whole number from 0 to 2147483647"));
  EXPECT_THAT(refused("--sm-count 0"), HasSubstr("--sm-count = '0' is not a whole number from 1 to 1024"));
  EXPECT_THAT(refused("--gpc-sms 18,-2"), HasSubstr("--gpc-sms = '-2' is not a whole number from 1 to 64"));
  EXPECT_THAT(refused("--gpc-sms 2147483647,2147483647"),
              HasSubstr("--gpc-sms = '2147483647' is not a whole number from 1 to 64"));
  EXPECT_THAT(refused("--batch rows.csv"),
              HasSubstr("--block-size does not go with --batch: each line of the file says it"));
  EXPECT_THAT(refusal("calc --cc 8.8 --block-size 256"), HasSubstr("nearest known is 8.7"));
  EXPECT_THAT(refusal("calc --cc hopper --block-size 256"),
              HasSubstr("'hopper' is not a compute capability"));
  EXPECT_THAT(refusal("calc --cc 9.0 --registers 32"), HasSubstr("calc needs --block-size"));
}

TEST(Calc, RegistersThatAreNotGivenDoNotLimitAndTheAnswerSaysSo) {
  EXPECT_THAT(
      printed("calc --cc 8.0 --block-size 768"),
      AllOf(HasSubstr("768 threads per block, registers assumed not to limit"),
            HasSubstr("theoretical occupancy 75 %"), HasSubstr("41 registers per thread instead of fewer")));
  // 2 blocks of 768 threads share 65,536 registers: 42 a thread, of which the allocation unit leaves 40.
  EXPECT_THAT(printed("calc --cc 9.0 --block-size 768 --dynamic-smem 130000"),
              AllOf(HasSubstr("115712 B of shared memory per block instead of 130000 B: 75 %"),
                    HasSubstr("The first of these holds up to 40 registers per thread")));
  EXPECT_THAT(printed("calc --cc 9.0 --block-size 768 --dynamic-smem 130000 --registers 40"),
              AllOf(HasSubstr("115712 B of shared memory per block instead of 130000 B: 75 %"),
                    Not(HasSubstr("of these holds"))));
  EXPECT_THAT(printed("calc --cc 9.0 --block-size 768 --dynamic-smem 115712 --registers 41"),
              HasSubstr("37.5 %"));
  const Outcome outcome = run_command("calc --cc 8.0 --block-size 768 --format json");
  const json answer = json::parse(outcome.out);
  EXPECT_EQ(answer["assumed"], "registers assumed not to limit");
  EXPECT_TRUE(answer["registers_per_thread"].is_null());
  EXPECT_TRUE(answer["idle_registers"].is_null());
  EXPECT_EQ(answer["limiter"], "warps");
  EXPECT_EQ(printed("calc --cc 8.0 --block-size 768 --registers 0"),
            printed("calc --cc 8.0 --block-size 768"));
  const Outcome given = run_command("calc --cc 8.0 --block-size 768 --registers 32 --format json");
  EXPECT_TRUE(json::parse(given.out)["assumed"].is_null());
}

// By hand: a block of 256 threads on each SM may have all 65,536 registers, and eight of them 8,192 each.
TEST(Calc, WithoutRegistersSaysWithHowManyAGridIsStillResidentAtOnce) {
  const auto said = [](const std::string& launch) {
    return printed("calc --gpu h100-sxm5-80gb --block-size 256 " + launch);
  };
  const std::string holds = " blocks is resident at once, as a cooperative launch needs, with up to ";
  EXPECT_THAT(said("--grid 132"), HasSubstr("A grid of 132" + holds + "255 registers per thread."));
  EXPECT_THAT(said("--grid 133"), HasSubstr("A grid of 133" + holds + "128 registers per thread."));
  EXPECT_THAT(said(""), HasSubstr("A grid of 1056" + holds + "32 registers per thread."));
  EXPECT_THAT(said("--grid 5000"), HasSubstr("A grid of 1056" + holds + "32 registers per thread."));
  // Of the 928 blocks that GPCs hold in clusters of 16.
  EXPECT_THAT(said("--cluster 16"), HasSubstr("A grid of 928" + holds + "32 registers per thread."));
  EXPECT_THAT(said("--registers 32"), Not(HasSubstr("as a cooperative launch needs")));
}

// With 20 registers 2,048 threads of an SM are of 1,024 a block, or of 512, 256 and fewer.
TEST(Calc, WithinLaunchBoundsNamesNoBlockSizeBeyondThem) {
  const std::string launch = "calc --cc 9.0 --registers 20 --block-size ";
  EXPECT_THAT(printed(launch + "96"), HasSubstr("128 threads per block instead of 96: 100 %"));
  EXPECT_THAT(printed(launch + "96 --launch-bounds 96"),
              AllOf(HasSubstr("with 64 threads"), Not(HasSubstr("128 thr"))));
  EXPECT_THAT(refusal(launch + "128 --launch-bounds 96"),
              HasSubstr("--block-size 128: the launch bounds allow 1 to 96 threads per block"));
  EXPECT_THAT(refusal(launch + "128 --launch-bounds 256:256"),
              HasSubstr("allow 256 to 256 threads per block"));
  EXPECT_THAT(
      refusal(launch + "128 --launch-bounds 256:96"),
      HasSubstr("fewest blocks per SM, which cap registers: with 96 blocks of 256 threads no SM has room"));
  for (const char* wrong : {"many", "256:", ",2", "0", "1:2:3", "1025"})
    EXPECT_THAT(refusal(launch + "128 --launch-bounds " + wrong),
                HasSubstr("is not the most threads per block, or FEWEST:MOST, of 1 to 1024"));
  EXPECT_THAT(run_command("calc --cc 9.0 --registers 20 --curves --format csv --launch-bounds 96").err,
              HasSubstr("of the best, 64 threads"));
}

// nvcc -arch=sm_90 -Xptxas -v, of a kernel with 200 values alive: "Used 64 registers", and of 96 threads "Used 128 registers".
TEST(Calc, OfCudasPairOfLaunchBoundsSaysWhatRegistersItLeaves) {
  for (const char* pair : {"192:5", "192,5"})
    EXPECT_THAT(
        refusal(fmt::format("calc --cc 9.0 --block-size 192 --launch-bounds {}", pair)),
        HasSubstr("a pair is FEWEST:MOST threads per block. The second number of CUDA's launch bounds "
                  "is the fewest blocks per SM, which cap registers: with 5 blocks of 192 threads 64 "
                  "are left a thread (--launch-bounds 192 --registers 64)"));
  EXPECT_THAT(refusal("calc --cc 9.0 --block-size 96 --launch-bounds 96,5"),
              HasSubstr("128 are left a thread"));
}

TEST(Calc, SaysWhereAKernelMustOptInToSharedMemory) {
  const auto opt_in = [](const char* capability, const char* bytes) {
    const Outcome outcome = run_command(
        {"calc", "--cc", capability, "--block-size", "256", "--dynamic-smem", bytes, "--format", "json"});
    return json::parse(outcome.out)["opt_in_bytes"];
  };
  EXPECT_TRUE(opt_in("9.0", "49152").is_null());
  EXPECT_EQ(opt_in("9.0", "49153"), 49'153);
  EXPECT_TRUE(opt_in("6.1", "49152").is_null());
  EXPECT_TRUE(opt_in("9.0", "300000").is_null());  // more than any block may have
  EXPECT_THAT(
      run_command("calc --cc 10.0 --block-size 256 --dynamic-smem 100K").out,
      AllOf(HasSubstr("2 blocks per SM"),
            HasSubstr("cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 102400)")));
}

TEST(Calc, AnswersOfSeveralGpusStandSideBySide) {
  const CsvTable table =
      parse_csv(printed("calc --gpu a100,4090,h200 --block-size 512 --registers 33 --format csv"), "calc");
  std::vector<std::string> answers;
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    answers.push_back(table_cell(table, row, "gpu") + " " + table_cell(table, row, "theoretical_pct"));
  EXPECT_THAT(answers, testing::ElementsAre("a100 75", "rtx-4090 100", "h200 75"));
  const Outcome text = run_command("calc --cc 8.0,8.6,9.0 --block-size 256 --dynamic-smem 100K");
  EXPECT_THAT(text.out, AllOf(ContainsRegex("8.0 +12.5 % +8 +64 +1 +shared_memory"),
                              ContainsRegex("8.6 +0 % +0 +48 +0 +cannot launch: a block asks 102400 bytes"),
                              HasSubstr("registers assumed not to limit")));
  EXPECT_EQ(run_command("calc --limits --cc 8.0,9.0 --format csv").status, ExitStatus::done);
  for (const char* list : {"8.0,", ",8.0", "8.0,,9.0"})
    EXPECT_THAT(run_command({"calc", "--cc", list, "--block-size", "256"}).err,
                HasSubstr("has an empty item"));
  EXPECT_THAT(run_command("calc --cc 8.0,9.0 --registers 32 --curves --format csv").err,
              HasSubstr("--curves are of one GPU"));
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
  EXPECT_THAT(refusal(calculate("9.0", "100K")),
              AllOf(HasSubstr("static_shared_bytes = 102400 is more than the 49152"),
                    HasSubstr("declare it extern __shared__"), HasSubstr("--dynamic-smem 102400")));
  EXPECT_THAT(calculate("9.0", "1M").err, HasSubstr("allows; use less"));
  EXPECT_THAT(calculate("1.0", "17K").err, HasSubstr("more than the 16384"));
}

TEST(Calc, SaysWhatToDo) {
  const auto advice = [](const std::string& launch) {
    const std::string out = run_command("calc --cc 9.0 " + launch).out;
    const std::size_t begin = out.find("what to do\n");
    return begin == std::string::npos ? "" : out.substr(begin, out.find("\n\n", begin) - begin);
  };
  EXPECT_EQ(advice("--block-size 512 --registers 32"), "what to do\n  Theory cannot rise: 100 %.");
  const std::string cliff = advice("--block-size 512 --registers 33 --dynamic-smem 12K");
  EXPECT_THAT(
      cliff,
      HasSubstr("32 registers per thread instead of 33: 100 %, 4 blocks per SM; cap them with "
                "__launch_bounds__(512, 4), or, of a kernel without launch bounds, __maxnreg__(32) or"));
  EXPECT_THAT(cliff,
              HasSubstr("Time: 100 % takes at most 25 % less by that alone, if warps wait for latency"));
  EXPECT_THAT(
      advice("--block-size 256 --registers 64 --static-smem 48K --dynamic-smem 8K"),
      AllOf(HasSubstr("No single change raises 50 %"), HasSubstr("Time: 62.5 % takes at most 20 % less")));
  // Other changes give more: 87.5 %.
  EXPECT_THAT(advice("--block-size 128 --registers 32 --dynamic-smem 20K --carveout 60"),
              HasSubstr("Without a change of the kernel: 86 % as the carveout instead of 60 %: 62.5 %"));
}

TEST(Calc, BoundsWhatWholeWavesSaveAsExplainDoes) {
  for (const std::string launch : {"--gpu h100-sxm5-80gb --block-size 256 --registers 32 --grid 1077",
                                   "--gpu h100-sxm5-80gb --block-size 256 --registers 32 --grid 1584",
                                   "--gpu h100-sxm5-80gb --block-size 256 --registers 32 --grid 7424",
                                   "--gpu h100-sxm5-80gb --block-size 256 --registers 40 --grid 1000",
                                   "--gpu h200 --block-size 512 --registers 32 --grid 200",
                                   "--gpu h200 --block-size 256 --registers 32 --grid 66"}) {
    const json whole_waves = json::parse(run_command("calc " + launch + " --format json").out)["whole_waves"];
    const json explained =
        json::parse(run_command("explain " + launch + " --time-us 200 --format json").out)["findings"];
    const auto of_grid = std::ranges::find_if(explained, [](const json& finding) {
      return finding["cause"] == "tail" || finding["cause"] == "small_grid";
    });
    ASSERT_NE(of_grid, explained.end()) << launch;
    EXPECT_NEAR(whole_waves["time_saved_at_most_pct"], (*of_grid)["time_saved_at_most_pct"], 1e-3) << launch;
  }
  const auto said = [](const std::string& launch) {
    return run_command("calc --registers 32 " + launch).out;
  };
  EXPECT_THAT(
      said("--gpu h100-sxm5-80gb --block-size 256 --grid 1077"),
      HasSubstr("  Theory cannot rise: 100 %.\n"
                "  Grid: 2 rounds of blocks, the last with 21 of 1,056. 1,056 or 2,112 blocks take at "
                "most 49 % less time for the same work by that alone, if blocks are equal.\n"));
  EXPECT_THAT(said("--gpu h200 --block-size 512 --grid 200"),
              HasSubstr("Grid: 328 of 528 places stay empty. 528 blocks take at most 62 % less time"));
  // Three waves of clusters took four rounds on an H200: results/nvidia-h200/programs/clusters.txt.
  EXPECT_THAT(said("--gpu h200 --block-size 384 --dynamic-smem 70K --cluster 6 --grid 1200"),
              AllOf(Not(HasSubstr("Grid:")), HasSubstr("clusters may take more rounds than waves")));
  for (const char* filled : {"2112", "1000001"})
    EXPECT_THAT(said(fmt::format("--gpu h200 --block-size 256 --grid {}", filled)), Not(HasSubstr("Grid:")));
  const std::string whole = "calc --gpu h200 --block-size 256 --registers 32 --grid 2112 --format json";
  EXPECT_TRUE(json::parse(run_command(whole).out)["whole_waves"].is_null());
}

TEST(Calc, TellsOfATimeWhichRoundsOfEqualBlocksAreSaved) {
  const auto said = [](const char* grid) {
    return run_command(fmt::format("calc --gpu b200 --block-size 256 --registers 80 --grid {}", grid)).out;
  };
  EXPECT_THAT(
      said("888"),
      HasSubstr(
          "equal blocks take 2 rounds as now, and save none with 50 %; uneven ones take at most 25 % less"));
  EXPECT_THAT(said("592"), HasSubstr("50 % takes at most 50 % less (1 round of blocks instead of 2)"));
}

TEST(Calc, NamesBothChangesWhereLimitersTie) {
  const std::string launch = "calc --gpu rtx-3090 --block-size 160 --registers 52 --dynamic-smem 13000";
  EXPECT_THAT(
      run_command(launch).out,
      AllOf(HasSubstr("192 threads per block instead of 160: 75 %"),
            HasSubstr(
                "Two changes reach more: 256 threads per block instead of 160 and 40 registers per thread"),
            HasSubstr("Time: 100 % takes at most 27 % less")));
  const json steps = json::parse(run_command(launch + " --format json").out)["steps"];
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0]["kind"], "highest");
  for (const std::size_t of_pair : {1, 2}) {
    EXPECT_EQ(steps[of_pair]["kind"], "together");
    EXPECT_EQ(steps[of_pair]["theoretical_pct"], 100);
  }
  EXPECT_EQ(steps[1]["to"], 256);
  EXPECT_EQ(steps[2]["to"], 40);
}

TEST(Calc, NamesEachRuleThatWasApplied) {
  const std::string launch = "calc --cc 9.0 --block-size 512 --registers 33";
  EXPECT_THAT(printed(launch), HasSubstr("33 -> 40 per thread by the 256-register unit"));
  const json rules = json::parse(printed(launch + " --format json"))["rules"];
  EXPECT_EQ(rules[2]["resource"], "registers");
  EXPECT_EQ(rules[2]["blocks"], 3);
  EXPECT_EQ(rules[2]["limits"], true);
  EXPECT_THAT(rules[2]["rule"].get<std::string>(), testing::EndsWith("65,536 / 20,480 = 3 blocks"));
}

TEST(Calc, ListsTheLimitsOfOneOrAllComputeCapabilities) {
  const Outcome all = run_command("calc --limits --format csv");
  const CsvTable table = parse_csv(all.out, "limits");
  EXPECT_EQ(table.rows.size(), 30u);
  // NVIDIA's programming guide, technical specifications of compute capability 9.0.
  const json one = json::parse(run_command("calc --limits --cc 90 --format json").out);
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
  EXPECT_THAT(run_command("calc --limits").out, AllOf(HasSubstr("\n12.1 "), HasSubstr("\n1.0 ")));
  EXPECT_THAT(run_command("calc --limits --cc 9.0").out,
              HasSubstr("shared memory that the driver takes of each block"));
  EXPECT_THAT(run_command("calc --limits --cc 8.8").err, HasSubstr("nearest known is 8.7"));
  EXPECT_THAT(run_command("calc --limits --registers 3").err,
              HasSubstr("--registers does not go with --limits"));
}

TEST(Calc, CurvesNeedNoBlockSizeAndAreRows) {
  EXPECT_THAT(refusal("calc --curves --cc 9.0 --registers 40"), HasSubstr("--curves: give --format csv"));
  const Outcome written = run_command("calc --curves --cc 9.0 --registers 40 --format csv");
  EXPECT_EQ(written.status, ExitStatus::done);
  // 40 registers leave room for 48 warps: of 3, 4, 6, 8, 12, 16 and 24 warps a whole number of blocks (worked out by hand).
  EXPECT_THAT(written.err, HasSubstr("of the best, 768 threads; as good: 64, 96, 128, 192, 256, 384, 512."));
  const std::vector<Row> rows = parse_rows(written.out, "curves");
  EXPECT_GT(rows.size(), 2000u);
  EXPECT_EQ(rows[0].schema, kSchema);
  EXPECT_EQ(rows[0].experiment, "curves");
  EXPECT_EQ(rows[0].case_, "block_threads=32");
  EXPECT_EQ(rows[0].parameters, "axis=block_threads;current=0");
  EXPECT_EQ(rows[0].block_threads, 32);
  const auto pct = [&](std::string_view name) {
    return std::ranges::find(rows, name, &Row::case_)->theoretical_pct;
  };
  EXPECT_EQ(pct("block_threads=768"), 75);
  EXPECT_EQ(pct("registers_per_thread=40"), 75);
  EXPECT_EQ(pct("registers_per_thread=41"), 37.5);
  EXPECT_EQ(pct("registers_per_thread=80"), 37.5);
  EXPECT_EQ(pct("registers_per_thread=81"), 0);
  EXPECT_THAT(refusal("calc --curves --cc 9.0 --registers 40 --dynamic-smem 1M --format csv"),
              HasSubstr("no block size can launch such a block"));
}

/// A file that is gone when the test ends.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& text) {
    std::ofstream(path) << text;
  }
  const char* name() const {
    return path.c_str();
  }
  TemporaryFolder folder;
  fs::path path = folder.path() / "batch.csv";
};

Outcome calc_batch(const std::string& text, const char* format) {
  const TemporaryFile file(text);
  return run_command({"calc", "--batch", file.name(), "--format", format});
}

// 288 threads are 9 warps; by hand: 50 -> 56 registers x 288 = 16,128 a block, 4 blocks, 36 warps of 64 and of 48.
TEST(CalcBatch, AnswersARowForEachGpuThatIsNamed) {
  const TemporaryFile file("case,block_threads,registers_per_thread\na,288,50\n");
  const json rows =
      json::parse(printed({"calc", "--batch", file.name(), "--gpu", "h200,rtx-4090", "--format", "json"}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("case"), "a h200");
  EXPECT_EQ(rows[0].at("theoretical_pct"), 56.25);
  EXPECT_EQ(rows[1].at("compute_capability"), "8.9");
  EXPECT_EQ(rows[1].at("theoretical_pct"), 75);
  const TemporaryFile of_one("compute_capability,block_threads\n9.0,288\n");
  EXPECT_THAT(run_command({"calc", "--batch", of_one.name(), "--cc", "8.0"}).err,
              HasSubstr("has the column compute_capability: leave out --gpu and --cc"));
}

// As one launch: 928 blocks in clusters of 16 on an H100.
TEST(CalcBatch, OfClustersHasTheWavesWhereGpcsAreKnownAndElseSaysWhyNot) {
  const std::string head =
      "compute_capability,sm_count,block_threads,registers_per_thread,grid_blocks,cluster_blocks";
  const Outcome outcome = calc_batch(head +
                                         ",gpu\n9.0,132,256,20,1856,16,NVIDIA H100 80GB "
                                         "HBM3\n9.0,132,256,20,1856,16,\n9.0,132,256,20,1856,1,\n",
                                     "csv");
  const CsvTable table = parse_csv(printed(outcome), "answers");
  EXPECT_EQ(table_cell(table, 0, "waves"), "2");
  EXPECT_EQ(table_cell(table, 0, "gpcs_by"), "h100");
  EXPECT_EQ(table_cell(table, 0, "note"), "");
  EXPECT_EQ(table_cell(table, 1, "waves"), "");
  EXPECT_THAT(table_cell(table, 1, "note"),
              AllOf(StartsWith("at least 1.758 waves: "), HasSubstr("--gpc-sms")));
  EXPECT_EQ(table_cell(table, 2, "note"), "");
  const TemporaryFile file("block_threads,registers_per_thread,grid_blocks,cluster_blocks\n256,20,1856,16\n");
  const json rows =
      json::parse(printed({"calc", "--batch", file.name(), "--gpu", "h100-sxm5-80gb", "--format", "json"}));
  EXPECT_EQ(rows[0]["waves"], 2.0);
}

TEST(CalcBatch, RefusesAColumnThatItDoesNotKnowWithTheNearestName) {
  const auto refusal = [](const std::string& column) {
    const Outcome outcome = calc_batch(
        "compute_capability,block_threads,registers_per_thread," + column + "\n9.0,256,32,1\n", "csv");
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
  const std::string once =
      printed(calc_batch("case,compute_capability,block_threads,registers_per_thread,sm__warps_active.sum\n"
                         "a,9.0,256,32,5\n",
                         "csv"));
  EXPECT_EQ(printed(calc_batch(once, "csv")), once);
  const std::string curves = printed("calc --curves --cc 9.0 --registers 40 --format csv");
  EXPECT_EQ(calc_batch(curves, "csv").status, ExitStatus::done);
}

TEST(CalcBatch, MayBeginWithAByteOrderMark) {
  const std::string rows = "compute_capability,block_threads,registers_per_thread\n9.0,256,32\n";
  EXPECT_EQ(printed(calc_batch("\xEF\xBB\xBF" + rows, "csv")), printed(calc_batch(rows, "csv")));
}

TEST(CalcBatch, TakesSizesInKilobytesAndWritesThemInFull) {
  const CsvTable table = parse_csv(printed(calc_batch("case,compute_capability,block_threads,registers_per_"
                                                      "thread,dynamic_shared_bytes\na,9.0,256,32,100K\n",
                                                      "csv")),
                                   "answers");
  EXPECT_EQ(table_cell(table, 0, "dynamic_shared_bytes"), "102400");
  EXPECT_EQ(table_cell(table, 0, "blocks_per_sm"), "2");
}

TEST(CalcBatch, RefusesMoreThan48KilobytesOfStaticSharedMemory) {
  const Outcome outcome = calc_batch(
      "compute_capability,block_threads,registers_per_thread,static_shared_bytes\n9.0,256,32,50000\n", "csv");
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("line 2"), HasSubstr("static_shared_bytes = 50000 is more than")));
}

TEST(CalcBatch, SaysOfAGridWhyItHasNoWaves) {
  const std::string columns = "compute_capability,block_threads,registers_per_thread,grid_blocks\n";
  EXPECT_THAT(calc_batch(columns + "8.6,256,32,0\n", "csv").err,
              HasSubstr("line 2: grid_blocks = 0 is no grid"));
  EXPECT_THAT(calc_batch(columns + "8.6,256,32,3000\n", "csv").out,
              HasSubstr("waves: the number of SMs is not known"));
}

TEST(CalcBatch, KeepsToTheLaunchBoundsThatTheAnswerOfABinaryHas) {
  const auto answer = [](const std::string& row) {
    const TemporaryFile file(
        "compute_capability,block_threads,registers_per_thread,max_block_threads,required_block_threads\n" +
        row + "\n");
    return run_command({"calc", "--batch", file.name(), "--format", "json"});
  };
  const auto best = [&](const std::string& row) {
    return nlohmann::json::parse(printed(answer(row))).at(0).at("best_block_threads");
  };
  EXPECT_EQ(best("9.0,96,32,96,"), 64);
  EXPECT_EQ(best("9.0,128,32,,128"), 128);
  EXPECT_EQ(best("9.0,128,32,,"), 1024);
  EXPECT_THAT(answer("9.0,128,32,96,").err,
              HasSubstr("block_threads = 128: the kernel's launch bounds allow 1 to 96 threads per block"));
  EXPECT_THAT(answer("9.0,64,32,,128").err, HasSubstr("allow 128 threads per block"));
}

TEST(CalcBatch, SaysWhatIsAssumedOfTheSlotsOfClusters) {
  const TemporaryFile file(
      "compute_capability,block_threads,registers_per_thread,cluster_blocks\n10.0,128,32,2\n");
  EXPECT_THAT(printed({"calc", "--batch", file.name(), "--format", "table"}),
              AllOf(HasSubstr("compute capability 9.0 alone"), Not(HasSubstr("registers assumed"))));
  EXPECT_THAT(printed({"calc", "--gpu", "h100-sxm5-80gb,b200", "--block-size", "128", "--registers", "32",
                       "--cluster", "2"}),
              HasSubstr("compute capability 9.0 alone"));
}

TEST(CalcBatch, SaysInATableThatRegistersAreAssumedAndWhatCannotLaunch) {
  const std::string assumed = "registers assumed not to limit";
  const TemporaryFile without("compute_capability,block_threads\n9.0,64\n9.0,512\n");
  EXPECT_THAT(printed({"calc", "--batch", without.name(), "--format", "table"}),
              AllOf(HasSubstr(assumed), Not(HasSubstr("lanes"))));
  const TemporaryFile file(
      "case,compute_capability,block_threads,registers_per_thread,dynamic_shared_bytes\na,8.9,512,32,0\n"
      "b,8.9,512,32,110000\n");
  EXPECT_THAT(
      printed({"calc", "--batch", file.name(), "--format", "table"}),
      AllOf(ContainsRegex("a +8\\.9 .*100 %"), ContainsRegex("b +8\\.9 .* 0 % .*cannot launch\n"),
            HasSubstr("cannot launch: a block asks 110000 bytes of shared memory; a block may have 101376"),
            Not(HasSubstr(assumed))));
}

TEST(CalcBatch, SaysOfBlocksWhoseLastWarpIsNearlyEmptyThatWarpsAreCounted) {
  const TemporaryFile file(
      "compute_capability,block_threads,registers_per_thread\n9.0,2000,32\n9.0,33,32\n9.0,250,32\n");
  EXPECT_THAT(run_command({"calc", "--batch", file.name(), "--format", "table"}).out,
              HasSubstr("Occupancy counts warps: with 33 threads 31 of 64 lanes of a block have no thread."));
  EXPECT_THAT(printed({"calc", "--cc", "9.0", "--block-size", "33", "--registers", "32"}),
              HasSubstr("Occupancy counts warps: 31 of 64 lanes of a block have no thread."));
}

TEST(CalcBatch, NamesRowsByTheirColumnCase) {
  const Outcome outcome =
      calc_batch("case,compute_capability,block_threads,registers_per_thread\nmine,9.0,256,32\n", "csv");
  const std::vector<Row> rows = parse_rows(outcome.out, "answers");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].schema, kSchema);
  EXPECT_EQ(rows[0].experiment, "batch");
  EXPECT_EQ(rows[0].case_, "mine");
  EXPECT_THAT(
      calc_batch("case,compute_capability,block_threads,registers_per_thread\n,9.0,256,32\n", "csv").err,
      HasSubstr("line 2: case is empty"));
}

TEST(CalcBatch, GivesTheSameRowsWithTheAnswersAdded) {
  const auto answers = [](const char* registers_of_b) {
    return printed(calc_batch(
        fmt::format(
            "case,compute_capability,block_threads,registers_per_thread,dynamic_shared_bytes,carveout_pct\n"
            "\"a, quoted\",8.9,128,90,,\n"
            "b,sm_35,256,{},49152,\n",
            registers_of_b),
        "csv"));
  };
  for (const char* not_given : {"", "0"})
    EXPECT_THAT(answers(not_given), HasSubstr("registers assumed not to limit"));
  const std::string whole = answers("0");
  EXPECT_THAT(
      whole,
      StartsWith(
          "schema,experiment,case,compute_capability,block_threads,registers_per_thread,dynamic_shared_bytes,"
          "carveout_pct,blocks_per_sm,limiter,"));
  const CsvTable table = parse_csv(whole, "answers");
  EXPECT_EQ(table_cell(table, 0, "case"), "a, quoted");
  EXPECT_EQ(table_cell(table, 0, "theoretical_pct"), "41.6667");
  EXPECT_EQ(table_cell(table, 0, "limiter"), "registers");
  EXPECT_EQ(table_cell(table, 1, "compute_capability"), "sm_35");
  EXPECT_EQ(table_cell(table, 1, "blocks_per_sm"), "1");
}

TEST(CalcBatch, PutsItsAnswersInTheColumnsOfARecordedRun) {
  const json rows = json::parse(printed(calc_batch(
      "compute_capability,block_threads,registers_per_thread,sm_count,grid_blocks,theoretical_pct,achieved_"
      "pct\n"
      "9.0,256,32,132,528,12,49.5\n",
      "json")));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["theoretical_pct"], 100.0);
  EXPECT_EQ(rows[0]["achieved_pct"], 49.5);
  EXPECT_EQ(rows[0]["waves"], 0.5);
}

TEST(CalcBatch, LeavesOutRecordedRowsOfWhatTheRuntimeLaunchesAndSaysSo) {
  const std::string names = "schema,case,compute_capability,block_threads,registers_per_thread\n";
  const Outcome outcome = calc_batch(names + "3,copy,9.0,,\n3,spin,9.0,256,32\n", "json");
  EXPECT_THAT(outcome.err, HasSubstr("1 row has no launch and is left out"));
  const json rows = json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["case"], "spin");
}

TEST(CalcBatch, ARowThatCannotBeAnsweredSaysSoAndTheOthersAreAnswered) {
  const TemporaryFile file(
      "case,compute_capability,block_threads,registers_per_thread\n"
      "a,9.0,2000,32\nb,9.0,512,33\nc,9.0,256,many\nd,9.0,512,32\n");
  const Outcome outcome = run_command({"calc", "--batch", file.name()});
  EXPECT_EQ(outcome.status, ExitStatus::no_verdict);
  EXPECT_THAT(outcome.err, HasSubstr("2 of 4 rows have no answer, and their note says why; the first is"));
  EXPECT_THAT(outcome.err, HasSubstr("line 2: block_threads = 2000 is out of range"));
  const CsvTable table = parse_csv(outcome.out, "answers");
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_THAT(table_cell(table, 0, "note"), HasSubstr("compute capability 9.0 allows 1 to 1024"));
  EXPECT_THAT(table_cell(table, 2, "note"), HasSubstr("'many' is not a whole number"));
  EXPECT_EQ(table_cell(table, 0, "theoretical_pct") + table_cell(table, 1, "note"), "");
  EXPECT_EQ(table_cell(table, 1, "theoretical_pct"), "75");
  const Outcome shown = run_command({"calc", "--batch", file.name(), "--format", "table"});
  EXPECT_EQ(shown.status, ExitStatus::no_verdict);
  EXPECT_THAT(shown.out, ContainsRegex("2000 .*no answer"));
}

TEST(CalcBatch, NamesLineAndColumnOfWhatIsWrong) {
  const std::string names = "compute_capability,block_threads,registers_per_thread\n";
  const auto error_of = [](const std::string& text) {
    const Outcome outcome = calc_batch(text, "csv");
    EXPECT_EQ(outcome.status, ExitStatus::usage);
    EXPECT_THAT(outcome.out, IsEmpty());
    return outcome.err;
  };
  EXPECT_THAT(
      error_of(names + "9.0,256,many\n9.0,256,few\n"),
      AllOf(HasSubstr("line 2"), HasSubstr("'many' is not a whole number for column registers_per_thread")));
  EXPECT_THAT(error_of(names + "9.0,256,300\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("registers_per_thread = 300")));
  EXPECT_THAT(error_of(names + "9.0,4294967552,32\n"), HasSubstr("block_threads = 4294967552"));
  EXPECT_THAT(error_of(names + "9.9,256,32\n"), AllOf(HasSubstr("line 2"), HasSubstr("9.9")));
  EXPECT_THAT(error_of(names + "9.0,256\n"), HasSubstr("line 2"));
  EXPECT_THAT(error_of("compute_capability,registers_per_thread\n9.0,32\n"),
              HasSubstr("no column block_threads"));
  EXPECT_EQ(run_command("calc --batch /no/such/file.csv").status, ExitStatus::usage);
}

// The cells that documents give are in the file; the answers must be the same.
TEST(CalcBatch, TheWorkedExamplesOfTheDocumentsComeOut) {
  const char* const file = OCCBENCH_SOURCE_DIR "/examples/worked_examples.csv";
  const CsvTable answers = parse_csv(printed({"calc", "--batch", file}), "answers");
  std::ifstream stream(file);
  const CsvTable documents = parse_csv(std::string(std::istreambuf_iterator<char>(stream), {}), file);
  ASSERT_EQ(answers.rows.size(), documents.rows.size());
  int compared = 0;
  for (std::size_t row = 0; row < documents.rows.size(); ++row) {
    for (const char* name : {"blocks_per_sm", "warps_per_sm", "theoretical_pct", "full_wave_blocks",
                             "block_limit_shared_memory"}) {
      const std::string wanted = table_cell(documents, row, name);
      if (wanted.empty()) continue;
      ++compared;
      EXPECT_NEAR(std::stod(table_cell(answers, row, name)), std::stod(wanted), 5e-5)
          << table_cell(documents, row, "case") << ", " << name;
    }
  }
  EXPECT_EQ(compared, 84);
}

}  // namespace
}  // namespace occbench
