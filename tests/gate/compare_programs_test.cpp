#include <fmt/core.h>
#include <gtest/gtest.h>

#include "compared.hpp"

namespace occbench {
namespace {

/// As occbench trace writes it: work inferred, the last two kernels launched once, the last one not counted.
MadeUpRun traced_program(unsigned seed) {
  MadeUpRun run = made_up_run(4);
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    Row& row = run.rows[i];
    row.experiment = "trace";
    row.launches = i < 2 ? 500 : 1;
    row.work = fmt::format("equal:{}", 40000 + seed);
    row.work_source = "inferred from cycles";
    if (i >= 2) row.repetitions = 1;
  }
  run.rows[3].repetitions.reset();
  run.rows[3].time_us.reset();
  run.rows[3].achieved_pct.reset();
  run.rows[3].counters_status = "off";
  return run;
}

TEST(Gate, TwoTracesOfAProgramPassWhateverWasInferredOfItAndHoweverSeldomItLaunches) {
  const Comparison comparison = compare(traced_program(1).run(), traced_program(2).run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::pass) << first_reason(comparison);
  EXPECT_EQ(comparison.count(Verdict::pass), 4u);
}

TEST(Gate, DoesNotJudgePredictionsOfInferredWork) {
  const MadeUpRun otherwise_predicted = traced_program(2).with([](MadeUpRun& run) {
    for (Row& row : run.rows) row.predicted_pct = row.predicted_pct.value_or(50) / 2;
  });
  const Comparison comparison = compare(traced_program(1).run(), otherwise_predicted.run(), {});
  EXPECT_EQ(comparison.verdict(), Verdict::pass) << first_reason(comparison);
}

TEST(Gate, FindsTheKernelOfAProgramThatLostOccupancyOrTime) {
  const MadeUpRun emptier = traced_program(2).with([](MadeUpRun& run) {
    *run.rows[1].achieved_pct -= 8;
    *run.rows[1].achieved_elapsed_pct -= 8;
  });
  EXPECT_EQ(compare(traced_program(1).run(), emptier.run(), {}).verdict(), Verdict::regression);
  const MadeUpRun slower = traced_program(2).with([](MadeUpRun& run) { run.slow_down(0, 1.5); });
  EXPECT_EQ(compare(traced_program(1).run(), slower.run(), {}).verdict(), Verdict::regression);
  const MadeUpRun denied = traced_program(2).with([](MadeUpRun& run) {
    run.rows[0].achieved_pct.reset();
    run.rows[0].counters_status = "denied";
  });
  EXPECT_EQ(compare(traced_program(1).run(), denied.run(), {}).verdict(), Verdict::no_verdict);
}

}  // namespace
}  // namespace occbench
