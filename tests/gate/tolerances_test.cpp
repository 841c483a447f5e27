#include "gate/tolerances.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/compare.hpp"
#include "made_up_run.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

const Quantity& achieved() {
  return *find_quantity("achieved_pct");
}

std::string refusal(std::string_view json) {
  return message_of([&] { parse_tolerances(json, "tolerances.json"); });
}

TEST(Tolerances, AreWhatTheFileSaysAndElseTheDefaults) {
  const Tolerances tolerances = parse_tolerances(
      R"({"experiments": {"waves": {"achieved_pct": {"limit": 4}}}, "all": {"achieved_pct": {"limit": 2, "spreads": 5}}})",
      "");
  EXPECT_EQ(tolerances.of("block_size", achieved()), (Tolerance{2, 5}));
  EXPECT_EQ(tolerances.of("waves", achieved()), (Tolerance{4, 5}))
      << "what an experiment leaves out is that of all";
  EXPECT_EQ(tolerances.of("waves", time_quantity()), time_quantity().tolerance);
  EXPECT_EQ(Tolerances{}.of("waves", achieved()), achieved().tolerance);
}

TEST(Tolerances, AreReadBackAsTheyWereWritten) {
  Tolerances tolerances;
  tolerances.set("", "time_us", {2.5, 0});
  tolerances.set("waves", "achieved_pct", {0.3, 1.5});
  const Tolerances read = parse_tolerances(tolerances.to_json(), "");
  EXPECT_EQ(read.of("x", time_quantity()), (Tolerance{2.5, 0}));
  EXPECT_EQ(read.of("waves", achieved()), (Tolerance{0.3, 1.5}));
}

TEST(Tolerances, RefuseWhatTheyDoNotKnowAndValuesThatCannotBe) {
  EXPECT_THAT(refusal(R"({"al": {}})"), testing::HasSubstr("unknown key 'al'"));
  EXPECT_THAT(refusal(R"({"all": {"achieved": {}}})"),
              testing::HasSubstr("unknown quantity 'achieved'; there are achieved_pct"));
  EXPECT_THAT(refusal(R"({"all": {"achieved_pct": {"limits": 1}}})"), testing::HasSubstr("has no 'limits'"));
  EXPECT_THAT(refusal(R"({"all": {"achieved_pct": {"limit": -1}}})"),
              testing::HasSubstr("limit of achieved_pct is -1"));
  EXPECT_THAT(refusal(R"({"all": {"achieved_pct": {"limit": "1"}}})"), testing::HasSubstr("from 0 to 1000"));
  EXPECT_THAT(refusal(R"({"all": {"achieved_pct": {"limit": 1e300}}})"),
              testing::HasSubstr("from 0 to 1000"));
  EXPECT_THAT(refusal(R"({"all": {"achieved_pct": 1}})"), testing::HasSubstr("must be a JSON object"));
  EXPECT_THAT(refusal("[]"), testing::HasSubstr("must be a JSON object"));
  EXPECT_THAT(refusal("{"), testing::StartsWith("tolerances.json: "));
}

TEST(Tolerances, FromRunsAreHalfAsMuchAgainAsTheLargestDifference) {
  std::vector<RecordedRun> runs;
  for (const double points : {0.0, -0.8, -0.4}) {
    MadeUpRun run = made_up_run(4);
    *run.rows[1].achieved_pct += points;
    run.slow_down(0, 1 + points / -40);
    runs.push_back(run.run());
  }
  const Tolerances tolerances = tolerances_from(runs);
  // Row 1 is of waves: 0.8 points apart. Row 0 is of block_size: 2 % apart in time.
  EXPECT_EQ(tolerances.of("waves", achieved()), (Tolerance{1.2, 0}));
  EXPECT_EQ(tolerances.of("block_size", achieved()), (Tolerance{0.2, 0})) << "not below what can be read";
  EXPECT_EQ(tolerances.of("block_size", time_quantity()), (Tolerance{3.0, 0}));
  EXPECT_EQ(tolerances.of("another", achieved()), achieved().tolerance);
}

TEST(Tolerances, FromRunsLetTheseRunsPass) {
  std::vector<RecordedRun> runs;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    MadeUpRun run = made_up_run(6);
    for (std::size_t row = 0; row < run.rows.size(); ++row) {
      *run.rows[row].achieved_pct -= 0.7 * static_cast<double>((seed * (row + 3)) % 5);
      run.slow_down(row, 1 + 0.01 * static_cast<double>((seed * (row + 2)) % 5));
    }
    runs.push_back(run.run());
  }
  const Tolerances tolerances = tolerances_from(runs);
  for (const RecordedRun& before : runs) {
    for (const RecordedRun& now : runs) EXPECT_EQ(compare(before, now, tolerances).verdict(), Verdict::pass);
  }
}

TEST(Tolerances, NeedTwoRunsThatShareACase) {
  const std::vector<RecordedRun> one = {made_up_run().run()};
  EXPECT_THROW(tolerances_from(one), InputError);
  const std::vector<RecordedRun> empty = {made_up_run().run(), parse_run("", "", "empty.csv")};
  EXPECT_THROW(tolerances_from(empty), InputError);
}

TEST(Tolerances, OfOccupancyAreWiderOnAnotherGpuWhereALaunchWaitsForWhatIsOutsideItsSm) {
  const auto verdict = [](std::string_view work, Integer spill_bytes, std::string_view gpu) {
    const auto run = [&](double points, std::string_view of) {
      return made_up_run().with([&](MadeUpRun& made) {
        for (Row& row : made.rows) {
          row.gpu_uuid = of;
          row.work = work;
          row.spill_bytes = spill_bytes;
          row.predicted_pct.reset();
          *row.achieved_pct -= points;
          *row.achieved_elapsed_pct -= points;
        }
      });
    };
    return compare(run(0, "GPU-one").run(), run(2, gpu).run(), {}).verdict();
  };
  EXPECT_EQ(verdict("", 0, "GPU-one"), Verdict::regression);
  EXPECT_EQ(verdict("", 0, "GPU-another"), Verdict::pass);
  EXPECT_EQ(verdict("equal:128000", 0, "GPU-another"), Verdict::pass)
      << "cycles alone do not say what they are spent on";
  EXPECT_EQ(verdict("equal:105444:issue=3944:bytes=237568", 0, "GPU-another"), Verdict::pass);
  EXPECT_EQ(verdict("equal:18288:issue=1532", 556, "GPU-another"), Verdict::pass);
  EXPECT_EQ(verdict("equal:18288:issue=1532", 0, "GPU-another"), Verdict::regression);
  EXPECT_EQ(verdict("equal:200000:poll=2.5", 0, "GPU-another"), Verdict::regression);
}

TEST(Tolerances, OfElapsedCyclesHideNoLossOfALaunchOnFewSms) {
  // Four blocks on four of 132 SMs: a fifth less of both is less than a point over elapsed cycles.
  const auto run = [](double factor, double elapsed_factor) {
    MadeUpRun made = made_up_run();
    for (Row& row : made.rows) {
      row.achieved_pct = 12.38 * factor;
      row.achieved_elapsed_pct = 0.364 * elapsed_factor;
      row.achieved_spread_points = 0.01;
    }
    return made.run();
  };
  EXPECT_EQ(compare(run(1, 1), run(0.8, 0.8), {}).verdict(), Verdict::regression);
  EXPECT_EQ(compare(run(1, 1), run(0.8, 1), {}).verdict(), Verdict::pass) << "other SMs had the last blocks";
}

TEST(Quantities, EveryMeasuredColumnIsOne) {
  for (const Column& column : columns()) {
    if (column.gate != GateRule::measured) continue;
    EXPECT_NE(find_quantity(column.name), nullptr) << column.name;
  }
}

}  // namespace
}  // namespace occbench
