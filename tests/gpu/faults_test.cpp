#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../cli/run_command.hpp"
#include "files/output.hpp"
#include "record/csv.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Matcher;
using ::testing::Not;

class Faults : public ::testing::Test {
 protected:
  fs::path csv() const {
    return folder_ / "faults.csv";
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(Faults, EachCaseHasItsRowWhateverFails) {
  const std::string file = csv().string();
  const char* const arguments[] = {"run",        "--suite", "smoke", "--benches", OCC_FAULTS,
                                   "--counters", "auto",    "--out", file.c_str()};
  const Outcome outcome = run_command(arguments);
  if (outcome.err.find("nothing is measured") != std::string::npos) GTEST_SKIP() << outcome.err;
  EXPECT_EQ(outcome.status, ExitStatus::no_verdict) << outcome.out << outcome.err;

  const Matcher<std::string> well = Not(HasSubstr("cudaError"));
  const struct {
    const char* variant;
    const char* time_status;
    Matcher<std::string> note;
  } expected[] = {
      {"none", "ok", well},
      {"trap", "failed",
       AnyOf(HasSubstr("cudaErrorLaunchFailure"), HasSubstr("cudaErrorIllegalInstruction"))},
      {"none", "ok", well},
      {"wild_write", "failed", HasSubstr("cudaErrorIllegalAddress")},
      {"none", "ok", well},
      {"killed", "failed", HasSubstr("signal 9")},
      {"none", "ok", well},
      {"shared_race", "ok", well},
  };
  const std::vector<Row> rows = read_rows(csv());
  ASSERT_EQ(rows.size(), std::size(expected));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].variant, expected[i].variant);
    // Times of launches as short as these need not hold still.
    EXPECT_EQ(rows[i].time_status == "unstable" ? "ok" : rows[i].time_status, expected[i].time_status)
        << rows[i].case_;
    EXPECT_THAT(rows[i].note, expected[i].note) << rows[i].case_;
  }
}

}  // namespace
}  // namespace occbench
