#include "harness/list_cases.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/warps.hpp"
#include "predict/parallel.hpp"
#include "predict/interval.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

/// Of simulation for each list: predictions, and for them ranges. By the estimate of simulation_microseconds(), so that a list
/// is the same on every machine. A list of ten thousand cases is there within 10 s of two cores.
constexpr double kMostMicroseconds = 10e6;

bool can_be_predicted(const CaseRecord& record) {
  return record.identity.work && record.launch && record.compiled && record.theory && !record.times.status;
}

struct ListedCase {
  std::optional<double> pct;      ///< empty where the simulation refuses the launch or would take too long
  std::optional<Interval> range;  ///< by a generic profile
};

Tasks tasks_of(const CaseRecord& record) {
  return {*record.identity.work, record.launch->grid_blocks, warps_of_block(record.launch->block_threads)};
}

std::optional<double> predicted_pct(const CaseRecord& record, const Limits& limits,
                                    const DeviceProfile& profile) {
  try {
    return simulate(*record.launch, record.compiled->usage, limits, profile.model, tasks_of(record),
                    kDefaultSeed)
        .achieved_pct;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The 90 % interval of a prediction of `pct`, by parameters that nobody measured and the model's error.
Interval range_around(double pct, const CaseRecord& record, const Limits& limits,
                      const ChosenProfile& profile) {
  const Launch& launch = *record.launch;
  const Usage& usage = record.compiled->usage;
  const Tasks tasks = tasks_of(record);
  const Interval range = parameter_range(launch, usage, limits, profile, tasks, Chance()).achieved;
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  const WorkKind kind =
      kind_of(launch, usage, occupancy, profile.profile.sm_count(), tasks, WorkOrigin::given);
  return interval_of({std::min(range.low, pct), pct, std::max(range.high, pct)}, margins_of(kind).achieved,
                     tasks.mean_cycles(), most_pct(launch, occupancy, profile.profile.sm_count(), tasks));
}

/// Of `numbers`, in their order, those whose work together is little enough.
/// @param microseconds  of each, on one core
std::vector<std::size_t> affordable(std::span<const std::size_t> numbers,
                                    const std::function<double(std::size_t)>& microseconds) {
  std::vector<std::size_t> chosen;
  double left = kMostMicroseconds;
  for (const std::size_t number : numbers) {
    const double needed = microseconds(number);
    if (needed > left) continue;
    left -= needed;
    chosen.push_back(number);
  }
  return chosen;
}

void tell_left_out(std::size_t left_out, std::size_t cases, std::string_view what) {
  if (left_out == 0) return;
  fmt::print(stderr,
             "{} of {} cases are listed without a {}: a list simulates no more than {:.0f} s of one core\n",
             left_out, cases, what, kMostMicroseconds / 1e6);
}

/// As far as the work goes, in the order of the cases: predictions first, then ranges.
std::vector<ListedCase> predict_all(std::span<const PlannedCase> cases, const Device& device,
                                    const ChosenProfile& profile) {
  std::vector<ListedCase> predicted(cases.size());
  const auto microseconds = [&](std::size_t i) {
    return simulation_microseconds(device.limits, tasks_of(cases[i].known));
  };
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (can_be_predicted(cases[i].known)) numbers.push_back(i);
  }
  const std::size_t predictable = numbers.size();
  numbers = affordable(numbers, microseconds);
  tell_left_out(predictable - numbers.size(), cases.size(), "prediction");
  for_each_parallel(numbers.size(), [&](std::size_t each) {
    const std::size_t i = numbers[each];
    predicted[i].pct = predicted_pct(cases[i].known, device.limits, profile.profile);
  });
  if (profile.quality != ProfileQuality::generic) return predicted;
  std::erase_if(numbers, [&](std::size_t i) { return !predicted[i].pct; });
  const std::vector<std::size_t> with_range =
      affordable(numbers, [&](std::size_t i) { return std::max(kRangeMicroseconds, 2 * microseconds(i)); });
  tell_left_out(numbers.size() - with_range.size(), cases.size(), "range of the prediction");
  for_each_parallel(with_range.size(), [&](std::size_t each) {
    const std::size_t i = with_range[each];
    predicted[i].range = range_around(*predicted[i].pct, cases[i].known, device.limits, profile);
  });
  return predicted;
}

/// What is known of it, as JSON.
void print_known(const Row& row) {
  const nlohmann::ordered_json whole = row_to_json(row);
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& cell : whole.items()) {
    const nlohmann::ordered_json& value = cell.value();
    if (!value.is_null() && value != "") object[cell.key()] = value;
  }
  fmt::print("{}\n", json_text(object, -1));
}

}  // namespace

void list_cases(std::span<const PlannedCase> cases, const Device& device, const ChosenProfile& profile,
                const Options& options) {
  std::vector<ListedCase> predicted(cases.size());
  if (options.predict) predicted = predict_all(cases, device, profile);
  std::string rows = csv_header();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Row row = row_of(cases[i].known);
    if (predicted[i].pct) {
      row.predicted_pct = predicted[i].pct;
      row.device_profile = profile_text(profile.profile.name, profile.quality);
    }
    if (predicted[i].range) {
      row.predicted_low_pct = predicted[i].range->low;
      row.predicted_high_pct = predicted[i].range->high;
    }
    if (options.list_file) {
      rows += csv_record(row);
    } else {
      print_known(row);
    }
  }
  if (options.list_file) replace_text(*options.list_file, rows);
}

}  // namespace occbench
