#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/google_benchmark.hpp"
#include "harness/instruments.hpp"
#include "harness/options.hpp"
#include "harness/plan.hpp"
#include "record/case_record.hpp"
#include "record/row.hpp"

// The second stage of a run: a planned case is measured.
namespace occbench {

struct CounterSetup;

/// The readings behind a case's medians, in the order in which they were added.
class CaseSamples {
 public:
  explicit CaseSamples(const CaseIdentity& of) : experiment_(of.experiment), case_name_(of.name) {}

  void add(std::string_view quantity, std::int64_t index, double value);

  /// Those of the values that are numbers; the index is the value's place.
  void add(std::string_view quantity, std::span<const double> values);

  const std::vector<Sample>& all() const {
    return samples_;
  }

 private:
  std::string experiment_;
  std::string case_name_;
  std::vector<Sample> samples_;
};

/// All that measuring a case gives; each step adds to it.
struct MeasuredCase {
  CaseRecord record;
  CaseSamples samples;
  Runs runs;            ///< for Google Benchmark's reports; empty where the case was not timed
  bool missed = false;  ///< something that the user asked for by name could not be measured
};

/// What cases are measured with.
struct MeasureWith {
  const Device& device;
  Instruments& instruments;
  const Options& options;
  const CounterSetup& counters;
  const ChosenProfile& profile;
  GoogleBenchmark& benchmark;
  const std::vector<double>* raced = nullptr;  ///< the case was timed in a race: these launches, microseconds
};

/// Measures one case: the whole way from its plan to all that its row says. A case that fails, or that the
/// device cannot run, has its record too, and its note says why; whatever was measured before stays.
/// @returns empty where the end of the run cut the case off: it has no row, and a resumed run makes it
std::optional<MeasuredCase> measure_case(const PlannedCase& planned, const MeasureWith& with);

}  // namespace occbench
