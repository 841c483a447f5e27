#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"
#include "orchestrate/run.hpp"
#include "record/csv.hpp"

// The command's runner and a bench binary, each as it is but for the GPU.
namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

TEST(ThroughThePipe, CasesOfABenchBinaryAreShownAndInTheFileAndTheSecondRunHasNothingToDo) {
  const TemporaryFolder folder;
  fs::create_symlink(OCC_BENCH_FAKE, folder.path() / "bench_fake");
  RunOptions options;
  options.suite = "smoke";
  options.benches = folder.path();
  options.filter = "block_threads=(176|208|240)$";
  options.resume = true;
  const fs::path out = folder.path() / "rows.csv";
  const std::vector<Bench> benches = planned_benches(options);
  ASSERT_EQ(benches.size(), 1U);
  ASSERT_EQ(benches[0].cases.size(), 3U);
  EXPECT_EQ(benches[0].cases[0].launch->block_threads, 176);
  const auto run = [&] {
    std::ostringstream shown;
    Console console{shown, shown};
    EXPECT_EQ(measure_benches(options, benches, out, "", console), ExitStatus::done);
    EXPECT_EQ(read_rows(out).size(), 3U) << read_text(out.string() + ".log");
    return shown.str();
  };
  const std::string first = run();
  for (const char* line : {"1/3", "2/3", "3/3", "block_threads=240"}) EXPECT_THAT(first, HasSubstr(line));
  EXPECT_THAT(run(), ::testing::Not(HasSubstr("1/3")));
}

/// Launches of the fake kernel all take as long.
TEST(ThroughThePipe, ARaceEndsWithItsBudgetAndIsResumed) {
  const TemporaryFolder folder;
  fs::create_symlink(OCC_BENCH_FAKE, folder.path() / "bench_fake");
  RunOptions options;
  options.suite = "smoke";
  options.benches = folder.path();
  options.resume = true;
  options.flags = {"--occ_fastest"};
  options.budget = std::chrono::seconds(0);
  const fs::path out = folder.path() / "rows.csv";
  const std::vector<Bench> benches = planned_benches(options);
  std::ostringstream shown;
  Console console{shown, shown};
  EXPECT_EQ(measure_benches(options, benches, out, "", console), ExitStatus::done);
  EXPECT_TRUE(read_rows(out).empty());
  options.budget.reset();
  EXPECT_EQ(measure_benches(options, benches, out, "", console), ExitStatus::done) << shown.str();
  const std::vector<Row> rows = read_rows(out);
  EXPECT_EQ(rows.size(), 20U);
  EXPECT_EQ(std::ranges::count(rows, "ok", &Row::counters_status), 1);  // the fastest
  // As many blocks of more threads do more work here.
  EXPECT_GT(std::ranges::count(rows, 200.0, &Row::time_us), 1);
  for (const Row& row : rows) {
    if (row.time_us == 200) continue;
    EXPECT_THAT(row.note, HasSubstr("left out: predicted to take"));
  }
}

}  // namespace
}  // namespace occbench
