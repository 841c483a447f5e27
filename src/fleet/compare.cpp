#include "fleet/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "fleet/events.hpp"
#include "occupancy/input_error.hpp"
#include "record/statistics.hpp"

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

/// A GPU's value of a quantity, and a place to say what comes of it.
struct Value {
  ComparedGpu* of;  ///< nullptr: a peer that is not judged
  Deviation deviation;
};

/// @returns the distance from which on a GPU is named
std::optional<double> judge(const FleetRows& rows, FleetQuantity quantity, std::vector<Value>& values) {
  if (values.size() < kFewestPeers) return std::nullopt;
  const FleetQuantityFacts& facts = facts_of(quantity);
  std::size_t most_cases = 0;
  std::vector<double> numbers;
  for (const Value& each : values) {
    most_cases = std::max(most_cases, each.deviation.cases);
    numbers.push_back(each.deviation.value);
  }
  const Middle middle = middle_of(numbers, facts.named_from);
  for (const Value& each : values) {
    const double distance = each.deviation.value - middle.median;
    // A median of far fewer cases is less certain.
    if (each.of == nullptr || 2 * each.deviation.cases < most_cases ||
        std::abs(distance) <= middle.named_from)
      continue;
    each.of->findings.push_back(
        {.cause = std::string(facts.name),
         .size = distance,
         .size_unit = std::string(facts.unit),
         .named_from = middle.named_from,
         .note = distance > 0 && quantity != FleetQuantity::counters,
         .sentence = fmt::format(fmt::runtime(distance < 0 ? facts.below : facts.above), std::abs(distance)),
         .worst_case = rows.cases[each.deviation.worst].name});
  }
  return middle.named_from;
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

Middle middle_of(std::span<const double> values, double least) {
  constexpr double kSigmaOfDeviation = 1.4826;
  constexpr double kSigmas = 5;
  constexpr std::size_t kFewestForSpread = 5;
  const double middle = median(values);
  if (values.size() < kFewestForSpread) return {middle, least};
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - middle));
  return {middle, std::max(least, kSigmas * kSigmaOfDeviation * median(distances))};
}

bool ComparedGpu::out_of_line() const {
  return std::ranges::any_of(findings, [](const FleetFinding& finding) { return !finding.note; });
}

ComparedFleet compare_gpus(const FleetRows& rows, std::span<const std::size_t> judged,
                           std::span<const std::size_t> baseline) {
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
  const std::string sms = usual_sm_count(rows, all);
  for (const FleetQuantity quantity : kFleetQuantities) {
    std::vector<Value> values;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const auto& deviation = deviations[i][static_cast<std::size_t>(quantity)];
      if (deviation && says(rows, peers[i], quantity, sms)) values.push_back({place[peers[i]], *deviation});
    }
    result.named_from[static_cast<std::size_t>(quantity)] = judge(rows, quantity, values);
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (place[peers[i]] != nullptr) place[peers[i]]->deviations = deviations[i];
  }
  if (peers.size() >= kFewestPeers) {
    add_events(rows, peers, compared);
    add_differences(rows, peers, compared);
  }
  return result;
}

}  // namespace occbench
