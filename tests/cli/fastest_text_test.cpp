#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/sweep.hpp"
#include "record/race.hpp"

namespace occbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
  const std::string text =
      fastest_text(std::vector{timed("a", 20, 100, "no work; " + std::string(kRuledOut) + "slower"), wrong,
                               fastest, timed("c", 9.995, 25, std::string(kAsFast)),
                               skipped(std::string(kLeftOut) + "spills"), skipped("too many threads"),
                               timed("d", 15, 100, std::string(kRuledOut) + "slower (95 % intervals)")},
                   10);
  EXPECT_THAT(
      text,
      AllOf(
          HasSubstr("fastest      b   10 us"),
          HasSubstr("1 ruled out by 95 % intervals, 1 by one or two launches that were 5 % slower or more; 1 "
                    "not told "
                    "from the fastest"),
          HasSubstr("c   9.995 us"), Not(HasSubstr("a   20 us")),
          HasSubstr("1 without a launch, 2 that cannot run or are wrong, 3 not decided, of 10"),
          HasSubstr("theoretical 50 %, achieved 47.5 %; the highest of the sweep is 100 %: d, 1.50 times")));
}

TEST(FastestText, SaysWhereTheFastestHasTheHighestOccupancy) {
  EXPECT_THAT(fastest_text(std::vector{timed("a", 20, 50), timed("b", 10, 50)}, 2),
              HasSubstr("theoretical 50 %: the highest of the sweep"));
}

TEST(FastestText, OfNoRightResultSaysSo) {
  EXPECT_THAT(fastest_text(std::vector{skipped("none")}, 1), HasSubstr("No configuration ran"));
}

}  // namespace
}  // namespace occbench
