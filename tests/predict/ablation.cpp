// Which optional rules of the model (src/predict/parameters.cpp) earn their place. Without arguments, each rule is
// switched off in turn, all that is fitted is fitted again, and recorded launches are predicted. Arguments are rules, or
// several joined by +, that are removed one after another: a step that makes the selecting half worse than the bar allows
// is taken back, and the last step leaves the rules that stay. The other half and an H100 decide nothing. Prints CSV.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "files/input.hpp"
#include "occupancy/input_error.hpp"
#include "predict/device_profile.hpp"
#include "predict/parallel.hpp"
#include "predict/parameters.hpp"
#include "record/calibrate.hpp"
#include "record/case_record.hpp"
#include "record/csv.hpp"
#include "record/replay.hpp"
#include "recorded_launches.hpp"
#include "simulate/draws.hpp"

namespace occbench {
namespace {

/// A rule stays if, without it, all launches of the selecting half are so much further from the counter on average, or
/// one group of at least so many of them is.
constexpr double kLeastPoints = 0.1;
constexpr double kLeastPointsOfGroup = 0.3;
constexpr int kLeastLaunchesOfGroup = 30;

/// Simulations of a launch; the same seeds with a rule and without it.
constexpr std::size_t kRuns = 3;
constexpr double kShortCycles = 20'000;

constexpr std::string_view kSelecting = "selecting";
constexpr std::string_view kReporting = "reporting";
constexpr std::string_view kHeldOut = "held_out";
constexpr std::string_view kOtherGpu = "h100";

struct Measured {
  Launch launch;
  Usage usage;
  Tasks tasks;
  std::optional<int> first_gpc;
  double achieved_pct;
  std::string_view set;
  std::string group;
};

/// A GPU, or several of one model, and launches that are predicted with what its calibration is fitted to.
struct Device {
  Calibration calibration;
  std::vector<Measured> launches;
};

/// One half of the launches by a hash of their names.
std::string_view half_of(std::string_view name) {
  std::uint64_t hash = 0;
  for (const char letter : name) hash = random_bits(hash, static_cast<unsigned char>(letter));
  return hash % 2 == 0 ? kSelecting : kReporting;
}

std::string kind_of(const Launch& launch, const Usage& usage, const Tasks& tasks, double cycles) {
  constexpr double kAlwaysIssuing = 0.8;
  if (launch.cluster_blocks > 1) return "clusters";
  if (tasks.rates().bytes > 0) return "reads";
  if (tasks.contends())
    return tasks.rates().always_issues(kAlwaysIssuing) ? "always_issuing" : "issue_or_pipe";
  const std::string length = cycles < kShortCycles ? "_short" : "";
  if (tasks.differ_within_blocks()) return "uneven_warps" + length;
  if (!tasks.all_equal()) return "uneven_blocks" + length;
  constexpr int kSms = 132;
  const std::int64_t wave = full_wave_blocks(theoretical_occupancy(limits_of({9, 0}), launch, usage), kSms);
  if (launch.grid_blocks <= wave) return "equal_in_one_wave" + length;
  return (launch.grid_blocks % wave == 0 ? "equal_whole_waves" : "equal_partial_waves") + length;
}

std::string in_sources(std::string_view file) {
  return fmt::format("{}/{}", OCCBENCH_SOURCE_DIR, file);
}

/// @param rows  of one GPU, or of several of a model
Calibration calibration_of(std::span<const std::string> rows) {
  std::vector<CaseRecord> cases;
  for (const std::string& file : rows)
    std::ranges::move(read_case_records(in_sources(file)), std::back_inserter(cases));
  const std::string samples = samples_path(in_sources(rows.front())).string() + ".gz";
  return read_calibration(cases, parse_samples(read_text(samples), samples), "ablation");
}

std::vector<Measured> recorded_launches() {
  std::vector<Measured> all;
  const auto add = [&](const std::vector<Recorded>& launches, const std::string& file, auto&& is_held_out) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const Recorded& each = launches[i];
      const std::string kind =
          file == "streams.csv" ? "streams" : kind_of(each.launch, each.usage, each.tasks, each.base_cycles);
      all.push_back({each.launch,
                     each.usage,
                     each.tasks,
                     {},
                     each.achieved_pct,
                     is_held_out(each) ? kHeldOut : half_of(fmt::format("{} {}", file, i)),
                     kind});
    }
  };
  const std::set<int> held = read_held_out();
  add(read_recorded(), "launches.csv",
      [&](const Recorded& each) { return held.contains(each.launch_number); });
  for (const char* file : {"spin.csv", "tails.csv"}) add(read_launches(file), file, held_out);
  add(read_launches("contention.csv"), "contention.csv", [](const Recorded&) { return false; });
  add(read_streams(), "streams.csv", [](const Recorded&) { return false; });
  return all;
}

/// Rows whose work was given. @param set  of all of them; empty: the halves
void add_rows(std::vector<Measured>& launches, std::string_view file, std::string_view prefix,
              std::string_view set) {
  for (const CaseRecord& each : read_case_records(in_sources(file))) {
    const std::optional<Work>& work = each.identity.work;
    if (!work || each.identity.work_source != "given" || !each.readings.counters.achieved_pct) continue;
    const LaunchOnDevice on = launch_on_device(each);
    const Tasks tasks(*work, on.launch.grid_blocks, theoretical_occupancy(on).warps_per_block);
    launches.push_back({on.launch, on.usage, tasks, each.first_gpc, *each.readings.counters.achieved_pct,
                        set.empty() ? half_of(full_name(each.identity)) : set,
                        std::string(prefix) + kind_of(on.launch, on.usage, tasks, work->cycles)});
  }
}

std::vector<Device> devices() {
  std::vector<Device> all(3);
  std::vector<std::string> files;
  for (const int gpu : {1, 2, 3, 4})
    files.push_back(fmt::format("tests/data/h200_calibration/gpu_{}.csv", gpu));
  all[0] = {calibration_of(files), recorded_launches()};
  all[1].calibration = calibration_of(std::vector<std::string>{"results/nvidia-h200/calibration.csv"});
  add_rows(all[1].launches, "results/nvidia-h200/full.csv", "suite_", "");
  all[2].calibration =
      calibration_of(std::vector<std::string>{"results/nvidia-h100-80gb-hbm3/calibration.csv"});
  add_rows(all[2].launches, "results/nvidia-h100-80gb-hbm3/full.csv", "suite_", kOtherGpu);
  return all;
}

double error_of(const Measured& measured, const DeviceProfile& profile, const Limits& limits) {
  const Seeds seeds({.first_gpc = measured.first_gpc}, profile);
  std::array<double, kRuns> achieved;
  for (std::size_t run = 0; run < kRuns; ++run) {
    achieved[run] =
        simulate(measured.launch, measured.usage, limits, profile.model, measured.tasks, seeds.of_run(run))
            .achieved_pct;
  }
  std::ranges::sort(achieved);
  return std::abs(achieved[kRuns / 2] - measured.achieved_pct);
}

/// |predicted - counter| of some launches.
struct Mean {
  int launches = 0;
  double sum = 0;

  void add(double points) {
    ++launches;
    sum += points;
  }
  double points() const {
    return sum / launches;
  }
};

/// By group; "all" = of the set.
using Errors = std::map<std::string, Mean>;
using OfSets = std::map<std::string_view, Errors>;

/// What is fitted, fitted to the calibration from the present values on.
DeviceProfile fitted(const Calibration& calibration, const FitSearch& search) {
  return fit_parameters(calibration.profile, calibration.limits, calibration.launches,
                        calibration.clocks_are_known, search);
}

/// From the values of the model that has one rule more: near enough for three rounds, and traced clocks have their scale.
/// No warps of a calibration that is fitted to contend.
DeviceProfile fitted_without(Calibration calibration, std::span<const Parameter* const> rules) {
  for (const Parameter* rule : rules) calibration.profile.model.parameters.*rule->value = rule->off.value();
  const bool only_contending = std::ranges::all_of(rules, [](const Parameter* rule) {
    return rule->matters_to == MattersTo::always_issuing || rule->matters_to == MattersTo::memory;
  });
  if (only_contending) return calibration.profile;
  return fitted(calibration, {.rounds = 3, .clock_scales = {1}});
}

void add_errors(OfSets& of_sets, const DeviceProfile& profile, const Device& device,
                std::span<const std::string_view> sets) {
  std::vector<const Measured*> chosen;
  for (const Measured& each : device.launches) {
    if (std::ranges::find(sets, each.set) != sets.end()) chosen.push_back(&each);
  }
  std::vector<double> points(chosen.size());
  for_each_parallel(chosen.size(), [&](std::size_t i) {
    points[i] = error_of(*chosen[i], profile, device.calibration.limits);
  });
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    for (const std::string& group : {std::string("all"), chosen[i]->group})
      of_sets[chosen[i]->set][group].add(points[i]);
  }
}

/// What a rule brings to the selecting half, 1 = the bar.
struct Worth {
  double bars = 0;
  std::string group;
};

Worth worth_of(const Errors& without, const Errors& with) {
  Worth most{-1e9, ""};
  for (const auto& [group, mean] : without) {
    if (group != "all" && mean.launches < kLeastLaunchesOfGroup) continue;
    const double bars =
        (mean.points() - with.at(group).points()) / (group == "all" ? kLeastPoints : kLeastPointsOfGroup);
    if (bars > most.bars) most = {bars, group};
  }
  return most;
}

void print(int step, std::string_view rule, std::string_view outcome, const OfSets& without,
           const OfSets& with, std::string_view only = "") {
  for (const auto& [set, errors] : without) {
    for (const auto& [group, mean] : errors) {
      if (!only.empty() && group != "all" && group != only) continue;
      fmt::print("{},{},{},{},{},{},{:.4f},{:+.4f}\n", step, rule, outcome, set, group, mean.launches,
                 mean.points(), mean.points() - with.at(set).at(group).points());
    }
  }
  std::fflush(stdout);
}

constexpr std::size_t kMostRules = 10;
constexpr std::array kDeciding{kSelecting};
constexpr std::array kReported{kSelecting, kReporting};

using Rules = std::vector<const Parameter*>;

/// "a+b" are two rules that go together. @throws InputError
Rules rules_of(std::string_view names) {
  Rules rules;
  for (const auto part : std::views::split(names, '+')) {
    const std::string_view name(&*part.begin(), static_cast<std::size_t>(std::ranges::distance(part)));
    const Parameter* const parameter = find_parameter(name);
    if (parameter == nullptr || !parameter->off)
      throw InputError(fmt::format("{} is not an optional rule; src/predict/parameters.cpp has them", name));
    rules.push_back(parameter);
  }
  return rules;
}

OfSets errors_of(std::span<const Device> gpus, std::span<const std::string_view> sets) {
  OfSets errors;
  for (const Device& device : gpus) add_errors(errors, device.calibration.profile, device, sets);
  return errors;
}

/// The GPUs with rules switched off and what is fitted fitted again.
std::vector<Device> without(std::span<const Device> gpus, const Rules& rules) {
  std::vector<Device> all(gpus.begin(), gpus.end());
  for (Device& device : all) device.calibration.profile = fitted_without(device.calibration, rules);
  return all;
}

/// Removes rules one after another; a rule stays if, without it, the selecting half is by the bar worse than with the whole
/// model. Ends when ten are left.
void eliminate(std::vector<Device> gpus, const OfSets& whole, std::span<const char* const> names) {
  const auto is_optional = [](const Parameter& parameter) { return parameter.off.has_value(); };
  auto left = static_cast<std::size_t>(std::ranges::count_if(parameters(), is_optional));
  int step = 0;
  for (const std::string_view name : names) {
    if (left <= kMostRules) return;
    const Rules rules = rules_of(name);
    std::vector<Device> tried = without(gpus, rules);
    const OfSets errors = errors_of(tried, kDeciding);
    const Worth worth = worth_of(errors.at(kSelecting), whole.at(kSelecting));
    ++step;
    if (worth.bars >= 1) {
      print(step, name, "put_back", errors, whole, worth.group);
      continue;
    }
    gpus = std::move(tried);
    left -= rules.size();
    print(step, name, "removed", errors_of(gpus, kReported), whole);
  }
}

void run(std::span<const char* const> names) {
  std::vector<Device> gpus = devices();
  Device other_gpu = std::move(gpus.back());
  gpus.pop_back();
  for (Device& device : gpus) device.calibration.profile = fitted(device.calibration, {});
  const OfSets whole = errors_of(gpus, kReported);
  fmt::print("step,rule,outcome,set,group,launches,mean_error_points,worse_by_points\n");
  print(0, "none", "whole_model", whole, whole);
  if (!names.empty()) return eliminate(std::move(gpus), whole, names);
  other_gpu.calibration.profile = fitted(other_gpu.calibration, {});
  gpus.push_back(std::move(other_gpu));
  constexpr std::array kAll{kSelecting, kReporting, kOtherGpu};
  const OfSets base = errors_of(gpus, kAll);
  print(0, "none", "whole_model", {{kOtherGpu, base.at(kOtherGpu)}}, base);
  for (const Parameter& parameter : parameters()) {
    if (parameter.off) print(1, parameter.name, "alone", errors_of(without(gpus, {&parameter}), kAll), base);
  }
}

}  // namespace
}  // namespace occbench

int main(int argc, char** argv) try {
  occbench::run(std::span<const char* const>(argv + 1, static_cast<std::size_t>(argc - 1)));
} catch (const occbench::InputError& error) {
  fmt::print(stderr, "ablation: {}\n", error.what());
  return 64;
}
