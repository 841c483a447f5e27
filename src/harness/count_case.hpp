#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/instruments.hpp"
#include "harness/options.hpp"
#include "harness/time_case.hpp"

namespace occbench {

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

/// Reads the hardware counters of a case: those of the run, then those that the user asked for by name, in a
/// session of their own, so that they cost the others no pass. Whatever goes wrong stands in the note.
/// @param readings    counted launches of each
/// @param warp_slots  warps that all SMs together can hold
void count_case(ReadyCase& ready, Instruments& instruments, const CounterSetup& setup, int readings,
                double warp_slots, MeasuredCase& into);

}  // namespace occbench
