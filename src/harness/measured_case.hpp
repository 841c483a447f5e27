#pragma once

#include "harness/case_samples.hpp"
#include "harness/google_benchmark.hpp"
#include "record/case_record.hpp"

namespace occbench {

/// All that measuring a case gives.
struct MeasuredCase {
  CaseRecord record;
  CaseSamples samples;
  Runs runs;  ///< for Google Benchmark's reports; empty where the case was not timed
};

}  // namespace occbench
