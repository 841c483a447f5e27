#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/ranges.h>

#include "diagnose/diagnose.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/rules.hpp"
#include "occupancy/text.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

/// A limit this many points below 100 % is worth a word.
constexpr double kWorthAWord = 0.05;

/// The limiter to blame for theory below 100 %. Of several, those of the block's size come first, since only another
/// size moves them; then the one that the hardware names.
std::optional<Limiter> blamed_limiter(const Situation& situation) {
  if (situation.theoretical_pct > 100 - kWorthAWord) return std::nullopt;
  const Limiters& limiters = situation.occupancy.limiters;
  for (const Limiter of_size : {Limiter::warps, Limiter::blocks}) {
    if (limiters.contains(of_size)) return of_size;
  }
  const Limiters named = situation.facts.readings.hardware_limiters.value_or(Limiters());
  std::optional<Limiter> first;
  for (const Limiter limiter : kAllLimiters) {
    if (!limiters.contains(limiter)) continue;
    if (named.contains(limiter)) return limiter;
    if (!first) first = limiter;
  }
  return first;
}

/// The rules of all limiters: if there are two, changing one alone moves nothing.
std::string limiting_rules(const Situation& situation) {
  std::vector<std::string> rules;
  for (const AppliedRule& rule :
       applied_rules(*situation.facts.limits, {situation.launch, situation.usage})) {
    if (situation.occupancy.limiters.contains(rule.resource)) rules.push_back(rule.sentence);
  }
  return fmt::format("{}", fmt::join(rules, "; "));
}

double time_of_highest_theory(const Claim& claim, const Situation& situation) {
  return 1 - most_time_saved(least_time_ratio(*claim.advice), situation.wave > 0 ? situation.waves() : 0);
}

double time_without_idle_sms(const Claim& /*claim*/, const Situation& situation) {
  return situation.may_have_hidden_tail() || situation.has_tail_of_equal_blocks()
             ? filled_rounds(situation.waves())
             : situation.share_of_active_time();
}

/// Why another theory is not expected to save time; empty if it may.
std::string_view no_time_by_theory(const Situation& situation, const TheoryAdvice& advice) {
  if (atomics_delay(situation)) return kWaitForAddress;
  if (situation.facts.library) return "the library chose registers, shared memory and block size together";
  if (situation.is_partial_wave()) return "the grid does not fill the places that there are";
  if (situation.wave > 0 && situation.waves() <= 1)
    return "all blocks of the grid are resident at once; more places need more blocks of the same work";
  return reached_pct(advice) > advice.theoretical_pct ? "" : "nothing raises theory";
}

/// The loss of theory to a limiter, if that one is to blame, with the advice of `calc`.
std::optional<Claim> limit_claim(
    const Situation& situation, Limiter limiter,
    std::initializer_list<std::pair<std::string_view, std::optional<double>>> asked) {
  if (blamed_limiter(situation) != limiter) return std::nullopt;
  Claim claim{
      .points = 100 - situation.theoretical_pct,
      .part = Part::theory,
      .evidence = evidence_of({{"theoretical_pct", situation.theoretical_pct},
                               {"blocks_per_sm", situation.occupancy.blocks_per_sm}}),
      .because = fmt::format("theory is {:.4g} % ({})", situation.theoretical_pct, limiting_rules(situation)),
      .time_ratio = time_of_highest_theory};
  for (const Evidence& evidence : evidence_of(asked)) claim.evidence.push_back(evidence);
  if (const auto& leaner = situation.facts.others.leaner) claim.time = measured_with(*leaner, situation);
  const bool spilled = limiter == Limiter::registers && spills_show(situation);
  if (spilled && is_known_to_spill(situation)) {
    claim.remedy = "Fewer registers raise theory and spill more; see what spills cost first.";
    claim.no_time = "registers are spilled already, and fewer of them spill more";
    return claim;
  }
  claim.advice = advise_on_theory(*situation.facts.limits, {situation.launch, situation.usage});
  claim.advice->is_of_directives = situation.facts.is_of_directives;
  claim.remedy = fmt::format("{}", fmt::join(sentences(*claim.advice), " "));
  if (waits_for_latency(situation)) {
    claim.remedy += fmt::format(
        " Warps wait for memory, and the device's is {:.0f} % busy: more or wider loads in flight of each "
        "thread do the same without more warps{}.",
        *situation.counters().dram_busy_pct, unless_caches_are_busy(situation));
  }
  claim.no_time = no_time_by_theory(situation, *claim.advice);
  if (spilled && claim.no_time.empty() && !claim.time)
    claim.time = not_known("if its local memory is of spills, fewer registers spill more");
  if (claim.no_time.empty() && !claim.time) claim.time = not_known_of_clusters(situation);
  if (claim.no_time.empty() && !claim.time && situation.wave > 0 &&
      keeps_rounds(least_time_ratio(*claim.advice), situation.waves()))
    claim.beside_time =
        fmt::format(" Equal blocks take {:.0f} rounds as now, and save none.", rounds_of(situation.waves()));
  return claim;
}

/// As kBeyondReach, above what its resident blocks fill. For short blocks the two were recorded up to 1.8 points apart.
constexpr double kBeyondFilled = 2;
/// Active cycles over those of the time, at the given clock or else the highest, from which on they are another
/// launch's. A board may exceed the highest clock, and a profiler that flushes caches may have counted a longer launch
/// than was timed.
constexpr double kBeyondGivenClock = 1.1;
constexpr double kBeyondHighestClock = 2;

/// Active time is another launch's if giving blocks out takes this many times as long: the parameter is typical, not
/// this GPU's.
constexpr double kBeyondDispatcher = 2;

/// Most time beside the launch in elapsed cycles. In launches with over a tenth of the time beside them, 33 us were
/// recorded.
constexpr double kBesideCountedUs = 50;
/// The same at a high clock.
constexpr double kBesideCountedCycles = 2000 * kBesideCountedUs;

/// Tolerance for counters read in separate passes: relative (1.074 was recorded), and in warps per scheduler.
constexpr double kApart = 1.1;
constexpr double kWarpsApart = 0.1;

/// A launch's blocks have most of their warps from this share of the reachable occupancy on: a choice.
constexpr double kMostOfReach = 0.5;

/// Warps per scheduler, mean over the cycles in which it has any. A block's warps are spread over the schedulers of an
/// SM; if most have exited, one scheduler may have all that are left.
double active_of_scheduler(const Situation& situation, double achieved_pct, double most_pct) {
  const Limits& limits = *situation.facts.limits;
  const double of_sm = limits.max_warps_per_sm * achieved_pct / 100;
  const double of_block = situation.occupancy.warps_per_block;
  const double spread =
      achieved_pct < kMostOfReach * most_pct ? 1 : of_block / std::ceil(of_block / limits.sub_partitions);
  return std::min(static_cast<double>(limits.max_warps_per_sm) / limits.sub_partitions,
                  of_sm / std::clamp(of_sm, 1.0, spread));
}

/// Cycles that a warp's instruction takes the narrowest of the pipes below, with four lanes per scheduler; 7.87 were
/// recorded. FP64 and tensor instructions take longer on some GPUs.
constexpr double kCyclesInPipe = 8;
/// Likewise for pipes of 16 lanes; newer GPUs have 32 for FP32.
constexpr double kCyclesInHalfPipe = 2;

/// A clause: counters of warps or cycles that no launch can have together; empty if one can.
std::string counters_apart(const Situation& situation, double achieved_pct, double most_pct) {
  const CounterValues& counters = situation.counters();
  const Limits& limits = *situation.facts.limits;
  const double places = static_cast<double>(limits.max_warps_per_sm) / limits.sub_partitions;
  const double active = active_of_scheduler(situation, achieved_pct, most_pct);
  const auto beyond = [](double value, double most) { return value > kApart * most + kWarpsApart; };
  // A warp does one of these at a time.
  double together = 0;
  std::vector<std::string> each;
  for (const auto& [warps, what] : {std::pair(counters.eligible_warps, "are eligible"),
                                    std::pair(counters.barrier_stall_warps, "wait at barriers"),
                                    std::pair(counters.memory_stall_warps, "wait for memory")}) {
    if (!warps) continue;
    together += *warps;
    each.push_back(fmt::format("{:.3g} {}", *warps, what));
  }
  if (beyond(together, active))
    return fmt::format("of a scheduler's warps {}, where at most {:.3g} are active", fmt::join(each, ", "),
                       active);
  if (counters.issue_active_pct && counters.eligible_warps) {
    const double share = *counters.issue_active_pct / 100;
    const double eligible = *counters.eligible_warps;
    if (beyond(share, eligible) || beyond(eligible, share * places))
      return fmt::format("a scheduler issues in {:.3g} % of its cycles with {:.3g} eligible warps",
                         *counters.issue_active_pct, eligible);
  }
  for (const auto& [pipe, name, cycles] : {std::tuple(counters.fma_use_pct, "fma_use_pct", kCyclesInHalfPipe),
                                           std::tuple(counters.alu_use_pct, "alu_use_pct", kCyclesInHalfPipe),
                                           std::tuple(counters.xu_use_pct, "xu_use_pct", kCyclesInPipe)}) {
    if (pipe && counters.issue_active_pct && beyond(*pipe / 100, cycles * *counters.issue_active_pct / 100))
      return fmt::format("{} is {:.3g} % where a scheduler issues in {:.3g} % of its cycles", name, *pipe,
                         *counters.issue_active_pct);
  }
  const double mean = counters.sm_cycles_active_avg.value_or(0);
  if (mean > 0 && (counters.sm_cycles_active_min.value_or(0) > kApart * mean ||
                   counters.sm_cycles_active_max.value_or(mean) * kApart < mean))
    return "the mean of active cycles is not between least and most";
  // Recorded launches are below it.
  const std::optional<double>& elapsed = situation.facts.readings.achieved_elapsed_pct;
  if (elapsed && *elapsed - achieved_pct >= kBeyondReach)
    return fmt::format("occupancy is {:.3g} % over elapsed cycles, and {:.3g} % over the fewer active ones",
                       *elapsed, achieved_pct);
  if (const double longest = counters.sm_cycles_active_max.value_or(0); elapsed && mean > 0 && longest > 0) {
    const double of_longest = achieved_pct * mean / longest;
    if (*elapsed > kApart * of_longest ||
        kApart * *elapsed < of_longest * longest / (longest + kBesideCountedCycles))
      return fmt::format("occupancy is {:.3g} % over elapsed cycles, and by active ones {:.3g} %", *elapsed,
                         of_longest);
  }
  return "";
}

/// A grid of fewer blocks than SMs leaves SMs without any. Empty if active cycles agree.
std::string too_many_active_sms(const Situation& situation) {
  const std::int64_t blocks = situation.launch.grid_blocks;
  if (blocks >= situation.facts.sm_count) return "";
  const CounterValues& counters = situation.counters();
  const double share = static_cast<double>(blocks) / situation.facts.sm_count;
  const double longest = counters.sm_cycles_active_max.value_or(0);
  if (counters.sm_cycles_active_min.value_or(0) == 0 &&
      (longest == 0 || counters.sm_cycles_active_avg.value_or(0) <= kApart * share * longest))
    return "";
  return fmt::format(
      "{} leave {} of {} SMs without one, so that the least active cycles are 0 and their mean is "
      "at most {:.3g} of the most",
      blocks_text(blocks), situation.facts.sm_count - blocks, situation.facts.sm_count, share);
}

/// More traffic than a GPU can move in the launch's time. Empty if it is not.
std::string too_much_traffic(const Situation& situation) {
  const CounterValues& counters = situation.counters();
  if (const std::optional<double>& most = situation.facts.most_dram_bytes; counters.dram_bytes && most) {
    const double busy = 100 * *counters.dram_bytes / *most;
    const double time_us = situation.facts.times.time_us.value();
    if (busy * time_us / (time_us + kBesideCountedUs) > kApart * 100)
      return fmt::format("device memory moves {:.3g} GB at most in the time, and {:.3g} GB were counted",
                         *most / 1e9, *counters.dram_bytes / 1e9);
    const double read = counters.dram_busy_pct.value_or(busy);
    if (read > kApart * busy + kIdlePoints ||
        kApart * read + kIdlePoints < busy * time_us / (time_us + kBesideCountedUs))
      return fmt::format(
          "dram_bytes in the time are {:.3g} % of device memory's peak, and dram_busy_pct is "
          "{:.3g} %",
          busy, read);
  }
  // An SM has 32 load/store units, so a warp's request takes all of them for a cycle.
  const double cycles = situation.active_cycles().value_or(0);
  const double requests = kApart * cycles * situation.facts.sm_count;
  for (const auto& [count, most, name] :
       {std::tuple(counters.atomic_requests, requests, "atomic requests"),
        std::tuple(counters.local_sectors, kThreadsPerWarp * requests, "sectors of local memory")}) {
    if (count && cycles > 0 && *count > most)
      return fmt::format("{:.3g} {} are more than the SMs can make in {} cycles", *count, name,
                         grouped(std::llround(cycles)));
  }
  return "";
}

/// A clause: why not all readings can be of this launch; empty if they can.
std::string contradiction(const Situation& situation) {
  constexpr std::string_view kAnother = "to another launch or to several";
  const bool is_partial = situation.is_partial_wave() && situation.launch.cluster_blocks == 1;
  const double most = is_partial ? situation.most_of_partial_wave_pct() : situation.theoretical_pct;
  if (!situation.achieved_pct) return "";
  const double achieved = *situation.achieved_pct;
  if (achieved - most >= kBeyondReach)
    return fmt::format("this launch can reach {:.3g} %, so an achieved {:.3g} % belongs {}", most, achieved,
                       kAnother);
  if (const double one_warp = 100.0 / situation.facts.limits->max_warps_per_sm; kApart * achieved < one_warp)
    return fmt::format(
        "an SM with a warp reads {:.3g} % at least, so an achieved {:.3g} % belongs {}, or is no percentage "
        "but a fraction",
        one_warp, achieved, kAnother);
  for (const std::string& apart : {counters_apart(situation, achieved, most), too_much_traffic(situation)})
    if (!apart.empty()) return fmt::format("{}: the counters belong {}", apart, kAnother);
  if (const std::string active = too_many_active_sms(situation); !active.empty())
    return fmt::format("{}: these cycles belong {}, or to a GPU of fewer SMs", active, kAnother);
  const CounterValues& counters = situation.counters();
  // A warp frees its registers and slot when it ends; a block frees the resources of these limits when it ends.
  const BlockLimits& limits = situation.occupancy.block_limits;
  const int held = std::min({limits.blocks, limits.shared_memory, limits.barriers});
  if (counters.resident_blocks.value_or(0) > kBeyondHeld * held)
    return fmt::format(
        "an SM can hold {} at once, however soon their warps end, so {:.3g} resident blocks belong {}",
        counted(held, "block"), *counters.resident_blocks, kAnother);
  if (counters.resident_blocks && kBeyondHeld * *counters.resident_blocks < 1)
    return fmt::format(
        "an active SM has one block at least, so {:.3g} resident blocks belong {}, or are "
        "per_cycle_elapsed and not per_cycle_active",
        *counters.resident_blocks, kAnother);
  if (situation.parts) {
    const double filled = situation.theoretical_pct - situation.parts->blocks;
    if (achieved - filled >= kBeyondFilled)
      return fmt::format("{:.3g} resident blocks fill {:.3g} % at most, so an achieved {:.3g} % belongs {}",
                         *counters.resident_blocks, filled, achieved, kAnother);
    if (is_partial && filled - most >= kBeyondFilled)
      return fmt::format("an SM gets {:.0f} blocks of the grid at most, so {:.3g} resident blocks belong {}",
                         std::ceil(situation.blocks_of_busy_sm()), *counters.resident_blocks, kAnother);
  }
  const std::optional<double>& by_time = situation.facts.most_cycles_active;
  const bool given = situation.facts.clock_is_given;
  if (by_time && counters.sm_cycles_active_avg.value_or(0) >
                     (given ? kBeyondGivenClock : kBeyondHighestClock) * *by_time)
    return fmt::format("the time has room for {} cycles at {}, so {} active cycles belong {}",
                       grouped(std::llround(*by_time)),
                       given ? "the clock that was given" : "the highest clock",
                       grouped(std::llround(*counters.sm_cycles_active_avg)), kAnother);
  const std::optional<double> cycles = situation.active_cycles();
  if (const double share = share_of_dispatching(situation); share > kBeyondDispatcher)
    return fmt::format("giving {} blocks out takes {} cycles or so{}, so {} active cycles belong {}",
                       grouped(situation.launch.grid_blocks), grouped(std::llround(share * *cycles)),
                       pace_of(situation), grouped(std::llround(*cycles)), kAnother);
  return "";
}

/// Points by which a counter may lie outside the prediction's interval.
constexpr double kOutsideRange = 1;
/// Achieved occupancy, percent, below which a reader may wonder whether more of it would help.
constexpr double kLowPct = 60;

}  // namespace

std::optional<Claim> register_limit(const Situation& situation) {
  return limit_claim(situation, Limiter::registers,
                     {{"registers_per_thread", situation.usage.registers_per_thread}});
}

std::optional<Claim> shared_memory_limit(const Situation& situation) {
  return limit_claim(situation, Limiter::shared_memory,
                     {{"static_shared_bytes", static_cast<double>(situation.usage.static_shared_bytes)},
                      {"dynamic_shared_bytes", static_cast<double>(situation.launch.dynamic_shared_bytes)}});
}

std::optional<Claim> block_size_limit(const Situation& situation) {
  const Limiter of_size =
      situation.occupancy.limiters.contains(Limiter::warps) ? Limiter::warps : Limiter::blocks;
  return limit_claim(situation, of_size, {{"block_threads", situation.launch.block_threads}});
}

std::optional<Claim> barrier_limit(const Situation& situation) {
  return limit_claim(situation, Limiter::barriers, {{"barriers", situation.usage.barriers}});
}

std::optional<Claim> another_launch(const Situation& situation) {
  std::string because = contradiction(situation);
  if (because.empty()) return std::nullopt;
  return Claim{.part = Part::remark,
               .evidence = evidence_of({{"achieved_pct", situation.achieved_pct},
                                        {"theoretical_pct", situation.theoretical_pct},
                                        {"grid_blocks", static_cast<double>(situation.launch.grid_blocks)},
                                        {"resident_blocks", situation.counters().resident_blocks},
                                        {"sm_cycles_active_avg", situation.counters().sm_cycles_active_avg}}),
               .because = std::move(because),
               .remedy = "Compare grid, block size and registers with those of the launch that was counted.",
               .is_for_the_author = false,
               .comes_first = true};  // it says nothing about this launch
}

std::optional<Claim> idle_sms(const Situation& situation) {
  const bool is_predicted = !situation.achieved_pct && situation.facts.prediction;
  const std::optional<double> elapsed = is_predicted
                                            ? std::optional(situation.facts.prediction->predicted_elapsed_pct)
                                            : situation.facts.readings.achieved_elapsed_pct;
  const bool by_time = situation.facts.elapsed_by_time;
  const bool without_blocks =
      situation.launch.grid_blocks > 0 && situation.launch.grid_blocks < situation.facts.sm_count;
  const double points =
      elapsed && (is_predicted || situation.achieved_pct) ? situation.reached_pct - *elapsed : 0;
  const double of_tail = situation.has_tail() && situation.launch.cluster_blocks == 1
                             ? situation.theoretical_pct * (1 - filled_rounds(situation.waves()))
                             : 0;
  const double hidden = situation.may_have_hidden_tail() ? of_tail : 0;
  // If the grid leaves more SMs without a block, the grid is the cause.
  const bool without_clusters =
      situation.sms_without_clusters > 0 &&
      situation.launch.grid_blocks >= situation.facts.sm_count - situation.sms_without_clusters;
  if (std::max(points, hidden) < kIdlePoints && !without_blocks && !without_clusters) return std::nullopt;
  const bool names_tail = hidden > 0 || (situation.has_tail_of_equal_blocks() && of_tail >= kIdlePoints);
  std::string because;
  if (hidden > 0) {
    because =
        fmt::format("if blocks are equal, the last of {} leaves SMs without a block: {} over elapsed cycles",
                    waves_text(situation.waves(), 3), points_text(hidden));
  } else if (without_clusters) {
    because = fmt::format("{} of {} SMs lie in GPCs of fewer SMs than a cluster has blocks, and get none",
                          situation.sms_without_clusters, situation.facts.sm_count);
  } else if (without_blocks) {
    because = fmt::format("{} of {} SMs get no block",
                          situation.facts.sm_count - situation.launch.grid_blocks, situation.facts.sm_count);
  } else {
    because = names_tail
                  ? fmt::format("the last of {} leaves SMs without a block", waves_text(situation.waves(), 3))
                  : "SMs run out of blocks before the last one ends";
  }
  if (elapsed) because += fmt::format(": over elapsed cycles occupancy is {:.3g} %", *elapsed);
  return Claim{
      .part = Part::remark,
      .confidence = is_predicted          ? Confidence::simulated
                    : elapsed && !by_time ? Confidence::measured
                                          : Confidence::inferred,
      .evidence = evidence_of({{is_predicted ? "predicted_elapsed_pct" : "achieved_elapsed_pct",
                                by_time ? std::nullopt : elapsed},
                               {"achieved_pct", situation.achieved_pct},
                               {"sm_cycles_active_avg", situation.counters().sm_cycles_active_avg},
                               {"sm_cycles_active_max", situation.counters().sm_cycles_active_max}}),
      .because = because + "; the counter leaves idle SMs out",
      .remedy = without_clusters ? "Use smaller clusters."
                : names_tail     ? "Use whole waves of blocks, or more and shorter ones."
                : situation.wave > 0 && situation.waves() > 1
                    ? "Use whole waves of blocks of equal length, more and shorter ones, or run another "
                      "kernel beside it."
                    : "Use enough blocks for all SMs, of equal length, or run another kernel beside it.",
      .time_ratio = time_without_idle_sms,
      .no_time = atomics_delay(situation) ? std::string(kWaitForAddress) : "",
      .time = not_known_of_clusters(situation),
      .beside_time = by_time ? clock_of_bound(situation) : ""};
}

std::optional<Claim> low_occupancy_suffices(const Situation& situation) {
  const std::optional<Evidence> saturated = saturated_resource(situation);
  if (!saturated || !situation.achieved_pct || *situation.achieved_pct >= kLowPct) return std::nullopt;
  // Counters of an SM are over its active cycles: while SMs are idle, nothing in them is saturated.
  const std::optional<double>& elapsed = situation.facts.readings.achieved_elapsed_pct;
  if (elapsed && *situation.achieved_pct - *elapsed >= kIdlePoints) return std::nullopt;
  // Over the time until the last SM ends, as the bounds of findings are.
  const Evidence over_time = most_used(situation, situation.share_of_active_time());
  return Claim{
      .part = Part::remark,
      .confidence = Confidence::measured,
      .evidence = {*saturated, {"achieved_pct", *situation.achieved_pct}},
      .because = saturated->value >= 100 * (1 - kLeastShare) ||
                         situation.counters().eligible_warps.value_or(0) >= kManyEligible
                     ? fmt::format("low occupancy does no harm: {} is {:.0f} %, and more warps would wait",
                                   saturated->column, saturated->value)
                     : fmt::format("more warps can save {:.0f} % of the time at most: {} is {:.0f} %{}",
                                   100 - over_time.value, over_time.column, over_time.value,
                                   over_time.value < saturated->value ? " over elapsed cycles" : ""),
      .remedy = "Do less of what is saturated before you raise occupancy."};
}

std::optional<Claim> idle_lanes(const Situation& situation) {
  const int threads = situation.launch.block_threads;
  if (!leaves_lanes_idle(threads)) return std::nullopt;
  const int lanes = warps_of_block(threads) * kThreadsPerWarp;
  std::string because =
      fmt::format("the counter counts warps, not threads: {} of {} lanes of a block have no thread",
                  lanes - threads, lanes);
  if (situation.achieved_pct) {
    because += fmt::format(", so an SM has {:.3g} % of the threads that it can hold",
                           *situation.achieved_pct * threads / lanes);
  }
  // A warp takes as long with more threads: fewer warps save time if they run in rounds.
  const double saved = most_time_saved(used_lanes(threads), situation.wave > 0 ? situation.waves() : 0);
  std::optional<TimeSaved> time;
  if (saved >= kLeastShare)
    time = {saved, most_text(saved, situation) + ", for the same threads are fewer warps."};
  return Claim{
      .part = Part::remark,
      .evidence = evidence_of({{"block_threads", threads}, {"achieved_pct", situation.achieved_pct}}),
      .because = because,
      .remedy = fmt::format("Use a multiple of {} threads a block.", kThreadsPerWarp),
      .time = std::move(time)};
}

std::optional<Claim> unused_shared_memory(const Situation& situation) {
  // Without a given carveout the driver chooses one, which the launch does not say.
  if (!situation.launch.carveout_pct) return std::nullopt;
  Launch smaller = situation.launch;
  for (int pct = 0; pct < *situation.launch.carveout_pct; ++pct) {
    smaller.carveout_pct = pct;
    const Occupancy enough = theoretical_occupancy(*situation.facts.limits, smaller, situation.usage);
    if (enough.blocks_per_sm < situation.occupancy.blocks_per_sm) continue;
    const int kept = situation.occupancy.shared_bytes_per_sm;
    if (enough.shared_bytes_per_sm == kept) return std::nullopt;
    const std::optional<OtherBuild>& other = situation.facts.others.carveout;
    return Claim{
        .part = Part::remark,
        .evidence = evidence_of({{"carveout_pct", *situation.launch.carveout_pct},
                                 {"blocks_per_sm", situation.occupancy.blocks_per_sm}}),
        .because = fmt::format(
            "the carveout of {} % keeps {} B of an SM from its L1 cache, and its {} blocks need {} B of them",
            *situation.launch.carveout_pct, grouped(kept), situation.occupancy.blocks_per_sm,
            grouped(situation.occupancy.blocks_per_sm * situation.occupancy.shared_bytes_per_block)),
        .remedy = fmt::format("With {} % as the carveout as many blocks fit, and L1 has {} B more.", pct,
                              grouped(kept - enough.shared_bytes_per_sm)),
        .time = other ? std::optional(measured_with(*other, situation)) : std::nullopt};
  }
  return std::nullopt;
}

std::optional<Claim> faster_build(const Situation& situation) {
  const std::optional<OtherBuild>& faster = situation.facts.others.faster;
  if (!faster) return std::nullopt;
  return Claim{.part = Part::remark,
               .confidence = Confidence::measured,
               .evidence = evidence_of({{"time_us", situation.facts.times.time_us},
                                        {"registers_per_thread", situation.usage.registers_per_thread}}),
               .because = fmt::format(
                   "with {} registers ({}) the same launch is {:.2g} times as fast at {:.3g} % occupancy",
                   faster->registers_per_thread, faster->build,
                   *situation.facts.times.time_us / faster->time_us, faster->achieved_pct),
               .remedy = "Choose registers by the time."};
}

std::optional<Claim> prediction_differs(const Situation& situation) {
  if (!situation.facts.prediction || !situation.achieved_pct) return std::nullopt;
  const Prediction& prediction = *situation.facts.prediction;
  const double above = *situation.achieved_pct - prediction.interval.high;
  const double below = prediction.interval.low - *situation.achieved_pct;
  if (std::max(above, below) < kOutsideRange) return std::nullopt;
  return Claim{.part = Part::remark,
               .confidence = Confidence::measured,
               .evidence = evidence_of({{"predicted_pct", prediction.predicted_pct},
                                        {"predicted_low_pct", prediction.interval.low},
                                        {"predicted_high_pct", prediction.interval.high},
                                        {"achieved_pct", situation.achieved_pct}}),
               .because = fmt::format(
                   "the counter is {} {} the prediction's {}", points_text(std::max(above, below)),
                   above > below ? "above" : "below",
                   prediction.profile_quality == ProfileQuality::generic ? "range" : "90 % interval"),
               .remedy = situation.facts.work_is_inferred
                             ? "Its work is inferred: all blocks are taken as equal, and these are not."
                         : prediction.profile_quality == ProfileQuality::calibrated_device
                             ? "The profile is the GPU's own: the model may be off here, or the launch does "
                               "something that its work string does not say."
                             : "`occbench calibrate` makes a profile of this GPU, with which it may agree.",
               .is_for_the_author = false};
}

}  // namespace occbench
