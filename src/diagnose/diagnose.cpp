#include "diagnose/diagnose.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "occupancy/warps.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

constexpr std::string_view kCauses[] = {
#define OCC_CAUSE(NAME, MEANING) #NAME,
#include "diagnose/causes.inc"
    "unexplained"};

/// Below this share of a resource's use while SMs are active, its use over elapsed cycles is another figure.
constexpr double kNearlyAll = 0.97;

struct CauseRule {
  Cause cause;
  std::optional<Claim> (*claim)(const Situation&);
};

constexpr CauseRule kRules[] = {
#define OCC_CAUSE(NAME, MEANING) {Cause::NAME, NAME},
#include "diagnose/causes.inc"
};

bool explains_loss(const Claim& each) {
  return each.part != Part::theory && each.part != Part::remark;
}

/// Points of a part, or of all parts if none is given.
double sum(const std::vector<Claim>& claims, std::optional<Part> part = std::nullopt) {
  double points = 0;
  for (const Claim& each : claims) {
    if (explains_loss(each) && (!part || each.part == *part)) points += each.points;
  }
  return points;
}

void limit(std::vector<Claim>& claims, double most, std::optional<Part> part = std::nullopt) {
  const double now = sum(claims, part);
  if (now <= most) return;
  const double factor = std::max(0.0, most) / now;
  for (Claim& each : claims) {
    if (explains_loss(each) && (!part || each.part == *part)) each.points *= factor;
  }
}

/// The claim that explains most of a loss; nullptr if none explains any.
Claim* largest_loss(std::vector<Claim>& claims) {
  Claim* largest = nullptr;
  for (Claim& each : claims) {
    if (explains_loss(each) && each.points > (largest == nullptr ? 0 : largest->points)) largest = &each;
  }
  return largest;
}

/// Losses below 0 are gains, which reduce the largest loss of the same launch.
void net_gains(std::vector<Claim>& claims) {
  double gains = 0;
  for (Claim& each : claims) {
    if (explains_loss(each) && each.points < 0) gains -= std::exchange(each.points, 0.0);
  }
  while (gains > 0) {
    Claim* const largest = largest_loss(claims);
    if (largest == nullptr) return;
    const double taken = std::min(gains, largest->points);
    largest->points -= taken;
    gains -= taken;
  }
}

/// A prediction of inferred work leaves out unevenness, which is not chance.
bool within_interval_of_prediction(const Situation& situation) {
  if (!situation.facts.prediction || !situation.achieved_pct || situation.facts.work_is_inferred)
    return false;
  const Prediction& prediction = *situation.facts.prediction;
  return *situation.achieved_pct >= prediction.interval.low - kLeastPoints &&
         *situation.achieved_pct <= prediction.interval.high + kLeastPoints;
}

void give(Claim& to, double points, Confidence confidence, double& rest) {
  points = std::min(points, to.most_points - to.points);
  if (points <= 0) return;
  if (points > to.points) to.confidence = confidence;
  to.points += points;
  rest -= points;
}

/// Gives a part's remaining points to its largest claim that already has points. Points that this claim cannot have
/// cost, or all without such a claim, go to the claim of `otherwise`.
void share_part(std::vector<Claim>& claims, Part part, double measured, Cause otherwise,
                Confidence confidence, double& rest) {
  double left = std::clamp(measured - sum(claims, part), 0.0, rest);
  Claim* largest = nullptr;
  Claim* other = nullptr;
  for (Claim& each : claims) {
    if (each.cause == otherwise) other = &each;
    if (each.part == part && each.points >= kLeastPoints &&
        (largest == nullptr || each.points > largest->points))
      largest = &each;
  }
  rest -= left;
  for (Claim* const to : {largest, other}) {
    if (to != nullptr) give(*to, left, confidence, left);
  }
  rest += left;
}

/// Makes the claims agree with the measurement: none above its part, all together not above the loss. The rest goes to
/// the cause that counters show at work, or by part to uneven blocks, the tail or uneven warps.
/// @returns points that no cause explains
double fit(std::vector<Claim>& claims, const Situation& situation) {
  net_gains(claims);
  const double lost = std::max(0.0, situation.lost());
  if (situation.parts) {
    limit(claims, std::max(0.0, situation.parts->blocks), Part::blocks);
    limit(claims, std::max(0.0, situation.parts->warps), Part::warps);
  }
  limit(claims, lost);
  double rest = lost - sum(claims);
  if (rest < kLeastPoints) return rest;
  for (Claim& each : claims) {
    if (each.part == Part::either && each.takes_rest) {
      give(each, rest, Confidence::inferred, rest);
      break;
    }
  }
  if (situation.parts) {
    const bool is_known = situation.or_unread_contention().empty();
    share_part(claims, Part::warps, situation.parts->warps, Cause::uneven_warps,
               is_known ? Confidence::measured : Confidence::inferred, rest);
    // Short blocks leave as many places empty as uneven ones, but take another time.
    share_part(claims, Part::blocks, situation.parts->blocks,
               situation.has_tail_of_equal_blocks() ? Cause::tail : Cause::uneven_blocks,
               situation.active_cycles() && !situation.is_tail_uncertain() && is_known &&
                       waits_for_dispatcher(situation) == false
                   ? Confidence::measured
                   : Confidence::inferred,
               rest);
  }
  // Chance moves the points of the largest simulated loss.
  if (rest >= kLeastPoints && within_interval_of_prediction(situation)) {
    if (Claim* const largest = largest_loss(claims)) give(*largest, rest, Confidence::inferred, rest);
  }
  return rest;
}

std::vector<Claim> claims_of(const Situation& situation) {
  std::vector<Claim> claims;
  for (const CauseRule& rule : kRules) {
    if (std::optional<Claim> claim = rule.claim(situation))
      claims.emplace_back(std::move(*claim)).cause = rule.cause;
  }
  return claims;
}

/// Readings of another launch say nothing about this one. `another` gets all lost points, beside claims that need no
/// readings.
std::vector<Claim> claims_without_readings(Claim another, const Situation& situation) {
  LaunchFacts unread = situation.facts;
  unread.readings = {};
  std::vector<Claim> claims = claims_of(situation_of(unread).value());
  std::erase_if(claims, explains_loss);
  if (situation.lost() >= kLeastPoints) {
    another.part = Part::either;
    another.takes_rest = true;
  }
  claims.push_back(std::move(another));
  return claims;
}

std::string ms(double microseconds) {
  if (microseconds < 1) return fmt::format("{:.6f}", microseconds / 1000);  // without an exponent
  return microseconds < 10'000 ? fmt::format("{:.3g}", microseconds / 1000)
                               : fmt::format("{:.1f}", microseconds / 1000);
}

TimeSaved none_expected(std::string_view why) {
  return {0, fmt::format("None expected: {}.", why)};
}

/// Share of the launch's time in which any SM is active; occupancy does not affect the rest. 1 if it is not known, or
/// if a caller who makes one launch of several also saves the rest.
double share_of_launch(const Claim& claim, const Situation& situation) {
  if (situation.facts.library && claim.is_for_the_author) return 1;
  const CounterValues& counters = situation.counters();
  const std::optional<double>& time_us = situation.facts.times.time_us;
  if (!time_us || !counters.sm_cycles_active_max || !counters.sm_clock_mhz) return 1;
  const double cycles = *time_us * *counters.sm_clock_mhz;
  return cycles > 0 ? std::min(1.0, *counters.sm_cycles_active_max / cycles) : 1;
}

std::string condition(const Situation& situation) {
  const CounterValues& counters = situation.counters();
  const std::string of_caller = situation.facts.library ? ", if a call can do the work of several" : "";
  if (!counters.issue_active_pct && !counters.dram_busy_pct)
    return of_caller + ", if warps wait for latency rather than for memory, issue slots or a pipe";
  const std::vector<std::string_view> unread = not_read(situation);
  if (unread.empty()) return of_caller;
  return fmt::format("{}; not if {} is saturated, which was not read", of_caller, fmt::join(unread, " or "));
}

/// The highest use until the last SM ends, percent. If many warps are eligible, an SM has no use for more.
Evidence busiest_of(const Situation& situation) {
  const double active = situation.share_of_active_time();
  const Evidence most = most_used(situation, active);
  const double eligible = situation.counters().eligible_warps.value_or(0);
  return eligible >= kManyEligible && 100 * active > most.value ? Evidence{"eligible_warps", 100 * active}
                                                                : most;
}

/// The most of the launch's time that a claim's remedy can save with the same work, while SMs are active. Until a
/// resource is saturated each warp takes as long as now, so this time falls as occupancy over elapsed cycles rises. It
/// falls no further than the time in which the busiest resource that was read would be saturated.
/// @param claim  fitted to the measurement
/// @returns nothing for a claim that is not about time
std::optional<TimeSaved> time_saved(const Claim& claim, const Situation& situation) {
  const LaunchFacts& facts = situation.facts;
  if (claim.time) return claim.time;
  if (!claim.time_ratio) return std::nullopt;
  if (facts.program.streams.find('+') != std::string::npos) {
    return not_known(
        fmt::format("launches run in several streams ({}), where others may fill what this one leaves empty",
                    facts.program.streams));
  }
  if (facts.program.beside_pct.value_or(0) >= kMostlyBesidePct)
    return not_known(
        "other kernels ran beside it, which may fill what this one leaves empty, or take its places");
  if (!claim.no_time.empty()) return none_expected(claim.no_time);
  const double by_occupancy = claim.time_ratio(claim, situation);
  const Evidence busiest = busiest_of(situation);
  double share = (1 - std::max(by_occupancy, busiest.value / 100)) * share_of_launch(claim, situation);
  // Only fewer launches save the part of a time beside cycles of SMs.
  if (const auto& time_us = facts.times.time_us;
      time_us && !facts.library && facts.readings.achieved_source != AchievedSource::sampled)
    share = std::min(share, std::max(0.0, 1 - kRecordOverheadUs / *time_us));
  const bool is_busy = busiest.value / 100 > by_occupancy;
  const Evidence unscaled = most_used(situation);
  const bool is_scaled = busiest.column != unscaled.column || busiest.value < kNearlyAll * unscaled.value;
  const std::string use =
      busiest.column == "eligible_warps"
          ? fmt::format("eligible_warps is {:.2g}", *situation.counters().eligible_warps)
          : fmt::format("{} is {:.0f} %{}", busiest.column, is_scaled ? busiest.value : unscaled.value,
                        is_scaled ? " over elapsed cycles" : "");
  if (share < kLeastShare) return none_expected(is_busy ? use : "it is less than 1 % of the time");
  return TimeSaved{share, fmt::format("{}{}{}.", most_text(share, situation), is_busy ? ", since " + use : "",
                                      condition(situation))};
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

FindingList list_of(Part part) {
  if (part == Part::theory) return FindingList::limits;
  return part == Part::remark ? FindingList::remarks : FindingList::losses;
}

/// Warps that load for tensor cores are a group of four, but only one is needed: nvjet kernels on an H200 have 9 of 12
/// warps, however busy they are.
bool may_have_producers(const Situation& situation) {
  const int threads = situation.launch.block_threads;
  constexpr int kGroup = 4 * kThreadsPerWarp;
  return situation.facts.library->has_producers && threads > kGroup && threads % kGroup == 0 &&
         situation.facts.limits->compute_capability >= ComputeCapability{9, 0};
}

Finding finding_of(const Claim& claim, const Situation& situation) {
  std::string sentence = claim.points > 0 ? fmt::format("{}: {}.", points_text(claim.points), claim.because)
                                          : capitalized(claim.because) + ".";
  Finding finding{.cause = claim.cause,
                  .points = claim.points,
                  .list = list_of(claim.part),
                  .confidence = claim.confidence,
                  .evidence = claim.evidence,
                  .sentence = std::move(sentence),
                  .remedy = claim.remedy,
                  .advice = claim.advice,
                  .time = time_saved(claim, situation)};
  if (finding.time) finding.time->sentence += claim.beside_time;
  if (const KernelLibrary* library = situation.facts.library; library && claim.is_for_the_author) {
    finding.remedy = fmt::format("This kernel belongs to {}: its caller can {}.", library->name,
                                 library->caller_can_change);
    finding.advice.reset();
    if (library->waits_for_gpus && claim.time_ratio)
      finding.time = not_known("it waits for other GPUs and links, which no reading shows");
    if (claim.cause == Cause::uneven_warps && may_have_producers(situation))
      finding.time =
          not_known("warps that end at once may do so by design (warp specialization), and take no time");
    if (library->is_spared && claim.time_ratio)
      finding.time = TimeSaved{1, most_text(1, situation) + ": what its caller can do spares it."};
  } else if (situation.facts.may_be_tritons && claim.advice) {
    finding.remedy += " If it is Triton's, num_warps, num_stages, maxnreg and its tile sizes set these.";
  }
  return finding;
}

/// The measurement that tells most about the unexplained rest, as a command.
std::string what_would_settle(const Situation& situation) {
  if (!situation.achieved_pct)
    return "Measure achieved occupancy: `ncu --metrics sm__warps_active.avg.pct_of_peak_sustained_active "
           "PROGRAM`.";
  if (situation.parts) return "`ncu --section WarpStateStats PROGRAM` shows what its warps wait for.";
  if (situation.counters().sm_cycles_active_avg)
    return "`occbench trace --counters 3 -- PROGRAM`, or `ncu --metrics sm__ctas_active.avg.per_cycle_active "
           "PROGRAM`, reads the resident blocks (--counter resident_blocks=N), which show whether places had "
           "no block.";
  return "`ncu --metrics sm__ctas_active.avg.per_cycle_active,sm__cycles_active.avg PROGRAM` reads the "
         "resident blocks (--counter resident_blocks=N), which show whether places had no block, and the "
         "active cycles (--counter sm_cycles_active_avg=N), which show whether blocks are short.";
}

/// @param claims  fitted to the measurement
Claim unexplained(const Situation& situation, std::span<const Claim> claims, double points) {
  const auto tail = std::ranges::find(claims, Cause::tail, &Claim::cause);
  const bool may_be_tail = situation.facts.tail_of_equal_blocks && tail != claims.end();
  const double of_tail = may_be_tail ? std::min(points, tail->most_points - tail->points) : 0;
  return {.cause = Cause::unexplained,
          .points = points,
          .evidence = evidence_of({{"theoretical_pct", situation.theoretical_pct},
                                   {"achieved_pct", situation.achieved_pct},
                                   {"resident_blocks", situation.counters().resident_blocks}}),
          .because = of_tail < kLeastPoints
                         ? "no cause has evidence for them"
                         : fmt::format("no cause has evidence for them, but up to {:.0f} may be the last "
                                       "wave's",
                                       of_tail),
          .remedy = what_would_settle(situation),
          .is_for_the_author = false};
}

/// Leaves out the unexplained rest and the smallest losses, as long as they add up to less than kLeastPoints.
void leave_out_small(std::vector<Claim>& claims) {
  std::ranges::stable_sort(
      claims, {}, [](const Claim& each) { return std::pair(each.cause != Cause::unexplained, each.points); });
  double left_out = 0;
  std::erase_if(claims, [&](const Claim& each) {
    if (each.part == Part::remark || left_out + each.points >= kLeastPoints) return false;
    left_out += each.points;
    return true;
  });
}

}  // namespace

std::string_view to_string(Cause cause) {
  return kCauses[static_cast<std::size_t>(cause)];
}

std::string_view to_string(FindingList list) {
  static constexpr std::string_view kWords[] = {"limits", "losses", "remarks"};
  return kWords[static_cast<std::size_t>(list)];
}

std::string points_text(double points) {
  const std::string number = points < 1.5 ? fmt::format("{:.1f}", points) : fmt::format("{:.0f}", points);
  return fmt::format("{} point{}", number, number == "1.0" ? "" : "s");
}

std::string_view to_string(Confidence confidence) {
  static constexpr std::string_view kWords[] = {"measured", "simulated", "inferred"};
  return kWords[static_cast<std::size_t>(confidence)];
}

std::vector<std::string_view> not_read(const Situation& situation) {
  const CounterValues& counters = situation.counters();
  std::vector<std::string_view> names;
  if (!counters.issue_active_pct) names.push_back("issue slots");
  if (!counters.dram_busy_pct) names.push_back("device memory");
  // If few warps wait for memory, caches are not full.
  if (!counters.memory_stall_warps || most_wait_for_memory(situation))
    std::ranges::copy(unread_caches(situation), std::back_inserter(names));
  if (situation.usage.static_shared_bytes + situation.launch.dynamic_shared_bytes > 0 && !counters.l1_use_pct)
    names.push_back("shared memory");
  if (!situation.unread_pipe().empty()) names.push_back(situation.unread_pipe());
  return names;
}

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

TimeSaved measured_with(const OtherBuild& build, const Situation& situation) {
  const std::string called = build.registers_per_thread != situation.usage.registers_per_thread
                                 ? fmt::format("{} registers ({})", build.registers_per_thread, build.build)
                             : build.dynamic_shared_bytes != situation.launch.dynamic_shared_bytes
                                 ? fmt::format("{} B of dynamic shared memory", build.dynamic_shared_bytes)
                                 : fmt::format("{} % as the carveout", build.carveout_pct);
  const double now_us = *situation.facts.times.time_us;
  const double saved = 1 - build.time_us / now_us;
  return {saved < kLeastShare ? 0 : saved,
          fmt::format("{}{} instead of {} ms per launch were measured with {}.",
                      saved < kLeastShare ? "None found: " : "", ms(build.time_us), ms(now_us), called)};
}

std::vector<Evidence> evidence_of(
    std::initializer_list<std::pair<std::string_view, std::optional<double>>> columns) {
  std::vector<Evidence> evidence;
  for (const auto& [column, value] : columns) {
    if (value) evidence.push_back({column, *value});
  }
  return evidence;
}

std::vector<Finding> diagnose(const LaunchFacts& facts) {
  const std::optional<Situation> situation = situation_of(facts);
  if (!situation) return {};
  std::vector<Claim> claims = claims_of(*situation);
  const auto another = std::ranges::find(claims, Cause::another_launch, &Claim::cause);
  const bool of_another = another != claims.end();
  if (of_another) claims = claims_without_readings(std::move(*another), *situation);
  const double rest = fit(claims, *situation);
  claims.push_back(unexplained(*situation, claims, rest));
  leave_out_small(claims);
  // The tail itself says what it costs over elapsed cycles.
  if (situation->may_have_hidden_tail() && situation->sms_without_clusters == 0 &&
      std::ranges::find(claims, Cause::tail, &Claim::cause) != claims.end())
    std::erase_if(claims, [](const Claim& each) { return each.cause == Cause::idle_sms; });
  std::ranges::stable_sort(claims, std::ranges::greater{},
                           [](const Claim& each) { return std::pair(each.comes_first, each.points); });
  std::vector<Finding> findings;
  for (const Claim& each : claims) findings.push_back(finding_of(each, *situation));
  const bool simulated = facts.readings.achieved_source == AchievedSource::simulated;
  for (Finding& each : findings) {
    if (each.confidence == Confidence::measured && simulated) each.confidence = Confidence::simulated;
    if (each.time && of_another) each.time = not_known("the readings are another launch's");
  }
  return findings;
}

std::string explanation_of(const LaunchFacts& facts, const std::vector<Finding>& findings) {
  const auto faster = std::ranges::find(findings, Cause::faster_build, &Finding::cause);
  if (faster != findings.end() && faster != findings.begin())
    return findings.front().sentence + " " + faster->sentence;
  if (!findings.empty()) return findings.front().sentence;
  if (!situation_of(facts)) return "";
  if (facts.readings.counters.achieved_pct) return "Within half a point of full occupancy.";
  if (!facts.prediction) return "";
  return fmt::format("Predicted within half a point of full occupancy{}; no counter was read.",
                     facts.work_is_inferred ? ", if its blocks are equal" : "");
}

std::string explanation_of(const LaunchFacts& facts) {
  return explanation_of(facts, diagnose(facts));
}

}  // namespace occbench
