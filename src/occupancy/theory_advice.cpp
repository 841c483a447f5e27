#include "occupancy/theory_advice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "occupancy/text.hpp"
#include "occupancy/warps.hpp"

namespace occbench {
namespace {

bool is_within_reach(const Limits& limits, Axis axis, std::int64_t from, std::int64_t to) {
  switch (axis) {
    case Axis::registers_per_thread:
      return to < from && to >= std::max<std::int64_t>(kLeastRegisters, from - kMostRegistersFewer);
    case Axis::block_threads:
      return to != from && 2 * to >= from && to <= 2 * from && to % limits.threads_per_warp == 0;
    case Axis::shared_bytes_per_block:
    case Axis::barriers:
      return to < from && 2 * to >= from;
    case Axis::carveout_pct:
      // The driver's default allows as much as any.
      return from != kDefaultCarveout && to > from;
  }
  return false;
}

/// All steps within reach that raise occupancy: by axis, cheapest first, and the smallest change first.
std::vector<Step> steps_up(const Limits& limits, const Configuration& configuration, double now_pct) {
  std::vector<Step> steps;
  for (const Axis axis : kAxesByCost) {
    const std::int64_t from = value_on(axis, configuration);
    std::vector<std::int64_t> values = values_of(axis, limits);
    std::erase_if(values, [&](std::int64_t to) { return !is_within_reach(limits, axis, from, to); });
    std::ranges::stable_sort(values, {}, [&](std::int64_t to) { return std::abs(to - from); });
    for (const std::int64_t to : values) {
      const Occupancy occupancy = theoretical_occupancy(limits, with(axis, to, configuration));
      if (occupancy.theoretical_pct > now_pct)
        steps.push_back({{axis, from, to}, occupancy.blocks_per_sm, occupancy.theoretical_pct});
    }
  }
  return steps;
}

/// The highest occupancy below `limit_pct` that a step gives; 0 if there is none.
double highest_below(const std::vector<Step>& steps, double limit_pct) {
  double highest = 0;
  for (const Step& step : steps) {
    if (step.theoretical_pct < limit_pct) highest = std::max(highest, step.theoretical_pct);
  }
  return highest;
}

bool same_direction(const Change& one, const Change& other) {
  return one.axis == other.axis && (one.to < one.from) == (other.to < other.from);
}

/// @param block_threads, blocks  of the changed launch; blocks per SM
std::string price_of(const Change& change, const TheoryAdvice& advice, std::int64_t block_threads,
                     int blocks) {
  switch (change.axis) {
    case Axis::registers_per_thread:
      return fmt::format(
          "cap them with {}, and compare time and spills: the compiler may move what does not fit to local "
          "memory",
          advice.is_of_directives
              ? fmt::format("your compiler's option, as -gpu=maxregcount:{} of nvc++ and nvfortran",
                            change.to)
              : fmt::format("__launch_bounds__({1}, {2}), or, of a kernel without launch bounds, "
                            "__maxnreg__({0}) or -maxrregcount={0}",
                            change.to, block_threads, blocks));
    case Axis::shared_bytes_per_block:
      return "a block stages less data";
    case Axis::block_threads:
      return fmt::format(
          "{}the grid needs {:.3g} times as many blocks for the same threads",
          advice.is_of_directives
              ? "vector_length and num_workers, or num_threads and thread_limit, set them, and "
              : "",
          static_cast<double>(change.from) / static_cast<double>(change.to));
    case Axis::carveout_pct:
      return "the L1 cache loses what shared memory gains";
    case Axis::barriers:
      return "fewer groups of warps can wait separately";
  }
  return "";
}

std::string outcome(double pct, int blocks) {
  return fmt::format("{:.4g} %, {} per SM", pct, counted(blocks, "block"));
}

std::string sentence(std::string_view before, const Step& step, const TheoryAdvice& advice) {
  return fmt::format("{}{}: {}; {}.", before, to_string(step.change),
                     outcome(step.theoretical_pct, step.blocks_per_sm),
                     price_of(step.change, advice, advice.block_threads, step.blocks_per_sm));
}

std::int64_t as_percentage(std::int64_t carveout) {
  return carveout == kDefaultCarveout ? 100 : carveout;
}

std::int64_t distance(Axis axis, std::int64_t from, std::int64_t to) {
  if (axis == Axis::carveout_pct) return std::abs(as_percentage(from) - as_percentage(to));
  return std::abs(from - to);
}

// Values of an axis, the nearest to the configuration's first.
std::vector<std::int64_t> nearest_first(const Limits& limits, Axis axis, std::int64_t from) {
  std::vector<std::int64_t> values = values_of(axis, limits);
  std::ranges::stable_sort(values, {}, [&](std::int64_t value) { return distance(axis, from, value); });
  return values;
}

// A partial warp would count as occupancy gained without a thread to show for it.
bool may_raise(const Limits& limits, Axis axis, std::int64_t value) {
  return axis != Axis::block_threads || value % limits.threads_per_warp == 0;
}

Cliffs cliffs_on(const Limits& limits, const Configuration& configuration, Axis axis) {
  const int warps = theoretical_occupancy(limits, configuration).warps_per_sm();
  const std::int64_t from = value_on(axis, configuration);
  Cliffs cliffs{axis, {}, {}};
  for (const std::int64_t to : nearest_first(limits, axis, from)) {
    const Occupancy changed = theoretical_occupancy(limits, with(axis, to, configuration));
    const Step step{{axis, from, to}, changed.blocks_per_sm, changed.theoretical_pct};
    if (!cliffs.down && changed.warps_per_sm() < warps) cliffs.down = step;
    if (!cliffs.up && changed.warps_per_sm() > warps && may_raise(limits, axis, to)) cliffs.up = step;
    if (cliffs.down && cliffs.up) break;
  }
  return cliffs;
}

// For each set of block limits that allowed values of an axis give an SM, the value nearest to the configuration's.
std::vector<Change> distinct_changes(const Limits& limits, const Configuration& configuration, Axis axis,
                                     const auto& allowed) {
  const auto outcome = [&](const Configuration& changed) {
    const Occupancy occupancy = theoretical_occupancy(limits, changed);
    const BlockLimits& of = occupancy.block_limits;
    return std::tuple(occupancy.warps_per_block, of.registers, of.shared_memory, of.barriers,
                      occupancy.shared_bytes_per_sm);
  };
  // Carveouts that are alike for blocks with much shared memory may differ for blocks with less.
  const Configuration at =
      axis == Axis::carveout_pct ? with(Axis::shared_bytes_per_block, 0, configuration) : configuration;
  std::set seen{outcome(at)};
  std::vector<Change> changes;
  const std::int64_t from = value_on(axis, configuration);
  for (const std::int64_t to : nearest_first(limits, axis, from)) {
    const Change change{axis, from, to};
    if (!may_raise(limits, axis, to) || !allowed(change)) continue;
    if (seen.insert(outcome(with(axis, to, at))).second) changes.push_back(change);
  }
  return changes;
}

/// Whether a change on one axis decides which values of the other are alike: registers are rounded for the warps of a
/// block, and blocks share the carveout.
bool decides_steps_of(Axis one, Axis other) {
  return (one == Axis::block_threads && other == Axis::registers_per_thread) ||
         (one == Axis::carveout_pct && other == Axis::shared_bytes_per_block);
}

/// All pairs of allowed changes on two axes, except for values that are alike.
std::vector<std::pair<Change, Change>> pairs_of(const Limits& limits, const Configuration& configuration,
                                                const auto& allowed) {
  // An axis that decides the steps of another one comes before it.
  static constexpr Axis kOrder[] = {Axis::block_threads, Axis::carveout_pct, Axis::registers_per_thread,
                                    Axis::shared_bytes_per_block, Axis::barriers};
  const auto changes =
      mapped(kOrder, [&](Axis axis) { return distinct_changes(limits, configuration, axis, allowed); });
  std::vector<std::pair<Change, Change>> pairs;
  for (std::size_t one = 0; one < changes.size(); ++one) {
    for (std::size_t other = one + 1; other < changes.size(); ++other) {
      for (const Change& first : changes[one]) {
        const auto seconds =
            decides_steps_of(kOrder[one], kOrder[other])
                ? distinct_changes(limits, with(first.axis, first.to, configuration), kOrder[other], allowed)
                : changes[other];
        for (const Change& second : seconds) pairs.emplace_back(first, second);
      }
    }
  }
  return pairs;
}

/// Considers the pairs of allowed changes that raise occupancy above `above_pct` and go least beyond the reach of a
/// step. Of those within kClearlyMore of their highest occupancy it takes the pair that costs least; on a tie, the one
/// that keeps the block size.
std::optional<PairOfChanges> best_pair_above(double above_pct, const Limits& limits,
                                             const Configuration& configuration, const auto& allowed) {
  const auto beyond_reach = [&](const Change& change) {
    return is_within_reach(limits, change.axis, change.from, change.to) ? 0 : cost_of(change);
  };
  const auto beyond = [&](const PairOfChanges& pair) {
    return beyond_reach(pair.first) + beyond_reach(pair.second);
  };
  std::vector<PairOfChanges> pairs;
  for (const auto& [first, second] : pairs_of(limits, configuration, allowed)) {
    const Occupancy occupancy = theoretical_occupancy(
        limits, with(second.axis, second.to, with(first.axis, first.to, configuration)));
    if (occupancy.theoretical_pct > above_pct)
      pairs.push_back({first, second, occupancy.blocks_per_sm, occupancy.theoretical_pct});
  }
  if (pairs.empty()) return std::nullopt;
  const double least = beyond(std::ranges::min(pairs, {}, beyond));
  std::erase_if(pairs, [&](const PairOfChanges& pair) { return beyond(pair) > least; });
  const double highest = std::ranges::max(pairs, {}, &PairOfChanges::theoretical_pct).theoretical_pct;
  std::erase_if(pairs,
                [&](const PairOfChanges& pair) { return pair.theoretical_pct * kClearlyMore < highest; });
  return std::ranges::min(pairs, {}, [](const PairOfChanges& pair) {
    return std::pair(cost_of(pair.first) + cost_of(pair.second), pair.first.axis == Axis::block_threads);
  });
}

std::string both(const PairOfChanges& pair, const TheoryAdvice& advice) {
  std::int64_t block_threads = advice.block_threads;
  for (const Change& change : {pair.first, pair.second})
    if (change.axis == Axis::block_threads) block_threads = change.to;
  const auto price = [&](const Change& change) {
    return price_of(change, advice, block_threads, pair.blocks_per_sm);
  };
  return fmt::format("{} and {} together: {}; {}, and {}.", to_string(pair.first), to_string(pair.second),
                     outcome(pair.theoretical_pct, pair.blocks_per_sm), price(pair.first),
                     price(pair.second));
}

/// The changes of each remedy, one or two.
std::vector<std::vector<Change>> changes_of(const TheoryAdvice& advice) {
  std::vector<std::vector<Change>> all;
  for (const Step& step : advice.highest) all.push_back({step.change});
  for (const auto& step : {advice.below, advice.carveout, advice.beyond}) {
    if (step) all.push_back({step->change});
  }
  for (const auto& pair : {advice.within_reach, advice.pair}) {
    if (pair) all.push_back({pair->first, pair->second});
  }
  return all;
}

}  // namespace

TheoryAdvice advise_on_theory(const Limits& limits, const Configuration& configuration) {
  TheoryAdvice advice;
  advice.theoretical_pct = theoretical_occupancy(limits, configuration).theoretical_pct;
  advice.block_threads = configuration.launch.block_threads;
  advice.shared_bytes_per_block = value_on(Axis::shared_bytes_per_block, configuration);
  const std::vector<Step> steps = steps_up(limits, configuration, advice.theoretical_pct);
  const double highest_pct = highest_below(steps, 101);
  const double below_pct = highest_below(steps, highest_pct);
  for (const Step& step : steps) {
    if (step.theoretical_pct == below_pct && !advice.below) advice.below = step;
    const auto is_smaller = [&](const Step& other) { return same_direction(other.change, step.change); };
    if (step.theoretical_pct == highest_pct && std::ranges::none_of(advice.highest, is_smaller))
      advice.highest.push_back(step);
  }
  const auto of_carveout = [](const Step& step) { return step.change.axis == Axis::carveout_pct; };
  for (const Step& step : steps) {
    const double so_far = advice.carveout ? advice.carveout->theoretical_pct : 0;
    if (of_carveout(step) && step.theoretical_pct > so_far) advice.carveout = step;
  }
  if (std::ranges::any_of(advice.highest, of_carveout) || (advice.below && of_carveout(*advice.below)))
    advice.carveout.reset();
  if (advice.theoretical_pct >= 100) return advice;
  if (steps.empty()) {
    for (const Cliffs& on_axis : cliffs(limits, configuration)) {
      if (on_axis.up && (!advice.beyond || cost_of(on_axis.up->change) < cost_of(advice.beyond->change)))
        advice.beyond = on_axis.up;
    }
    if (!advice.beyond) advice.pair = best_pair(limits, configuration);
  }
  const double by_one_pct = steps.empty() ? advice.theoretical_pct : highest_pct * kClearlyMore;
  // Nothing exceeds 100 %.
  if (!advice.pair && by_one_pct < 100)
    advice.within_reach = best_pair_above(by_one_pct, limits, configuration, [&](const Change& change) {
      return is_within_reach(limits, change.axis, change.from, change.to);
    });
  return advice;
}

std::vector<std::string> sentences(const TheoryAdvice& advice) {
  const std::string now = fmt::format("{:.4g} %", advice.theoretical_pct);
  std::vector<std::string> all;
  const auto add = [&](std::string_view before, const Step& step) {
    all.push_back(sentence(before, step, advice));
  };
  for (const Step& step : advice.highest) add("", step);
  if (advice.below) add("Next below that: ", *advice.below);
  if (advice.carveout) add("Without a change of the kernel: ", *advice.carveout);
  if (advice.beyond)
    add(fmt::format("No small change raises {}; the smallest that does: ", now), *advice.beyond);
  if (advice.within_reach)
    all.push_back((advice.beyond ? "Two small changes do: " : "Two changes reach more: ") +
                  both(*advice.within_reach, advice));
  if (advice.pair)
    all.push_back(fmt::format("No single change raises {}. {}", now, both(*advice.pair, advice)));
  if (all.empty())
    all.push_back(advice.theoretical_pct >= 100
                      ? "Theory cannot rise: 100 %."
                      : fmt::format("Theory cannot rise: no one or two changes raise {}.", now));
  const auto resizes = [](const std::vector<Change>& changes) {
    return std::ranges::find(changes, Axis::block_threads, &Change::axis) != changes.end();
  };
  if (advice.shared_bytes_per_block > 0 && std::ranges::any_of(changes_of(advice), resizes))
    all.push_back(fmt::format("Blocks of another size are taken to have {} B of shared memory, too.",
                              advice.shared_bytes_per_block));
  return all;
}

double reached_pct(const TheoryAdvice& advice) {
  double reached = advice.theoretical_pct;
  if (!advice.highest.empty()) reached = advice.highest.front().theoretical_pct;
  if (advice.beyond) reached = advice.beyond->theoretical_pct;
  for (const auto& pair : {advice.within_reach, advice.pair}) {
    if (pair) reached = std::max(reached, pair->theoretical_pct);
  }
  return reached;
}

double least_time_ratio(const TheoryAdvice& advice) {
  double least = 1;
  const auto add = [&](double pct, std::initializer_list<Change> changes) {
    int threads = static_cast<int>(advice.block_threads);
    for (const Change& change : changes)
      if (change.axis == Axis::block_threads) threads = static_cast<int>(change.to);
    const double lanes = used_lanes(static_cast<int>(advice.block_threads)) / used_lanes(threads);
    least = std::min(least, advice.theoretical_pct / pct * lanes);
  };
  for (const Step& step : advice.highest) add(step.theoretical_pct, {step.change});
  if (advice.beyond) add(advice.beyond->theoretical_pct, {advice.beyond->change});
  for (const auto& pair : {advice.within_reach, advice.pair}) {
    if (pair) add(pair->theoretical_pct, {pair->first, pair->second});
  }
  return least;
}

double rounds_of(double waves) {
  constexpr double kRounding = 1e-9;
  return std::ceil(waves - kRounding);
}

bool keeps_rounds(double ratio, double waves) {
  return waves > 1 && ratio < 1 && rounds_of(waves * ratio) == rounds_of(waves);
}

double most_time_saved(double ratio, double waves) {
  if (waves > 0 && waves <= 1) return 0;
  const double rounds = waves > 0 ? rounds_of(waves * ratio) / rounds_of(waves) : 1;
  return 1 - std::min(ratio, rounds);
}

std::vector<Cliffs> cliffs(const Limits& limits, const Configuration& configuration) {
  std::vector<Cliffs> all;
  for (const Axis axis : kAllAxes) {
    const Cliffs on_axis = cliffs_on(limits, configuration, axis);
    if (on_axis.down || on_axis.up) all.push_back(on_axis);
  }
  return all;
}

double cost_of(const Change& change) {
  const std::int64_t difference = distance(change.axis, change.from, change.to);
  if (difference == 0) return 0;
  if (change.axis == Axis::carveout_pct) return static_cast<double>(difference) / 100;
  return static_cast<double>(difference) / static_cast<double>(std::max(change.from, change.to));
}

std::optional<PairOfChanges> best_pair(const Limits& limits, const Configuration& configuration) {
  return best_pair_above(theoretical_occupancy(limits, configuration).theoretical_pct, limits, configuration,
                         [](const Change&) { return true; });
}

std::string to_string(const Change& change) {
  // In the order of the axes.
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"threads per block", ""},
      {"registers per thread", ""},
      {"of shared memory per block", " B"},
      {"as the carveout", " %"},
      {"barriers per block", ""}};
  const auto& [of, unit] = kWords[static_cast<std::size_t>(change.axis)];
  const std::string from = change.axis == Axis::carveout_pct && change.from == kDefaultCarveout
                               ? "the default"
                           : change.axis == Axis::registers_per_thread && change.from == 0
                               ? "fewer"
                               : fmt::format("{}{}", change.from, unit);
  return fmt::format("{}{} {} instead of {}", change.to, unit, of, from);
}

}  // namespace occbench
