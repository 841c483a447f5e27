#include "harness/list_cases.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "occupancy/warps.hpp"
#include "predict/parallel.hpp"
#include "predict/parameter_range.hpp"
#include "record/csv.hpp"
#include "record/files.hpp"
#include "record/json.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

/// A list of ten thousand cases is there within 10 s.
constexpr std::chrono::seconds kMostTime{5};

bool can_be_predicted(const CaseRecord& record) {
  return record.identity.work && record.launch && record.compiled && record.theory && !record.times.status;
}

struct ListedCase {
  std::optional<double> pct;            ///< empty where the simulation refuses the launch, or time was short
  std::optional<OccupancyRange> range;  ///< by a generic profile
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

/// Where parameters that nobody measured may take a prediction of `pct`.
OccupancyRange range_around(double pct, const CaseRecord& record, const Limits& limits,
                            const ChosenProfile& profile) {
  const OccupancyRange range =
      parameter_range(*record.launch, record.compiled->usage, limits, profile, tasks_of(record), Chance());
  return {std::min(range.low_pct, pct), std::max(range.high_pct, pct)};
}

using Clock = std::chrono::steady_clock;

/// Calls `of` with each of `numbers` until the time is over. @returns how many it left out
std::size_t for_each_until(Clock::time_point end, std::span<const std::size_t> numbers,
                           const std::function<void(std::size_t)>& of) {
  std::atomic<std::size_t> left_out = 0;
  for_each_parallel(numbers.size(),
                    [&](std::size_t i) { Clock::now() > end ? void(++left_out) : of(numbers[i]); });
  return left_out;
}

void tell_left_out(std::size_t left_out, std::size_t cases, std::string_view what) {
  if (left_out == 0) return;
  fmt::print(stderr, "{} of {} cases are listed without a {}, for which {} s were not enough\n", left_out,
             cases, what, kMostTime.count());
}

/// As far as the time goes, in the order of the cases: predictions first, then ranges.
std::vector<ListedCase> predict_all(std::span<const PlannedCase> cases, const Device& device,
                                    const ChosenProfile& profile) {
  std::vector<ListedCase> predicted(cases.size());
  const Clock::time_point end = Clock::now() + kMostTime;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (can_be_predicted(cases[i].known)) numbers.push_back(i);
  }
  const std::size_t left_out = for_each_until(end, numbers, [&](std::size_t i) {
    predicted[i].pct = predicted_pct(cases[i].known, device.limits, profile.profile);
  });
  tell_left_out(left_out, cases.size(), "prediction");
  if (profile.quality != ProfileQuality::generic) return predicted;
  std::erase_if(numbers, [&](std::size_t i) { return !predicted[i].pct; });
  const std::size_t without_range = for_each_until(end, numbers, [&](std::size_t i) {
    predicted[i].range = range_around(*predicted[i].pct, cases[i].known, device.limits, profile);
  });
  tell_left_out(without_range, cases.size(), "range of the prediction");
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
      row.device_profile = profile.profile.name;
      row.profile_quality = to_string(profile.quality);
    }
    if (predicted[i].range) {
      row.predicted_low_pct = predicted[i].range->low_pct;
      row.predicted_high_pct = predicted[i].range->high_pct;
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
