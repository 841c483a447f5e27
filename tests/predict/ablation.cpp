// What each optional rule of the simulation is worth: predictions of recorded launches with each rule in its
// turn switched off, by group of launches. Only launches that calibration may see; held-out and random ones
// decide nothing. Prints CSV; the first lines have every rule on. Arguments are combinations to switch off
// instead, such as sm_delay_cycles+gpc_delay_cycles.
#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "predict/parallel.hpp"
#include "predict/parameters.hpp"
#include "recorded_launches.hpp"

namespace occbench {
namespace {

struct Group {
  std::string name;
  std::vector<Recorded> launches;
};

std::vector<Recorded> chosen(const std::vector<Recorded>& all, auto&& is_chosen) {
  std::vector<Recorded> some;
  std::ranges::copy_if(all, std::back_inserter(some), is_chosen);
  return some;
}

bool in_clusters(const Recorded& recorded) {
  return recorded.launch.cluster_blocks > 1;
}

std::string kind_of(const Recorded& recorded) {
  if (in_clusters(recorded)) return "clusters";
  const std::string work = recorded.tasks.differ_within_blocks() ? "by_warp"
                           : recorded.tasks.all_equal()          ? "equal"
                                                                 : "by_block";
  const std::string length = recorded.base_cycles >= 20'000  ? "from_20000_cycles"
                             : recorded.base_cycles >= 8'000 ? "8000_cycles"
                                                             : "below_8000_cycles";
  return work + "_" + length;
}

std::vector<Group> groups() {
  std::map<std::string, std::vector<Recorded>> by_name;
  const std::set<int> held = read_held_out();
  for (const Recorded& recorded : read_recorded()) {
    if (!held.contains(recorded.launch_number)) by_name["spin_" + kind_of(recorded)].push_back(recorded);
  }
  for (const char* file : {"spin.csv", "tails.csv"}) {
    for (const Recorded& recorded : read_launches(file)) {
      if (held_out(recorded)) continue;
      const bool tail = std::string_view(file) == "tails.csv";
      by_name[tail ? "tails_of_64_threads" : "spin_" + kind_of(recorded)].push_back(recorded);
    }
  }
  for (const Recorded& recorded : read_launches("contention.csv"))
    by_name[recorded.kernel].push_back(recorded);
  for (const Recorded& recorded : read_streams()) by_name["streams"].push_back(recorded);
  std::vector<Group> all;
  for (auto& [name, launches] : by_name) all.push_back({name, std::move(launches)});
  return all;
}

/// Simulations of a launch; the same seeds with a rule and without it.
constexpr std::size_t kSeeds = 3;

/// The lines of a rule: one for each group.
std::string lines_of(std::string_view rule, const std::vector<Group>& all, const DeviceProfile& profile) {
  std::string lines;
  for (const Group& group : all) {
    Errors errors = errors_of<kSeeds>(
        group.launches, [](const Recorded&) { return true; }, profile);
    // Of launches on two streams the active cycles were not recorded.
    const double active = errors.median_active_pct();
    lines += fmt::format("{},{},{},{:.4f},{:.4f},{}\n", rule, group.name, errors.points.size(), errors.mean(),
                         errors.percentile(0.95), std::isfinite(active) ? fmt::format("{:.4f}", active) : "");
  }
  return lines;
}

struct Ablation {
  std::string rules;  ///< "none", or names of parameters with + between them
  DeviceProfile profile;
};

void switch_off(const Parameter& parameter, DeviceProfile& profile) {
  profile.model.parameters.*parameter.value = parameter.off.value();
}

/// Every rule on, then each of them off, or each of these combinations.
std::vector<Ablation> ablations(std::span<const char* const> combinations) {
  const DeviceProfile profile = find_profile("h200");
  std::vector<Ablation> all = {{"none", profile}};
  for (const std::string combination : combinations) {
    all.push_back({combination, profile});
    std::istringstream rules(combination);
    for (std::string rule; std::getline(rules, rule, '+');) {
      const Parameter* parameter = find_parameter(rule);
      if (parameter == nullptr || !parameter->off)
        throw InputError(rule + " is no rule that can be switched off");
      switch_off(*parameter, all.back().profile);
    }
  }
  if (!combinations.empty()) return all;
  for (const Parameter& parameter : parameters()) {
    if (!parameter.off) continue;
    all.push_back({std::string(parameter.name), profile});
    switch_off(parameter, all.back().profile);
  }
  return all;
}

void run(std::span<const char* const> combinations) {
  const std::vector<Group> all = groups();
  const std::vector<Ablation> work = ablations(combinations);
  std::vector<std::string> lines(work.size());
  for_each_parallel(work.size(),
                    [&](std::size_t i) { lines[i] = lines_of(work[i].rules, all, work[i].profile); });
  fmt::print("rule_off,group,launches,mean_error_points,error_95_points,active_cycles_median_error_pct\n");
  for (const std::string& each : lines) fmt::print("{}", each);
}

}  // namespace
}  // namespace occbench

int main(int argc, char** argv) try {
  occbench::run(std::span<const char* const>(argv + 1, static_cast<std::size_t>(argc - 1)));
} catch (const occbench::InputError& error) {
  fmt::print(stderr, "ablation: {}\n", error.what());
  return 64;
}
