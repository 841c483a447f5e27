// Work inferred from what counters and times of real programs say (results/nvidia-h100-80gb-hbm3/programs/).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/observed.hpp"

namespace occbench {
namespace {

struct Errors {
  std::vector<double> theory, all, cycles, time;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double error(CaseRecord record) {
  record.identity.work.reset();
  record.prediction.reset();
  infer_and_predict(record);
  return std::abs(record.prediction.value().predicted_pct - *record.readings.counters.achieved_pct);
}

Errors errors_of(const std::vector<std::string>& programs) {
  Errors errors;
  for (const std::string& program : programs) {
    const std::string file = OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs/" + program;
    for (CaseRecord record : read_case_records(file + ".csv")) {
      CounterValues& counters = record.readings.counters;
      if (!counters.achieved_pct || !record.times.time_us) continue;
      errors.theory.push_back(std::abs(record.theory->theoretical_pct - *counters.achieved_pct));
      errors.all.push_back(error(record));
      counters.resident_blocks.reset();
      errors.cycles.push_back(error(record));
      counters.sm_cycles_active_min.reset();
      counters.sm_cycles_active_avg.reset();
      counters.sm_cycles_active_max.reset();
      errors.time.push_back(error(record));
    }
  }
  return errors;
}

// The rules were tuned on the other four programs.
TEST(HeldOutPrograms, ArePredictedFromActiveCyclesAndTime) {
  const Errors errors = errors_of({"training", "jax_gradient", "gemm"});
  EXPECT_GE(errors.theory.size(), 130);
  EXPECT_GT(mean(errors.theory), 40);
  EXPECT_LT(mean(errors.all), 2.3);
  EXPECT_LT(mean(errors.cycles), 2.5);
  EXPECT_LT(median(errors.cycles), 0.6);
  EXPECT_LT(mean(errors.time), mean(errors.cycles) + 0.8);
  EXPECT_LT(median(errors.time), 0.7);
}

TEST(TunedPrograms, ArePredictedWithLargerErrors) {
  const Errors errors = errors_of({"sample", "inference", "triton_kernels", "cupy_kernels"});
  EXPECT_GE(errors.theory.size(), 115);
  EXPECT_LT(mean(errors.all), 2.5);
  EXPECT_LT(mean(errors.cycles), 4.2);
  EXPECT_LT(median(errors.cycles), 1.2);
}

}  // namespace
}  // namespace occbench
