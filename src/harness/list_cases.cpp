#include "harness/list_cases.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/warps.hpp"
#include "predict/parameter_range.hpp"
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
  std::optional<double> pct;      ///< empty where the simulation refuses the launch, or time was short
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

using Clock = std::chrono::steady_clock;

/// Calls `of` with each of `numbers` on all processors until the time is over. @returns how many it left out
std::size_t for_each_until(Clock::time_point end, std::span<const std::size_t> numbers,
                           const std::function<void(std::size_t)>& of) {
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> left_out = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < numbers.size(); i = next++)
      Clock::now() > end ? void(++left_out) : of(numbers[i]);
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(work);
    work();
  }
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

}  // namespace

void list_cases(std::span<const PlannedCase> cases, const Device& device, const ChosenProfile& profile,
                const Options& options) {
  std::vector<ListedCase> predicted(cases.size());
  if (options.predict) predicted = predict_all(cases, device, profile);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Row row = row_of(cases[i].known);
    if (predicted[i].pct) {
      row.predicted_pct = predicted[i].pct;
      row.device_profile = profile.profile.name;
      row.profile_quality = to_string(profile.quality);
    }
    if (predicted[i].range) {
      row.predicted_low_pct = predicted[i].range->low;
      row.predicted_high_pct = predicted[i].range->high;
    }
    const nlohmann::ordered_json whole = row_to_json(row);
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const auto& cell : whole.items()) {
      const nlohmann::ordered_json& value = cell.value();
      if (!value.is_null() && value != "") object[cell.key()] = value;
    }
    fmt::print("{}\n", json_text(object, -1));
  }
}

}  // namespace occbench
