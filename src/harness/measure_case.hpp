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

/// All results of measuring a case; each step adds to it.
struct MeasuredCase {
  CaseRecord record;
  SamplesOfCase samples;
  Runs runs;            ///< for Google Benchmark's reports; empty if the case was not timed
  bool missed = false;  ///< something that the user requested by name could not be measured
};

/// Tools and settings for measuring cases.
struct MeasureWith {
  const Device& device;
  Instruments& instruments;
  const Options& options;
  const CounterSetup& counters;
  const ChosenProfile& profile;
  GoogleBenchmark& benchmark;
  const std::vector<double>* raced = nullptr;  ///< the case was timed in a race: these launches, microseconds
};

/// Measures one case, from its plan to its complete row. A case that fails, or that the device cannot run, has its
/// record too, and its note says why. Earlier measurements stay.
/// @returns empty if the end of the run cut the case off: it has no row, and a resumed run measures it
std::optional<MeasuredCase> measure_case(const PlannedCase& planned, const MeasureWith& with);

/// A case ready on the device for the launches of its measurement. Its buffers are freed with it.
class ReadyCase {
 public:
  /// @throws CannotRun, CudaError
  ReadyCase(const PlannedCase& planned, const Device& device, Instruments& instruments);

  /// Checks the result, and launches once more, so that the launch finds its code in the caches. @throws CannotRun,
  /// CudaError
  Check check_and_launch();

  /// Microseconds of one launch. @throws CudaError
  double time_launch();

  /// Prepares a launch that is counted, sampled or recorded.
  void make_ready();

  /// One launch, from queueing to its end. @throws CudaError
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

/// A case's times from its launches. @param useful work of a launch @pre `microseconds` is not empty
Times times_of(const std::vector<double>& microseconds, bool throttled, const Amount& useful);

/// The hardware counters of a run, determined once, before its first case.
struct CounterSetup {
  CountersStatus status = CountersStatus::off;  ///< ok: each case tries to read them; else no case does
  std::string note = {};                  ///< why no case does, or why cases read fewer than their suite has
  std::vector<std::string> metrics = {};  ///< of every case, so that the profiler is set up once
  std::vector<std::string> by_name = {};  ///< requested by the user in addition
};

/// Reads the suite's counters of a launch outside the cases. If those of the full suite cannot be had, those of the
/// smaller suites are read. A missing permission stays missing; counters that another profiler holds may be free at
/// the first case. Reports on standard error what cannot be read.
CounterSetup set_up_counters(Instruments& instruments, const Options& options);

/// Result of reading counters of launches.
struct Counted {
  CountersStatus status = CountersStatus::off;
  std::string note = {};  ///< why there are no readings
  CounterReadings readings = {};
};

/// Reads counters of `launch`, which must queue one launch and wait for it, if the run's counters can be read.
/// @param before as Counters::read
/// @throws what `launch` throws
Counted count_launches(Instruments& instruments, const CounterSetup& setup,
                       const std::vector<std::string>& metrics, const std::function<void()>& launch,
                       const std::function<void()>& before);

}  // namespace occbench
