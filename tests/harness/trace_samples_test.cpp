#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/depth.hpp"

namespace occbench {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<Sample> trace_samples(const std::vector<WarpRecord>& records, int warps_per_block,
                                  std::string_view prefix = kTracePrefixes[0]) {
  CaseIdentity traced;
  traced.experiment = "placement";
  traced.name = "spin/plain/waves=1";
  CaseSamples samples(traced);
  add_trace_samples(samples, records, warps_per_block, 64, prefix);
  return samples.all();
}

WarpRecord warp(std::uint32_t sm, std::int64_t start, std::int64_t end) {
  return {.start_cycles = start, .end_cycles = end, .start_ns = 1000 + start, .end_ns = 1000 + end, .sm = sm};
}

std::vector<double> values_of(const std::vector<Sample>& samples, std::string_view quantity) {
  std::vector<double> values;
  for (const Sample& sample : samples) {
    if (sample.quantity != quantity) continue;
    EXPECT_EQ(sample.experiment, "placement");
    EXPECT_EQ(sample.case_name, "spin/plain/waves=1");
    EXPECT_EQ(sample.index, static_cast<std::int64_t>(values.size()));
    values.push_back(sample.value);
  }
  return values;
}

TEST(TraceSamples, EachBlockHasItsSmAndItsTimesFromTheFirstStart) {
  // Three blocks of one warp: two on SM 4, the second of them 25 after the first, and one on SM 9.
  const std::vector<WarpRecord> records = {warp(4, 100, 200), warp(9, 150, 500), warp(4, 225, 400)};
  const std::vector<Sample> samples = trace_samples(records, 1);
  EXPECT_THAT(values_of(samples, "trace_sm"), ElementsAre(4, 9, 4));
  EXPECT_THAT(values_of(samples, "trace_start_ns"), ElementsAre(0, 50, 125));
  EXPECT_THAT(values_of(samples, "trace_end_ns"), ElementsAre(100, 400, 300));
  EXPECT_THAT(values_of(samples, "trace_sm_cycles"), ElementsAre(100, 350, 175));
  EXPECT_THAT(values_of(samples, "trace_replacement_latency_cycles"), ElementsAre(25));
  EXPECT_THAT(values_of(samples, "trace_most_blocks"), ElementsAre(1, 1));
  EXPECT_THAT(values_of(samples, "trace_out_of_order"), ElementsAre(0));
  EXPECT_THAT(values_of(samples, "trace_achieved_pct"), ElementsAre(100.0 / 64));
}

TEST(TraceSamples, ASecondLaunchOfTheCaseHasNamesOfItsOwn) {
  const std::vector<WarpRecord> records = {warp(4, 100, 200)};
  const std::vector<Sample> samples = trace_samples(records, 1, kTracePrefixes[1]);
  EXPECT_THAT(values_of(samples, "trace_again_sm"), ElementsAre(4));
  EXPECT_THAT(samples, Each(Field(&Sample::quantity, StartsWith("trace_again_"))));
}

TEST(TraceSamples, AFamilyThatKeepsNoTraceAddsNothing) {
  EXPECT_THAT(trace_samples({}, 8), IsEmpty());
}

}  // namespace
}  // namespace occbench
