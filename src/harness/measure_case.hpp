#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

/// All that measuring a case gives; each step adds to it.
struct MeasuredCase {
  CaseRecord record;
  SamplesOfCase samples;
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

/// A case that is ready on the device, as the steps of its measurement launch it. Its buffers go with it.
class ReadyCase {
 public:
  /// @throws CannotRun, CudaError
  ReadyCase(const PlannedCase& planned, const Device& device, Instruments& instruments);

  /// Checks the result, and launches once more, so that the launch finds its code in the caches. @throws
  /// CannotRun, CudaError
  Check check_and_launch();

  /// Microseconds of one launch. @throws CudaError
  double time_launch();

  /// Does what comes before a launch that is counted, sampled or recorded.
  void make_ready();

  /// One launch, from its queue to its end. @throws CudaError
  void launch_and_wait();

  /// As Prepared::record_warps.
  std::vector<WarpRecord> record_warps();

  Prepared& prepared() const {
    return *prepared_;
  }

 private:
  Instruments& instruments_;
  bool cold_;
  std::unique_ptr<Prepared> prepared_;
};

/// What times say of a case. @param useful work of a launch @pre `microseconds` is not empty
Times times_of(const std::vector<double>& microseconds, bool throttled, const Amount& useful);

/// The hardware counters of a run, found out once, before its first case.
struct CounterSetup {
  CountersStatus status = CountersStatus::off;  ///< ok: each case tries to read them; else no case does
  std::string note = {};                  ///< why no case does, or why cases read fewer than their suite
  std::vector<std::string> metrics = {};  ///< of every case, so that the profiler is set up once
  std::vector<std::string> by_name = {};  ///< that the user asked for besides
};

/// Reads the suite's counters of a launch that is no case's. Where those of the full suite cannot be had, those
/// of the smaller suites are read. A missing permission stays missing; counters that another profiler holds may
/// be had when the first case is there. Says on standard error what cannot be read.
CounterSetup set_up_counters(Instruments& instruments, const Options& options);

/// What came of reading counters of launches.
struct Counted {
  CountersStatus status = CountersStatus::off;
  std::string note = {};  ///< why there are no readings
  CounterReadings readings = {};
};

/// Reads counters of `launch`, which must queue one launch and wait for it, where the run's can be read.
/// @param before as Counters::read
/// @throws what `launch` throws
Counted count_launches(Instruments& instruments, const CounterSetup& setup,
                       const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before);

}  // namespace occbench
