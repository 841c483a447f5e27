#include "diagnose/time_saved.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace occbench {
namespace {

/// Share of a launch's time below which nothing is promised: less than times of the same launch vary by.
constexpr double kLeastShare = 0.01;

std::string ms(double microseconds) {
  return microseconds < 10'000 ? fmt::format("{:.3g}", microseconds / 1000)
                               : fmt::format("{:.1f}", microseconds / 1000);
}

TimeSaved none_expected(std::string_view why) {
  return {0, fmt::format("None expected: {}.", why)};
}

/// Of the time until the last SM ends, the share in which SMs are active, mean over all.
double share_of_active_time(const Situation& situation) {
  const auto& elapsed = situation.facts.readings.achieved_elapsed_pct;
  if (elapsed && situation.achieved_pct && *situation.achieved_pct > 0)
    return std::min(1.0, *elapsed / *situation.achieved_pct);
  if (!situation.achieved_pct && situation.facts.prediction && situation.reached_pct > 0)
    return std::min(1.0, situation.facts.prediction->predicted_elapsed_pct / situation.reached_pct);
  const double blocks = static_cast<double>(situation.launch.grid_blocks);
  return blocks > 0 && blocks < situation.facts.sm_count ? blocks / situation.facts.sm_count : 1;
}

/// Of the launch's time, the share in which any SM is active: the rest is no matter of occupancy. 1 where it is not known.
double share_of_launch(const Situation& situation) {
  const CounterValues& counters = situation.counters();
  const std::optional<double>& time_us = situation.facts.times.time_us;
  if (!time_us || !counters.sm_cycles_active_max || !counters.sm_clock_mhz) return 1;
  const double cycles = *time_us * *counters.sm_clock_mhz;
  return cycles > 0 ? std::min(1.0, *counters.sm_cycles_active_max / cycles) : 1;
}

/// Time with the remedy over time now, if each warp takes as long; empty for what the remedy does not change.
std::optional<double> time_by_occupancy(Cause cause, const Claim& claim, const Situation& situation) {
  if (cause == Cause::unexplained) return std::nullopt;
  const double now = situation.reached_pct;
  const double elapsed = now * share_of_active_time(situation);
  if (cause == Cause::idle_sms) return now > 0 ? std::optional(elapsed / now) : std::nullopt;
  switch (claim.part) {
    case Part::theory:
      if (!claim.advice || claim.advice->highest.empty()) return 1;
      return situation.theoretical_pct / claim.advice->highest.front().theoretical_pct;
    case Part::blocks: {
      const double ratio = elapsed / (now + claim.points);
      const bool is_elapsed_known =
          situation.facts.readings.achieved_elapsed_pct || situation.facts.prediction;
      // Equal blocks in whole waves.
      const bool by_waves = cause == Cause::tail && !is_elapsed_known;
      return by_waves ? std::min(ratio, situation.waves() / std::ceil(situation.waves())) : ratio;
    }
    case Part::warps:
    case Part::either:
      return now / (now + claim.points);
    case Part::beside:
      break;
  }
  return std::nullopt;
}

/// "At most 0.12 of 0.41 ms per launch, 12 of 41 ms in the run", or a percentage where no time is known.
std::string most_text(double share, const Situation& situation) {
  const std::optional<double>& launch_us = situation.facts.times.time_us;
  const std::optional<double>& run_us = situation.facts.program.total_time_us;
  if (!launch_us && !run_us) return fmt::format("At most {:.0f} % of it", 100 * share);
  std::string text = "At most ";
  if (launch_us) text += fmt::format("{} of {} ms per launch", ms(share * *launch_us), ms(*launch_us));
  if (run_us) {
    text += fmt::format("{}{} of {} ms in the run", launch_us ? ", " : "", ms(share * *run_us), ms(*run_us));
  }
  return text;
}

std::string condition(const Situation& situation) {
  const CounterValues& counters = situation.counters();
  const std::string of_caller = situation.facts.library ? ", if a call can do the work of several" : "";
  if (!counters.issue_active_pct && !counters.dram_busy_pct)
    return of_caller + ", if warps wait for latency rather than for memory or issue slots";
  std::vector<std::string_view> not_read;
  if (!counters.dram_busy_pct) not_read.push_back("device memory");
  if (!counters.fp32_pipe_pct) not_read.push_back("a pipe");
  if (not_read.empty()) return of_caller;
  return fmt::format("{}; not if {} is saturated, which was not read", of_caller,
                     fmt::join(not_read, " or "));
}

/// What is in use most until the last SM ends, percent. Where many warps could issue, an SM has no use for more of them.
Evidence busiest_of(const Situation& situation) {
  const double active = share_of_active_time(situation);
  const Evidence most = most_used(situation, active);
  const double eligible = situation.counters().eligible_warps.value_or(0);
  return eligible >= kManyEligible && 100 * active > most.value ? Evidence{"eligible_warps", 100 * active}
                                                                : most;
}

}  // namespace

std::optional<TimeSaved> time_saved(Cause cause, const Claim& claim, const Situation& situation) {
  const LaunchFacts& facts = situation.facts;
  if (cause == Cause::spills && facts.faster) {
    return TimeSaved{1 - facts.faster->time_us / *facts.times.time_us,
                     fmt::format("{} instead of {} ms per launch were measured with {}.",
                                 ms(facts.faster->time_us), ms(*facts.times.time_us), facts.faster->variant)};
  }
  const std::optional<double> by_occupancy = time_by_occupancy(cause, claim, situation);
  if (!by_occupancy) return std::nullopt;
  if (!claim.no_time.empty()) return none_expected(claim.no_time);
  if (facts.library && claim.part == Part::theory)
    return none_expected("the library chose registers, shared memory and block size together");
  if (facts.program.streams.find('+') != std::string::npos) {
    return none_expected(
        fmt::format("launches run in several streams ({}), where others may fill what this one leaves empty",
                    facts.program.streams));
  }
  if (claim.part == Part::theory && *by_occupancy >= 1) return none_expected("no small change raises theory");
  const Evidence busiest = busiest_of(situation);
  const double share = (1 - std::max(*by_occupancy, busiest.value / 100)) * share_of_launch(situation);
  if (busiest.value >= kSaturatedPct || (share < kLeastShare && busiest.value / 100 > *by_occupancy)) {
    return none_expected(busiest.column == "eligible_warps"
                             ? fmt::format("eligible_warps is {:.2g}", *situation.counters().eligible_warps)
                             : fmt::format("{} is {:.0f} %", busiest.column, busiest.value));
  }
  if (share < kLeastShare) return none_expected("it is less than 1 % of the time");
  return TimeSaved{share, most_text(share, situation) + condition(situation) + "."};
}

}  // namespace occbench
