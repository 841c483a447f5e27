// Work inferred from what recorded launches of known work observed (results/nvidia-h200/).
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/observed.hpp"

namespace occbench {
namespace {

/// The recorded runs that the rules of inference were not chosen on, with their work hidden.
struct Errors {
  std::vector<double> theory, cycles, spread, blocks, time;
};

/// Every so many rows: all take a minute.
constexpr std::size_t kStep = 4;

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Of event times, which are longer than activity records' (results/nvidia-h200/full.csv: median).
constexpr double kEventOverheadUs = 1.9;

std::map<std::string, Errors> errors_of(const char* file) {
  std::map<std::string, Errors> errors;
  const std::vector<CaseRecord> cases =
      read_case_records(std::string(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/") + file);
  for (std::size_t i = 0; i < cases.size(); i += kStep) {
    const CaseRecord& recorded = cases[i];
    const CounterValues& counters = recorded.readings.counters;
    const bool complete = counters.achieved_pct && recorded.theory && counters.sm_clock_mhz &&
                          counters.sm_cycles_active_avg && recorded.times.time_us && recorded.launch &&
                          recorded.launch->grid_blocks < 20000;
    if (!complete || !recorded.identity.work) continue;
    const std::string work = to_string(*recorded.identity.work);
    const bool contends =
        work.find("issue=") != std::string::npos || work.find("bytes=") != std::string::npos;
    if (contends || work.starts_with("warp/")) continue;
    Errors& into = errors[work.starts_with("equal:") ? "equal" : "uneven blocks"];
    const auto error = [&](CaseRecord record) {
      record.identity.work.reset();
      infer_and_predict(record);
      return std::abs(record.prediction.value().predicted_pct - *counters.achieved_pct);
    };
    into.theory.push_back(std::abs(recorded.theory->theoretical_pct - *counters.achieved_pct));
    into.blocks.push_back(error(recorded));
    CaseRecord spread = recorded;
    spread.readings.counters.resident_blocks.reset();
    into.spread.push_back(error(spread));
    CaseRecord mean_only = spread;
    mean_only.readings.counters.sm_cycles_active_min.reset();
    mean_only.readings.counters.sm_cycles_active_max.reset();
    into.cycles.push_back(error(mean_only));
    CaseRecord time_only = mean_only;
    time_only.readings.counters.sm_cycles_active_avg.reset();
    *time_only.times.time_us += kRecordOverheadUs - kEventOverheadUs;
    into.time.push_back(error(time_only));
  }
  return errors;
}

TEST(RecordedLaunches, OfEqualWorkArePredictedWithoutKnowingIt) {
  const Errors errors = errors_of("validation.csv").at("equal");
  EXPECT_GE(errors.theory.size(), 40);
  EXPECT_GT(mean(errors.theory), 10);
  EXPECT_LT(mean(errors.spread), 0.6);
  EXPECT_LT(mean(errors.cycles), 0.7);
  EXPECT_LT(mean(errors.time), 0.8);
}

TEST(RecordedLaunches, OfUnevenBlocksArePredictedBetterWithTheSpreadOfTheSms) {
  const Errors errors = errors_of("validation.csv").at("uneven blocks");
  EXPECT_GE(errors.theory.size(), 40);
  EXPECT_GT(mean(errors.theory), 20);
  EXPECT_LT(mean(errors.cycles), 0.7 * mean(errors.theory));
  EXPECT_LT(mean(errors.spread), 0.7 * mean(errors.cycles));
  EXPECT_LT(mean(errors.blocks), 0.7 * mean(errors.spread)) << "resident blocks say more than either";
}

}  // namespace
}  // namespace occbench
