#include "kernels/assembled.hpp"

#include <algorithm>
#include <cstdint>
#include <cxxabi.h>
#include <map>
#include <re2/re2.h>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/live_registers.hpp"
#include "kernels/random_words.hpp"
#include "kernels/reads.hpp"
#include "kernels/reductions.hpp"
#include "kernels/register_pressure.hpp"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Pair;

std::string demangled(std::string_view function) {
  int status = 0;
  char* const text = abi::__cxa_demangle(std::string(function).c_str(), nullptr, nullptr, &status);
  std::string result = text != nullptr ? text : "";
  std::free(text);
  return result;
}

/// What came out of a kernel's builds: the numbers in its template arguments, and the assembler's report.
struct Build {
  std::vector<int> numbers;
  Assembled assembled;
};

/// Of device code that was assembled for this test alone, for architectures with other cliffs.
constexpr Assembled kElsewhere[] = {
#include "assembled_elsewhere.inc"
};

std::vector<Assembled> assembled_here_and_elsewhere() {
  std::vector<Assembled> all(kAssembled.begin(), kAssembled.end());
  for (const Assembled& line : kElsewhere) {
    // A build for every architecture has them already.
    if (std::ranges::find(kAssembled, line.architecture, &Assembled::architecture) == kAssembled.end()) {
      all.push_back(line);
    }
  }
  return all;
}

/// nvcc 13.0 makes code for it, and no table of NVIDIA's has its limits.
constexpr std::string_view kWithoutLimits = "sm_88";

/// All builds of the kernels whose demangled names match, for all architectures whose limits are known.
std::vector<Build> builds_of(const std::string& pattern) {
  const RE2 regex(pattern);
  // What matched, then its groups.
  std::vector<re2::StringPiece> match(static_cast<std::size_t>(regex.NumberOfCapturingGroups()) + 1);
  std::vector<Build> builds;
  for (const Assembled& line : assembled_here_and_elsewhere()) {
    if (line.architecture == kWithoutLimits) continue;
    const std::string name = demangled(line.function);
    if (!regex.Match(name, 0, name.size(), RE2::UNANCHORED, match.data(), static_cast<int>(match.size())))
      continue;
    Build build{.numbers = {}, .assembled = line};
    for (std::size_t i = 1; i < match.size(); ++i) build.numbers.push_back(std::stoi(std::string(match[i])));
    builds.push_back(build);
  }
  return builds;
}

/// Body and wanted registers.
std::vector<Build> live_registers_builds() {
  return builds_of(R"(live_registers_kernel<\(occbench::LiveRegistersBody\)([01]), (\d+)>)");
}

double occupancy_pct(std::string_view architecture, int registers, int block_threads) {
  return theoretical_occupancy(limits_of(parse_compute_capability(architecture)),
                               {.block_threads = block_threads}, {.registers_per_thread = registers})
      .theoretical_pct;
}

TEST(LiveRegisters, EveryBuildForSm90HasExactlyTheRegistersOfItsName) {
  std::map<int, std::vector<int>> registers;
  for (const Build& build : live_registers_builds()) {
    if (build.assembled.architecture != "sm_90") continue;
    EXPECT_EQ(build.assembled.registers_per_thread, build.numbers[1]);
    registers[build.numbers[0]].push_back(build.assembled.registers_per_thread);
  }
  if (registers.empty()) GTEST_SKIP() << "this build has no machine code for sm_90";
  for (const auto& [body, counts] : registers) EXPECT_THAT(counts, IsSupersetOf({31, 32, 33, 40, 41}));
  EXPECT_EQ(registers.size(), 2U);
}

TEST(LiveRegisters, NoBuildSpills) {
  ASSERT_FALSE(live_registers_builds().empty()) << "the build kept no reports of ptxas";
  for (const Build& build : live_registers_builds()) {
    EXPECT_EQ(build.assembled.spill_bytes, 0) << build.assembled.architecture << " " << build.numbers[1];
  }
}

/// Most registers per thread with which blocks of 512 threads fill an SM.
int edge_of(std::string_view architecture) {
  int edge = 0;
  while (occupancy_pct(architecture, edge + 1, 512) == 100) ++edge;
  return edge;
}

/// 64 K registers an SM over its threads, in units of 8 (CUDA C++ Programming Guide, compute capabilities).
TEST(LiveRegisters, TheCliffIsWhereTheDocumentedLimitsPutIt) {
  EXPECT_EQ(edge_of("sm_75"), 65536 / 1024);
  EXPECT_EQ(edge_of("sm_90"), 65536 / 2048);
  for (const char* of_48_warps : {"sm_86", "sm_89", "sm_120"})
    EXPECT_EQ(edge_of(of_48_warps), 65536 / 1536 / 8 * 8);
}

/// One register more where there is a build of it; on compute capability 7.5, whose edge is 64, ptxas is
/// asked for 66: any count above the edge is past the cliff.
TEST(LiveRegisters, BothSidesOfEachArchitecturesOwnCliffAreBuilt) {
  std::map<std::pair<std::string_view, int>, std::vector<int>> registers;
  for (const Build& build : live_registers_builds()) {
    registers[{build.assembled.architecture, build.numbers[0]}].push_back(
        build.assembled.registers_per_thread);
  }
  for (const Assembled& elsewhere : kElsewhere) {
    for (const int body : {0, 1}) EXPECT_THAT(registers, Contains(Key(Pair(elsewhere.architecture, body))));
  }
  ASSERT_FALSE(registers.empty());
  for (const auto& [key, counts] : registers) {
    const int edge = edge_of(key.first);
    EXPECT_THAT(counts, Contains(edge)) << key.first;
    EXPECT_THAT(counts, Contains(AnyOf(edge + 1, edge == 64 ? 66 : edge + 1))) << key.first;
  }
}

TEST(Demanding, ACapBelowWhatItWantsIsReachedExactlyAndSpills) {
  std::map<std::string_view, int> wanted;
  for (const Build& build : builds_of("uncapped_kernel")) {
    EXPECT_GE(build.assembled.registers_per_thread, 128);
    EXPECT_EQ(build.assembled.spill_bytes, 0);
    wanted[build.assembled.architecture] = build.assembled.registers_per_thread;
  }
  const std::vector<Build> by_option = builds_of(R"(register_pressure_capped_kernel<(\d+)>)");
  const std::vector<Build> by_attribute = builds_of(R"(maxnreg_kernel<(\d+)>)");
  EXPECT_FALSE(by_option.empty());
  EXPECT_EQ(by_option.size() % 11, 0U);
  EXPECT_EQ(by_attribute.size(), 3 * wanted.size());
  for (const auto& builds : {by_option, by_attribute}) {
    for (const Build& build : builds) {
      const int cap = build.numbers[0];
      const int without = wanted.at(build.assembled.architecture);
      if (cap < without) {
        EXPECT_EQ(build.assembled.registers_per_thread, cap) << build.assembled.architecture;
        EXPECT_GT(build.assembled.spill_bytes, 0) << build.assembled.architecture << " " << cap;
      } else {
        EXPECT_LE(build.assembled.registers_per_thread, cap) << build.assembled.architecture;
        EXPECT_EQ(build.assembled.spill_bytes, 0) << build.assembled.architecture << " " << cap;
      }
    }
  }
}

TEST(Demanding, FewerRegistersSpillMore) {
  std::map<std::pair<std::string_view, int>, std::int64_t> spills;
  for (const Build& build : builds_of(R"(register_pressure_capped_kernel<(\d+)>)")) {
    spills[{build.assembled.architecture, build.numbers[0]}] = build.assembled.spill_bytes;
  }
  for (auto here = spills.begin(); here != spills.end(); ++here) {
    const auto next = std::next(here);
    if (next == spills.end() || next->first.first != here->first.first) continue;
    EXPECT_GE(here->second, next->second);
  }
}

TEST(Demanding, LaunchBoundsReachTheirShareOfEachArchitecturesWarps) {
  const std::vector<Build> bounded = builds_of(R"(bounded_kernel<(\d+)>)");
  EXPECT_FALSE(bounded.empty());
  for (const Build& build : bounded) {
    EXPECT_GE(occupancy_pct(build.assembled.architecture, build.assembled.registers_per_thread,
                            kRegisterPressureBlockThreads),
              build.numbers[0])
        << build.assembled.architecture;
  }
}

TEST(Reads, EveryBuildHasRegistersForAllThatItHasUnderWay) {
  const std::map<std::string, int> words = {{"unsigned int", 1}, {"uint2", 2}, {"uint4", 4}};
  std::size_t builds = 0;
  for (const auto& [type, count] : words) {
    for (const Build& build : builds_of("reads_kernel<" + type + R"(, (\d+)>)")) {
      EXPECT_GE(build.assembled.registers_per_thread, count * build.numbers[0]) << type;
      EXPECT_EQ(build.assembled.spill_bytes, 0) << type;
      ++builds;
    }
  }
  EXPECT_GT(builds, 0U);
  EXPECT_EQ(builds % (words.size() * std::size(kReadsInFlight)), 0U);
}

TEST(Chains, NoBuildSpillsAndAllLetAnSmHoldAllItsWarps) {
  const std::vector<Build> builds = builds_of("fma_chains_kernel<");
  EXPECT_FALSE(builds.empty());
  for (const Build& build : builds) {
    EXPECT_EQ(build.assembled.spill_bytes, 0);
    EXPECT_EQ(occupancy_pct(build.assembled.architecture, build.assembled.registers_per_thread, 128), 100);
  }
}

TEST(SummationBound, IsHalfAnUlpForOneAdditionAndGrowsWithTheirNumber) {
  EXPECT_DOUBLE_EQ(summation_bound(1), 0x1p-24);
  EXPECT_NEAR(summation_bound(1000), 1000 * 0x1p-24, 1e-8);
  EXPECT_EQ(summation_bound(0), 0);
}

TEST(SummationBound, HoldsForSumsFromFirstToLast) {
  constexpr int kValues = 100'000;
  float sum = 0;
  double exact = 0;
  for (const std::uint32_t word : random_words(kValues)) {
    const float value = static_cast<float>(word >> 8) * 0x1p-24F;
    sum += value;
    exact += static_cast<double>(value);
  }
  const double error = std::abs(static_cast<double>(sum) - exact) / exact;
  EXPECT_GT(error, 0);
  EXPECT_LE(error, summation_bound(kValues));
}

TEST(SummationBound, IsExceededByASumThatLacksItsLastHundredth) {
  constexpr int kValues = 10'000;
  EXPECT_LT(summation_bound(kValues), 0.01);
}

}  // namespace
}  // namespace occbench
