#include "harness/list_cases.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "occupancy/warps.hpp"
#include "record/json.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

/// A list of ten thousand cases is there within 10 s.
constexpr std::chrono::seconds kMostTime{5};

bool can_be_predicted(const CaseRecord& record) {
  return record.identity.work && record.launch && record.compiled && record.theory && !record.times.status;
}

/// Empty where the simulation refuses the launch.
std::optional<double> predicted_pct(const CaseRecord& record, const Limits& limits,
                                    const DeviceProfile& profile) {
  try {
    const Tasks tasks(*record.identity.work, record.launch->grid_blocks,
                      warps_of_block(record.launch->block_threads));
    return simulate(*record.launch, record.compiled->usage, limits, profile.model, tasks, kDefaultSeed)
        .achieved_pct;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// As far as the time goes, in the order of the cases.
std::vector<std::optional<double>> predict_all(std::span<const PlannedCase> cases, const Device& device,
                                               const DeviceProfile& profile) {
  std::vector<std::optional<double>> predicted(cases.size());
  const auto end = std::chrono::steady_clock::now() + kMostTime;
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> left_out = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      if (!can_be_predicted(cases[i].known)) continue;
      if (std::chrono::steady_clock::now() > end) {
        ++left_out;
      } else {
        predicted[i] = predicted_pct(cases[i].known, device.limits, profile);
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(work);
    work();
  }
  if (left_out > 0)
    fmt::print(stderr, "{} of {} cases are listed without a prediction, for which {} s were not enough\n",
               left_out.load(), cases.size(), kMostTime.count());
  return predicted;
}

}  // namespace

void list_cases(std::span<const PlannedCase> cases, const Device& device, const ChosenProfile& profile,
                const Options& options) {
  std::vector<std::optional<double>> predicted(cases.size());
  if (options.predict) predicted = predict_all(cases, device, profile.profile);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Row row = row_of(cases[i].known);
    if (predicted[i]) {
      row.predicted_pct = predicted[i];
      row.device_profile = profile.profile.name;
      row.profile_quality = to_string(profile.quality);
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
