// The recorded ablation against the parameter table: a rule that no group of launches needs has no place.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "predict/parameters.hpp"

namespace occbench {
namespace {

/// What an optional rule has to bring to a group of launches, in points: to the mean error, or to the error that
/// 95 % of the launches stay below.
constexpr double kLeastMean = 0.05;
constexpr double kLeast95 = 0.3;

struct Errors {
  double mean = 0;
  double of_95 = 0;
};

using ByGroup = std::map<std::string, Errors>;

/// By rule that is off, "none" for the whole model.
std::map<std::string, ByGroup> recorded_ablation() {
  std::ifstream file(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/ablation.csv");
  std::map<std::string, ByGroup> all;
  std::string line;
  std::getline(file, line);
  EXPECT_TRUE(line.starts_with("rule_off,group,launches,mean_error_points,error_95_points")) << line;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string rule, group, launches, mean, of_95;
    for (std::string* cell : {&rule, &group, &launches, &mean, &of_95}) std::getline(cells, *cell, ',');
    all[rule][group] = {std::stod(mean), std::stod(of_95)};
  }
  return all;
}

std::set<std::string> optional_rules() {
  std::set<std::string> names;
  for (const Parameter& parameter : parameters()) {
    if (parameter.off) names.emplace(parameter.name);
  }
  return names;
}

TEST(AblationTable, HasExactlyTheOptionalRulesOfTheModel) {
  std::set<std::string> recorded;
  for (const auto& [rule, groups] : recorded_ablation()) recorded.insert(rule);
  EXPECT_EQ(recorded.erase("none"), 1u);
  EXPECT_EQ(recorded, optional_rules());
}

TEST(AblationTable, EveryOptionalRuleBringsAGroupOfLaunchesEnough) {
  const std::map<std::string, ByGroup> all = recorded_ablation();
  const ByGroup& whole = all.at("none");
  for (const std::string& rule : optional_rules()) {
    ASSERT_TRUE(all.contains(rule)) << rule;
    const ByGroup& without = all.at(rule);
    EXPECT_EQ(without.size(), whole.size()) << rule;
    EXPECT_TRUE(std::ranges::any_of(without, [&](const auto& entry) {
      const auto& [group, errors] = entry;
      return errors.mean - whole.at(group).mean >= kLeastMean ||
             errors.of_95 - whole.at(group).of_95 >= kLeast95;
    })) << rule;
  }
}

}  // namespace
}  // namespace occbench
