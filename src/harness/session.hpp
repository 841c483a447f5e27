#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/experiment.hpp"
#include "harness/instruments.hpp"
#include "harness/options.hpp"
#include "record/csv.hpp"
#include "record/row.hpp"

namespace occbench {

/// Why the rest of a run's cases are left out.
enum class Stop {
  no,
  interrupted,   ///< the user asked for it
  context_lost,  ///< a kernel failed in a way that no later CUDA call of this process survives
};

/// What came of reading the counters of a case.
struct Counted {
  CountersStatus status = CountersStatus::off;
  std::string note = {};  ///< why there are no readings
  CounterReadings readings = {};
};

/// What came of sampling a launch of a case.
struct Sampled {
  std::string note = {};  ///< why there are no samples
  ActivitySamples samples = {};
};

/// What all cases of a process share: the device, the counters and the file that the rows go to.
class Session {
 public:
  /// `instruments` must outlive the session.
  Session(const Device& device, const Options& options, Instruments& instruments);

  /// Says in how many passes the metrics that were asked for are read. @throws InputError if the GPU does not
  /// have one, with the nearest that it has
  void check_metrics();

  /// Opens the file of rows and makes the folders that were asked for.
  /// @throws InputError if something cannot be written, or resumed
  void open_files(const Experiment& of);

  const Device& device() const {
    return device_;
  }
  const Options& options() const {
    return options_;
  }
  Instruments& instruments() {
    return instruments_;
  }

  /// A row with the provenance filled in.
  Row new_row(const Experiment& of) const;

  /// Whether the file of rows has the case already, from the run that this one resumes.
  bool is_finished(std::string_view experiment_name, std::string_view name) const;

  /// Leaves a mark beside the file of rows that the case is being run, until its row is written: whoever
  /// finds the mark knows which case ended the process.
  void begin(std::string_view name) const;

  /// Writes the row to disk and keeps what decides the exit status.
  void end(const Row& row, std::span<const Sample> samples);

  /// Reads counters of `launch`, which must queue one launch and wait for it. Where they cannot be read the
  /// reason goes to standard error, once. @throws what `launch` throws
  /// @param before as Counters::read
  Counted count(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                const std::function<void()>& before);

  /// Reads occupancy over time of `launch`, likewise; empty with a note where that cannot be had.
  Sampled sample(double expected_us, const std::function<void()>& launch);

  /// Something that the user asked for by name could not be measured.
  void miss() {
    complete_ = false;
  }

  Stop stop() const;
  void lose_context() {
    context_lost_ = true;
  }

  /// Whether everything that was asked for was measured.
  bool complete() const {
    return complete_ && stop() == Stop::no;
  }

 private:
  Device device_;
  Options options_;
  Instruments& instruments_;
  Row provenance_;
  std::optional<RunFile> file_;
  Counted last_count_;
  std::string sampling_note_;  ///< why sampling did not work when it was last tried
  bool context_lost_ = false;
  bool complete_ = true;
};

}  // namespace occbench
