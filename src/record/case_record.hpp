#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "occupancy/input_error.hpp"
#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/statuses.hpp"
#include "predict/prediction.hpp"
#include "record/row.hpp"
#include "simulate/work.hpp"

namespace occbench {

/// The allocations that stalled the launch of blocks longest: all whose stalls come to at least nine tenths of the longest.
/// The hardware counts no stalls for want of warps. No limiter where all are 0; empty where none was read.
/// @param stalls  cycles in which a waiting block lacked it
std::optional<Limiters> hardware_limiters_of(
    std::span<const std::pair<Limiter, std::optional<double>>> stalls);

/// As the column hardware_limiter shows them: "none", or as "blocks+shared_memory".
std::string hardware_limiter_text(Limiters limiters);

/// @throws InputError for a word that names no limiter
Limiters parse_hardware_limiter(std::string_view text);

struct CaseRecord;

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// "key=value;key=value"
std::string pairs_text(const Pairs& pairs);

/// Pairs that have a value.
Pairs known_pairs(Pairs pairs);

/// @param column  for the message @throws InputError where a part has no '='
Pairs parse_pairs(std::string_view text, std::string_view column);

/// Parameters of a sweep that say how its kernel was compiled, and those that do not.
std::pair<Pairs, Pairs> split_build(const Pairs& parameters);

/// The GPU when the times had been taken.
struct Condition {
  Integer memory_clock_mhz;
  Integer temperature_c;
  std::optional<double> power_w;
  std::string throttle_reasons;  ///< as clocks_event_reasons_text writes them
  Integer other_processes;
};

/// The column gpu_state.
struct GpuState {
  std::optional<int> memory_bus_bits;
  std::string settings;  ///< other pairs, as NVML's settings() writes them
  Condition condition;
};

std::string to_string(const GpuState& state);

/// @throws InputError naming the key for a number that is none, or below 0 where it cannot be
GpuState parse_gpu_state(std::string_view text);

// What is known of a case, as values. A row is made of them once, when the case has ended, and read back into
// them once, where a file is read.

/// Who measured a case, and on which device.
struct Provenance {
  Integer schema;
  std::string recorded_at;  ///< when the case ended, as iso_time writes it
  std::string commit;
  std::string host;
  std::string gpu;
  std::string gpu_uuid;
  std::optional<ComputeCapability> compute_capability;
  std::optional<int> sm_count;         ///< 1 to 1024
  std::optional<int> memory_bus_bits;  ///< width of the memory bus
  std::string driver;
  std::string cuda_toolkit;
  std::string gpu_settings;
};

/// Which case of which experiment, and what its blocks do.
struct CaseIdentity {
  std::string experiment;
  std::string name;  ///< the column `case`
  std::string kernel;
  std::string variant;
  Pairs parameters;          ///< what the experiment varied
  std::optional<Work> work;  ///< empty where no single `Work` describes it: nothing is predicted
  std::string
      work_source{};  ///< how the work is known: source_of_given(), or "inferred from" and its evidence
  std::string expected_cause{};  ///< as the column
};

/// The column work_source of work that was given: "reading" where it says for how long warps stay in lockstep,
/// which only a reading of the same machine code tells, else "given".
std::string source_of_given(const Work& work);

/// The column device_profile: the name and, where it is known, how well the profile knows the GPU.
std::string profile_text(const std::string& name, const std::optional<ProfileQuality>& quality);

/// "experiment/case", as filters, progress and Google Benchmark name a case.
std::string full_name(const CaseIdentity& identity);

/// The column `experiment` of all rows of programs.
inline constexpr std::string_view kTraceExperiment = "trace";

/// What a case is called in every file: full_name(), and of a program's kernel its whole name before its configuration and
/// no hash behind that. A case has a short name, and the hash only beside kernels of the same one.
std::string whole_name(const Row& row);

/// whole_name() with what a program's kernels of one whole name differ in: symbol, registers, memory, carveout.
std::string exact_name(const Row& row);

/// Names of which several stand for different texts get their text's hash: "reduce<<<7, 256>>> #4253f982".
void tell_apart(std::span<const std::pair<std::string*, std::string>> names);

/// The same of programs' cases, by the whole names of their kernels.
void tell_apart(std::span<CaseRecord> cases);

/// The value of a parameter, nullptr where the case has none of that name.
const std::string* find_parameter(const CaseIdentity& identity, std::string_view name);

/// Theoretical occupancy and what it follows from.
struct Theory {
  double theoretical_pct = 0;
  std::optional<std::int64_t> blocks_per_sm;  ///< empty where a row does not say
  Limiters limiters;
  std::optional<double> waves;  ///< empty also where no block fits
};

/// @param sms_per_gpc  for waves of clusters, as full_wave_of_clusters(); empty = they are of SMs x blocks per SM, as in
///                     recorded rows
Theory theory_of(const Occupancy& occupancy, const Launch& launch, int sm_count,
                 std::span<const int> sms_per_gpc = {});

/// What was read of achieved occupancy.
enum class AchievedSource { counter, warp_records, sampled, simulated };

/// What achieved_pct of a row was read by: "counter", "warp records", "sampled" or "simulated", from counters_status; empty where
/// there is none.
std::string_view achieved_source(const Row& row);

/// Medians over the launches that were counted or, where records of warps stand in, recorded.
struct Readings {
  std::optional<CountersStatus> status;  ///< empty where the case came to no counted launch
  CounterValues counters;
  std::optional<double> achieved_elapsed_pct;
  std::optional<double> achieved_spread_points;  ///< interquartile range of achieved_pct
  std::optional<AchievedSource> achieved_source;
  std::optional<Limiters> hardware_limiters;
};

/// What the timed launches of a case say.
struct Times {
  std::optional<TimeStatus> status;  ///< empty where the case was not run
  std::optional<double> time_us;     ///< median
  std::optional<double> time_spread_pct;
  Integer repetitions;               ///< timed launches
  std::optional<double> throughput;  ///< in throughput_unit
  std::string throughput_unit;
};

/// How often a traced program launched the kernel. All are empty in rows of other experiments.
struct ProgramUse {
  Integer launches;
  std::optional<double> total_time_us;  ///< of all of them
  std::string processes;                ///< their numbers, separated by +
  std::string contexts;                 ///< likewise
  std::string streams;                  ///< likewise
  Integer of_graphs;                    ///< those that a CUDA graph made
  std::string graph_nodes;              ///< their numbers, separated by +
  Integer beside_pct{};                 ///< of their time, while other kernels ran; empty = not known
  std::string regions;                  ///< their names, separated by +
};

/// From this `beside_pct` on others leave nothing to say of what a kernel saves, for they may fill what it leaves empty: a
/// choice. Below, what it saves is a bound still.
inline constexpr int kMostlyBesidePct = 50;

/// All that a row says of a case.
struct CaseRecord {
  Provenance provenance;
  CaseIdentity identity;
  std::optional<Launch> launch;      ///< empty where the runtime launches what only it knows
  std::optional<int> first_gpc;      ///< empty where it was left to what ran before
  std::optional<Compiled> compiled;  ///< empty where there is no code for the device
  std::optional<Theory> theory;
  std::string device_profile;                     ///< that the prediction used
  std::optional<ProfileQuality> profile_quality;  ///< how well it knows the device; empty = not known
  std::optional<Prediction> prediction;
  std::string explanation;  ///< where most of the occupancy goes, in a sentence
  Readings readings;
  Times times;
  std::optional<Check> check;
  ProgramUse program;
  Condition condition;
  std::string note;
  std::vector<std::pair<std::string, std::string>> extra;  ///< columns beyond the table

  // No columns: where it was read.
  std::filesystem::path file;  ///< empty = not from a file
  std::size_t line = 0;        ///< of the file, that the row begins on
};

/// "FILE, line N: experiment/case", or the name alone where the case was not read from a file.
std::string place_of(const CaseRecord& record);

/// What `work` returns. @throws InputError as it does, with the case's place
template <typename Work>
auto in_place(const CaseRecord& record, Work work) {
  try {
    return work();
  } catch (const InputError& error) {
    throw InputError("{}: {}", place_of(record), error.what());
  }
}

/// The readings behind a case's medians, in the order in which they were added.
class SamplesOfCase {
 public:
  explicit SamplesOfCase(const CaseIdentity& of) : experiment_(of.experiment), case_name_(of.name) {}

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

/// Between the notes of a row.
inline constexpr std::string_view kNoteSeparator = "; ";

/// Appends to a note; an empty one adds nothing.
void add_note(std::string& note, std::string_view more);

/// The row that records the case. `prediction` gives it its device profile, where there is one. A reading that
/// is out of its column's range is left out and noted: a file with it could not be read.
Row row_of(const CaseRecord& record);

/// The reverse: `row_of(case_record(row))` is the row again, where the row is whole. What the row lacks of a
/// launch or of a kernel's usage is taken to be 0, of a prediction that lacks a figure only its profile is
/// kept.
/// @throws InputError with the case's name, where it has one, and the column, its value and its range or the
/// words that it can have, where the value is none of them
CaseRecord case_record(const Row& row);

/// The cases of a file of rows, with `torn` as read_rows has it. @throws InputError naming file and line, as read_rows and
/// case_record do
std::vector<CaseRecord> read_case_records(const std::filesystem::path& file, bool* torn = nullptr);

}  // namespace occbench
