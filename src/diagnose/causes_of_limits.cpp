#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "diagnose/claim.hpp"
#include "occupancy/cliffs.hpp"
#include "occupancy/configuration.hpp"
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

double theory_with(const Situation& situation, Axis axis, std::int64_t value) {
  const Configuration changed = with(axis, value, {situation.launch, situation.usage});
  return theoretical_occupancy(*situation.facts.limits, changed.launch, changed.usage).theoretical_pct;
}

/// The largest value below the present one with which theory is higher; empty where there is none. Theory
/// does not fall as the value falls.
std::optional<std::int64_t> nearest_better(const Situation& situation, Axis axis, std::int64_t least) {
  std::int64_t better = least;
  std::int64_t worse = value_on(axis, {situation.launch, situation.usage});
  if (better >= worse || theory_with(situation, axis, better) <= situation.theoretical_pct)
    return std::nullopt;
  while (worse - better > 1) {
    const std::int64_t middle = better + (worse - better) / 2;
    (theory_with(situation, axis, middle) > situation.theoretical_pct ? better : worse) = middle;
  }
  return better;
}

Claim limit_claim(const Situation& situation, Limiter limiter) {
  return {.points = 100 - situation.theoretical_pct,
          .part = Part::theory,
          .evidence = evidence_of({{"theoretical_pct", situation.theoretical_pct},
                                   {"blocks_per_sm", situation.occupancy.blocks_per_sm}}),
          .because =
              fmt::format("theory is {:.4g} % ({})", situation.theoretical_pct, rule_of(situation, limiter))};
}

std::string step_text(const Situation& situation, Axis axis, std::int64_t value, std::string_view what) {
  return fmt::format("With {} {} theory is {:.4g} %.", grouped(value), what,
                     theory_with(situation, axis, value));
}

}  // namespace

std::optional<Claim> register_limit(const Situation& situation) {
  // Where registers are spilled already, fewer of them are no remedy.
  if (blamed_limiter(situation) != Limiter::registers || spills_show(situation)) return std::nullopt;
  Claim claim = limit_claim(situation, Limiter::registers);
  claim.evidence.push_back(
      {"registers_per_thread", static_cast<double>(situation.usage.registers_per_thread)});
  const auto registers = nearest_better(situation, Axis::registers_per_thread, 1);
  claim.remedy =
      registers
          ? step_text(situation, Axis::registers_per_thread, *registers, "registers a thread or fewer") +
                " Compare times and spills: __launch_bounds__, __maxnreg__ or -maxrregcount caps them."
          : "Use another block size: no number of registers lets one more block in.";
  return claim;
}

std::optional<Claim> shared_memory_limit(const Situation& situation) {
  if (blamed_limiter(situation) != Limiter::shared_memory) return std::nullopt;
  Claim claim = limit_claim(situation, Limiter::shared_memory);
  const std::int64_t asked = situation.usage.static_shared_bytes + situation.launch.dynamic_shared_bytes;
  claim.evidence.push_back({"static_shared_bytes", static_cast<double>(situation.usage.static_shared_bytes)});
  claim.evidence.push_back(
      {"dynamic_shared_bytes", static_cast<double>(situation.launch.dynamic_shared_bytes)});
  const auto bytes = nearest_better(situation, Axis::shared_bytes_per_block, 0);
  if (situation.launch.carveout_pct.value_or(100) < 100 &&
      theory_with(situation, Axis::carveout_pct, 100) > situation.theoretical_pct) {
    claim.remedy = step_text(situation, Axis::carveout_pct, 100, "% as the carveout");
  } else if (bytes) {
    claim.remedy = fmt::format(
        "{} Now a block asks for {} B.",
        step_text(situation, Axis::shared_bytes_per_block, *bytes, "B of shared memory a block or less"),
        grouped(asked));
  } else {
    claim.remedy = "Use another block size: no amount of shared memory lets one more block in.";
  }
  return claim;
}

std::optional<Claim> block_size_limit(const Situation& situation) {
  const std::optional<Limiter> limiter = blamed_limiter(situation);
  if (limiter != Limiter::warps && limiter != Limiter::blocks) return std::nullopt;
  Claim claim = limit_claim(situation, *limiter);
  claim.evidence.push_back({"block_threads", static_cast<double>(situation.launch.block_threads)});
  const std::vector<Step> sizes =
      best_block_sizes(*situation.facts.limits, {situation.launch, situation.usage});
  if (sizes.empty()) {
    claim.remedy = "No other block size holds more warps.";
    return claim;
  }
  std::vector<std::string> threads;
  for (const Step& size : sizes) threads.push_back(grouped(size.change.to));
  claim.remedy = fmt::format("With {} threads a block theory is {:.4g} %.", fmt::join(threads, " or "),
                             sizes.front().theoretical_pct);
  return claim;
}

std::optional<Claim> barrier_limit(const Situation& situation) {
  if (blamed_limiter(situation) != Limiter::barriers) return std::nullopt;
  Claim claim = limit_claim(situation, Limiter::barriers);
  claim.remedy = "Use fewer named barriers a block.";
  return claim;
}

}  // namespace occbench
