#include "gate/tolerances.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLargest = 1000;
/// How much a difference may exceed the largest that was seen.
constexpr double kMargin = 1.5;
/// Points, or percent of a time: below this, differences say nothing whatever the runs showed.
constexpr double kLeast = 0.2;

std::string known_quantities() {
  std::string names;
  for (const Quantity& quantity : measured_quantities()) names += std::string(quantity.name) + ", ";
  return names + std::string(time_quantity().name) + ", " + std::string(paired_time_quantity().name);
}

class TolerancesReader {
 public:
  explicit TolerancesReader(std::string_view source) : source_(source) {}

  Tolerances read(const Json& root) {
    for (const auto& [key, value] : object(root, "the file").items()) {
      if (key != "all" && key != "experiments")
        refuse(fmt::format("unknown key '{}'; there are all and experiments", key));
    }
    // First what experiments start from, wherever it stands in the file.
    if (root.contains("all")) read_quantities("", root["all"]);
    if (!root.contains("experiments")) return tolerances_;
    for (const auto& [experiment, quantities] : object(root["experiments"], "experiments").items()) {
      if (experiment.empty()) refuse("the name of an experiment is empty");
      read_quantities(experiment, quantities);
    }
    return tolerances_;
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw InputError(fmt::format("{}: {}", source_, what));
  }

  const Json& object(const Json& value, std::string_view what) const {
    if (!value.is_object()) refuse(fmt::format("{} must be a JSON object", what));
    return value;
  }

  void read_quantities(const std::string& experiment, const Json& quantities) {
    for (const auto& [name, value] : object(quantities, experiment.empty() ? "all" : experiment).items()) {
      const Quantity* quantity = find_quantity(name);
      if (quantity == nullptr)
        refuse(fmt::format("unknown quantity '{}'; there are {}", name, known_quantities()));
      Tolerance tolerance = tolerances_.of(experiment, *quantity);
      for (const auto& [part, number] : object(value, name).items()) {
        const bool limit = part == "limit";
        if (!limit && part != "spreads")
          refuse(fmt::format("{} has no '{}'; it has limit and spreads", name, part));
        (limit ? tolerance.limit : tolerance.spreads) =
            read_number(fmt::format("{} of {}", part, name), number);
      }
      tolerances_.set(experiment, name, tolerance);
    }
  }

  double read_number(const std::string& what, const Json& value) const {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0 && number <= kLargest)) {
      refuse(fmt::format("{} is {}; it must be a number from 0 to {}", what, json_text(value, -1), kLargest));
    }
    return number;
  }

  std::string source_;
  Tolerances tolerances_;
};

using Key = std::pair<std::string, std::string>;

/// Largest less smallest of what the runs read, in the quantity's unit.
double largest_difference(const std::vector<double>& values, const Quantity& quantity) {
  const auto [least, most] = std::ranges::minmax(values);
  return quantity.unit == "%" ? 100 * (most / least - 1) : most - least;
}

}  // namespace

std::vector<std::string> Tolerances::experiments() const {
  std::vector<std::string> names;
  for (const auto& [experiment, quantities] : given_) {
    if (!experiment.empty()) names.push_back(experiment);
  }
  return names;
}

Tolerance Tolerances::of(std::string_view experiment, const Quantity& quantity) const {
  for (const std::string_view scope : {experiment, std::string_view()}) {
    const auto quantities = given_.find(scope);
    if (quantities == given_.end()) continue;
    const auto found = quantities->second.find(quantity.name);
    if (found != quantities->second.end()) return found->second;
  }
  return quantity.tolerance;
}

void Tolerances::set(std::string_view experiment, std::string_view quantity, Tolerance tolerance) {
  given_[std::string(experiment)][std::string(quantity)] = tolerance;
}

std::string Tolerances::to_json() const {
  Json root = Json::object();
  for (const auto& [experiment, quantities] : given_) {
    Json& scope = experiment.empty() ? root["all"] : root["experiments"][experiment];
    for (const auto& [name, tolerance] : quantities) {
      scope[name] = {{"limit", tolerance.limit}, {"spreads", tolerance.spreads}};
    }
  }
  return json_text(root) + "\n";
}

Tolerances parse_tolerances(std::string_view json, std::string_view source) {
  return TolerancesReader(source).read(parse_json(json, source));
}

Tolerances tolerances_from(std::span<const RecordedRun> runs) {
  if (runs.size() < 2) throw InputError("tolerances need two runs or more of one build; better are five");
  std::vector<const Quantity*> quantities = {&time_quantity()};
  for (const Quantity& quantity : measured_quantities()) quantities.push_back(&quantity);

  std::map<std::pair<Key, const Quantity*>, std::vector<double>> readings;
  for (const RecordedRun& run : runs) {
    for (const RecordedCase& recorded : run.cases) {
      for (const Quantity* quantity : quantities) {
        const Real value = quantity->value(recorded.row);
        if (value) readings[{{recorded.row.experiment, recorded.row.case_}, quantity}].push_back(*value);
      }
    }
  }
  Tolerances tolerances;
  bool shared = false;
  std::map<std::pair<std::string, const Quantity*>, double> largest;
  for (const auto& [where, values] : readings) {
    const auto& [key, quantity] = where;
    if (values.size() < 2 || (quantity->unit == "%" && *std::ranges::min_element(values) <= 0)) continue;
    double& most = largest[{key.first, quantity}];
    most = std::max(most, largest_difference(values, *quantity));
    shared = true;
  }
  if (!shared) throw InputError("the runs that tolerances are to come from share no measured case");
  for (const auto& [where, most] : largest) {
    const double limit = std::clamp(kMargin * most, kLeast, kLargest);
    // Tenths are as much as a handful of runs can say.
    tolerances.set(where.first, where.second->name, {std::ceil(10 * limit - 1e-6) / 10, 0});
  }
  return tolerances;
}

}  // namespace occbench
