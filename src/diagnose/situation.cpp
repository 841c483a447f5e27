#include "diagnose/situation.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/ranges.h>

#include "occupancy/gpus.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/limits.hpp"
#include "occupancy/rules.hpp"
#include "occupancy/runtime_answers.hpp"
#include "predict/inferred_work.hpp"
#include "predict/parameters.hpp"
#include "record/columns.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

/// Another build is called faster if it takes at most this share of a launch's time.
constexpr double kFaster = 0.95;
/// Cycles of a block if neither time nor cycles tell: neither short nor long, as in the recorded suite. The longer
/// equal blocks are, the more of the last wave goes to the GPCs with faster clocks.
constexpr double kCyclesOfBlock = 200'000;

/// Below this share of the time at the highest clock, SMs are called idle though the clock may have been lower: a
/// choice.
constexpr double kIdleAtAnyClock = 0.5;

/// Useful work of two launches, or their time, is alike below this relative difference.
constexpr double kAlike = 0.01;

bool are_alike(double one, double two) {
  return std::abs(two / one - 1) < kAlike;
}

bool says_how_fast(const CaseRecord& record) {
  return record.launch && record.compiled && record.compiled->spill_bytes && record.times.time_us &&
         record.times.throughput && record.readings.counters.achieved_pct;
}

/// Kernels of one name that differ in registers may differ in the instructions that their warps issue.
bool is_same_kernel(const CaseRecord& record, const CaseRecord& other) {
  return record.identity.experiment == other.identity.experiment &&
         record.identity.kernel == other.identity.kernel &&
         record.provenance.gpu_uuid == other.provenance.gpu_uuid;
}

bool is_same_work(const CaseRecord& record, const CaseRecord& other) {
  return is_same_kernel(record, other) && record.identity.work == other.identity.work;
}

bool is_same_launch(const CaseRecord& record, const CaseRecord& other) {
  return is_same_work(record, other) && record.launch == other.launch;
}

bool is_same_amount(const CaseRecord& record, const CaseRecord& other) {
  const auto amount = [](const Times& times) { return *times.throughput * *times.time_us; };
  return record.times.throughput_unit == other.times.throughput_unit &&
         are_alike(amount(record.times), amount(other.times));
}

/// Whether parameters only label the variant, such as its launch bounds: with others it takes as long.
bool label_variant(const CaseRecord& record, std::span<const CaseRecord> records) {
  return std::ranges::none_of(records, [&](const CaseRecord& other) {
    return other.identity.variant == record.identity.variant &&
           other.identity.parameters != record.identity.parameters && is_same_launch(record, other) &&
           !(other.times.time_us && are_alike(*record.times.time_us, *other.times.time_us));
  });
}

bool is_another_build(const CaseRecord& record, const CaseRecord& other,
                      std::span<const CaseRecord> records) {
  if (!says_how_fast(record) || !says_how_fast(other)) return false;
  if (!is_same_launch(record, other) || !is_same_amount(record, other) ||
      record.compiled->usage.registers_per_thread == other.compiled->usage.registers_per_thread)
    return false;
  const auto [build, input] = split_build(record.identity.parameters);
  const auto [other_build, other_input] = split_build(other.identity.parameters);
  if (build != other_build) return input == other_input;
  return record.compiled->spill_bytes != other.compiled->spill_bytes &&
         (input == other_input || (label_variant(record, records) && label_variant(other, records)));
}

/// Whether two rows have one build and launch, except for dynamic shared memory and carveout.
bool is_same_build(const CaseRecord& record, const CaseRecord& other) {
  Launch same = *other.launch;
  same.dynamic_shared_bytes = record.launch->dynamic_shared_bytes;
  same.carveout_pct = record.launch->carveout_pct;
  return same == *record.launch && is_same_work(record, other) &&
         record.identity.variant == other.identity.variant &&
         record.compiled->usage == other.compiled->usage && is_same_amount(record, other);
}

/// Whether `other` needs less of what limits: registers, by a build or variant of the same parameters, or dynamic
/// shared memory.
bool is_leaner(const CaseRecord& record, const CaseRecord& other, std::span<const CaseRecord> records) {
  if (!says_how_fast(record) || !says_how_fast(other) || !record.theory || !other.theory ||
      other.theory->theoretical_pct <= record.theory->theoretical_pct)
    return false;
  if (other.compiled->usage.registers_per_thread < record.compiled->usage.registers_per_thread)
    return is_another_build(record, other, records) ||
           (is_same_kernel(record, other) && record.launch == other.launch && is_same_amount(record, other) &&
            split_build(record.identity.parameters).second == split_build(other.identity.parameters).second);
  return other.launch->dynamic_shared_bytes < record.launch->dynamic_shared_bytes &&
         other.launch->carveout_pct == record.launch->carveout_pct && is_same_build(record, other) &&
         label_variant(record, records) && label_variant(other, records);
}

/// A case's parameters, except those that repeat its carveout.
auto parameters_but_carveout(const CaseRecord& record) {
  auto parameters = record.identity.parameters;
  std::erase_if(parameters, [](const auto& each) { return each.first == to_string(Axis::carveout_pct); });
  return parameters;
}

bool is_smaller_carveout(const CaseRecord& record, const CaseRecord& other) {
  if (!says_how_fast(record) || !says_how_fast(other)) return false;
  return other.launch->carveout_pct && record.launch->carveout_pct > other.launch->carveout_pct &&
         other.launch->dynamic_shared_bytes == record.launch->dynamic_shared_bytes &&
         is_same_build(record, other) && parameters_but_carveout(record) == parameters_but_carveout(other);
}

std::optional<OtherBuild> fastest_of(std::span<const CaseRecord> records, const CaseRecord& record,
                                     const auto& counts) {
  const CaseRecord* fastest = nullptr;
  int least_registers = 0;
  for (const CaseRecord& other : records) {
    if (!counts(other)) continue;
    const int registers = other.compiled->usage.registers_per_thread;
    least_registers = fastest == nullptr ? registers : std::min(least_registers, registers);
    if (fastest == nullptr || *other.times.time_us < *fastest->times.time_us) fastest = &other;
  }
  if (fastest == nullptr) return std::nullopt;
  const CaseIdentity& found = fastest->identity;
  const Pairs build = split_build(found.parameters).first;
  const bool named_so = found.variant == record.identity.variant && !build.empty();
  return OtherBuild{.build = named_so ? pairs_text(build) : found.variant,
                    .registers_per_thread = fastest->compiled->usage.registers_per_thread,
                    .least_registers = least_registers,
                    .dynamic_shared_bytes = fastest->launch->dynamic_shared_bytes,
                    .carveout_pct = fastest->launch->carveout_pct.value_or(kDefaultCarveout),
                    .achieved_pct = *fastest->readings.counters.achieved_pct,
                    .time_us = *fastest->times.time_us};
}

/// The advice is the highest theory, with the most registers or bytes that have it; a measurement with fewer does not
/// measure it.
std::optional<OtherBuild> leaner_as_advised(std::span<const CaseRecord> records, const CaseRecord& record) {
  const auto rank = [](const CaseRecord& one) {
    return std::tuple(one.theory->theoretical_pct, one.compiled->usage.registers_per_thread,
                      one.launch->dynamic_shared_bytes);
  };
  const CaseRecord* advised = nullptr;
  for (const CaseRecord& other : records) {
    if (is_leaner(record, other, records) && (advised == nullptr || rank(other) > rank(*advised)))
      advised = &other;
  }
  if (advised == nullptr) return std::nullopt;
  return fastest_of(records, record, [&](const CaseRecord& other) {
    return is_leaner(record, other, records) && rank(other) == rank(*advised);
  });
}

}  // namespace

bool Situation::may_have_hidden_tail() const {
  return !facts.work && !facts.prediction && has_tail() && !facts.readings.achieved_elapsed_pct;
}

double Situation::pct_by_grid() const {
  if (is_partial_wave()) return partial_wave_pct();
  if (!has_tail()) return theoretical_pct;
  if (facts.tail_of_equal_blocks) return theoretical_pct - facts.tail_of_equal_blocks->points;
  return theoretical_pct * filled_rounds(waves());
}

double Situation::share_of_active_time() const {
  const auto& elapsed = facts.readings.achieved_elapsed_pct;
  if (elapsed && achieved_pct && *achieved_pct > 0) return std::min(1.0, *elapsed / *achieved_pct);
  if (!achieved_pct && facts.prediction && reached_pct > 0)
    return std::min(1.0, facts.prediction->predicted_elapsed_pct / reached_pct);
  const double blocks = static_cast<double>(launch.grid_blocks);
  return blocks > 0 && blocks < facts.sm_count ? blocks / facts.sm_count : 1;
}

std::optional<double> Situation::least_share_of_active_time() const {
  const Real& cycles = counters().sm_cycles_active_avg;
  if (facts.readings.achieved_elapsed_pct || !achieved_pct || launch.grid_blocks < facts.sm_count)
    return share_of_active_time();
  if (cycles && facts.most_cycles_active) return std::min(1.0, *cycles / *facts.most_cycles_active);
  return std::nullopt;
}

double Situation::blocks_of_busy_sm() const {
  return static_cast<double>(launch.grid_blocks) /
         static_cast<double>(std::min<std::int64_t>(launch.grid_blocks, facts.sm_count));
}

double Situation::partial_wave_pct() const {
  return theoretical_pct * blocks_of_busy_sm() / occupancy.blocks_per_sm;
}

double Situation::most_of_partial_wave_pct() const {
  return theoretical_pct * std::ceil(blocks_of_busy_sm()) / occupancy.blocks_per_sm;
}

double Situation::predicted_share_of_cycles() const {
  const Real& measured = counters().sm_cycles_active_avg;
  if (!facts.prediction || !measured || *measured <= 0) return 1;
  return std::min(1.0, facts.prediction->cycles_active_mean / *measured);
}

std::optional<double> Situation::active_cycles() const {
  if (counters().sm_cycles_active_max) return counters().sm_cycles_active_max;
  return counters().sm_cycles_active_avg ? counters().sm_cycles_active_avg : facts.most_cycles_active;
}

std::optional<double> Situation::cycles_per_block() const {
  const Real& counted = counters().sm_cycles_active_avg;
  const Real& cycles = counted ? counted : facts.most_cycles_active;
  if (!cycles || wave == 0 || launch.grid_blocks < wave) return std::nullopt;
  return *cycles / waves();
}

MeasuredParts measured_parts(double theoretical_pct, double achieved_pct, double resident_blocks,
                             int warps_per_block, int warps_per_sm) {
  const double filled_pct = 100 * resident_blocks * warps_per_block / warps_per_sm;
  return {theoretical_pct - filled_pct, filled_pct - achieved_pct};
}

double time_with_more_blocks(const Claim& claim, const Situation& situation) {
  return situation.least_share_of_active_time().value_or(1) * time_with_more_warps(claim, situation);
}

double time_with_more_warps(const Claim& claim, const Situation& situation) {
  return situation.reached_pct / (situation.reached_pct + claim.points);
}

TimeSaved not_known(std::string_view why) {
  return {0, fmt::format("Not known: {}.", why), false};
}

std::optional<TimeSaved> not_known_of_clusters(const Situation& situation) {
  if (situation.launch.cluster_blocks == 1 || situation.waves() <= 1) return std::nullopt;
  return not_known("clusters may take more rounds than waves; `occbench predict` simulates them");
}

std::optional<Situation> situation_of(const LaunchFacts& facts) {
  if (!facts.limits || !facts.launch || !facts.compiled || !facts.theoretical_pct) return std::nullopt;
  const Limits& limits = *facts.limits;
  const CounterValues& read = facts.readings.counters;
  Situation situation{.facts = facts,
                      .launch = *facts.launch,
                      .usage = facts.compiled->usage,
                      .occupancy = theoretical_occupancy(limits, *facts.launch, facts.compiled->usage),
                      .theoretical_pct = *facts.theoretical_pct,
                      .achieved_pct = read.achieved_pct};
  if (situation.occupancy.blocks_per_sm == 0) return std::nullopt;
  // Limits seen only on other GPUs do not refute a reading.
  if (!assumed_cluster_slots(limits, {situation.launch, situation.usage}).empty() &&
      (read.achieved_pct.value_or(0) >= situation.theoretical_pct + kBeyondReach ||
       read.resident_blocks.value_or(0) > kBeyondHeld * situation.occupancy.blocks_per_sm)) {
    Launch alone = situation.launch;
    alone.cluster_blocks = 1;
    situation.occupancy = theoretical_occupancy(limits, alone, situation.usage);
    situation.theoretical_pct = situation.occupancy.theoretical_pct;
  }
  if (facts.sm_count > 0) {
    situation.places = full_wave_blocks(situation.occupancy, facts.sm_count);
    situation.wave = full_wave_of_clusters(situation.occupancy, situation.launch.cluster_blocks,
                                           facts.sm_count, facts.sms_per_gpc);
    situation.sms_without_clusters = sms_without_clusters(situation.launch.cluster_blocks, facts.sms_per_gpc);
  }
  situation.reached_pct = situation.achieved_pct ? *situation.achieved_pct
                          : facts.prediction     ? facts.prediction->predicted_pct
                                                 : situation.pct_by_grid();
  // An active SM has at least one block: if it cannot have more, they need not be read.
  const bool has_one_block = situation.occupancy.blocks_per_sm == 1 ||
                             (situation.is_partial_wave() && situation.launch.cluster_blocks == 1 &&
                              situation.launch.grid_blocks <= facts.sm_count);
  const Real blocks = has_one_block ? read.resident_blocks.value_or(1) : read.resident_blocks;
  if (blocks && situation.achieved_pct) {
    situation.parts = measured_parts(situation.theoretical_pct, *situation.achieved_pct, *blocks,
                                     situation.occupancy.warps_per_block, limits.max_warps_per_sm);
  }
  return situation;
}

std::string clock_of_bound(const Situation& situation) {
  const LaunchFacts& facts = situation.facts;
  const std::optional<double> share = situation.least_share_of_active_time();
  if (!share || !facts.most_cycles_active || !situation.counters().sm_cycles_active_avg) return "";
  return fmt::format(
      " At {:.0f} MHz SMs had blocks for {:.0f} % of the time; --clock-mhz takes another clock.",
      *facts.most_cycles_active / facts.times.time_us.value(), 100 * *share);
}

LaunchFacts facts_of(const CaseRecord& record) {
  const auto& capability = record.provenance.compute_capability;
  return facts_of(record, capability ? find_limits(*capability) : nullptr);
}

double share_of_dispatching(const Situation& situation) {
  const double cycles = situation.active_cycles().value_or(0);
  const double dispatching = typical_parameters().replacement_dispatch_cycles_per_block *
                             static_cast<double>(situation.launch.grid_blocks);
  return cycles > 0 ? dispatching / cycles : 0;
}

LaunchFacts facts_of(const CaseRecord& record, const Limits* limits) {
  const bool has_clusters =
      record.launch && record.launch->cluster_blocks > 1 && record.provenance.sm_count.value_or(0) > 0;
  const bool of_directives = is_of_directives(record.identity.kernel);
  return {.limits = limits,
          .sm_count = record.provenance.sm_count.value_or(0),
          .sms_per_gpc = has_clusters ? profile_of(record).known_sms_per_gpc() : std::vector<int>(),
          .launch = record.launch,
          .compiled = record.compiled,
          .theoretical_pct = record.theory ? std::optional(record.theory->theoretical_pct) : std::nullopt,
          .work = record.identity.work,
          .work_is_inferred = is_inferred_work(record.identity.work_source),
          .longest_first = record.identity.work && record.identity.work->is_longest_first(),
          .prediction = record.prediction,
          .readings = record.readings,
          .times = record.times,
          .program = record.program,
          .library = library_of(record.identity.kernel),
          .may_be_tritons = record.program.total_time_us && library_of(record.identity.kernel) == nullptr &&
                            function_of(record.identity.kernel) == record.identity.kernel && !of_directives,
          .is_of_directives = of_directives};
}

std::string_view Situation::unread_pipe() const {
  bool all = true;
  bool any = false;
  for (const Unit& unit : units()) {
    if (unit.kind != UnitKind::pipe) continue;
    const bool read = (counters().*unit.counter.value).has_value();
    all = all && read;
    any = any || read;
  }
  if (!any) return "a pipe";
  // The pipes that the suite's kernels use are known.
  return all || knows_work() ? "" : "another pipe";
}

std::string Situation::or_unread_contention() const {
  if (knows_work() && facts.prediction) return "";
  std::vector<std::string_view> unread;
  if (!counters().memory_stall_warps) {
    unread = unread_caches(*this);
    if (!counters().dram_busy_pct) unread = {"memory"};
  }
  if (!counters().issue_active_pct) unread.emplace_back("issue slots");
  if (!unread_pipe().empty()) unread.push_back(unread_pipe());
  if (unread.empty()) return "";
  return fmt::format(", or contend for {}, which {} not read", fmt::join(unread, " or "),
                     unread.size() > 1 ? "were" : "was");
}

LaunchFacts facts_of_numbers(const CaseRecord& record, std::optional<double> given_mhz) {
  LaunchFacts facts = facts_of(record);
  const std::optional<double> clock_mhz = given_mhz ? given_mhz : highest_clock_mhz(record.provenance.gpu);
  facts.clock_is_given = given_mhz.has_value();
  if (clock_mhz && record.times.time_us) facts.most_cycles_active = *record.times.time_us * *clock_mhz;
  CounterValues& counters = facts.readings.counters;
  if (const Gpu* const gpu = find_gpu(record.provenance.gpu); gpu != nullptr && record.times.time_us) {
    facts.most_dram_bytes = 1000 * gpu->bandwidth_gb_s * *record.times.time_us;
    // More bytes than the time has room for are of a longer launch, such as one whose caches a profiler emptied.
    if (counters.dram_bytes && !counters.dram_busy_pct && *counters.dram_bytes <= *facts.most_dram_bytes)
      counters.dram_busy_pct = 100 * *counters.dram_bytes / *facts.most_dram_bytes;
  }
  if (facts.most_cycles_active && counters.sm_cycles_active_avg && counters.achieved_pct &&
      !facts.readings.achieved_elapsed_pct) {
    const double share = std::min(1.0, *counters.sm_cycles_active_avg / *facts.most_cycles_active);
    // Time that may be outside SM cycles does not show that an SM was idle.
    const bool may_be_launching =
        *facts.most_cycles_active - kCyclesBesideLaunch <= *counters.sm_cycles_active_avg;
    facts.elapsed_by_time = given_mhz || share < kIdleAtAnyClock;
    if (facts.elapsed_by_time)
      facts.readings.achieved_elapsed_pct = (may_be_launching ? 1 : share) * *counters.achieved_pct;
  }
  const double waves = record.theory->waves.value_or(0);
  const bool has_tail = waves > 1 && waves != std::floor(waves);
  const std::optional<double> cycles = counters.sm_cycles_active_avg;
  if ((!has_tail && !cycles) || record.theory->theoretical_pct == 0) return facts;
  const LaunchOnDevice on = launch_on_device(record);
  const ChosenProfile profile = profile_of(record);
  std::optional<double> cycles_of_time;
  if (facts.most_cycles_active) cycles_of_time = cycles_of_record(*record.times.time_us, *clock_mhz);
  std::optional<Prediction> inferred;
  try {
    if (const auto work = infer_work(
            {on.launch, on.usage, on.limits, profile},
            {.elapsed_cycles = cycles ? std::nullopt : cycles_of_time, .cycles_active_mean = cycles}))
      inferred = predict(on, work->work, profile, std::nullopt);
  } catch (const InputError&) {
    // Fewer cycles than the blocks take without work: a diagnosis says so.
  }
  if (cycles && inferred) facts.overhead_of_equal_blocks = inferred->losses.overhead;
  if (!has_tail) return facts;
  // Resident blocks tell how uneven blocks are, so the length of equal ones says nothing.
  const Prediction equal = inferred && !counters.resident_blocks
                               ? *inferred
                               : predict(on, Work::equal(kCyclesOfBlock), profile, std::nullopt);
  const double tail = equal.losses.tail;
  facts.tail_of_equal_blocks =
      EqualTail{.points = tail,
                .least = std::max(0.0, tail - (equal.interval.high - equal.predicted_pct)),
                .most = tail + equal.predicted_pct - equal.interval.low,
                .is_generic = profile.quality == ProfileQuality::generic};
  return facts;
}

OtherBuilds other_builds_of(const CaseRecord& record, std::span<const CaseRecord> records) {
  return {.faster = fastest_of(records, record,
                               [&](const CaseRecord& other) {
                                 return is_another_build(record, other, records) &&
                                        *other.times.time_us <= kFaster * *record.times.time_us;
                               }),
          .roomier = fastest_of(records, record,
                                [&](const CaseRecord& other) {
                                  return is_another_build(record, other, records) &&
                                         other.compiled->usage.registers_per_thread >
                                             record.compiled->usage.registers_per_thread;
                                }),
          .leaner = leaner_as_advised(records, record),
          .carveout = fastest_of(
              records, record, [&](const CaseRecord& other) { return is_smaller_carveout(record, other); })};
}

}  // namespace occbench
