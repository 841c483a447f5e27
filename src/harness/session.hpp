#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/experiment.hpp"
#include "harness/instruments.hpp"
#include "harness/options.hpp"
#include "harness/progress_writer.hpp"
#include "record/case_record.hpp"
#include "record/csv.hpp"

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
  /// @throws InputError if nothing can be told of its progress, or the GPU's profile is malformed
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
  /// The profile that cases are predicted with: the one asked for, or the best that is known of the GPU.
  const ChosenProfile& profile() const {
    return profile_;
  }
  Instruments& instruments() {
    return instruments_;
  }

  /// Of every row of this process, less the time.
  const Provenance& provenance() const {
    return provenance_;
  }

  /// Whether the file of rows has the case already, from the run that this one resumes.
  bool is_finished(const CaseIdentity& identity) const;

  /// Tells that the case has begun: whoever listens knows which case it was if it ends the process.
  void begin(const CaseIdentity& identity);

  /// Writes the case's row to disk, tells that it has ended and keeps what decides the exit status.
  /// @returns the row
  Row end(const CaseRecord& record, std::span<const Sample> samples);

  /// Reads counters of `launch`, which must queue one launch and wait for it. Where they cannot be read the
  /// reason goes to standard error, once. @throws what `launch` throws
  /// @param before as Counters::read
  Counted count(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                const std::function<void()>& before);

  /// The same of metrics beyond those of every case. Where they cannot be read, what count() reads still can.
  Counted count_more(const std::vector<std::string>& metrics, const std::function<void()>& launch,
                     const std::function<void()>& before);

  /// Reads occupancy over time of `launch`, likewise; empty with a note where that cannot be had.
  Sampled sample(double expected_us, const std::function<void()>& launch);

  /// Something that the user asked for by name could not be measured.
  void miss() {
    complete_ = false;
  }

  Stop stop() const;

  /// After a launch that failed: whether any later one of this process could go well.
  void note_lost_context() {
    if (instruments_.context_is_lost()) context_lost_ = true;
  }

  /// Whether everything that was asked for was measured.
  bool complete() const {
    return complete_ && stop() == Stop::no;
  }

 private:
  Counted try_count(Counted& last, const std::function<CounterReadings()>& read) const;

  Device device_;
  Options options_;
  Instruments& instruments_;
  Provenance provenance_;
  ChosenProfile profile_;
  ProgressWriter progress_;
  std::optional<RunFile> file_;
  Counted last_count_;
  Counted last_count_of_more_;
  std::string sampling_note_;  ///< why sampling did not work when it was last tried
  bool context_lost_ = false;
  bool complete_ = true;
};

}  // namespace occbench
