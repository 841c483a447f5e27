#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "diagnose/situation.hpp"
#include "occupancy/text.hpp"
#include "occupancy/warps.hpp"
#include "predict/kernel_costs.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

/// Device memory or L2 is busy enough to delay warps from this percentage of its peak on. Requests queue before it is
/// full.
constexpr double kBusyMemoryPct = 50;
/// Most warps wait for the same thing if at least this share of an SM's active warps does.
constexpr double kMostWait = 0.5;
/// Work is uneven from this share on. For blocks it is the share without a block of the places that the grid fills; for
/// warps, the share of resident blocks' warps that have exited or not begun. Recorded equal work that waits for memory
/// leaves up to 0.3 of either. The exceptions are blocks that end about as fast as they are given out, and one launch
/// whose warps all wait for one address.
constexpr double kUneven = 1.0 / 3;
/// If at least this share of active warps waits for memory, other blocks may be the reason.
constexpr double kSomeWait = 0.25;
/// Barriers serialize if at least this share of active warps waits at them.
constexpr double kManyWaitAtBarriers = 0.25;
/// With fewer eligible warps per scheduler, its warps wait.
constexpr double kFewEligible = 0.5;
/// Spills show from this many sectors of local memory per warp on. A sector is 32 bytes, so a warp that stores one
/// register writes 4.
constexpr double kSectorsPerWarp = 4;
/// Likewise, spills can cost occupancy: a choice. Recorded launches that lose a point to spills have 1,784 or more.
constexpr double kManySectorsPerWarp = 1000;
/// Likewise, sectors per active warp and cycle: a choice. Those launches have 0.0026 or more.
constexpr double kSectorsPerWarpCycle = 0.001;
/// Additions delay warps if they keep an address busy for at least this share of the time.
constexpr double kBusyAddress = 0.75;

double launched_warps(const Situation& situation) {
  return static_cast<double>(situation.launch.grid_blocks) * situation.occupancy.warps_per_block;
}

/// Share of the active warps in a stall counter, given in warps per scheduler. It counts no cycles of schedulers
/// without a warp.
double share_of_warps(const Situation& situation, double stalled_warps) {
  const double active = situation.achieved_pct.value_or(0) / 100 * situation.facts.limits->max_warps_per_sm /
                        situation.facts.limits->sub_partitions;
  return active > 0 ? std::min(1.0, stalled_warps / active) : 0;
}

double waiting_for_memory(const Situation& situation) {
  const CounterValues& counters = situation.counters();
  return share_of_warps(situation, counters.memory_stall_warps.value_or(0));
}

/// Empty for issue slots.
std::optional<UnitKind> kind_of(std::string_view column) {
  if (column == "dram_busy_pct") return UnitKind::memory;
  const auto unit = std::ranges::find(units(), column, &Unit::name);
  return unit == units().end() ? std::nullopt : std::optional(unit->kind);
}

/// Whether it processes instructions: issue slots or a pipe.
bool is_of_instructions(std::string_view column) {
  const std::optional<UnitKind> kind = kind_of(column);
  return !kind || kind == UnitKind::pipe;
}

bool is_l1_full(const Situation& situation) {
  return situation.counters().l1_use_pct.value_or(0) >= kSaturatedPct;
}

/// Whether device memory or L2, as far as they were read, may delay warps.
bool is_memory_busy(const Situation& situation) {
  const CounterValues& counters = situation.counters();
  return std::max(counters.dram_busy_pct.value_or(0), counters.l2_use_pct.value_or(0)) >= kBusyMemoryPct;
}

double atomic_requests(const Situation& situation) {
  return situation.counters().atomic_requests.value_or(0);
}

/// With fewer requests per cycle an address is busy for less than kBusyAddress of the launch, even if all lanes of all
/// warps add floats to it.
double idle_address_requests() {
  return kBusyAddress * additions_to_one_address_per_cycle() / kThreadsPerWarp;
}

/// Whether more places or warps are missing than contention leaves out: the rest wait, but others had less to do.
bool is_uneven(const Situation& situation) {
  if (!situation.parts) return false;
  const double filled = situation.theoretical_pct - situation.parts->blocks;
  return situation.parts->warps > kUneven * filled || filled < (1 - kUneven) * situation.pct_by_grid();
}

/// For warps that wait for memory: no counter tells whether that or unequal work makes them end at different times. A
/// sentence with a space before; empty if resident blocks were not read, or the work is known.
std::string_view if_uneven(const Situation& situation) {
  if (!situation.parts || situation.knows_work()) return "";
  return situation.parts->blocks > situation.parts->warps
             ? " If blocks have unequal work, divide it among more and shorter ones first."
             : " If the warps of a block have unequal work, give them equal shares first.";
}

/// Simulated contention, as far as the simulated launch is the measured one.
double simulated_contention(const Situation& situation) {
  return situation.losses() ? situation.losses()->contention * situation.predicted_share_of_cycles() : 0;
}

/// A clause: how contending warps lose occupancy, with the measured parts if resident blocks were read.
std::string ends_apart(const Situation& situation) {
  constexpr std::string_view kMay = ", and may so end at different times";
  if (!situation.parts) return std::string(kMay);
  const auto lost = std::max(0L, std::lround(situation.lost()));
  const auto blocks = std::clamp(std::lround(situation.parts->blocks), 0L, lost);
  return fmt::format(
      "{}: places without a block are {} of {} below theory, warps that have exited or not begun {}", kMay,
      blocks, counted(lost, "point"), lost - blocks);
}

/// For a claim whose remedy also changes how long warps take.
constexpr std::string_view kBesideOccupancy =
    " This is by occupancy alone: less work for what is contended for can save more.";

/// Whether its blocks cannot have more registers per thread.
bool has_most_registers(const Situation& situation) {
  Usage more = situation.usage;
  ++more.registers_per_thread;
  return more.registers_per_thread > situation.facts.limits->max_registers_per_thread ||
         theoretical_occupancy(*situation.facts.limits, situation.launch, more).blocks_per_sm == 0;
}

/// More registers change how long warps take, which no counter of this build tells.
TimeSaved time_of_spills(const Situation& situation) {
  const std::optional<OtherBuild>& faster = situation.facts.others.faster;
  const std::optional<OtherBuild>& roomier = situation.facts.others.roomier;
  if (faster) return measured_with(*faster, situation);
  if (roomier) return measured_with(*roomier, situation);
  return not_known(has_most_registers(situation) ? "compare with a build that keeps less alive"
                                                 : "compare with a build of more registers");
}

/// Whether the work that was simulated contends for memory rather than for issue slots or a pipe.
bool work_is_of_memory(const Situation& situation) {
  if (!situation.facts.work) return false;
  const Rates rates = situation.facts.work->rates();
  if (rates.bytes == 0) return false;
  return (rates.issue == 0 && rates.pipe == 0) ||
         situation.counters().issue_active_pct.value_or(0) < kSaturatedPct;
}

}  // namespace

Evidence most_used(const Situation& situation, double share) {
  const CounterValues& counters = situation.counters();
  std::vector<Evidence> uses = {{"issue_active_pct", share * counters.issue_active_pct.value_or(0)},
                                {"dram_busy_pct", counters.dram_busy_pct.value_or(0)}};
  for (const Unit& unit : units())
    uses.push_back({unit.name, (unit.kind == UnitKind::memory ? 1 : share) *
                                   (counters.*unit.counter.value).value_or(0)});
  return *std::ranges::max_element(uses, {}, &Evidence::value);
}

std::optional<Evidence> saturated_resource(const Situation& situation) {
  const Evidence most = most_used(situation);
  return most.value >= kSaturatedPct ? std::optional(most) : std::nullopt;
}

bool atomics_delay(const Situation& situation) {
  const CounterValues& counters = situation.counters();
  const double requests = atomic_requests(situation);
  const std::optional<double> cycles = situation.active_cycles();
  return requests >= launched_warps(situation) && cycles && requests > idle_address_requests() * *cycles &&
         counters.eligible_warps && *counters.eligible_warps < kFewEligible;
}

bool most_wait_for_memory(const Situation& situation) {
  return waiting_for_memory(situation) >= kMostWait;
}

std::string_view if_even(const Situation& situation) {
  if (!most_wait_for_memory(situation) || situation.knows_work()) return "";
  return " Most warps wait for memory: if their work is equal, some wait longer, as at one address.";
}

bool waits_for_latency(const Situation& situation) {
  return most_wait_for_memory(situation) && situation.counters().dram_busy_pct &&
         !is_memory_busy(situation) && !is_l1_full(situation);
}

std::vector<std::string_view> unread_caches(const Situation& situation) {
  std::vector<std::string_view> unread;
  if (!situation.counters().l1_use_pct) unread.emplace_back("L1");
  if (!situation.counters().l2_use_pct) unread.emplace_back("L2");
  return unread;
}

std::string unless_caches_are_busy(const Situation& situation) {
  const std::vector<std::string_view> unread = unread_caches(situation);
  if (unread.empty()) return "";
  return fmt::format(", unless {} is busy, which was not read", fmt::join(unread, " or "));
}

bool may_share_addresses(const Situation& situation) {
  return atomic_requests(situation) > 0 || waiting_for_memory(situation) >= kSomeWait;
}

/// Sectors of local memory that a warp moves.
double local_sectors(const Situation& situation) {
  // System-scope fences read and write sectors that count as local memory.
  if (situation.usage.local_bytes_per_thread == 0) return 0;
  return situation.counters().local_sectors.value_or(0) / launched_warps(situation);
}

/// In a long launch many sectors are few for the time.
bool spills_show(const Situation& situation) {
  if (local_sectors(situation) <= kManySectorsPerWarp) return false;
  const double warps = situation.reached_pct / 100 * situation.facts.limits->max_warps_per_sm;
  const double warp_cycles = warps * situation.active_cycles().value_or(0) * situation.facts.sm_count;
  return warp_cycles <= 0 ||
         situation.counters().local_sectors.value_or(0) >= kSectorsPerWarpCycle * warp_cycles;
}

bool is_known_to_spill(const Situation& situation) {
  return situation.facts.compiled->spill_bytes.value_or(0) > 0;
}

/// The remedy for spills if no build without them was measured.
std::string remedy_of_spills(const Situation& situation) {
  const int registers = situation.usage.registers_per_thread;
  const std::string of_spills =
      has_most_registers(situation)
          ? fmt::format("Keep less alive: a thread of such a block can have no more than {} registers.",
                        registers)
          : fmt::format(
                "Allow more than {} registers a thread, or keep less alive: compare the times, "
                "since occupancy falls with registers.",
                registers);
  if (is_known_to_spill(situation)) return of_spills;
  return of_spills +
         " That is for spills, which -Xptxas -v shows: arrays stay in registers where all their indices "
         "are constants.";
}

std::optional<Claim> spills(const Situation& situation) {
  const double sectors = local_sectors(situation);
  if (sectors <= kSectorsPerWarp) return std::nullopt;
  const CounterValues& counters = situation.counters();
  const double kilobytes = 32 * sectors / 1000;
  if (!spills_show(situation))
    return Claim{
        .part = Part::remark,
        .confidence = Confidence::inferred,
        .evidence = evidence_of({{"local_sectors", counters.local_sectors}}),
        .because = fmt::format(
            "a warp moves {:.3g} KB to and from local memory, for spills or arrays: too little to cost "
            "occupancy",
            kilobytes)};
  const std::optional<OtherBuild>& roomier = situation.facts.others.roomier;
  const bool more_are_no_faster = roomier && roomier->time_us >= *situation.facts.times.time_us;
  return Claim{
      .takes_rest = true,
      .evidence = evidence_of({{"local_sectors", counters.local_sectors},
                               {"registers_per_thread", situation.usage.registers_per_thread}}),
      .because = fmt::format(
          "{}each warp moves {:.3g} KB to and from local memory{}, and warps that wait for it end at "
          "different times",
          is_known_to_spill(situation) ? "registers are spilled: " : "", kilobytes,
          is_known_to_spill(situation) ? "" : ", for spills or arrays"),
      .remedy = more_are_no_faster
                    ? fmt::format("Keep fewer values alive: no build of more registers that was "
                                  "measured is faster; the least of them has {}.",
                                  roomier->least_registers)
                    : remedy_of_spills(situation),
      .time = time_of_spills(situation),
      .comes_first = true};  // they cost time whatever the occupancy
}

std::optional<Claim> atomics(const Situation& situation) {
  const double requests = atomic_requests(situation);
  if (!atomics_delay(situation)) return std::nullopt;
  const CounterValues& counters = situation.counters();
  return Claim{
      .takes_rest = true,
      .evidence = evidence_of({{"atomic_requests", counters.atomic_requests},
                               {"memory_stall_warps", counters.memory_stall_warps}}),
      .because = fmt::format(
          "warps make {} requests for atomic operations, and those on one address are done one after another",
          grouped(static_cast<std::int64_t>(requests))),
      .remedy = "Sum in a warp or a block first, or spread the results over more addresses.",
      .time = not_known(fmt::format("compare with sums in a block first; {}", kWaitForAddress))};
}

std::optional<Claim> memory_contention(const Situation& situation) {
  const CounterValues& counters = situation.counters();
  const double simulated = work_is_of_memory(situation) ? std::max(0.0, simulated_contention(situation)) : 0;
  const std::optional<Evidence> saturated = saturated_resource(situation);
  const bool of_l1 = saturated && kind_of(saturated->column) == UnitKind::memory_of_sm;
  const bool of_sm = saturated && is_of_instructions(saturated->column);
  const bool busy = !of_l1 && !of_sm && is_memory_busy(situation);
  const bool at_work = busy || of_l1 || (!of_sm && most_wait_for_memory(situation));
  if (simulated == 0 && (!at_work || is_uneven(situation))) return std::nullopt;
  // If memory is not busy, warps wait for its latency, or for each other at an address.
  const bool of_latency = at_work && !busy && !of_l1 && counters.dram_busy_pct;
  return Claim{
      .points = simulated,
      .takes_rest = at_work,
      .confidence = simulated > 0 ? Confidence::simulated : Confidence::inferred,
      .evidence = evidence_of({{"dram_busy_pct", counters.dram_busy_pct},
                               {"l2_use_pct", counters.l2_use_pct},
                               {"l1_use_pct", counters.l1_use_pct},
                               {"memory_stall_warps", counters.memory_stall_warps},
                               {"issue_active_pct", counters.issue_active_pct},
                               {"resident_blocks", counters.resident_blocks}}),
      .because =
          (of_latency
               ? fmt::format("{:.0f} % of the active warps wait for memory, of which the "
                             "device's is {:.0f} % busy{}",
                             100 * waiting_for_memory(situation), *counters.dram_busy_pct,
                             counters.l2_use_pct ? fmt::format(" and L2 {:.0f} %", *counters.l2_use_pct) : "")
               : fmt::format("warps contend for {}", of_l1 ? "L1 or shared memory" : "memory")) +
          ends_apart(situation),
      .remedy = fmt::format(
          "{}{}",
          of_latency ? fmt::format("Have more loads in flight{}, or spread what goes to one address; fewer "
                                   "bytes of device memory help little.",
                                   unless_caches_are_busy(situation))
          : of_l1    ? "Keep in registers what is read again, and read wider words."
                     : "Move fewer bytes or reuse them from shared memory.",
          if_uneven(situation)),
      .time_ratio = time_with_more_warps,
      .beside_time = std::string(kBesideOccupancy)};
}

std::optional<Claim> issue_contention(const Situation& situation) {
  const CounterValues& counters = situation.counters();
  const double simulated = work_is_of_memory(situation) ? 0 : std::max(0.0, simulated_contention(situation));
  const std::optional<Evidence> saturated = saturated_resource(situation);
  const bool of_pipe = saturated && kind_of(saturated->column) == UnitKind::pipe;
  const bool of_sm = saturated && is_of_instructions(saturated->column);
  const bool at_work = of_sm || counters.eligible_warps.value_or(0) >= kManyEligible;
  if (simulated == 0 && (!at_work || is_uneven(situation))) return std::nullopt;
  const auto pipe = std::ranges::max_element(units(), {}, [&](const Unit& each) {
    return each.kind == UnitKind::pipe ? (counters.*each.counter.value).value_or(0) : -1;
  });
  return Claim{
      .points = simulated,
      .takes_rest = at_work,
      .confidence = simulated > 0 ? Confidence::simulated : Confidence::inferred,
      .evidence = evidence_of({{"issue_active_pct", counters.issue_active_pct},
                               {"eligible_warps", counters.eligible_warps},
                               {pipe->name, counters.*pipe->counter.value},
                               {"resident_blocks", counters.resident_blocks}}),
      .because = fmt::format("warps contend for {}{}",
                             of_pipe ? fmt::format("the {} pipe", pipe->key) : "issue slots or a pipe",
                             ends_apart(situation)),
      .remedy = fmt::format("{} help{}; more waves of blocks fill the places of warps that have finished.",
                            of_pipe ? "Less work for this pipe" : "Fewer instructions", of_pipe ? "s" : ""),
      .time_ratio = time_with_more_warps,
      .beside_time = std::string(kBesideOccupancy)};
}

std::optional<Claim> barriers(const Situation& situation) {
  const double share = share_of_warps(situation, situation.counters().barrier_stall_warps.value_or(0));
  if (share < kManyWaitAtBarriers) return std::nullopt;
  return Claim{.part = Part::remark,
               .confidence = Confidence::measured,
               .evidence = evidence_of({{"barrier_stall_warps", situation.counters().barrier_stall_warps},
                                        {"issue_active_pct", situation.counters().issue_active_pct}}),
               .because = fmt::format("{:.0f} % of the active warps wait at a barrier", 100 * share),
               .remedy =
                   "Synchronize fewer threads at a time or more rarely, or let another block of the SM run "
                   "meanwhile."};
}

}  // namespace occbench
