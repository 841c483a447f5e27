#include "gate/tolerances.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "occupancy/text.hpp"
#include "record/case_record.hpp"
#include "record/columns.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

constexpr double kLargest = 1000;
/// Factor by which a difference may exceed the largest recorded one.
constexpr double kMargin = 1.5;
/// Points, or percent of a time: smaller differences say nothing, whatever the runs showed.
constexpr double kLeast = 0.2;

std::string known_quantities() {
  return fmt::format("{}, {}, {}", fmt::join(mapped(measured_quantities(), &Quantity::name), ", "),
                     time_quantity().name, paired_time_quantity().name);
}

class TolerancesReader {
 public:
  explicit TolerancesReader(std::string_view source) : source_(source) {}

  Tolerances read(const Json& root) {
    for (const auto& [key, value] : object(root, "the file").items()) {
      if (key != "all" && key != "experiments" && key != "gpu")
        refuse(fmt::format("unknown key '{}'; there are all, experiments and gpu", key));
    }
    if (root.contains("gpu") && !root["gpu"].is_string()) refuse("gpu must be the name of a GPU in quotes");
    tolerances_.gpu = root.value("gpu", "");
    // First the defaults of experiments, wherever they are in the file.
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
    throw InputError("{}: {}", source_, what);
  }

  const Json& object(const Json& value, std::string_view what) const {
    if (!value.is_object()) refuse(fmt::format("{} must be a JSON object", what));
    return value;
  }

  void read_quantities(const std::string& experiment, const Json& quantities) {
    const Tolerances outer = tolerances_;  // whatever the order within
    for (const auto& [name, value] : object(quantities, experiment.empty() ? "all" : experiment).items()) {
      const Quantity* quantity = find_quantity(name);
      if (quantity == nullptr)
        refuse(fmt::format("unknown quantity '{}'; there are {}", name, known_quantities()));
      Tolerance tolerance = outer.of(experiment, *quantity);
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

/// Largest minus smallest value of the runs, in the quantity's unit.
double largest_difference(const std::vector<double>& values, const Quantity& quantity) {
  const auto [least, most] = std::ranges::minmax(values);
  return quantity.unit == "%" ? 100 * (most / least - 1) : most - least;
}

// Medians of 8 readings of unchanged code on an H200 differed from run to run by 0.1 points at the median case. Three
// interquartile ranges of the readings are more than six standard deviations of the difference of two such medians of
// normal readings (1.25 x sqrt(2/8) x range / 1.349 each). If it is random which SMs get the last blocks,
// achieved_pct differs between runs by more than its readings scatter in one. judge() handles that without a wider
// tolerance here. Recorded on two H200s, achieved_pct of 491 cases differed by up to 13 points, achieved_elapsed_pct
// by up to 0.3, and by 0.9 in a case whose readings spread by 1.8.
constexpr Tolerance kAchieved{1.0, 3};
// A launch that waits for nothing outside its SM read the same on all recorded GPUs of a model, within 0.7 points of
// achieved_elapsed_pct. Distances between SMs, and to L2 and memory, differ: a barrier of clusters differed by up to
// 1.8 points, a reduction by 1.4, and adds of many threads, which wait for a slice of L2, by 4.6. The margin is that
// of tolerances from runs.
constexpr double kOtherGpuPoints = 2.7;
constexpr double kOtherGpuPointsOfAtomics = 6.9;
// A point of achieved is more than a point of a ratio whose denominator is below 100 %.
constexpr Tolerance kRatio{2.0, 3};
// Times drift between runs (clocks, temperature, location in memory) by more than they scatter within one. In
// 25,000 comparisons of two runs of one build on one GPU within an hour, a median beyond the next two limits never
// was more than 2.2 interquartile ranges off, or 1.8 % if launches have no atomics.
constexpr Tolerance kTime{2.5, 3};
// The L2 slice of an address differs from process to process: 2.3 %.
constexpr double kTimeOfAtomicsPct = 3.5;
// Runs that alternate share the drift.
constexpr Tolerance kPairedTime{1.5, 3};

Real achieved_spread(const RecordedCase& recorded) {
  return recorded.row.achieved_spread_points;
}

/// Rows without their samples have only the spread of achieved_pct, which scatters alike.
Real spread_over_elapsed(const RecordedCase& recorded) {
  return recorded.achieved_elapsed_spread_points ? recorded.achieved_elapsed_spread_points
                                                 : achieved_spread(recorded);
}

bool has_atomics(const Row& row) {
  return row.atomic_requests.value_or(0) > 0 || expects_atomics(row.expected_cause);
}

double elapsed_between_gpus(const Row& before, const Row& now) {
  if (before.gpu_uuid == now.gpu_uuid || is_bound_by_sm(before.work, before.spill_bytes.value_or(0) > 0))
    return 0;
  return has_atomics(before) ? kOtherGpuPointsOfAtomics : kOtherGpuPoints;
}

double least_of_time(const Row& before) {
  return before.time_us.value_or(0) > 0 ? 100 * kTimerUs / *before.time_us : 0;
}

double time_between_processes(const Row& before, const Row&) {
  return std::max(least_of_time(before), has_atomics(before) ? kTimeOfAtomicsPct : 0);
}

Quantity of_column(const Column& column) {
  const bool elapsed = column.name == "achieved_elapsed_pct";
  const auto member = std::get<Real Row::*>(column.where);
  return {column.name,
          column.unit == "%" ? "points" : column.unit,
          true,
          kAchieved,
          [member](const Row& row) { return row.*member; },
          elapsed ? spread_over_elapsed : achieved_spread,
          elapsed ? elapsed_between_gpus : std::function<double(const Row&, const Row&)>(),
          elapsed ? "achieved_pct" : ""};
}

Real ratio(const Row& row, Real part) {
  return part && row.theoretical_pct && *row.theoretical_pct > 0 ? Real(100 * *part / *row.theoretical_pct)
                                                                 : Real();
}

std::vector<Quantity> make_measured_quantities() {
  std::vector<Quantity> all;
  for (const Column& column : columns()) {
    if (column.gate == GateRule::measured) all.push_back(of_column(column));
  }
  all.push_back({"achieved_over_theoretical_pct", "points", true, kRatio,
                 [](const Row& row) { return ratio(row, row.achieved_pct); },
                 [](const RecordedCase& recorded) {
                   return ratio(recorded.row, recorded.row.achieved_spread_points);
                 }});
  return all;
}

Quantity of_time(std::string_view name, Tolerance tolerance,
                 std::function<double(const Row&, const Row&)> of_unchanged_code) {
  return {name,
          "%",
          false,
          tolerance,
          [](const Row& row) { return row.time_us; },
          [](const RecordedCase& recorded) { return recorded.row.time_spread_pct; },
          std::move(of_unchanged_code)};
}

}  // namespace

std::set<std::string> Tolerances::experiments() const {
  std::set<std::string> names;
  for (const auto& [where, tolerance] : given_) {
    if (!where.first.empty()) names.insert(where.first);
  }
  return names;
}

Tolerance Tolerances::of(std::string_view experiment, const Quantity& quantity) const {
  for (const std::string_view scope : {experiment, std::string_view()}) {
    for (const std::string_view name : {quantity.name, quantity.like}) {
      const auto found = given_.find({std::string(scope), std::string(name)});
      if (found != given_.end()) return found->second;
    }
  }
  return quantity.tolerance;
}

void Tolerances::set(std::string_view experiment, std::string_view quantity, Tolerance tolerance) {
  given_[{std::string(experiment), std::string(quantity)}] = tolerance;
}

std::string Tolerances::to_json() const {
  Json root = Json::object();
  if (!gpu.empty()) root["gpu"] = gpu;
  for (const auto& [where, tolerance] : given_) {
    Json& scope = where.first.empty() ? root["all"] : root["experiments"][where.first];
    scope[where.second] = {{"limit", tolerance.limit}, {"spreads", tolerance.spreads}};
  }
  return json_text(root) + "\n";
}

Tolerances parse_tolerances(std::string_view json, std::string_view source) {
  const std::size_t begin = json.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (begin != std::string_view::npos && json[begin] != '{')
    throw InputError(
        R"({} is no file of tolerances, which must be a JSON object, {{"all": {{"achieved_pct": {{"limit": 1.5}}}}}}; --save-tolerances writes one)",
        source);
  return TolerancesReader(source).read(parse_json(json, source));
}

/// Differences between runs of other builds or GPUs, or between a run and itself, say nothing about repeatability. In
/// a sweep each experiment may be of its own build.
void require_runs_of_one_build(std::span<const RecordedRun> runs) {
  const RecordedRun& first = runs.front();
  std::map<std::string_view, std::pair<const Row*, std::string_view>> firsts;  ///< of each experiment
  bool all_are_one = true;
  for (const RecordedRun& run : runs) {
    all_are_one =
        all_are_one && std::ranges::equal(run.cases, first.cases, {}, &RecordedCase::row, &RecordedCase::row);
    for (const RecordedCase& recorded : run.cases) {
      const Row& row = recorded.row;
      const auto& [other, source] = firsts.try_emplace(row.experiment, &row, run.source).first->second;
      for (const auto member : {&Row::gpu, &Row::gpu_uuid, &Row::commit}) {
        if (row.*member != other->*member)
          throw InputError(
              "{} is of {} and {} of {}: tolerances come from runs of one build on one GPU; leave out others",
              source, other->*member, run.source, row.*member);
      }
    }
  }
  if (all_are_one)
    throw InputError("{} and the others are one run: tolerances come from several", first.source);
}

Tolerances tolerances_from(std::span<const RecordedRun> runs) {
  if (runs.size() < 2) throw InputError("tolerances need two runs or more of one build; better are five");
  require_runs_of_one_build(runs);
  std::vector<const Quantity*> quantities = {&time_quantity()};
  for (const Quantity& quantity : measured_quantities()) quantities.push_back(&quantity);

  Tolerances tolerances;
  std::map<std::pair<Key, const Quantity*>, std::vector<double>> readings;
  for (const RecordedRun& run : runs) {
    for (const RecordedCase& recorded : run.cases) {
      if (tolerances.gpu.empty()) tolerances.gpu = recorded.row.gpu;
      const std::string& status = recorded.row.time_status;
      if ((status != "ok" && status != "unstable") || recorded.row.check == "wrong") {
        if (status != "skipped") ++tolerances.left_out;
        continue;
      }
      for (const Quantity* quantity : quantities) {
        if (quantity == &time_quantity() && is_unstable(recorded.row)) continue;
        const Real value = quantity->value(recorded.row);
        if (value)
          readings[{{recorded.row.experiment, exact_name(recorded.row)}, quantity}].push_back(*value);
      }
    }
  }
  std::map<std::pair<std::string, const Quantity*>, double> largest;
  for (const auto& [where, values] : readings) {
    const auto& [key, quantity] = where;
    if (values.size() < 2 || (quantity->unit == "%" && *std::ranges::min_element(values) <= 0)) continue;
    double& most = largest[{key.first, quantity}];
    most = std::max(most, largest_difference(values, *quantity));
  }
  if (largest.empty()) throw InputError("the runs that tolerances are to come from share no measured case");
  for (const auto& [where, most] : largest) {
    const double limit = std::clamp(kMargin * most, kLeast, kLargest);
    // A handful of runs supports tenths at most.
    tolerances.set(where.first, where.second->name, {std::ceil(10 * limit - 1e-6) / 10, 0});
  }
  return tolerances;
}

bool is_unstable(const Row& row) {
  return row.time_status == "unstable" &&
         row.time_spread_pct.value_or(0) / 100 * row.time_us.value_or(0) > kTimerUs;
}

double Tolerance::allowed(double spread) const {
  return std::max(limit, spreads * spread);
}

std::span<const Quantity> measured_quantities() {
  static const std::vector<Quantity> kAll = make_measured_quantities();
  return kAll;
}

const Quantity& time_quantity() {
  static const Quantity kQuantity = of_time("time_us", kTime, time_between_processes);
  return kQuantity;
}

const Quantity& paired_time_quantity() {
  static const Quantity kQuantity = of_time(
      "paired_time_us", kPairedTime, [](const Row& before, const Row&) { return least_of_time(before); });
  return kQuantity;
}

const Quantity* find_quantity(std::string_view name) {
  for (const Quantity* time : {&time_quantity(), &paired_time_quantity()}) {
    if (time->name == name) return time;
  }
  const auto found = std::ranges::find(measured_quantities(), name, &Quantity::name);
  return found == measured_quantities().end() ? nullptr : &*found;
}

}  // namespace occbench
