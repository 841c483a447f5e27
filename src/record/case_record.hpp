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

/// The allocations that stalled block launches longest: all with at least nine tenths of the longest stall. The
/// hardware does not count stalls for lack of warps. No limiter if all stalls are 0; empty if none was read.
/// @param stalls  cycles in which a waiting block lacked the allocation
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

/// @param column  for the message @throws InputError if a part has no '='
Pairs parse_pairs(std::string_view text, std::string_view column);

/// Splits a sweep's parameters into those of its kernel's compilation and the others.
std::pair<Pairs, Pairs> split_build(const Pairs& parameters);

/// State of the GPU after the times had been taken.
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

/// @throws InputError naming the key if a value is not a number or is below its minimum
GpuState parse_gpu_state(std::string_view text);

// A case's data as values. They become a row once, when the case has ended, and are read back once, when a file is
// read.

/// Origin of a case: commit, host and device.
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

/// A case's experiment, name and work.
struct CaseIdentity {
  std::string experiment;
  std::string name;  ///< the column `case`
  std::string kernel;
  std::string variant;
  Pairs parameters;          ///< what the experiment varied
  std::optional<Work> work;  ///< empty if no single `Work` describes it: nothing is predicted
  std::string
      work_source{};  ///< how the work is known: source_of_given(), or "inferred from" and its evidence
  std::string expected_cause{};  ///< as the column
};

/// The column work_source of given work: "reading" if it says how long warps stay in lockstep, else "given". Only a
/// reading of the same machine code tells that time.
std::string source_of_given(const Work& work);

/// The column device_profile: the name and, if known, how well the profile knows the GPU.
std::string profile_text(const std::string& name, const std::optional<ProfileQuality>& quality);

/// "experiment/case", as filters, progress and Google Benchmark name a case.
std::string full_name(const CaseIdentity& identity);

/// The column `experiment` of all rows of programs.
inline constexpr std::string_view kTraceExperiment = "trace";

/// A case's name that is the same in every file: full_name(), or for a program's kernel its whole name and
/// configuration. It has no hash. The case's own name is short, and has a hash only beside kernels of the same short
/// name.
std::string whole_name(const Row& row);

/// whole_name() and the properties that distinguish a program's kernels of one whole name: symbol, registers, memory,
/// carveout.
std::string exact_name(const Row& row);

/// Appends the text's hash to names that stand for several texts: "reduce<<<7, 256>>> #4253f982".
void tell_apart(std::span<const std::pair<std::string*, std::string>> names);

/// The same for programs' cases, by the whole names of their kernels.
void tell_apart(std::span<CaseRecord> cases);

/// The value of a parameter, nullptr if the case has none of that name.
const std::string* find_parameter(const CaseIdentity& identity, std::string_view name);

/// Theoretical occupancy, its limiters and waves.
struct Theory {
  double theoretical_pct = 0;
  std::optional<std::int64_t> blocks_per_sm;  ///< empty if a row does not say
  Limiters limiters;
  std::optional<double> waves;  ///< empty also if no block fits
};

/// @param sms_per_gpc  for waves of clusters, as full_wave_of_clusters(); empty = a wave is SMs x blocks per SM, as in
///                     recorded rows
Theory theory_of(const Occupancy& occupancy, const Launch& launch, int sm_count,
                 std::span<const int> sms_per_gpc = {});

/// Source of achieved occupancy.
enum class AchievedSource { counter, warp_records, sampled, simulated };

/// Source of a row's achieved_pct: "counter", "warp records", "sampled" or "simulated", from counters_status. Empty
/// if there is none.
std::string_view achieved_source(const Row& row);

/// Medians over the counted launches, or over the recorded ones if warp records replace counters.
struct Readings {
  std::optional<CountersStatus> status;  ///< empty if the case did not reach a counted launch
  CounterValues counters;
  std::optional<double> achieved_elapsed_pct;
  std::optional<double> achieved_spread_points;  ///< interquartile range of achieved_pct
  std::optional<AchievedSource> achieved_source;
  std::optional<Limiters> hardware_limiters;
};

/// Results of a case's timed launches.
struct Times {
  std::optional<TimeStatus> status;  ///< empty if the case was not run
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
  Integer of_graphs;                    ///< launches from CUDA graphs
  std::string graph_nodes;              ///< their numbers, separated by +
  Integer beside_pct{};                 ///< share of their time while other kernels ran; empty = not known
  std::string regions;                  ///< their names, separated by +
};

/// From this `beside_pct` on no saving is stated for a kernel, because others may fill what it leaves empty. The
/// value is a choice. Below it the saving is still a bound.
inline constexpr int kMostlyBesidePct = 50;

/// All data of a row.
struct CaseRecord {
  Provenance provenance;
  CaseIdentity identity;
  std::optional<Launch> launch;      ///< empty if only the runtime knows it
  std::optional<int> first_gpc;      ///< empty if the previous launch determined it
  std::optional<Compiled> compiled;  ///< empty if there is no code for the device
  std::optional<Theory> theory;
  std::string device_profile;                     ///< used by the prediction
  std::optional<ProfileQuality> profile_quality;  ///< how well it knows the device; empty = not known
  std::optional<Prediction> prediction;
  std::string explanation;  ///< a sentence: where most of the occupancy is lost
  Readings readings;
  Times times;
  std::optional<Check> check;
  ProgramUse program;
  Condition condition;
  std::string note;
  std::vector<std::pair<std::string, std::string>> extra;  ///< columns beyond the table

  // Not columns: the place in a file.
  std::filesystem::path file;  ///< empty = not from a file
  std::size_t line = 0;        ///< line of the file on which the row begins
};

/// "FILE, line N: experiment/case", or the name alone if the case was not read from a file.
std::string place_of(const CaseRecord& record);

/// The result of `work`. @throws InputError as it does, with the case's place
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

  /// Adds the finite values; the index is a value's position.
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

/// The row that records the case. Its device profile is that of `prediction`, if there is one. A reading out of its
/// column's range is left out and noted, because a file with it could not be read.
Row row_of(const CaseRecord& record);

/// The reverse: `row_of(case_record(row))` is the row again if the row is complete. Missing figures of a launch or of
/// a kernel's usage keep their defaults. If a prediction lacks a figure, only its profile is kept.
/// @throws InputError if a value is not one that its column can have: with the case's name if it has one, the column,
/// the value and the allowed range or words
CaseRecord case_record(const Row& row);

/// The cases of a file of rows; `torn` as in read_rows(). @throws InputError naming file and line, as read_rows and
/// case_record do
std::vector<CaseRecord> read_case_records(const std::filesystem::path& file, bool* torn = nullptr);

}  // namespace occbench
