#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/temporary_folder.hpp"
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

}  // namespace
}  // namespace occbench
