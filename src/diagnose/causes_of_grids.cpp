#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "diagnose/diagnose.hpp"
#include "diagnose/situation.hpp"
#include "occupancy/text.hpp"
#include "predict/parameters.hpp"

namespace occbench {
namespace {

/// Blocks that end together wait for the dispatcher once giving blocks out takes this share of a launch,
constexpr double kBusyDispatcher = 0.5;
/// and all blocks wait from this share on.
constexpr double kSaturatedDispatcher = 0.9;
/// Giving more blocks out is mentioned from this share of a launch on.
constexpr double kWorthTelling = 0.01;
/// The compute capability on which the typical pace was measured.
constexpr ComputeCapability kMeasuredPace{9, 0};
/// Active cycles of the longest SM over the mean. Blocks may be uneven from kLonger on, and are from kMuchLonger on. It
/// is below 1.05 in 22 of 24 recorded launches that lose at least 8 points to giving blocks out. It is at least 1.05 in
/// 277 of 350 that lose as much to uneven blocks.
constexpr double kLonger = 1.05;
constexpr double kMuchLonger = 1.5;
/// Occupancies this close read alike, points.
constexpr double kEqualPoints = 0.05;

/// If GPCs are not known, empty places are due to clusters only if they fill at least this share of all places.
constexpr double kClusteredWave = 0.75;

double lost_to_partial_wave(const Situation& situation) {
  return situation.losses() ? situation.losses()->small_grid
                            : situation.theoretical_pct - situation.partial_wave_pct();
}

/// Points that places without a cluster cost in full waves; 0 if another cause has them. The counter leaves out SMs
/// without any. With clusters of 12 and of 16 an H200 read 30.6 of 37.5 % and 96.5 of 100 %; this gives 31.0 and 96.6.
double lost_to_clusters(const Situation& situation) {
  if (situation.is_wave_uncertain()) {
    const bool is_clusters = situation.is_partial_wave() && situation.waves() >= kClusteredWave;
    return is_clusters ? lost_to_partial_wave(situation) : 0;
  }
  if (situation.wave == 0 || situation.launch.grid_blocks < situation.wave) return 0;
  // A simulation of more than a wave counts them as tail.
  if (situation.losses())
    return situation.is_partial_wave() ? situation.losses()->small_grid
           : situation.has_tail()      ? 0
                                       : situation.losses()->tail;
  const int busy_sms = situation.facts.sm_count - situation.sms_without_clusters;
  const double places = static_cast<double>(full_wave_blocks(situation.occupancy, busy_sms));
  return situation.theoretical_pct * (1 - static_cast<double>(situation.wave) / places);
}

Confidence confidence_of_losses(const Situation& situation) {
  return situation.losses() ? Confidence::simulated : Confidence::inferred;
}

std::vector<Evidence> grid_evidence(const Situation& situation) {
  return evidence_of({{"grid_blocks", static_cast<double>(situation.launch.grid_blocks)},
                      {"waves", situation.waves()},
                      {"blocks_per_sm", situation.occupancy.blocks_per_sm},
                      {"resident_blocks", situation.counters().resident_blocks}});
}

/// If SMs have different numbers of blocks, those with most may be active longest.
std::string most_of_partial_wave(const Situation& situation) {
  const double even = situation.partial_wave_pct();
  const double most = situation.most_of_partial_wave_pct();
  return most - even < kEqualPoints
             ? fmt::format("{:.3g} % at most", even)
             : fmt::format("{:.3g} % at most, and {:.3g} % if all blocks take as long", most, even);
}

/// The least share of a launch's time that an SM takes to launch its part of so many more blocks; 0 if its cycles are
/// not known.
double share_of_giving_out(const Situation& situation, std::int64_t blocks) {
  const double cycles = situation.active_cycles().value_or(0);
  const double more =
      typical_parameters().block_launch_cycles * static_cast<double>(blocks) / situation.facts.sm_count;
  return cycles > 0 ? more / cycles : 0;
}

/// An SM with room for a block may have no issue slots or memory bandwidth for it. No counter says whether blocks
/// write to the same address.
std::string remedy_of_small_grid(const Situation& situation) {
  const std::int64_t blocks = situation.launch.grid_blocks;
  const Evidence most = most_used(situation);
  const double by_use = most.value > 0 ? std::floor(100 / most.value * situation.blocks_of_busy_sm()) *
                                             static_cast<double>(situation.facts.sm_count)
                                       : static_cast<double>(situation.wave);
  const std::int64_t cluster = situation.launch.cluster_blocks;
  const std::int64_t enough = std::min(situation.wave, static_cast<std::int64_t>(by_use)) / cluster * cluster;
  const std::string use = fmt::format("{} is {:.0f} %", most.column, most.value);
  const double of_busy_sm = situation.blocks_of_busy_sm();
  if (enough <= blocks && of_busy_sm > std::floor(of_busy_sm))
    return fmt::format(
        "Divide the same work among narrower blocks, equally many on each SM: now some SMs have {:.0f} and "
        "others {:.0f}. More work costs time, since {} where an SM has blocks.",
        std::ceil(of_busy_sm), std::floor(of_busy_sm), use);
  if (enough <= blocks) return fmt::format("More blocks cost time, since {}: do less of that.", use);
  const double share = share_of_giving_out(situation, enough - blocks);
  const std::vector<std::string_view> unread = not_read(situation);
  return fmt::format(
      "{} more, {} in all, cost no further time{}{}{}; or divide the same work among narrower or more "
      "blocks.",
      blocks_text(enough - blocks), grouped(enough),
      may_share_addresses(situation) ? " if they use addresses of their own" : "",
      most.value == 0 ? " where memory and issue slots are not busy (not counted)"
      : !unread.empty()
          ? fmt::format(" ({}) unless {} is busy, which was not read", use, fmt::join(unread, " or "))
      : enough < situation.wave ? " (" + use + ")"
                                : "",
      share < kWorthTelling
          ? ""
          : fmt::format(", except for giving them out: {:.0f} % of this launch's time or more", 100 * share));
}

/// By the grid's points alone: whole waves of the same work do not recover other losses.
double time_of_whole_waves(const Claim& claim, const Situation& situation) {
  return situation.share_of_active_time() * (1 - claim.points / situation.theoretical_pct);
}

/// For equal blocks, the share of their time that waves fill. Unless losses are simulated it is at least that, and
/// exactly that if nothing was read over elapsed cycles.
double time_without_tail(const Claim& claim, const Situation& situation) {
  const double by_points = time_of_whole_waves(claim, situation);
  const double by_rounds = filled_rounds(situation.waves());
  if (situation.has_tail_of_equal_blocks()) return by_rounds;
  if (situation.losses()) return by_points;
  return situation.facts.readings.achieved_elapsed_pct ? std::max(by_points, by_rounds) : by_rounds;
}

std::optional<TimeSaved> not_known_of_active_time(const Situation& situation) {
  if (situation.least_share_of_active_time()) return std::nullopt;
  return not_known(
      "read occupancy over elapsed cycles, or both sm__cycles_active.avg and the "
      "time, which tell how long SMs had no block");
}

}  // namespace

std::string_view pace_of(const Situation& situation) {
  return situation.facts.limits->compute_capability == kMeasuredPace
             ? ""
             : " at the pace of an H100 (unverified here)";
}

std::optional<bool> waits_for_dispatcher(const Situation& situation) {
  const double share = share_of_dispatching(situation);
  if (share < kBusyDispatcher) return false;
  if (share >= kSaturatedDispatcher || situation.knows_work()) return true;
  if (!situation.parts) return std::nullopt;
  const CounterValues& counters = situation.counters();
  const std::optional<double>& by_time = situation.facts.most_cycles_active;
  const double longest = counters.sm_cycles_active_max ? *counters.sm_cycles_active_max
                         : by_time                     ? *by_time - kCyclesBesideLaunch
                                                       : 0;
  const double mean = counters.sm_cycles_active_avg.value_or(longest);
  if (longest >= kMuchLonger * mean) return false;
  return counters.sm_cycles_active_max && longest < kLonger * mean ? std::optional(true) : std::nullopt;
}

std::optional<Claim> small_grid(const Situation& situation) {
  const std::int64_t blocks = situation.launch.grid_blocks;
  // A full wave leaves nothing to a larger grid.
  if (!situation.is_partial_wave() || blocks == situation.wave || lost_to_clusters(situation) > 0)
    return std::nullopt;
  return Claim{
      .points = lost_to_partial_wave(situation),
      .part = Part::blocks,
      .confidence = confidence_of_losses(situation),
      .evidence = grid_evidence(situation),
      .because = fmt::format("the grid has {}, and the device holds {}{} at once: an SM with a block has "
                             "{:.3g} of {}, so the counter can read {}",
                             blocks_text(blocks), situation.is_wave_uncertain() ? "at most " : "",
                             grouped(situation.wave), situation.blocks_of_busy_sm(),
                             situation.occupancy.blocks_per_sm, most_of_partial_wave(situation)),
      .remedy = remedy_of_small_grid(situation),
      .time_ratio = time_of_whole_waves};
}

std::optional<Claim> clusters(const Situation& situation) {
  const double points = lost_to_clusters(situation);
  if (points <= 0) return std::nullopt;
  return Claim{
      .points = points,
      .part = Part::blocks,
      .confidence = confidence_of_losses(situation),
      .evidence = evidence_of({{"cluster_blocks", situation.launch.cluster_blocks},
                               {"grid_blocks", static_cast<double>(situation.launch.grid_blocks)},
                               {"waves", situation.waves()}}),
      .because = fmt::format(
          "clusters of {} take {} of {} places: the rest lies in GPCs without room for a whole one",
          blocks_text(situation.launch.cluster_blocks),
          grouped(std::min(situation.wave, situation.launch.grid_blocks)), grouped(situation.places)),
      .remedy = "Use smaller clusters, or blocks of which more fit an SM.",
      .time = not_known_of_clusters(situation)};
}

struct LostToLastWave {
  double least = 0;
  double most = 0;
};

/// Points that the counter loses to the last wave if blocks are equal. Least: the rest is on as few SMs as have room
/// for it. Most: each of its blocks has its own SM. Those SMs are active for one wave more.
LostToLastWave lost_to_last_wave(const Situation& situation, std::int64_t whole, std::int64_t rest) {
  const auto sms = static_cast<double>(situation.facts.sm_count);
  const double waves = static_cast<double>(whole / situation.wave);
  const double of_sm = situation.occupancy.blocks_per_sm;
  const auto lost_on = [&](double busy_sms) {
    const double busy = waves * sms + static_cast<double>(rest) / of_sm;
    return situation.theoretical_pct * (1 - busy / (waves * sms + busy_sms));
  };
  const auto blocks = static_cast<double>(rest);
  return {.least = lost_on(std::ceil(blocks / of_sm)), .most = lost_on(std::min(blocks, sms))};
}

/// The simulated tail, clamped to what the grid allows.
std::optional<EqualTail> tail_of_equal_blocks(const Situation& situation) {
  const std::optional<EqualTail>& simulated = situation.facts.tail_of_equal_blocks;
  if (!simulated || !situation.has_tail()) return std::nullopt;
  const std::int64_t rest = situation.launch.grid_blocks % situation.wave;
  const LostToLastWave possible = lost_to_last_wave(situation, situation.launch.grid_blocks - rest, rest);
  const double most = std::clamp(simulated->most, possible.least, possible.most);
  return EqualTail{.points = std::clamp(simulated->points, std::min(possible.least, most), most),
                   .least = std::clamp(simulated->least, possible.least, most),
                   .most = most,
                   .is_generic = simulated->is_generic};
}

std::optional<Claim> tail(const Situation& situation) {
  if (!situation.has_tail()) return std::nullopt;
  const double waves = situation.waves();
  const std::int64_t rest = situation.launch.grid_blocks % situation.wave;
  const std::int64_t whole = situation.launch.grid_blocks - rest;
  // Over elapsed cycles. The counter leaves out SMs that have no block of the last wave.
  const double by_grid = situation.theoretical_pct * (1 - filled_rounds(situation.waves()));
  const std::optional<EqualTail> of_equal = tail_of_equal_blocks(situation);
  const double most = of_equal ? of_equal->most : by_grid;
  const double left_empty =
      situation.theoretical_pct - situation.facts.readings.achieved_elapsed_pct.value_or(0);
  std::string because = fmt::format("the last wave has {} of {} blocks ({}){}", grouped(rest),
                                    grouped(situation.wave), waves_text(waves, 3),
                                    situation.is_wave_uncertain() ? ", if whole clusters fill the GPCs" : "");
  if (of_equal && left_empty < by_grid - kIdlePoints) {
    because += fmt::format(
        "; blocks are not equal: that would cost {} over elapsed cycles, of which {:.2g} are missing",
        points_text(by_grid), std::max(0.0, left_empty));
  } else if (of_equal) {
    const double least = of_equal->least;
    because += fmt::format(
        "; if blocks are equal, it costs {}{} of the counter, which leaves out idle SMs",
        situation.launch.cluster_blocks > 1 ? "" : points_text(by_grid) + " over elapsed cycles and ",
        most - least < 1 ? fmt::format("{:.0f}", most)
                         : fmt::format("{:.0f} to {:.0f} ({})", least, most,
                                       of_equal->is_generic ? "range" : "90 % interval"));
  }
  const double points = situation.losses() ? situation.losses()->tail : of_equal ? of_equal->points : most;
  const bool is_uncertain = situation.is_tail_uncertain();
  return Claim{
      .points = points,
      .part = Part::blocks,
      // Uneven blocks may explain further places without a block.
      .most_points = is_uncertain && situation.parts ? points : most,
      .confidence = is_uncertain ? Confidence::inferred
                    : of_equal   ? Confidence::simulated
                                 : confidence_of_losses(situation),
      .evidence = grid_evidence(situation),
      .because = because,
      .remedy = situation.launch.cluster_blocks > 1
                    ? "Use smaller clusters, or more and shorter blocks."
                    : fmt::format("Use {} or {} blocks for the same work, or more and shorter blocks.",
                                  grouped(whole), grouped(whole + situation.wave)),
      .time_ratio = time_without_tail,
      .time = not_known_of_clusters(situation)};
}

std::optional<Claim> uneven_blocks(const Situation& situation) {
  const Losses none;
  const Losses& losses = situation.losses() ? *situation.losses() : none;
  // Inferred work has equal blocks: if more places are empty than these leave, blocks are uneven. If giving blocks out
  // takes most of the time, places that wait for a block say nothing about uneven blocks.
  const bool is_measured = situation.facts.work_is_inferred && situation.losses() && situation.parts &&
                           waits_for_dispatcher(situation) == false;
  const double points = is_measured
                            ? situation.parts->blocks - losses.small_grid - losses.tail - losses.overhead
                            : losses.between_blocks;
  if (points <= 0 && !situation.parts) return std::nullopt;
  const CounterValues& counters = situation.counters();
  const std::string or_contend = situation.or_unread_contention();
  const bool may_be_short = !losses.between_blocks && !situation.active_cycles();
  const std::string or_last_wave = situation.is_tail_uncertain()
                                       ? "; if they are equal, the last wave may cost up to " +
                                             points_text(tail_of_equal_blocks(situation)->most)
                                       : "";
  return Claim{
      .points = std::max(0.0, points),
      .part = Part::blocks,
      .confidence = may_be_short  ? Confidence::inferred
                    : is_measured ? (or_contend.empty() ? Confidence::measured : Confidence::inferred)
                                  : confidence_of_losses(situation),
      .evidence = evidence_of({{"measured_loss_blocks_points",
                                situation.parts ? std::optional(situation.parts->blocks) : std::nullopt},
                               {"resident_blocks", counters.resident_blocks},
                               {"blocks_per_sm", situation.occupancy.blocks_per_sm},
                               {"sm_cycles_active_min", counters.sm_cycles_active_min},
                               {"sm_cycles_active_max", counters.sm_cycles_active_max}}),
      .because =
          (may_be_short
               ? "blocks are uneven, or so short that giving them out takes most of the time" + or_contend
           : or_contend.empty()
               ? "blocks are uneven, and an SM's places stay empty once no block waits"
               : "an SM's places stay empty once no block waits: blocks are uneven" + or_contend) +
          or_last_wave,
      .remedy = fmt::format(
          "{}{}",
          may_be_short
              ? "Read sm__cycles_active.avg or the time, which tell the two apart: uneven blocks are mended "
                "by more and shorter ones, short blocks by fewer and longer ones."
          : situation.waves() <= 1
              ? "Split the longest blocks, which the launch ends with, or let blocks take pieces from a "
                "queue: all begin at once, so that their order saves no time."
          : situation.facts.longest_first
              ? "Divide the same work among more and shorter blocks, or let blocks take pieces from a queue. "
                "The longest blocks begin first already."
              : "Divide the same work among more and shorter blocks, begin the longest blocks first, or let "
                "blocks take pieces from a queue.",
          if_even(situation)),
      .time_ratio = time_with_more_blocks,
      .time = not_known_of_active_time(situation),
      .beside_time = clock_of_bound(situation)};
}

std::optional<Claim> uneven_warps(const Situation& situation) {
  const double simulated = situation.losses() ? situation.losses()->within_block : 0;
  if (simulated <= 0 && !situation.parts) return std::nullopt;
  if (situation.occupancy.warps_per_block == 1) return std::nullopt;
  const bool more_blocks = situation.parts && situation.parts->blocks < -0.5;
  const std::string or_contend = situation.or_unread_contention();
  return Claim{
      .points = std::max(0.0, simulated),
      .part = Part::warps,
      .confidence = confidence_of_losses(situation),
      .evidence = evidence_of({{"measured_loss_warps_points",
                                situation.parts ? std::optional(situation.parts->warps) : std::nullopt},
                               {"measured_loss_blocks_points",
                                situation.parts ? std::optional(situation.parts->blocks) : std::nullopt},
                               {"resident_blocks", situation.counters().resident_blocks},
                               {"blocks_per_sm", situation.occupancy.blocks_per_sm}}),
      .because = fmt::format(
          "{}, and an SM takes new blocks only when one has ended{}",
          simulated > 0 ? "warps within a block are uneven"
                        : "warps have exited or not begun while others of their block run" +
                              (or_contend.empty() ? "" : " (they are uneven" + or_contend + ")"),
          more_blocks ? fmt::format("; it then holds more than the calculator's {}, since warps have exited",
                                    situation.occupancy.blocks_per_sm)
                      : ""),
      .remedy = fmt::format("If the warps of a block do the same kind of work, give them equal shares, let "
                            "them take pieces from a "
                            "queue of their block, or use blocks of fewer warps.{}",
                            if_even(situation)),
      .time_ratio = time_with_more_warps};
}

std::optional<Claim> overhead(const Situation& situation) {
  const DeviceParameters typical = typical_parameters();
  // Bounds if resident blocks were counted: places without a block, and warps of a block that have not begun.
  const std::optional<MeasuredParts>& parts = situation.parts;
  const double most_empty = parts ? std::max(0.0, parts->blocks) : situation.theoretical_pct;
  const double most_not_begun = parts ? std::max(0.0, parts->warps) : situation.theoretical_pct;
  const std::optional<double> cycles = situation.cycles_per_block();
  double points = 0;
  if (situation.losses()) {
    points = situation.losses()->overhead * situation.predicted_share_of_cycles();
  } else if (situation.facts.overhead_of_equal_blocks) {
    points = *situation.facts.overhead_of_equal_blocks;
  } else if (cycles && situation.waves() > 1) {
    const double empty = situation.theoretical_pct * typical.replacement_latency_cycles / *cycles;
    const double not_begun = situation.theoretical_pct * typical.block_launch_cycles / *cycles;
    points = std::min(situation.theoretical_pct,
                      std::min(empty, most_empty) + std::min(not_begun, most_not_begun));
  }
  const double dispatching = std::min(1.0, share_of_dispatching(situation));
  const bool dispatcher_is_busy = dispatching >= kBusyDispatcher && most_empty >= kLeastPoints;
  if (points <= 0 && !dispatcher_is_busy) return std::nullopt;
  const std::optional<bool> waits = waits_for_dispatcher(situation);
  std::string because =
      dispatcher_is_busy && dispatching >= kSaturatedDispatcher
          ? fmt::format(
                "blocks end about as fast as they can be given out, which takes {:.0f} % of the time{}",
                100 * dispatching, pace_of(situation))
      : dispatcher_is_busy
          ? fmt::format(
                "giving blocks out takes about {:.0f} % of the time{}, and blocks that end together "
                "wait for it",
                100 * dispatching, pace_of(situation))
          : fmt::format(
                "launching and replacing blocks{} takes {:.2g} % of the time that resident blocks have",
                situation.losses() ? "" : pace_of(situation), 100 * points / situation.theoretical_pct);
  if (cycles) {
    because += fmt::format(", a new block every {}{} cycles in each place",
                           situation.counters().sm_cycles_active_avg ? "" : "at most ",
                           grouped(std::llround(*cycles)));
  }
  if (!waits) because += "; uneven blocks may leave as many places empty";
  return Claim{
      .points = points,
      .part = Part::either,
      .most_points = std::max(points, most_empty),
      // Without resident blocks nothing shows that places wait for one.
      .takes_rest = dispatcher_is_busy && (parts ? waits != false : waits == true),
      .confidence = confidence_of_losses(situation),
      .evidence = evidence_of({{"sm_cycles_active_avg", situation.counters().sm_cycles_active_avg},
                               {"waves", situation.waves()},
                               {"resident_blocks", situation.counters().resident_blocks},
                               {"time_us", situation.facts.times.time_us}}),
      .because = because,
      .remedy = fmt::format("Give each block more to do: fewer blocks, each with a loop over its share.{}",
                            waits ? ""
                                  : " If sm__cycles_active.max is far above the mean, blocks are uneven, and "
                                    "more and shorter ones help."),
      .time_ratio = time_with_more_warps,
      .beside_time = " This is by occupancy alone: longer blocks also begin and end less often."};
}

}  // namespace occbench
