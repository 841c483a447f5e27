#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/output.hpp"
#include "orchestrate/run.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// The tool program is a shell script here, and temporary folders lie where they can be counted.
class ToolPrograms : public ::testing::Test {
 protected:
  ToolPrograms() {
    fs::create_directory(temporaries_);
    ::setenv("TMPDIR", temporaries_.c_str(), 1);
  }
  ~ToolPrograms() override {
    ::unsetenv("TMPDIR");
  }

  /// A program that has $csv, the file for its rows.
  ToolRun run(const std::string& script, const fs::path& rows = {}) {
    std::ofstream(folder_.path() / "tool")
        << "#!/bin/bash\nfor a in \"$@\"; do case $a in --occ_csv=*) csv=${a#*=};; esac; done\n"
        << script << '\n';
    fs::permissions(folder_.path() / "tool", fs::perms::owner_all);
    Console console{out_, err_};
    return run_tool(folder_.path() / "tool", {"--occ_suite=smoke"}, rows, console);
  }

  std::string rows_and_samples() const {
    Row row;
    row.experiment = "calibration";
    row.case_ = "spin";
    const Sample sample{"calibration", "spin", "time_us", 0, 1.5};
    std::ofstream(folder_.path() / "one.csv") << csv_header() << csv_record(row);
    std::ofstream(folder_.path() / "one.samples.csv") << samples_header() << csv_record(sample);
    return "cp " + (folder_.path() / "one.csv").string() + " \"$csv\"; cp " +
           (folder_.path() / "one.samples.csv").string() + " \"${csv%.csv}.samples.csv\"";
  }

  TemporaryFolder folder_;
  fs::path temporaries_ = folder_.path() / "temporaries";
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ToolPrograms, GiveTheirCasesAndSamplesAndLeaveNothingBehind) {
  const ToolRun measured = run(rows_and_samples());
  EXPECT_EQ(measured.status, ExitStatus::done) << err_.str();
  ASSERT_EQ(measured.cases.size(), 1U);
  EXPECT_EQ(measured.cases[0].identity.name, "spin");
  EXPECT_EQ(measured.samples.size(), 1U);
  EXPECT_TRUE(fs::is_empty(temporaries_));
}

TEST_F(ToolPrograms, RowsThatAreAskedForAreKept) {
  const fs::path kept = folder_.path() / "kept.csv";
  run(rows_and_samples(), kept);
  EXPECT_EQ(read_rows(kept).size(), 1U);
}

TEST_F(ToolPrograms, OneThatFailsIsHeard) {
  const ToolRun measured = run("echo the counters are denied; exit 2");
  EXPECT_EQ(measured.status, ExitStatus::no_verdict);
  EXPECT_THAT(err_.str(), HasSubstr("exit status 2"));
  EXPECT_THAT(err_.str(), HasSubstr("the counters are denied"));
}

TEST_F(ToolPrograms, OneThatTheUserInterruptsLeavesNothingBehindNeitherFilesNorAProcess) {
  const fs::path begun = folder_.path() / "begun";
  std::thread user([&] {
    while (!fs::exists(begun)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(fs::is_empty(temporaries_));
    ::kill(::getpid(), SIGINT);
  });
  // As a bench binary, it ends when it is asked to.
  const ToolRun measured = run("echo $$ > " + begun.string() + "; exec sleep 60");
  user.join();
  EXPECT_EQ(measured.status, ExitStatus::no_verdict);
  EXPECT_THAT(err_.str(), HasSubstr("interrupted"));
  EXPECT_TRUE(fs::is_empty(temporaries_));
  pid_t process = 0;
  std::ifstream(begun) >> process;
  EXPECT_NE(::kill(process, 0), 0);
}

}  // namespace
}  // namespace occbench
