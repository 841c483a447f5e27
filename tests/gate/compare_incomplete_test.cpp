#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compared.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;

// What could not be measured or compared must not pass.

TEST(Gate, GivesNoVerdictOnACaseThatIsMissing) {
  const Comparison comparison = with_change([](MadeUpRun& run) { run.rows.pop_back(); });
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(comparison), "missing in the candidate");
}

TEST(Gate, NotesACaseThatTheBaselineDoesNotHave) {
  const Comparison comparison = against_baseline(made_up_run(5));
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  EXPECT_EQ(comparison.cases.size(), 5u);
  EXPECT_EQ(first_reason(comparison), "new: the baseline has no such case");
}

TEST(Gate, TheOrderOfRowsDoesNotMatter) {
  const Comparison comparison = with_change([](MadeUpRun& run) { std::ranges::reverse(run.rows); });
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
}

TEST(Gate, GivesNoVerdictOnACaseThatOccursTwice) {
  const Comparison comparison = with_change([](MadeUpRun& run) { run.rows.push_back(run.rows[0]); });
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(first_reason(comparison), "2 times in the candidate: lines 2 and 6");
}

TEST(Gate, GivesNoVerdictOnAFileThatWasBeingWritten) {
  const std::string text = baseline().rows_text();
  const RecordedRun whole = baseline().run();
  for (const std::size_t cut : {std::size_t{1}, std::size_t{20}, text.size() / 2}) {
    const RecordedRun torn = parse_run(text.substr(0, text.size() - cut), "", "torn.csv");
    EXPECT_EQ(compare(whole, torn, {}).verdict(), Verdict::no_verdict) << cut;
    EXPECT_EQ(compare(torn, whole, {}).verdict(), Verdict::no_verdict) << cut;
  }
}

TEST(Gate, GivesNoVerdictAgainstAnotherGpu) {
  const auto refusal = [](const std::function<void(Row&)>& change) {
    const Comparison comparison =
        with_change([&](MadeUpRun& run) { std::ranges::for_each(run.rows, change); });
    EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
    EXPECT_EQ(comparison.count(Verdict::no_verdict), 4u);
    return first_reason(comparison);
  };
  EXPECT_EQ(refusal([](Row& row) { row.gpu = "NVIDIA A100"; }),
            "cannot be compared: gpu NVIDIA H200 -> NVIDIA A100");
  EXPECT_EQ(refusal([](Row& row) { row.sm_count = 114; }), "cannot be compared: sm_count 132 -> 114");
}

TEST(Gate, GivesNoVerdictOnAnotherSchemaAndSaysWhichVersionReadsIt) {
  const auto of_schema = [](Integer schema) {
    MadeUpRun run = baseline();
    for (Row& row : run.rows) row.schema = schema;
    return run.run();
  };
  const auto reason = [&](const RecordedRun& baseline, const RecordedRun& candidate) {
    const Comparison comparison = compare(baseline, candidate, {});
    EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
    EXPECT_TRUE(comparison.cases.empty());
    return comparison.general.empty() ? "" : comparison.general.front().message;
  };
  EXPECT_THAT(reason(of_schema(1), of_schema(kSchema)),
              AllOf(HasSubstr("the baseline"), HasSubstr("schema 1 instead of 3"),
                    HasSubstr("occbench up to commit 2128df7 reads it")));
  EXPECT_THAT(reason(of_schema(kSchema), of_schema(kSchema + 1)),
              AllOf(HasSubstr("the candidate"), HasSubstr("a newer occbench wrote it")));
  EXPECT_THAT(reason(of_schema({}), of_schema(kSchema)), HasSubstr("schema missing"));
}

TEST(Gate, GivesNoVerdictWhereCountersWereDenied) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    for (Row& row : run.rows) {
      row.achieved_pct.reset();
      row.achieved_elapsed_pct.reset();
      row.counters_status = "denied";
    }
  });
  EXPECT_EQ(comparison.verdict(), Verdict::no_verdict);
  EXPECT_EQ(comparison.count(Verdict::no_verdict), 4u);
  EXPECT_EQ(first_reason(comparison), "no achieved occupancy in the candidate: counters denied");
}

TEST(Gate, FindsARegressionInTheoryEvenWhereCountersWereDenied) {
  const Comparison comparison = with_change([](MadeUpRun& run) {
    injected::two_more_registers(run.rows[0]);
    run.rows[0].achieved_pct.reset();
    run.rows[0].counters_status = "denied";
  });
  EXPECT_EQ(comparison.verdict(), Verdict::regression);
}

TEST(Gate, GivesNoVerdictOnOccupancyThatWasReadByOtherMeans) {
  for (const char* status : {"denied", "sampled"}) {
    const Comparison comparison = with_change([&](MadeUpRun& run) { run.rows[0].counters_status = status; });
    EXPECT_EQ(comparison.verdict(), Verdict::no_verdict) << status;
    EXPECT_EQ(subject(comparison), "counters_status") << status;
  }
}

TEST(Gate, ComparesSampledOccupancyWithCountedWhereAskedTo) {
  const auto verdict = [](const char* status, bool any_source) {
    const MadeUpRun candidate =
        baseline().with([&](MadeUpRun& run) { run.rows[0].counters_status = status; });
    Tolerances tolerances;
    tolerances.any_source = any_source;
    return compare(baseline().run("baseline.csv"), candidate.run("candidate.csv"), tolerances).verdict();
  };
  EXPECT_EQ(verdict("sampled", false), Verdict::no_verdict);
  EXPECT_EQ(verdict("sampled", true), Verdict::pass);
  EXPECT_EQ(verdict("denied", true), Verdict::no_verdict);
}

TEST(Gate, GivesNoVerdictOnAThrottledOrFailedCaseOfEitherSide) {
  for (const char* status : {"throttled", "failed", "skipped", ""}) {
    MadeUpRun broken = baseline();
    broken.rows[0].time_status = status;
    broken.rows[0].note = "why";
    EXPECT_EQ(compare(baseline().run(), broken.run(), {}).verdict(), Verdict::no_verdict) << status;
    EXPECT_EQ(compare(broken.run(), baseline().run(), {}).verdict(), Verdict::no_verdict) << status;
    EXPECT_THAT(first_reason(compare(baseline().run(), broken.run(), {})),
                HasSubstr("(why) in the candidate"));
  }
}

TEST(Gate, ACaseThatNeitherSideCanRunIsNoted) {
  MadeUpRun run = baseline();
  run.rows[0].time_status = "skipped";
  EXPECT_EQ(compare(run.run(), run.run(), {}).verdict(), Verdict::pass);
  for (Row& row : run.rows) row.time_status = "skipped";
  EXPECT_EQ(compare(run.run(), run.run(), {}).verdict(), Verdict::no_verdict) << "then nothing was compared";
}

TEST(Gate, GivesNoVerdictOnEmptyFiles) {
  const RecordedRun whole = baseline().run();
  for (const char* text : {"", "\n", "schema,exper"}) {
    const RecordedRun empty = parse_run(text, "", "empty.csv");
    EXPECT_EQ(compare(whole, empty, {}).verdict(), Verdict::no_verdict) << text;
    EXPECT_EQ(compare(empty, whole, {}).verdict(), Verdict::no_verdict) << text;
    EXPECT_EQ(compare(empty, empty, {}).verdict(), Verdict::no_verdict) << text;
  }
  const RecordedRun header_only = parse_run(csv_header(), "", "header.csv");
  EXPECT_EQ(compare(header_only, header_only, {}).verdict(), Verdict::no_verdict);
}

TEST(Gate, AFileOfOneLineThatHoldsNoRowsIsRefusedWithWhatItIs) {
  EXPECT_THAT([] { parse_run(R"({"all": {}})", "", "tolerances.json"); },
              testing::ThrowsMessage<InputError>(AllOf(
                  HasSubstr("tolerances.json is no file of rows: it is JSON"), HasSubstr("rows are CSV"))));
}

TEST(Gate, AColumnThatOneFileLacksIsNotedAndNotCompared) {
  std::string text = baseline().rows_text();
  text.replace(text.find("spill_bytes"), 11, "spilled_old");
  const Comparison comparison = compare(parse_run(text, "", "old.csv"), baseline().run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::pass);
  ASSERT_EQ(comparison.general.size(), 1u);
  EXPECT_EQ(comparison.general[0].subject, "spill_bytes");
}

}  // namespace
}  // namespace occbench
