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
  int least_registers = 0;  ///< of all builds that it is the fastest of
  std::int64_t dynamic_shared_bytes = 0;
  int carveout_pct = kDefaultCarveout;
  double achieved_pct = 0;
  double time_us = 0;
};

/// Of a record's kernel, among the rows of its files.
struct OtherBuilds {
  std::optional<OtherBuild> faster{};   ///< the fastest build, where it takes at most 0.95 of the time
  std::optional<OtherBuild> roomier{};  ///< of those with more registers the fastest, however fast
  /// Of those with fewer registers or less shared memory, and more theory: as is advised, the one of the highest theory that needs most.
  std::optional<OtherBuild> leaner{};
  std::optional<OtherBuild> carveout{};  ///< of those with a smaller carveout the fastest
};

/// Points, and between what they lie in nine of ten launches: which SMs get the last blocks is chance.
struct EqualTail {
  double points = 0;
  double least = 0;
  double most = 0;
  bool is_generic = false;  ///< by a profile with which nobody tested that nine of ten do
};

/// All that a diagnosis sees of a launch: not which experiment, case, variant or parameters it is. Of its kernel it
/// sees which library's it is, for remedies alone.
struct LaunchFacts {
  const Limits* limits = nullptr;  ///< of the GPU; nullptr = not known
  int sm_count = 0;                ///< 0 = not known
  std::vector<int> sms_per_gpc{};  ///< of a launch in clusters; empty = not known
  std::optional<Launch> launch{};
  std::optional<Compiled> compiled{};
  std::optional<double> theoretical_pct{};
  std::optional<Work> work{};     ///< that the prediction is made for
  bool work_is_inferred = false;  ///< all blocks are taken as equal
  bool longest_first = false;     ///< blocks are known to begin so
  std::optional<Prediction> prediction{};
  /// Without a prediction: what the counter loses to the last wave if all blocks take as long.
  std::optional<EqualTail> tail_of_equal_blocks{};
  /// Without a prediction: what it loses to overheads if blocks are equal and take what the mean active cycles leave them, points.
  std::optional<double> overhead_of_equal_blocks{};
  /// Without a counter of them: the most cycles that an SM can have been active, by the launch's time.
  std::optional<double> most_cycles_active{};
  bool clock_is_given = false;  ///< that these are of; else it is the GPU's highest
  bool elapsed_by_time =
      false;  ///< readings over elapsed cycles were not read: they are by active cycles and that time
  /// Bytes that device memory moves at most in the time of the very launch that was counted.
  std::optional<double> most_dram_bytes{};
  Readings readings{};
  Times times{};
  ProgramUse program{};
  const KernelLibrary* library = nullptr;  ///< nullptr = the kernel is the user's own
  bool may_be_tritons = false;    ///< a traced kernel with the name of C, of no library that is known
  bool is_of_directives = false;  ///< OpenACC's or OpenMP's
  OtherBuilds others{};
};

/// Of a record whose device is elsewhere: the limits are those that the table has of its compute capability.
LaunchFacts facts_of(const CaseRecord& record);

/// Of a record whose device is here. @param limits  the device's own, which the table may lack
LaunchFacts facts_of(const CaseRecord& record, const Limits* limits);

/// Of a launch that is known by numbers that somebody read, with a time and without a prediction. At the GPU's highest clock, where
/// none is given, blocks are no longer than they can have been.
LaunchFacts facts_of_numbers(const CaseRecord& record, std::optional<double> given_mhz);

/// Other builds of a record's kernel among `records`. Builds are known to be of one kernel by equal experiment, kernel, work,
/// launch and useful work per launch, and by registers and spilled bytes that differ. Parameters are equal, or only label the
/// variants: with others each takes as long. Launches that differ in shared memory or carveout are of one build. A variant of
/// the same parameters, which may issue other instructions, only bounds what fewer registers save.
OtherBuilds other_builds_of(const CaseRecord& record, std::span<const CaseRecord> records);

/// Where the points between theory and counter are, by resident blocks. They add up to theoretical - achieved.
struct MeasuredParts {
  double blocks = 0;  ///< places without a block; below 0 where an SM held more blocks than theory says
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
  Occupancy occupancy;  ///< as block slots of clusters where these were read to be more than is assumed
  double theoretical_pct = 0;
  std::int64_t places = 0;  ///< SMs x blocks per SM; 0 = not known
  std::int64_t wave = 0;    ///< blocks that the device holds at once, of clusters with unknown GPCs at most
  int sms_without_clusters = 0;  ///< in GPCs that are too small for one
  std::optional<double> achieved_pct;
  /// What is explained: the counter's value, else the predicted one, else theory less what the grid alone costs.
  double reached_pct = 0;
  std::optional<MeasuredParts> parts{};

  /// Points between theory and what is explained.
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
  /// Whether `wave` is only what it can be at most.
  bool is_wave_uncertain() const {
    return launch.cluster_blocks > 1 && facts.sms_per_gpc.empty();
  }
  /// Whether a last wave's cost is known only as that of equal blocks, and nobody says that they are.
  bool is_tail_uncertain() const {
    return facts.tail_of_equal_blocks && !facts.work;
  }
  bool knows_work() const {
    return facts.work && !facts.work_is_inferred;
  }
  /// Whether blocks are known to be equal and not to contend, and a last wave leaves places empty: which SMs get its blocks is chance.
  bool has_tail_of_equal_blocks() const {
    return knows_work() && has_tail() && facts.work->distribution.form == WorkForm::equal &&
           facts.work->rates() == Rates{};
  }
  /// Whether there is a last wave whose cost over elapsed cycles was neither read nor predicted: the counter, which leaves idle SMs
  /// out, may show none.
  bool may_have_hidden_tail() const;
  /// "a pipe" where no pipe was read, "another pipe" where not all were and the work is not known, else empty.
  std::string_view unread_pipe() const;
  /// What warps may contend for, and so look like uneven ones: it was neither read nor is the work known. A clause with a comma
  /// before; empty where there is nothing.
  std::string or_unread_contention() const;
  /// What remains of theory where the grid is all that is known: without a tail's or a part of a wave's places.
  double pct_by_grid() const;
  /// Whole and partial waves.
  double waves() const {
    return static_cast<double>(launch.grid_blocks) / static_cast<double>(wave);
  }
  /// Of the time until the last SM ends, the share in which SMs are active, mean over all.
  double share_of_active_time() const;
  /// No more than that, also where nothing was read over elapsed cycles: by active cycles and the launch's time at the highest clock.
  /// Empty where these are not known either.
  std::optional<double> least_share_of_active_time() const;
  /// Blocks on an SM that has any, mean, where the grid has fewer than a wave.
  double blocks_of_busy_sm() const;
  /// Occupancy of such a grid, percent.
  double partial_wave_pct() const;
  /// The same where all SMs had as many blocks as the one with most.
  double most_of_partial_wave_pct() const;
  /// Share of the measured active cycles that the prediction is about, at most 1; 1 where one is not known.
  double predicted_share_of_cycles() const;
  /// Cycles in which an SM is active, of that with most where it was read, else the mean, else by the time at the
  /// highest clock; empty where none is known.
  std::optional<double> active_cycles() const;
  /// Cycles from one block to the next in the same place of an SM; empty where it is not known.
  std::optional<double> cycles_per_block() const;
};

/// Empty where limits, launch or usage are not known, or no block fits an SM.
std::optional<Situation> situation_of(const LaunchFacts& facts);

/// Which of the two measured parts a cause empties.
enum class Part : unsigned char {
  blocks,  ///< places without a block
  warps,   ///< warps of resident blocks that have exited or not begun
  either,
  theory,  ///< neither: points between 100 % and theory
  remark,  ///< none: what is worth saying beside the points
};

/// What a cause says of a launch before all causes are fitted to what was measured.
struct Claim {
  Cause cause = Cause::unexplained;  ///< set by diagnose()
  double points = 0;  ///< by simulation or arithmetic; 0 where only the counters that remain can tell
  Part part = Part::either;
  double most_points = 100;  ///< points that it can cost at most
  bool takes_rest = false;   ///< counters show it at work, so it may have cost what no other cause explains
  Confidence confidence = Confidence::inferred;
  std::vector<Evidence> evidence{};
  std::string because{};                 ///< the reason, a clause without a full stop
  std::string remedy{};                  ///< sentences
  std::optional<TheoryAdvice> advice{};  ///< of a limit: what the remedy consists of
  /// Time with the remedy over time now, if each warp takes as long: of a claim that was fitted to what was measured;
  /// nullptr = occupancy does not tell.
  double (*time_ratio)(const Claim&, const Situation&) = nullptr;
  std::string no_time{};  ///< why the remedy, or more occupancy, is not expected to save time; empty = it may
  std::optional<TimeSaved> time{};  ///< what it saves where occupancy does not tell: measured, or not known
  std::string beside_time{};        ///< a sentence after what it saves, with a space before
  bool is_for_the_author = true;    ///< whether the remedy is for whoever wrote the kernel
  bool comes_first = false;         ///< before larger losses
};

/// `time_ratio` where the remedy fills places without a block, also of SMs that have none left.
double time_with_more_blocks(const Claim& claim, const Situation& situation);
/// Likewise where it keeps the warps of resident blocks.
double time_with_more_warps(const Claim& claim, const Situation& situation);
/// What another build or launch of the kernel was measured to save, or that it does not, called by what it has other than this one.
TimeSaved measured_with(const OtherBuild& build, const Situation& situation);

/// "1.2 points", "46 points"
std::string points_text(double points);

/// "At most 0.12 of 0.41 ms per launch, 12 of 41 ms in the run", or a percentage where no time is known.
std::string most_text(double share, const Situation& situation);

TimeSaved not_known(std::string_view why);

/// Of more than a wave of clusters: they may take more rounds than waves (occupancy/runtime_answers.hpp). Empty for other launches.
std::optional<TimeSaved> not_known_of_clusters(const Situation& situation);

/// From this use of its peak on, percent, a resource is saturated.
inline constexpr double kSaturatedPct = 80;
/// Warps of a scheduler that could have issued, of which one does in a cycle, from which on they contend.
inline constexpr double kManyEligible = 4;

/// Points: an achieved occupancy this much above what a launch can reach is another launch's.
inline constexpr double kBeyondReach = 1;
/// Resident blocks over the most that an SM can hold, or the least: what a reading is rounded by.
inline constexpr double kBeyondHeld = 1.01;

/// What a launch's time has beside the cycles of its SMs, some 5 us.
inline constexpr double kCyclesBesideLaunch = 10'000;

/// Points between the counter and the same over elapsed cycles from which on SMs are idle.
inline constexpr double kIdlePoints = 1;

/// A sentence on the clock by which active cycles were compared with the launch's time, with a space before; empty where they were not.
std::string clock_of_bound(const Situation& situation);

/// Resources whose use was not read, and that may be saturated.
std::vector<std::string_view> not_read(const Situation& situation);

/// Evidence of columns that have a value.
std::vector<Evidence> evidence_of(
    std::initializer_list<std::pair<std::string_view, std::optional<double>>> columns);

// What each cause claims of a launch, empty where it is not at work: in causes_of_grids.cpp, causes_of_contention.cpp,
// causes_of_limits.cpp.
#define OCC_CAUSE(NAME, MEANING) std::optional<Claim> NAME(const Situation& situation);
#include "diagnose/causes.inc"

/// Of a launch's active time, what giving its blocks out takes at least, by typical parameters; 0 where its cycles are not known.
double share_of_dispatching(const Situation& situation);
/// Whether places without a block wait for one to be given out, which takes half of the time, rather than for uneven blocks to end;
/// empty where nothing tells the two apart.
std::optional<bool> waits_for_dispatcher(const Situation& situation);

/// Which GPU's pace of launching and giving out blocks is taken, where it is another's, with a space before.
std::string_view pace_of(const Situation& situation);

/// Whether traffic of local memory may be registers that were moved there; arrays make it, too.
bool spills_show(const Situation& situation);
bool is_known_to_spill(const Situation& situation);
/// Whether each warp makes an atomic request, fast enough to keep an address busy most of the time, and warps wait for something: all of
/// it was read.
bool atomics_delay(const Situation& situation);
/// Why neither more warps nor more SMs are expected to save time then.
inline constexpr std::string_view kWaitForAddress =
    "more occupancy does not help warps that wait for an address";
/// Whether blocks may wait for each other at an address: they make atomic requests, or many warps wait for memory.
bool may_share_addresses(const Situation& situation);
bool most_wait_for_memory(const Situation& situation);
/// What uneven blocks or warps may be instead where most wait for memory, a sentence with a space before; empty where their work is known.
std::string_view if_even(const Situation& situation);
/// Whether most wait for memory, and device memory is not busy.
bool waits_for_latency(const Situation& situation);
/// "L1" and "L2".
std::vector<std::string_view> unread_caches(const Situation& situation);
/// A clause with a comma before; empty where both were read.
std::string unless_caches_are_busy(const Situation& situation);
/// The resource that is in use most, percent, with its column; 0 where no counter was read.
/// @param share  of the time that is meant, in which SMs are active: counters of an SM are over its active cycles
Evidence most_used(const Situation& situation, double share = 1);
/// A resource of an SM that is in use almost all the time, percent, with its column; empty where none is.
std::optional<Evidence> saturated_resource(const Situation& situation);

}  // namespace occbench
