#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "diagnose/claim.hpp"
#include "occupancy/rules.hpp"

namespace occbench {
namespace {

/// Points below 100 % of which a limit is worth a word.
constexpr double kWorthAWord = 0.05;

/// The limiter that theory is to be blamed on, where it is below 100 %. Of several, those of the block's size
/// come first, since nothing but another size moves them; then the one that the hardware names.
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

std::string rule_of(const Situation& situation, Limiter limiter) {
  for (const AppliedRule& rule :
       applied_rules(*situation.facts.limits, {situation.launch, situation.usage})) {
    if (rule.resource == limiter) return to_string(rule);
  }
  return std::string(to_string(limiter));
}

/// What theory loses to a limiter, if that is to be blamed, with the advice that `calc` gives.
std::optional<Claim> limit_claim(
    const Situation& situation, Limiter limiter,
    std::initializer_list<std::pair<std::string_view, std::optional<double>>> asked) {
  if (blamed_limiter(situation) != limiter) return std::nullopt;
  // Where the counter read more than theory, no more than 100 % less that is missing.
  Claim claim{.points = 100 - std::max(situation.theoretical_pct, situation.reached_pct),
              .part = Part::theory,
              .evidence = evidence_of({{"theoretical_pct", situation.theoretical_pct},
                                       {"blocks_per_sm", situation.occupancy.blocks_per_sm}}),
              .because = fmt::format("theory is {:.4g} % ({})", situation.theoretical_pct,
                                     rule_of(situation, limiter))};
  for (const Evidence& evidence : evidence_of(asked)) claim.evidence.push_back(evidence);
  if (limiter == Limiter::registers && spills_show(situation)) {
    claim.remedy = "Fewer registers raise theory and spill more; see what spills cost first.";
    claim.no_time = "registers are spilled already, and fewer of them spill more";
    return claim;
  }
  claim.advice = advise_on_theory(*situation.facts.limits, {situation.launch, situation.usage});
  claim.remedy = fmt::format("{}", fmt::join(sentences(*claim.advice), " "));
  return claim;
}

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

}  // namespace occbench
