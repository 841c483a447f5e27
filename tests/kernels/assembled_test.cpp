#include "kernels/assembled.hpp"

#include <cxxabi.h>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/live_values.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

std::string demangled(std::string_view function) {
  int status = 0;
  char* const text = abi::__cxa_demangle(std::string(function).c_str(), nullptr, nullptr, &status);
  std::string result = text != nullptr ? text : "";
  std::free(text);
  return result;
}

/// A build of live_values for one architecture: what it is called, and what came out.
struct Build {
  std::string architecture;
  LiveValuesBody body;
  int wanted;
  Assembled assembled;
};

std::vector<Build> live_values_builds() {
  static const std::regex pattern(R"(live_values_kernel<\(occbench::LiveValuesBody\)([01]), (\d+)>)");
  std::vector<Build> builds;
  for (const Assembled& line : kAssembled) {
    const std::string name = demangled(line.function);
    std::smatch match;
    if (!std::regex_search(name, match, pattern)) continue;
    builds.push_back({std::string(line.architecture), static_cast<LiveValuesBody>(std::stoi(match[1])),
                      std::stoi(match[2]), line});
  }
  return builds;
}

double occupancy_pct(const std::string& architecture, int registers) {
  return theoretical_occupancy(limits_of(parse_compute_capability(architecture)), {.block_threads = 512},
                               {.registers_per_thread = registers})
      .theoretical_pct;
}

TEST(LiveValues, EveryBuildForSm90HasExactlyTheRegistersOfItsName) {
  std::map<LiveValuesBody, std::vector<int>> registers;
  for (const Build& build : live_values_builds()) {
    if (build.architecture != "sm_90") continue;
    EXPECT_EQ(build.assembled.registers_per_thread, build.wanted);
    registers[build.body].push_back(build.assembled.registers_per_thread);
  }
  if (registers.empty()) GTEST_SKIP() << "this build has no machine code for sm_90";
  for (const auto& [body, counts] : registers) {
    EXPECT_THAT(counts, testing::IsSupersetOf({31, 32, 33, 40, 41}));
  }
  EXPECT_EQ(registers.size(), 2U);
}

TEST(LiveValues, NoBuildSpills) {
  ASSERT_FALSE(live_values_builds().empty()) << "the build kept no reports of ptxas";
  for (const Build& build : live_values_builds()) {
    EXPECT_EQ(build.assembled.spill_bytes, 0) << build.architecture << " " << build.wanted;
  }
}

TEST(LiveValues, BothSidesOfEachArchitecturesOwnCliffAreBuilt) {
  std::map<std::pair<std::string, LiveValuesBody>, std::vector<int>> registers;
  for (const Build& build : live_values_builds()) {
    registers[{build.architecture, build.body}].push_back(build.assembled.registers_per_thread);
  }
  ASSERT_FALSE(registers.empty());
  for (const auto& [key, counts] : registers) {
    const std::string& architecture = key.first;
    int at_the_edge = 0;
    while (occupancy_pct(architecture, at_the_edge + 1) == 100) ++at_the_edge;
    EXPECT_THAT(counts, testing::Contains(at_the_edge)) << architecture;
    const auto falls = [&](int count) { return occupancy_pct(architecture, count) < 100; };
    EXPECT_TRUE(std::ranges::any_of(counts, [&](int count) {
      return falls(count) && count <= at_the_edge + 2;
    })) << architecture;
  }
}

}  // namespace
}  // namespace occbench
