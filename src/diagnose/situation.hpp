#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/finding.hpp"
#include "occupancy/configuration.hpp"
#include "occupancy/occupancy.hpp"
#include "record/case_record.hpp"
#include "record/kernel_library.hpp"

namespace occbench {

/// Another build of a launch's kernel: the same useful work in the same launch, with other registers and spills; or with other
/// dynamic shared memory or carveout.
struct OtherBuild {
  std::string build;  ///< the column variant, or the parameters of a sweep that name it
  int registers_per_thread = 0;
  int least_registers = 0;  ///< of all builds among which it is the fastest
  std::int64_t dynamic_shared_bytes = 0;
  int carveout_pct = kDefaultCarveout;
  double achieved_pct = 0;
  double time_us = 0;
};

/// Other builds of a record's kernel, in the rows of its files.
struct OtherBuilds {
  std::optional<OtherBuild> faster{};   ///< the fastest build, if it takes at most 0.95 of the time
  std::optional<OtherBuild> roomier{};  ///< the fastest with more registers, however fast
  /// With fewer registers or less shared memory, and more theory: as advised, the highest theory that needs most.
  std::optional<OtherBuild> leaner{};
  std::optional<OtherBuild> carveout{};  ///< the fastest with a smaller carveout
};

/// Points, and their range in nine of ten launches: which SMs get the last blocks is chance.
struct EqualTail {
  double points = 0;
  double least = 0;
  double most = 0;
  bool is_generic = false;  ///< its profile was not tested for that range
};

/// All that a diagnosis sees of a launch: not its experiment, case, variant or parameters. Of its kernel it sees only
/// the library, for remedies.
struct LaunchFacts {
  const Limits* limits = nullptr;  ///< of the GPU; nullptr = not known
  int sm_count = 0;                ///< 0 = not known
  std::vector<int> sms_per_gpc{};  ///< of a launch in clusters; empty = not known
  std::optional<Launch> launch{};
  std::optional<Compiled> compiled{};
  std::optional<double> theoretical_pct{};
  std::optional<Work> work{};     ///< that the prediction is made for
  bool work_is_inferred = false;  ///< all blocks are taken as equal
  bool longest_first = false;     ///< blocks are known to begin longest first
  std::optional<Prediction> prediction{};
  /// Without a prediction: points that the counter loses to the last wave if all blocks take as long.
  std::optional<EqualTail> tail_of_equal_blocks{};
  /// Without a prediction: points that it loses to overheads if blocks are equal and take the rest of the mean active
  /// cycles.
  std::optional<double> overhead_of_equal_blocks{};
  /// From numbers with a time: the most cycles that an SM can have been active in that time.
  std::optional<double> most_cycles_active{};
  bool clock_is_given = false;  ///< the clock of these cycles; else it is the GPU's highest
  bool elapsed_by_time =
      false;  ///< readings over elapsed cycles are derived from active cycles and that time
  /// The most bytes that device memory moves in the time of the very launch that was counted.
  std::optional<double> most_dram_bytes{};
  Readings readings{};
  Times times{};
  ProgramUse program{};
  const KernelLibrary* library = nullptr;  ///< nullptr = the kernel is the user's own
  bool may_be_tritons = false;             ///< a traced kernel with a C name, of no known library
  bool is_of_directives = false;           ///< OpenACC's or OpenMP's
  OtherBuilds others{};
};

/// For a record of a device elsewhere: the limits are the table's for its compute capability.
LaunchFacts facts_of(const CaseRecord& record);

/// For a record of a device here. @param limits  the device's own, which the table may lack
LaunchFacts facts_of(const CaseRecord& record, const Limits* limits);

/// For a launch known by numbers that somebody read, with a time and without a prediction. Without a given clock the
/// GPU's highest is used, at which block lengths are upper bounds.
LaunchFacts facts_of_numbers(const CaseRecord& record, std::optional<double> given_mhz);

/// Other builds of a record's kernel among `records`. Builds are of one kernel if experiment, kernel, work, launch and
/// useful work per launch are equal, and registers and spilled bytes differ. Parameters are equal, or only label the
/// variants: with others each takes as long. Launches that differ in shared memory or carveout are of one build. A
/// variant of the same parameters, which may issue other instructions, only bounds what fewer registers save.
OtherBuilds other_builds_of(const CaseRecord& record, std::span<const CaseRecord> records);

/// The points between theory and counter, split by resident blocks. They add up to theoretical - achieved.
struct MeasuredParts {
  double blocks = 0;  ///< places without a block; below 0 if an SM held more blocks than theory says
  double warps = 0;   ///< warps of resident blocks that had exited or not begun
};

/// @param resident_blocks  mean over an SM's active cycles
/// @param warps_per_sm     that it can hold
MeasuredParts measured_parts(double theoretical_pct, double achieved_pct, double resident_blocks,
                             int warps_per_block, int warps_per_sm);

/// A launch whose theory is known, and what follows from its facts.
struct Situation {
  const LaunchFacts& facts;
  Launch launch;
  Usage usage;
  Occupancy occupancy;  ///< without block slots of clusters if a reading exceeds the assumed ones
  double theoretical_pct = 0;
  std::int64_t places = 0;       ///< SMs x blocks per SM; 0 = not known
  std::int64_t wave = 0;         ///< blocks resident at once; an upper bound for clusters with unknown GPCs
  int sms_without_clusters = 0;  ///< in GPCs that are too small for one
  std::optional<double> achieved_pct;
  /// The explained occupancy: the counter's value, else the prediction, else theory less the cost of the grid alone.
  double reached_pct = 0;
  std::optional<MeasuredParts> parts{};

  /// Points between theory and the explained occupancy.
  double lost() const {
    return theoretical_pct - reached_pct;
  }
  const CounterValues& counters() const {
    return facts.readings.counters;
  }
  const Losses* losses() const {
    return facts.prediction ? &facts.prediction->losses : nullptr;
  }
  bool is_partial_wave() const {
    return launch.grid_blocks > 0 && launch.grid_blocks < places && launch.grid_blocks <= wave;
  }
  bool has_tail() const {
    return wave > 0 && launch.grid_blocks > wave && launch.grid_blocks % wave != 0;
  }
  /// Whether `wave` is only an upper bound.
  bool is_wave_uncertain() const {
    return launch.cluster_blocks > 1 && facts.sms_per_gpc.empty();
  }
  /// Whether a last wave's cost is known only for equal blocks, and nobody says that they are equal.
  bool is_tail_uncertain() const {
    return facts.tail_of_equal_blocks && !facts.work;
  }
  bool knows_work() const {
    return facts.work && !facts.work_is_inferred;
  }
  /// Whether blocks are known to be equal and not to contend, and a last wave leaves places empty: chance decides which
  /// SMs get its blocks.
  bool has_tail_of_equal_blocks() const {
    return knows_work() && has_tail() && facts.work->distribution.form == WorkForm::equal &&
           facts.work->rates() == Rates{};
  }
  /// Whether the cost of a last wave over elapsed cycles was neither read nor predicted: the counter, which leaves idle
  /// SMs out, may show none.
  bool may_have_hidden_tail() const;
  /// "a pipe" if no pipe was read, "another pipe" if not all were and the work is not known, else empty.
  std::string_view unread_pipe() const;
  /// A clause with a comma before: unread resources for which warps of unknown work may contend, and so look uneven.
  /// Empty if there are none.
  std::string or_unread_contention() const;
  /// Theory less empty places of a tail or partial wave, if only the grid is known.
  double pct_by_grid() const;
  /// Whole and partial waves.
  double waves() const {
    return static_cast<double>(launch.grid_blocks) / static_cast<double>(wave);
  }
  /// Share of the time until the last SM ends in which SMs are active, mean over all.
  double share_of_active_time() const;
  /// At most that, also if nothing was read over elapsed cycles: by active cycles and the launch's time at the highest
  /// clock. Empty if these are not known either.
  std::optional<double> least_share_of_active_time() const;
  /// Mean blocks of an SM that has any, if the grid has fewer than a wave.
  double blocks_of_busy_sm() const;
  /// Occupancy of such a grid, percent.
  double partial_wave_pct() const;
  /// The same if all SMs had as many blocks as the one with most.
  double most_of_partial_wave_pct() const;
  /// Share of the measured active cycles that the prediction is about, at most 1; 1 if one is not known.
  double predicted_share_of_cycles() const;
  /// Active cycles of an SM: of the longest if it was read, else the mean, else by the time at the highest clock; empty
  /// if none is known.
  std::optional<double> active_cycles() const;
  /// Cycles from one block to the next in the same place of an SM; empty if not known.
  std::optional<double> cycles_per_block() const;
};

/// Empty if limits, launch or usage are not known, or no block fits an SM.
std::optional<Situation> situation_of(const LaunchFacts& facts);

/// Which of the two measured parts a cause empties.
enum class Part : unsigned char {
  blocks,  ///< places without a block
  warps,   ///< warps of resident blocks that have exited or not begun
  either,
  theory,  ///< neither: points between 100 % and theory
  remark,  ///< none: a remark beside the points
};

/// A cause's claim on a launch, before all causes are fitted to the measurement.
struct Claim {
  Cause cause = Cause::unexplained;  ///< set by diagnose()
  double points = 0;  ///< by simulation or arithmetic; 0 if only the counters that remain can tell
  Part part = Part::either;
  double most_points = 100;  ///< points that it can cost at most
  bool takes_rest = false;   ///< counters show it at work, so it may have cost what no other cause explains
  Confidence confidence = Confidence::inferred;
  std::vector<Evidence> evidence{};
  std::string because{};                 ///< the reason, a clause without a full stop
  std::string remedy{};                  ///< sentences
  std::optional<TheoryAdvice> advice{};  ///< for a limit: the steps of the remedy
  /// Time with the remedy over time now, if each warp takes as long, for a claim fitted to the measurement; nullptr =
  /// occupancy does not tell.
  double (*time_ratio)(const Claim&, const Situation&) = nullptr;
  std::string no_time{};  ///< why the remedy, or more occupancy, is not expected to save time; empty = it may
  std::optional<TimeSaved> time{};  ///< its saving if occupancy does not tell: measured, or not known
  std::string beside_time{};        ///< a sentence after what it saves, with a space before
  bool is_for_the_author = true;    ///< whether the remedy is for the kernel's author
  bool comes_first = false;         ///< before larger losses
};

/// `time_ratio` if the remedy fills places without a block, also on SMs that have none left.
double time_with_more_blocks(const Claim& claim, const Situation& situation);
/// Likewise if it keeps the warps of resident blocks.
double time_with_more_warps(const Claim& claim, const Situation& situation);
/// The measured saving of another build or launch of the kernel, or that it has none, named by its difference from this
/// one.
TimeSaved measured_with(const OtherBuild& build, const Situation& situation);

/// "1.2 points", "46 points"
std::string points_text(double points);

/// "At most 0.12 of 0.41 ms per launch, 12 of 41 ms in the run", or a percentage if no time is known.
std::string most_text(double share, const Situation& situation);

TimeSaved not_known(std::string_view why);

/// For more than a wave of clusters: they may take more rounds than waves (occupancy/runtime_answers.hpp). Empty for
/// other launches.
std::optional<TimeSaved> not_known_of_clusters(const Situation& situation);

/// A resource is saturated from this percentage of its peak on.
inline constexpr double kSaturatedPct = 80;
/// Warps contend from this many eligible warps per scheduler on; one of them issues in a cycle.
inline constexpr double kManyEligible = 4;

/// Points: an achieved occupancy this much above what a launch can reach is another launch's.
inline constexpr double kBeyondReach = 1;
/// Tolerance for rounded readings: resident blocks over the most, or below the least, that an SM can hold.
inline constexpr double kBeyondHeld = 1.01;

/// Cycles of a launch's time beside the cycles of its SMs, some 5 us.
inline constexpr double kCyclesBesideLaunch = 10'000;

/// SMs are idle from this many points between the counter and the same over elapsed cycles on.
inline constexpr double kIdlePoints = 1;

/// A sentence on the clock by which active cycles were compared with the launch's time, with a space before; empty if
/// they were not.
std::string clock_of_bound(const Situation& situation);

/// Resources whose use was not read, and that may be saturated.
std::vector<std::string_view> not_read(const Situation& situation);

/// Evidence of columns that have a value.
std::vector<Evidence> evidence_of(
    std::initializer_list<std::pair<std::string_view, std::optional<double>>> columns);

// The claim of each cause on a launch, empty if it is not at work: in causes_of_grids.cpp, causes_of_contention.cpp,
// causes_of_limits.cpp.
#define OCC_CAUSE(NAME, MEANING) std::optional<Claim> NAME(const Situation& situation);
#include "diagnose/causes.inc"

/// The least share of a launch's active time for giving its blocks out, by typical parameters; 0 if its cycles are not
/// known.
double share_of_dispatching(const Situation& situation);
/// Whether places without a block wait for the dispatcher, which is busy half of the time, rather than for uneven
/// blocks to end; empty if nothing tells the two apart.
std::optional<bool> waits_for_dispatcher(const Situation& situation);

/// The GPU whose pace of launching and giving out blocks is used, if it is another one, with a space before.
std::string_view pace_of(const Situation& situation);

/// Whether local-memory traffic may be spilled registers; arrays make it, too.
bool spills_show(const Situation& situation);
bool is_known_to_spill(const Situation& situation);
/// Whether each warp makes an atomic request, fast enough to keep an address busy most of the time, and few warps are
/// eligible: all of it was read.
bool atomics_delay(const Situation& situation);
/// Why neither more warps nor more SMs are expected to save time then.
inline constexpr std::string_view kWaitForAddress =
    "more occupancy does not help warps that wait for an address";
/// Whether blocks may wait for each other at an address: they make atomic requests, or many warps wait for memory.
bool may_share_addresses(const Situation& situation);
bool most_wait_for_memory(const Situation& situation);
/// A sentence with a space before: alternatives to uneven blocks or warps if most wait for memory; empty if their work
/// is known.
std::string_view if_even(const Situation& situation);
/// Whether most wait for memory, and device memory is not busy.
bool waits_for_latency(const Situation& situation);
/// "L1" and "L2".
std::vector<std::string_view> unread_caches(const Situation& situation);
/// A clause with a comma before; empty if both were read.
std::string unless_caches_are_busy(const Situation& situation);
/// The resource with the highest use, percent, with its column; 0 if no counter was read.
/// @param share  of the time in which SMs are active: counters of an SM are over its active cycles
Evidence most_used(const Situation& situation, double share = 1);
/// A resource of an SM that is in use almost all the time, percent, with its column; empty if there is none.
std::optional<Evidence> saturated_resource(const Situation& situation);

}  // namespace occbench
