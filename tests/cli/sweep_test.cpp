#include "cli/sweep.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "files/input.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/race.hpp"
#include "run_command.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

SweepRequest request_of(const std::vector<std::string>& words) {
  SweepRequest request;
  take_axes(words, request);
  return request;
}

TEST(SweepWords, AreAKernelAndItsAxes) {
  const SweepRequest request = request_of({"spin", "--block-size", "64:1024:64", "--registers", "=31,33"});
  EXPECT_EQ(request.kernel, "spin");
  EXPECT_THAT(request.axes, ElementsAre(Pair("block-size", "64:1024:64"), Pair("registers", "=31,33")));
}

TEST(SweepWords, OfAnAxisMayBeSeveralAndFollowAnEqualsSign) {
  EXPECT_THAT(request_of({"spin", "--block-size=64", "128", "--registers==31,33"}).axes,
              ElementsAre(Pair("block-size", "64,128"), Pair("registers", "=31,33")));
}

TEST(SweepWords, ThatBelongToNoAxisAreRefused) {
  EXPECT_THROW(request_of({"spin", "reads"}), InputError);
  EXPECT_THROW(request_of({"spin", "--block-size"}), InputError);
}

TEST(SweepArguments, AskTheProgramForKernelAndAxes) {
  SweepRequest request = request_of({"spin", "--block-size", "16x16,{TILE}x8"});
  request.fastest = true;
  EXPECT_THAT(program_flags(request),
              ElementsAre("--occ_sweep=spin", "--occ_axis=block-size=16x16,{TILE}x8", "--occ_fastest"));
}

/// A program that describes one kernel, and lists two cases of whatever it is asked for.
class DescribedPrograms : public ::testing::Test {
 protected:
  DescribedPrograms() {
    write("sweep", R"({"name":"sweep","families":[{"name":"spin","description":"stays","axes":[)"
                   R"({"name":"block-size","meaning":"threads per block","values":"256"}]}]})");
    write("bench_mine",
          R"({"name":"mine","families":[{"name":"mine","description":"of my own","axes":[]}]})");
    write("bench_waves", R"({"name":"waves","claim":"a","source":"b"})");
  }
  void write(const std::string& name, const std::string& description) {
    std::ofstream script(folder_ / name);
    script << "#!/bin/sh\necho '" << description << "'\n";
    script.close();
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }

  /// What `sweep spin --list` prints where the program has these cases.
  Outcome list(std::span<const CaseRecord> cases, const std::string& profile = "") {
    const std::string rows = (folder_ / "rows.csv").string();
    std::ofstream file(rows);
    file << csv_header();
    for (const CaseRecord& each : cases) file << csv_record(row_of(each));
    std::ofstream(folder_ / "sweep", std::ios::app)
        << "for word; do case $word in --occ_list=*) cp " << rows << " ${word#*=};; esac; done\n";
    file.close();
    std::vector<std::string> words{"sweep", "spin", "--list", "--gpu", "h200", "--benches", folder_.string()};
    if (!profile.empty()) words.insert(words.end(), {"--profile", profile});
    return run_command(words);
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(DescribedPrograms, OfferTheirKernelsThoseOfSweepFirst) {
  const std::vector<SweptKernel> kernels = swept_kernels(folder_);
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].name, "spin");
  EXPECT_EQ(kernels[1].program, folder_ / "bench_mine");
  EXPECT_EQ(find_kernel(kernels, "mine").name, "mine");
}

TEST_F(DescribedPrograms, AreAskedForAxesSourceAndChecksAsTheUserGaveThem) {
  const fs::path asked = folder_ / "asked";
  std::ofstream script(folder_ / "sweep");
  script << "#!/bin/sh\nprintf '%s\\n' \"$@\" > " << asked.string() << "; exit 64\n";
  script.close();
  const std::string folder = folder_.string();
  const std::string source = (folder_ / "my kernel.cu").string();
  std::ofstream(source) << "";
  std::vector<std::string> words = words_of(
      "sweep --kernel product<32> --arg float[1] --arg int=5 --define TILE=16,32 --check-against "
      "naive<<<64,256>>> --tolerance 0.01 --zip --block-size 64 --list --gpu h200");
  words.insert(words.end(), {"--source", source, "--where", "TILE > 8", "--benches", folder});
  run_command(words);
  EXPECT_THAT(
      read_text(asked),
      AllOf(HasSubstr("--occ_source=" + source + "\n"), HasSubstr("--occ_kernel=product<32>\n"),
            HasSubstr("--occ_arg=float[1]\n--occ_arg=int=5\n"), HasSubstr("--occ_define=TILE=16,32\n"),
            HasSubstr("--occ_check_against=naive<<<64,256>>>\n--occ_tolerance=0.01\n"),
            HasSubstr("--occ_where=TILE > 8\n"), HasSubstr("--occ_zip\n"),
            HasSubstr("--occ_axis=block-size=64\n"), HasSubstr("--occ_gpu=h200\n")));
}

CaseRecord planned(const std::string& gpu, ComputeCapability capability, int sm_count, std::int64_t grid,
                   std::string_view work) {
  CaseRecord record;
  record.provenance.schema = kSchema;
  record.provenance.gpu = gpu;
  record.provenance.compute_capability = capability;
  record.provenance.sm_count = sm_count;
  record.identity.experiment = "sweep";
  record.identity.name = fmt::format("spin/plain/grid={}", grid);
  record.identity.work = parse_work(work);
  record.launch = Launch{.block_threads = 256, .grid_blocks = grid};
  record.compiled = Compiled{.usage = {.registers_per_thread = 20}, .code_architecture = {}};
  record.theory = Theory{.theoretical_pct = 100, .blocks_per_sm = 8, .limiters = {}, .waves = 1};
  return record;
}

std::string line_of(const std::string& text, const std::string& case_name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(case_name + " ")) return line;
  }
  ADD_FAILURE() << case_name << " is not listed: " << text;
  return "";
}

// Partial waves, uneven blocks and warps, contention: what differs from one simulated run to the next.
TEST_F(DescribedPrograms, ListEachCaseWithThePredictionOfTheCommandPredict) {
  const std::pair<int, const char*> launches[] = {{1'320, "equal:20000"},
                                                  {792, "uniform:200000:0.5:1.5:seed=3"},
                                                  {1'500, "lognormal:50000:1:seed=2"},
                                                  {1'000, "warp/uniform:20000:0.5:1.5:seed=4"},
                                                  {1'200, "equal:80000:issue=20000"}};
  const auto expect_same = [&](const std::string& gpu, ComputeCapability capability, int sm_count,
                               const std::string& asked_for, const std::string& profile = "") {
    std::vector<CaseRecord> cases;
    for (const auto& [grid, work] : launches) cases.push_back(planned(gpu, capability, sm_count, grid, work));
    const Outcome listed = list(cases, profile);
    ASSERT_EQ(listed.status, ExitStatus::done) << listed.err;
    for (const auto& [grid, work] : launches) {
      const auto predicted = nlohmann::json::parse(printed(run_command(
          fmt::format("predict --block-size 256 --registers 20 --grid {} --work {} --format json {}", grid,
                      work, asked_for))));
      EXPECT_THAT(line_of(listed.out, fmt::format("spin/plain/grid={}", grid)),
                  EndsWith(fmt::format("  {} ({} to {})", percent_text(predicted.at("predicted_pct")),
                                       number_text(predicted.at("predicted_low_pct")),
                                       number_text(predicted.at("predicted_high_pct")))));
    }
  };
  expect_same("NVIDIA H200", {9, 0}, 132, "--gpu h200");
  expect_same("", {8, 0}, 108, "--cc 8.0 --sm-count 108");
  expect_same("NVIDIA H200", {9, 0}, 132, "--gpu h200 --profile h100", "h100");
}

/// Grids whose prediction is taken to need 4.5 s each: more than a list simulates. A small one still has room.
TEST_F(DescribedPrograms, LeaveOutTheSamePredictionsOfALongListOnEveryMachineAndSayHowMany) {
  constexpr int kLarge = 40;
  constexpr int kPredicted = 11;
  std::vector<CaseRecord> cases;
  for (int i = 0; i < kLarge; ++i)
    cases.push_back(planned("NVIDIA H200", {9, 0}, 132, 10'000'000 + i, "equal:20000"));
  cases.push_back(planned("NVIDIA H200", {9, 0}, 132, 132, "equal:20000"));
  const Outcome listed = list(cases);
  EXPECT_EQ(listed.status, ExitStatus::done);
  EXPECT_THAT(
      listed.err,
      HasSubstr("29 of 41 cases are listed without a prediction: a list simulates no more than 50 s"));
  for (int i = 0; i <= kLarge; ++i) {
    const bool is_predicted = i < kPredicted || i == kLarge;
    const std::string line = line_of(listed.out, cases[static_cast<std::size_t>(i)].identity.name);
    EXPECT_EQ(line.find(" to ") != std::string::npos, is_predicted) << line;
  }
}

TEST_F(DescribedPrograms, ListWithoutAPredictionWhatHasNone) {
  std::vector<CaseRecord> cases(4, planned("NVIDIA H200", {9, 0}, 132, 1'320, "equal:20000"));
  cases[0].identity.work.reset();
  cases[1].times.status = TimeStatus::skipped;
  cases[2].provenance.compute_capability = {99, 0};  // newer than the table of limits
  cases[3].launch->grid_blocks = 70'000'000;         // too many uneven blocks for the simulation
  cases[3].identity.work = parse_work("uniform:200000:0.5:1.5:seed=3");
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].identity.name = fmt::format("case_{}", i);
  const Outcome listed = list(cases);
  EXPECT_EQ(listed.status, ExitStatus::done) << listed.err;
  for (const CaseRecord& each : cases)
    EXPECT_THAT(line_of(listed.out, each.identity.name), EndsWith("  100 %"));
}

TEST_F(DescribedPrograms, NameTheNearestOfAnUnknownKernel) {
  const std::string folder = folder_.string();
  EXPECT_THAT(refusal({"sweep", "spon", "--benches", folder.c_str(), "--block-size", "64"}),
              HasSubstr("there is no kernel spon to sweep; the nearest are spin, mine"));
}

TEST_F(DescribedPrograms, RefuseAWrongAxisWhereThereIsNoGpuToo) {
  const std::string folder = folder_.string();
  std::ofstream script(folder_ / "sweep", std::ios::app);
  script << "case \"$*\" in *blocksize*) echo 'no axis --blocksize' >&2; exit 64;; *=77*) exit 127;; "
            "esac\nexit 2\n";
  script.close();
  EXPECT_THAT(refusal({"sweep", "spin", "--blocksize", "32", "--benches", folder.c_str()}),
              HasSubstr("no axis --blocksize"));
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
  const Outcome right = run_command({"sweep", "spin", "--block-size", "32", "--benches", folder.c_str()});
  EXPECT_EQ(right.status, ExitStatus::no_verdict);
  EXPECT_THAT(right.err, HasSubstr("nothing is measured: "));
  const Outcome broken = run_command({"sweep", "spin", "--block-size", "77", "--benches", folder.c_str()});
  EXPECT_EQ(broken.status, ExitStatus::fault);
  EXPECT_THAT(broken.err, HasSubstr("cannot list its cases"));
}

TEST_F(DescribedPrograms, AreNamedWhereNoKernelIs) {
  const std::string folder = folder_.string();
  EXPECT_THAT(refusal({"sweep", "--list", "--benches", folder.c_str()}),
              HasSubstr("name a kernel (spin, mine)"));
}

TEST_F(DescribedPrograms, ShowTheAxesOfAKernelInItsHelp) {
  const std::string folder = folder_.string();
  const std::string said = printed({"sweep", "spin", "--help", "--benches", folder.c_str()});
  EXPECT_THAT(said, HasSubstr("--block-size VALUES        threads per block (default 256)"));
  EXPECT_THAT(said, HasSubstr("Usage: occbench sweep"));
}

TEST(SweepCommand, WithoutTheProgramThatMeasuresSaysWhereItComesFrom) {
  const TemporaryFolder empty;
  const std::string folder = empty.path().string();
  EXPECT_THAT(refusal({"sweep", "spin", "--list", "--benches", folder.c_str()}),
              HasSubstr("part of builds with CUDA"));
  EXPECT_THAT(refusal({"sweep", "--list", "--benches", folder.c_str()}),
              HasSubstr("part of builds with CUDA"));
}

TEST(SweepCommand, ResumesNoRace) {
  EXPECT_THAT(refusal({"sweep", "spin", "--fastest", "--out", "x.csv", "--resume"}),
              HasSubstr("leave --resume out, and the race begins again"));
}

TEST(SweepCommand, NeedsAKernelOrASource) {
  const std::string list = run_command("sweep --list").err;
  EXPECT_THAT(list, testing::AnyOf(HasSubstr("name a kernel"), HasSubstr("part of builds with CUDA")));
  EXPECT_EQ(run_command("sweep --list").status, ExitStatus::usage);
  EXPECT_THAT(run_command("sweep --source /proc/self/maps").err, HasSubstr("--kernel NAME go together"));
  EXPECT_EQ(run_command("sweep --source /nowhere.cu --kernel k").status, ExitStatus::usage);
  EXPECT_THAT(run_command("sweep spin --list --cc 9.0").err, HasSubstr("--cc and --sm-count go together"));
  EXPECT_THAT(run_command("sweep spin --resume").err, HasSubstr("--out FILE.csv"));
}

CaseRecord timed(const std::string& name, double time_us, double theoretical_pct,
                 const std::string& note = "") {
  CaseRecord record;
  record.identity.name = name;
  record.times.status = TimeStatus::ok;
  record.times.time_us = time_us;
  record.theory = Theory{.theoretical_pct = theoretical_pct, .blocks_per_sm = 1, .limiters = {}, .waves = 1};
  record.note = note;
  return record;
}

CaseRecord skipped(const std::string& note) {
  CaseRecord record;
  record.times.status = TimeStatus::skipped;
  record.note = note;
  return record;
}

TEST(FastestText, SaysHowSureItIsAndWhatWasLeftOut) {
  CaseRecord wrong = timed("wrong", 1, 100, "its result is wrong");
  wrong.check = Check::wrong;
  CaseRecord fastest = timed("b", 10, 50);
  fastest.readings.counters.achieved_pct = 47.5;
  const std::string text = fastest_text(
      std::vector{timed("a", 20, 100, "no work; " + race_note(RaceOutcome::ruled_out_by_launches, "slower")),
                  wrong, fastest, timed("c", 9.995, 25, race_note(RaceOutcome::as_fast)),
                  skipped(race_note(RaceOutcome::left_out, "spills")), skipped("too many threads"),
                  timed("d", 15, 100, race_note(RaceOutcome::ruled_out_by_intervals, "slower"))});
  EXPECT_THAT(
      text,
      AllOf(
          HasSubstr("fastest      b   10 us"),
          HasSubstr("1 ruled out by 95 % intervals, 1 by one or two launches that were 5 % slower or more; 1 "
                    "not told "
                    "from the fastest"),
          HasSubstr("c   9.995 us"), Not(HasSubstr("a   20 us")),
          HasSubstr("1 without a launch, 2 that cannot run or are wrong, of 7"),
          HasSubstr("theoretical 50 % (the highest of the sweep is 100 %: d, 1.50 times as long); achieved "
                    "47.5 %")));
}

/// As files have it that older commits wrote.
TEST(FastestText, DoesNotCountALaunchedCaseAsLeftOutWhoseReadingWasLeftOut) {
  EXPECT_THAT(
      fastest_text(std::vector{timed("a", 10, 50, "left out: achieved_pct = 1e+300 is out of range")}),
      HasSubstr("0 without a launch, 0 that cannot run or are wrong, of 1"));
}

TEST(FastestText, SaysWhereTheFastestHasTheHighestOccupancy) {
  EXPECT_THAT(fastest_text(std::vector{timed("a", 20, 50), timed("b", 10, 50)}),
              HasSubstr("theoretical 50 %, the highest of the sweep"));
}

TEST(FastestText, OfNoRightResultSaysSo) {
  EXPECT_THAT(fastest_text(std::vector{skipped("none")}), HasSubstr("No configuration ran"));
}

}  // namespace
}  // namespace occbench
