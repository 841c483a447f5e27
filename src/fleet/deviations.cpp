#include "fleet/deviations.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "record/statistics.hpp"

namespace occbench {
namespace {

/// Below this a launch's overhead is a good part of its time. Adds of 5 us differed by 7 % between twenty runs of
/// one H200.
constexpr double kShortestTime_us = 50;

/// One case alone says nothing of a GPU: something else may have disturbed it.
constexpr std::size_t kFewestCases = 2;

/// Logarithms of a reading in %, and points: what differences are taken of.
struct Levels {
  double time = kNoReading;
  double clock = kNoReading;
  double longest = kNoReading;  ///< cycles of the SM with most
  double achieved = kNoReading;
};

double percent_log(double value) {
  return value > 0 ? 100 * std::log(value) : kNoReading;
}

Levels levels_of(const CaseReading& reading) {
  return {percent_log(reading.time_us), percent_log(reading.sm_clock_mhz), percent_log(reading.cycles_max),
          reading.achieved_elapsed_pct};
}

/// Takes the median of what is there from each value. Nothing is left where fewer than two have one.
void subtract_median(std::vector<Levels>& levels, double Levels::*member) {
  std::vector<double> there;
  there.reserve(levels.size());
  for (const Levels& each : levels) {
    if (!std::isnan(each.*member)) there.push_back(each.*member);
  }
  double middle = kNoReading;
  if (there.size() >= 2) {
    const auto half = there.begin() + static_cast<std::ptrdiff_t>(there.size() / 2);
    std::ranges::nth_element(there, half);
    middle = *half;
    if (there.size() % 2 == 0) middle = std::midpoint(middle, *std::max_element(there.begin(), half));
  }
  for (Levels& each : levels) each.*member -= middle;
}

/// Slower by this, less what the clock explains: a case that follows the SM clock in part is given the
/// benefit of it.
double beyond_clock(const Levels& difference) {
  const double in_cycles = difference.time + difference.clock;
  if (std::isnan(in_cycles)) return difference.time;
  return std::abs(in_cycles) < std::abs(difference.time) ? in_cycles : difference.time;
}

/// What a case says of a quantity, from a GPU's differences to its peers; above 0 = faster, higher.
double said_of(FleetQuantity quantity, const FleetCase& by, const Levels& difference,
               double typical_time_us) {
  const bool is_long = typical_time_us >= kShortestTime_us;
  const bool tells_of_sms = by.bound == BoundBy::sm && by.on_all_sms && is_long;
  switch (quantity) {
    case FleetQuantity::sm_clock:
      return difference.clock;
    case FleetQuantity::gpc_clock:
      // Time in cycles of the mean clock, less those that the longest SM counted by its own.
      return tells_of_sms ? difference.longest - difference.time - difference.clock : kNoReading;
    case FleetQuantity::sm_cycles:
      return tells_of_sms ? -difference.longest : kNoReading;
    case FleetQuantity::bandwidth:
      return by.bound == BoundBy::memory ? -beyond_clock(difference) : kNoReading;
    case FleetQuantity::l2:
      return by.bound == BoundBy::l2 && is_long ? -beyond_clock(difference) : kNoReading;
    case FleetQuantity::counters:
      return by.bound == BoundBy::sm ? difference.achieved : kNoReading;
  }
  return kNoReading;
}

/// A GPU's differences to its peers, by case.
struct SaidByCase {
  double value;
  std::size_t number;
};

/// The middle value. Of two in the middle the one nearer to 0, and 0 between them where their signs differ: more
/// than half of the cases are at least so far out.
double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  const double upper = values[values.size() / 2];
  const double lower = values[(values.size() - 1) / 2];
  if ((lower < 0) != (upper < 0)) return 0;
  return std::abs(lower) < std::abs(upper) ? lower : upper;
}

Deviation deviation_of(const std::vector<SaidByCase>& said) {
  std::vector<double> values;
  for (const SaidByCase& each : said) values.push_back(each.value);
  const double middle = middle_of(std::move(values));
  const auto worst = std::ranges::max_element(
      said, {}, [&](const SaidByCase& each) { return middle < 0 ? -each.value : each.value; });
  return {middle, said.size(), worst->number};
}

}  // namespace

const FleetQuantityFacts& facts_of(FleetQuantity quantity) {
  // In the order of the enumerators.
  static constexpr FleetQuantityFacts kFacts[] = {
      {"sm_clock", "%", 0.4, "SM clock {:.2f} % below the median.", "SM clock {:.2f} % above the median."},
      {"gpc_clock", "%", 0.3,
       "one GPC's clock is slower: kernels on all SMs take {:.2f} % longer than the mean clock and their "
       "cycles explain.",
       "its GPCs' clocks are closer together: kernels on all SMs take {:.2f} % less time than the median."},
      {"sm_cycles", "%", 0.3, "the same work takes {:.2f} % more SM cycles: fewer SMs do it.",
       "the same work takes {:.2f} % fewer SM cycles."},
      {"bandwidth", "%", 1, "bandwidth of device memory {:.2f} % below the median.",
       "bandwidth of device memory {:.2f} % above the median."},
      {"l2", "%", 4, "kernels bound by the L2 cache are {:.2f} % slower than the median.",
       "kernels bound by the L2 cache are {:.2f} % faster than the median."},
      {"counters", "points", 0.3,
       "counters read {:.2f} points of occupancy below the median over elapsed cycles.",
       "counters read {:.2f} points of occupancy above the median over elapsed cycles."},
  };
  return kFacts[static_cast<std::size_t>(quantity)];
}

std::vector<Deviations> deviations_of(const FleetRows& rows, std::span<const std::size_t> gpus) {
  std::vector<std::array<std::vector<SaidByCase>, kFleetQuantities.size()>> said(gpus.size());
  std::vector<Levels> levels(gpus.size());
  for (std::size_t number = 0; number < rows.cases.size(); ++number) {
    std::vector<double> times;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const CaseReading& reading = rows.gpus[gpus[i]].reading(number);
      levels[i] = levels_of(reading);
      if (reading.time_us > 0) times.push_back(reading.time_us);
    }
    const double typical = times.empty() ? 0 : median(times);
    for (const auto member : {&Levels::time, &Levels::clock, &Levels::longest, &Levels::achieved})
      subtract_median(levels, member);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      for (std::size_t q = 0; q < kFleetQuantities.size(); ++q) {
        const double value = said_of(kFleetQuantities[q], rows.cases[number], levels[i], typical);
        if (!std::isnan(value)) said[i][q].push_back({value, number});
      }
    }
  }
  std::vector<Deviations> deviations(gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    for (std::size_t q = 0; q < kFleetQuantities.size(); ++q) {
      if (said[i][q].size() >= kFewestCases) deviations[i][q] = deviation_of(said[i][q]);
    }
  }
  return deviations;
}

}  // namespace occbench
