// A gate without a GPU: rows that `occbench calc` computes of binaries and batches.
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../cli/run_command.hpp"
#include "gate/compare.hpp"
#include "gate/outputs.hpp"
#include "occupancy/occupancy.hpp"
#include "record/csv.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

std::string calc_batch(const std::string& rows) {
  const fs::path file = fs::temp_directory_path() / fmt::format("occbench_static_{}.csv", ::getpid());
  std::ofstream(file) << rows;
  const std::string name = file.string();
  const Outcome outcome = run_command({"calc", "--batch", name.c_str()});
  EXPECT_EQ(outcome.status, ExitStatus::done) << outcome.err;
  fs::remove(file);
  return outcome.out;
}

/// Kernels of 512 threads on compute capability 9.0, named and with so many registers.
std::string batch_of(std::initializer_list<std::pair<const char*, int>> kernels) {
  std::string text = "case,compute_capability,block_threads,registers_per_thread,note\n";
  for (const auto& [name, registers] : kernels) text += fmt::format("{},9.0,512,{},x\n", name, registers);
  return calc_batch(text);
}

Comparison compare_texts(const std::string& baseline, const std::string& candidate) {
  return compare(parse_run(baseline, "", "baseline.csv"), parse_run(candidate, "", "candidate.csv"), {});
}

std::string messages_of(const ComparedCase& compared) {
  std::string text;
  for (const GateFinding& finding : compared.findings) text += finding.message + "\n";
  return text;
}

TEST(StaticRows, PassAgainstThemselvesWithoutTimeOrCounters) {
  const std::string rows = batch_of({{"a", 32}, {"b", 40}});
  const Comparison comparison = compare_texts(rows, rows);
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_TRUE(comparison.general.empty()) << comparison.general.front().message;
  for (const ComparedCase& compared : comparison.cases) EXPECT_TRUE(compared.compared);
}

TEST(StaticRows, TwoMoreRegistersFailAndAreNamed) {
  const Comparison comparison =
      compare_texts(batch_of({{"a", 32}, {"b", 31}}), batch_of({{"a", 32}, {"b", 33}}));
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
  EXPECT_EQ(comparison.count(Verdict::regression), 1u);
  EXPECT_EQ(comparison.cases.front().full_name(), "batch/b");
  const std::string messages = messages_of(comparison.cases.front());
  EXPECT_THAT(messages, testing::StartsWith("registers_per_thread 31 -> 33\n"));
  EXPECT_THAT(messages, HasSubstr("theoretical_pct 100 -> 75"));
}

TEST(StaticRows, ARegressionThatWasFoundCouldBeFound) {
  const Comparison comparison = compare_texts(batch_of({{"b", 31}}), batch_of({{"b", 33}}));
  EXPECT_THAT(comparison_table(comparison),
              testing::AllOf(HasSubstr("Smallest regression that would have been found: one more register"),
                             testing::Not(HasSubstr("No regression could have been found"))));
}

TEST(StaticRows, TwoFewerRegistersAreANote) {
  const Comparison comparison = compare_texts(batch_of({{"a", 33}}), batch_of({{"a", 31}}));
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_TRUE(comparison.cases.front().compared);
  EXPECT_THAT(
      messages_of(comparison.cases.front()),
      testing::AllOf(HasSubstr("registers_per_thread 33 -> 31: better"),
                     HasSubstr("theoretical_pct 75 -> 100: better"), HasSubstr("record the baseline again")));
}

TEST(StaticRows, SayThatNothingWasMeasured) {
  const std::string rows = batch_of({{"a", 32}});
  const std::string text = comparison_table(compare_texts(rows, rows));
  EXPECT_THAT(text, HasSubstr("calculated, nothing measured"));
  EXPECT_THAT(text, HasSubstr("one more register or byte of shared memory or spills, any loss of theory; no "
                              "measurements were compared."));
}

TEST(StaticRows, AKernelThatIsGoneHasNoVerdict) {
  const Comparison comparison = compare_texts(batch_of({{"a", 32}, {"b", 32}}), batch_of({{"a", 32}}));
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
}

TEST(StaticRows, OfAnotherComputeCapabilityAreNotCompared) {
  const std::string names = "case,compute_capability,block_threads,registers_per_thread\n";
  const Comparison comparison =
      compare_texts(calc_batch(names + "a,9.0,512,32\n"), calc_batch(names + "a,8.0,512,32\n"));
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
}

TEST(StaticRows, AreNoStandInForRowsThatWereMeasured) {
  const std::string calculated = batch_of({{"a", 32}});
  std::vector<Row> rows = parse_rows(calculated, "calculated");
  rows[0].gpu = "NVIDIA H200";
  rows[0].time_status = "ok";
  rows[0].achieved_pct = 99;
  rows[0].extra.clear();
  const std::string measured = csv_header() + csv_record(rows[0]);
  EXPECT_EQ(compare_texts(measured, calculated).verdict(), Verdict::no_verdict);
  EXPECT_EQ(compare_texts(calculated, measured).verdict(), Verdict::no_verdict);
}

TEST(StaticRows, WithoutNamesAreRefusedWithTheRemedy) {
  const std::string rows = calc_batch("compute_capability,block_threads,registers_per_thread\n9.0,512,32\n");
  try {
    parse_run(rows, "", "unnamed.csv");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("unnamed.csv is no file of rows: its rows have no names; give the file of "
                          "occbench calc --batch a column case"));
  }
}

}  // namespace
}  // namespace occbench
