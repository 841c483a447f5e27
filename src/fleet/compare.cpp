#include "fleet/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "fleet/events.hpp"
#include "fleet/outliers.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// Rows that were recorded before the column memory_bus_bits say nothing of it, which tells no models apart.
void require_one_model(const FleetRows& rows, std::span<const std::size_t> gpus) {
  std::map<std::string, std::size_t> models;
  std::map<std::pair<std::string, std::string>, std::size_t> names;
  std::set<std::string> buses;
  for (const std::size_t number : gpus) {
    const MeasuredGpu& gpu = rows.gpus[number];
    ++names[{gpu.model, gpu.compute_capability}];
    if (!gpu.memory_bus_bits.empty()) buses.insert(gpu.memory_bus_bits);
    ++models[fmt::format(
        "{} ({}{})", gpu.model, gpu.compute_capability,
        gpu.memory_bus_bits.empty() ? "" : ", memory bus of " + gpu.memory_bus_bits + " bits")];
  }
  if (names.size() < 2 && buses.size() < 2) return;
  std::vector<std::string> told;
  for (const auto& [model, count] : models) told.push_back(fmt::format("{}: {}", model, count));
  throw InputError(
      fmt::format("the rows are of several models ({}); peers are of one model: choose it with --model",
                  fmt::join(told, "; ")));
}

/// The commit of most; of several equally frequent ones the first by name.
std::string usual_commit(const FleetRows& rows, std::span<const std::size_t> gpus) {
  std::map<std::string, std::size_t> counts;
  for (const std::size_t gpu : gpus) ++counts[rows.gpus[gpu].commit];
  return std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first;
}

std::size_t cases_of(const MeasuredGpu& gpu) {
  return static_cast<std::size_t>(std::ranges::count_if(gpu.readings, &CaseReading::present));
}

/// Why a GPU is not compared; empty where it can be.
std::string why_not(const FleetRows& rows, const MeasuredGpu& gpu, const std::string& commit,
                    std::size_t peers) {
  if (gpu.commit != commit)
    return fmt::format("its rows are of commit {}, those of most of its peers of {}: the code may differ",
                       gpu.commit, commit);
  if (2 * cases_of(gpu) < rows.cases.size())
    return fmt::format("it has {} of {} cases", cases_of(gpu), rows.cases.size());
  if (peers < kFewestPeers)
    return fmt::format(
        "there {} to compare, and a comparison needs {}: "
        "give a --baseline, or --since with two earlier runs of each GPU",
        peers == 1 ? "is 1 GPU" : fmt::format("are {} GPUs", peers), kFewestPeers);
  return "";
}

std::string sentence_of(FleetQuantity quantity, double value) {
  const double size = std::abs(value);
  const std::string_view side = value < 0 ? "below" : "above";
  switch (quantity) {
    case FleetQuantity::sm_clock:
      return fmt::format("SM clock {:.2f} % {} the median.", size, side);
    case FleetQuantity::gpc_clock:
      return value < 0
                 ? fmt::format(
                       "one GPC's clock is slower: kernels on all SMs take {:.2f} % longer than the "
                       "mean clock and their cycles explain.",
                       size)
                 : fmt::format(
                       "its GPCs' clocks are closer together: kernels on all SMs take {:.2f} % less time "
                       "than the median.",
                       size);
    case FleetQuantity::sm_cycles:
      return value < 0 ? fmt::format("the same work takes {:.2f} % more SM cycles: fewer SMs do it.", size)
                       : fmt::format("the same work takes {:.2f} % fewer SM cycles.", size);
    case FleetQuantity::bandwidth:
      return fmt::format("bandwidth of device memory {:.2f} % {} the median.", size, side);
    case FleetQuantity::l2:
      return fmt::format("kernels bound by the L2 cache are {:.2f} % {} than the median.", size,
                         value < 0 ? "slower" : "faster");
    case FleetQuantity::counters:
      return fmt::format("counters read {:.2f} points of occupancy {} the median over elapsed cycles.", size,
                         side);
  }
  return "";
}

/// A GPU's value of a quantity, and a place to say what comes of it.
struct Value {
  ComparedGpu* of;  ///< nullptr: a peer that is not judged
  Deviation deviation;
};

/// By bisection: the chance falls with the distance.
double smallest_named(const Spread& spread, std::size_t values, double tests) {
  double low = 0;
  double high = 100 * spread.sigma;
  for (int step = 0; step < 40; ++step) {
    const double middle = (low + high) / 2;
    (tests * chance_of(spread.median + middle, spread, values) > kMostChance ? low : high) = middle;
  }
  return high;
}

/// @returns the smallest distance that is named
std::optional<double> judge(const FleetRows& rows, FleetQuantity quantity, std::vector<Value>& values,
                            double tests) {
  if (values.size() < kFewestPeers) return std::nullopt;
  std::size_t most_cases = 0;
  std::vector<double> numbers;
  for (const Value& each : values) {
    most_cases = std::max(most_cases, each.deviation.cases);
    numbers.push_back(each.deviation.value);
  }
  const Spread spread = spread_of(numbers, natural_spread(quantity));
  for (const Value& each : values) {
    if (each.of == nullptr || 2 * each.deviation.cases < most_cases) continue;
    // A median of fewer cases is less certain.
    const double certain =
        std::sqrt(static_cast<double>(each.deviation.cases) / static_cast<double>(most_cases));
    const double distance = each.deviation.value - spread.median;
    const double chance =
        std::min(1.0, tests * chance_of(spread.median + certain * distance, spread, values.size()));
    if (chance > kMostChance) continue;
    each.of->findings.push_back({.cause = std::string(to_string(quantity)),
                                 .size = distance,
                                 .size_unit = std::string(fleet_unit(quantity)),
                                 .chance = chance,
                                 .note = distance > 0 && quantity != FleetQuantity::counters,
                                 .sentence = sentence_of(quantity, distance),
                                 .worst_case = rows.cases[each.deviation.worst].name});
  }
  return smallest_named(spread, values.size(), tests);
}

/// Quantities and events that a GPU is judged by.
double tests_of(const FleetRows& rows, std::span<const std::size_t> peers,
                std::span<const Deviations> deviations) {
  std::size_t tests = events_of(rows, peers).size();
  for (std::size_t q = 0; q < kFleetQuantities.size(); ++q) {
    const bool known =
        std::ranges::any_of(deviations, [&](const Deviations& each) { return each[q].has_value(); });
    tests += known ? 1 : 0;
  }
  // Counters are out of line on either side, everything else below.
  const auto counters = static_cast<std::size_t>(FleetQuantity::counters);
  const bool counted =
      std::ranges::any_of(deviations, [&](const Deviations& each) { return each[counters].has_value(); });
  return static_cast<double>(tests + (counted ? 1 : 0));
}

/// Counters depend on how many SMs there are: a GPU with another number is compared in all but them.
bool says(const FleetRows& rows, std::size_t gpu, FleetQuantity quantity, const std::string& usual_sms) {
  return quantity != FleetQuantity::counters || rows.gpus[gpu].sm_count == usual_sms;
}

std::string usual_sm_count(const FleetRows& rows, std::span<const std::size_t> gpus) {
  std::map<std::string, std::size_t> counts;
  for (const std::size_t gpu : gpus) ++counts[rows.gpus[gpu].sm_count];
  return std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first;
}

}  // namespace

bool ComparedGpu::out_of_line() const {
  return std::ranges::any_of(findings, [](const FleetFinding& finding) { return !finding.note; });
}

ComparedFleet compare_gpus(const FleetRows& rows, std::span<const std::size_t> judged,
                           std::span<const std::size_t> baseline, std::size_t tests_factor) {
  std::vector<std::size_t> all(judged.begin(), judged.end());
  all.insert(all.end(), baseline.begin(), baseline.end());
  if (all.empty()) return {};
  require_one_model(rows, all);
  const std::string commit = usual_commit(rows, all);
  std::vector<std::size_t> peers;
  for (const std::size_t gpu : all) {
    if (why_not(rows, rows.gpus[gpu], commit, kFewestPeers).empty()) peers.push_back(gpu);
  }

  ComparedFleet result;
  std::vector<ComparedGpu>& compared = result.gpus;
  for (const std::size_t gpu : judged)
    compared.push_back({gpu, {}, {}, why_not(rows, rows.gpus[gpu], commit, peers.size())});
  std::vector<ComparedGpu*> place(rows.gpus.size(), nullptr);
  for (ComparedGpu& each : compared) place[each.gpu] = &each;

  const std::vector<Deviations> deviations = deviations_of(rows, peers);
  const double tests = tests_of(rows, peers, deviations) * static_cast<double>(tests_factor * judged.size());
  const std::string sms = usual_sm_count(rows, all);
  for (const FleetQuantity quantity : kFleetQuantities) {
    std::vector<Value> values;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const auto& deviation = deviations[i][static_cast<std::size_t>(quantity)];
      if (deviation && says(rows, peers[i], quantity, sms)) values.push_back({place[peers[i]], *deviation});
    }
    result.named_from[static_cast<std::size_t>(quantity)] = judge(rows, quantity, values, tests);
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (place[peers[i]] != nullptr) place[peers[i]]->deviations = deviations[i];
  }
  if (peers.size() >= kFewestPeers) {
    add_events(rows, peers, compared, tests);
    add_differences(rows, peers, compared);
  }
  return result;
}

}  // namespace occbench
