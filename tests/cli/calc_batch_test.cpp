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
#include "table_cell.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using testing::AllOf;
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

Outcome calc_batch(const std::string& text, const char* format) {
  const TemporaryFile file(text);
  return run_command({"calc", "--batch", file.name(), "--format", format});
}

// 288 threads are 9 warps; by hand: 50 -> 56 registers x 288 = 16,128 a block, 4 blocks, 36 warps of 64 and of 48.
TEST(CalcBatch, AnswersARowForEachGpuThatIsNamed) {
  const TemporaryFile file("case,block_threads,registers_per_thread\na,288,50\n");
  const Outcome outcome =
      run_command({"calc", "--batch", file.name(), "--gpu", "h200,rtx-4090", "--format", "json"});
  ASSERT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  const json rows = json::parse(outcome.out);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("case"), "a h200");
  EXPECT_EQ(rows[0].at("theoretical_pct"), 56.25);
  EXPECT_EQ(rows[1].at("compute_capability"), "8.9");
  EXPECT_EQ(rows[1].at("theoretical_pct"), 75);
  const TemporaryFile of_one("compute_capability,block_threads\n9.0,288\n");
  EXPECT_THAT(run_command({"calc", "--batch", of_one.name(), "--cc", "8.0"}).err,
              HasSubstr("has the column compute_capability: leave out --gpu and --cc"));
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
  const Outcome once = calc_batch(
      "case,compute_capability,block_threads,registers_per_thread,sm__warps_active.sum\n"
      "a,9.0,256,32,5\n",
      "csv");
  ASSERT_EQ(once.status, ExitStatus::done) << once.err;
  const Outcome twice = calc_batch(once.out, "csv");
  EXPECT_EQ(twice.status, ExitStatus::done) << twice.err;
  EXPECT_EQ(twice.out, once.out);
}

TEST(CalcBatch, TakesSizesInKilobytesAndWritesThemInFull) {
  const Outcome outcome = calc_batch(
      "case,compute_capability,block_threads,registers_per_thread,dynamic_shared_bytes\na,9.0,256,32,100K\n",
      "csv");
  ASSERT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  const CsvTable table = parse_csv(outcome.out, "answers");
  EXPECT_EQ(table_cell(table, 0, "dynamic_shared_bytes"), "102400");
  EXPECT_EQ(table_cell(table, 0, "blocks_per_sm"), "2");
}

TEST(CalcBatch, RefusesMoreThan48KilobytesOfStaticSharedMemory) {
  const Outcome outcome = calc_batch(
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
  EXPECT_EQ(table_cell(table, 0, "case"), "registers=32");
  EXPECT_EQ(table_cell(table, 3, "rank"), "1");
  EXPECT_EQ(table_cell(table, 4, "rank"), "5");
  EXPECT_EQ(table_cell(table, 4, "theoretical_pct"), "75");
  EXPECT_EQ(table_cell(table, 19, "theoretical_pct"), "50");
  const Outcome shown = run_command({"calc", "--batch", file.name(), "--rank"});
  std::size_t best = 0;
  for (std::size_t at = 0; (at = shown.out.find("◀ best", at)) != std::string::npos; ++at) ++best;
  EXPECT_EQ(best, 4u);
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
  const Outcome outcome = calc_batch(
      "case,compute_capability,block_threads,registers_per_thread,dynamic_shared_bytes,carveout_pct\n"
      "\"a, quoted\",8.9,128,90,,\n"
      "b,sm_35,256,,49152,\n",
      "csv");
  EXPECT_EQ(outcome.status, ExitStatus::done);
  EXPECT_THAT(outcome.out, HasSubstr("registers assumed not to limit"));

  const Outcome whole = calc_batch(
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
  EXPECT_EQ(table_cell(table, 0, "case"), "a, quoted");
  EXPECT_EQ(table_cell(table, 0, "theoretical_pct"), "41.6667");
  EXPECT_EQ(table_cell(table, 0, "limiter"), "registers");
  EXPECT_EQ(table_cell(table, 1, "compute_capability"), "sm_35");
  EXPECT_EQ(table_cell(table, 1, "blocks_per_sm"), "1");
}

TEST(CalcBatch, PutsItsAnswersInTheColumnsOfARecordedRun) {
  const Outcome outcome = calc_batch(
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
    const Outcome outcome = calc_batch(text, "csv");
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
  EXPECT_THAT(error_of("compute_capability,registers_per_thread\n9.0,32\n"),
              HasSubstr("no column block_threads"));
  EXPECT_EQ(run_command({"calc", "--batch", "/no/such/file.csv"}).status, ExitStatus::usage);
}

// The cells that documents give are in the file; the answers must be the same.
TEST(CalcBatch, TheWorkedExamplesOfTheDocumentsComeOut) {
  const char* const file = OCCBENCH_SOURCE_DIR "/examples/worked_examples.csv";
  const Outcome outcome = run_command({"calc", "--batch", file});
  ASSERT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  const CsvTable answers = parse_csv(outcome.out, "answers");
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
