// A prediction has nothing in it that was measured of the launch it is compared with (results/). That of given work is made of the
// launch and the work alone, by the parameters of predict().
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "record/columns.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

std::vector<CaseRecord> recorded(const std::string& file) {
  return read_case_records(std::string(OCCBENCH_SOURCE_DIR "/results/") + file);
}

/// The same case with other readings of every counter.
CaseRecord with_other_readings(CaseRecord record) {
  double factor = 0.4;
  for (const Column& column : columns()) {
    if (!column.counter) continue;
    std::optional<double>& value = record.readings.counters.*column.counter->value;
    if (value) *value *= factor += 0.01;
  }
  if (record.readings.achieved_elapsed_pct) *record.readings.achieved_elapsed_pct *= factor;
  return record;
}

void expect_same(const CaseRecord& one, const CaseRecord& other) {
  ASSERT_EQ(one.prediction.has_value(), other.prediction.has_value());
  EXPECT_EQ(one.identity.work, other.identity.work);
  EXPECT_EQ(one.identity.work_source, other.identity.work_source);
  if (!one.prediction) return;
  EXPECT_EQ(one.prediction->predicted_pct, other.prediction->predicted_pct);
  EXPECT_EQ(one.prediction->interval.low, other.prediction->interval.low);
  EXPECT_EQ(one.prediction->interval.high, other.prediction->interval.high);
  EXPECT_EQ(one.prediction->predicted_elapsed_pct, other.prediction->predicted_elapsed_pct);
  EXPECT_EQ(one.prediction->cycles_active_mean, other.prediction->cycles_active_mean);
}

TEST(ProgramsPrediction, IsTheSameWhateverTheCountersRead) {
  int predicted = 0;
  for (const char* program : {"sample", "inference", "triton_kernels", "cupy_kernels", "training", "gemm"}) {
    for (CaseRecord record : recorded(std::string("nvidia-h100-80gb-hbm3/programs/") + program + ".csv")) {
      if (!record.readings.counters.achieved_pct || record.launch->grid_blocks > 5000) continue;
      SCOPED_TRACE(full_name(record.identity));
      CaseRecord other = with_other_readings(record);
      infer_and_predict(record);
      infer_and_predict(other);
      EXPECT_EQ(record.identity.work_source, "inferred from time");
      expect_same(record, other);
      ++predicted;
    }
  }
  EXPECT_GT(predicted, 180);
}

TEST(ProgramsPrediction, OfLaunchesThatWereAllCountedIsReconstructedAndSaysSo) {
  int reconstructed = 0;
  for (CaseRecord record : recorded("nvidia-h100-80gb-hbm3/programs/gemm.csv")) {
    record.times.time_us.reset();
    infer_and_predict(record);
    if (!record.prediction) continue;
    EXPECT_TRUE(is_reconstructed_work(record.identity.work_source)) << record.identity.work_source;
    ++reconstructed;
  }
  EXPECT_GT(reconstructed, 10);
}

/// Of event times, which are longer than activity records' (results/nvidia-h200/full.csv: median).
constexpr double kEventOverheadUs = 1.9;

TEST(InferredWork, OfLaunchesWithEqualBlocksIsFoundFromTheirTime) {
  std::vector<double> of_theory, from_time;
  const std::vector<CaseRecord> cases = recorded("nvidia-h200/validation.csv");
  for (std::size_t i = 0; i < cases.size(); i += 2) {
    CaseRecord record = cases[i];
    const bool equal = record.identity.work && to_string(*record.identity.work).starts_with("equal:") &&
                       record.identity.work->rates() == Rates{};
    if (!equal || !record.times.time_us || record.launch->grid_blocks > 20000) continue;
    const double counter = *record.readings.counters.achieved_pct;
    of_theory.push_back(std::abs(record.theory->theoretical_pct - counter));
    record.identity.work.reset();
    *record.times.time_us += kRecordOverheadUs - kEventOverheadUs;
    infer_and_predict(record);
    from_time.push_back(std::abs(record.prediction.value().predicted_pct - counter));
  }
  ASSERT_GE(of_theory.size(), 80);
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  EXPECT_GT(mean(of_theory), 10);
  EXPECT_LT(mean(from_time), 1);
}

}  // namespace
}  // namespace occbench
