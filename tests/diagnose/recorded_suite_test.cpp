// What is said of the launches of the recorded suite, whose causes the experiments declare.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/diagnose.hpp"
#include "diagnose/situation.hpp"

namespace occbench {
namespace {

std::optional<MeasuredParts> parts_of(const CaseRecord& record) {
  const LaunchFacts facts = facts_of(record);
  const std::optional<Situation> situation = situation_of(facts);
  return situation ? situation->parts : std::nullopt;
}

/// A launch that loses less than this of full occupancy has nothing to explain.
constexpr double kNothingLost = 1;

struct Told {
  CaseRecord record;
  std::vector<Finding> findings;

  double achieved_pct() const {
    return *record.readings.counters.achieved_pct;
  }
  double lost_points() const {
    return record.theory->theoretical_pct - achieved_pct();
  }
  double points_of(std::initializer_list<Cause> causes) const {
    double points = 0;
    for (const Finding& finding : findings) {
      if (std::ranges::find(causes, finding.cause) != causes.end()) points += finding.points;
    }
    return points;
  }
  /// The cause that cost most, else what is said beside; "none" where there is neither.
  std::string first() const {
    return findings.empty() ? "none" : std::string(to_string(findings.front().cause));
  }
  bool expects(const std::string& cause) const {
    return ("+" + record.identity.expected_cause + "+").find("+" + cause + "+") != std::string::npos;
  }
};

/// On the first the thresholds of causes were chosen; the other is another GPU model, which decided nothing.
const std::string kSuites[] = {"nvidia-h200/full", "nvidia-h100-80gb-hbm3/full"};
/// A second run of the suite, and programs that know nothing of occbench.
const std::string kRuns[] = {kSuites[0],
                             kSuites[1],
                             "nvidia-h200/repeat",
                             "nvidia-h100-80gb-hbm3/repeat",
                             "nvidia-h100-80gb-hbm3/programs/training",
                             "nvidia-h100-80gb-hbm3/programs/inference",
                             "nvidia-h100-80gb-hbm3/programs/gemm"};

std::vector<Told> read_and_diagnose(const std::string& run) {
  std::vector<Told> all;
  for (CaseRecord& record : read_case_records(OCCBENCH_SOURCE_DIR "/results/" + run + ".csv")) {
    if (!record.theory || !record.readings.counters.achieved_pct) continue;
    std::vector<Finding> findings = diagnose(facts_of(record));
    all.push_back({std::move(record), std::move(findings)});
  }
  return all;
}

/// Of each file once in a process.
const std::vector<Told>& told(const std::string& run) {
  static std::map<std::string, std::vector<Told>> of_runs;
  const auto found = of_runs.find(run);
  return found != of_runs.end() ? found->second : of_runs.emplace(run, read_and_diagnose(run)).first->second;
}

/// Every file of rows that was recorded, of suites, random launches, programs and sweeps.
std::vector<std::string> all_recorded() {
  std::vector<std::string> runs;
  const std::filesystem::path results = OCCBENCH_SOURCE_DIR "/results";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(results)) {
    std::string header;
    if (entry.path().extension() != ".csv" || !std::getline(std::ifstream(entry.path()) >> std::ws, header))
      continue;
    if (header.starts_with("schema,") && header.find(",recorded_at,") != std::string::npos)
      runs.push_back(entry.path().lexically_relative(results).replace_extension().string());
  }
  std::ranges::sort(runs);
  return runs;
}

/// What tells uneven blocks from those that wait to be given out, where the two leave as many places empty.
TEST(RecordedSuite, TheLongestSmIsHardlyLongerThanTheMeanWhereBlocksWaitToBeGivenOut) {
  constexpr double kMany = 8;
  constexpr double kLonger = 1.05;
  int waiting = 0;
  int even = 0;
  int uneven = 0;
  int longer = 0;
  for (const char* file : {"nvidia-h200/full", "nvidia-h200/validation", "nvidia-h100-80gb-hbm3/full",
                           "nvidia-h100-80gb-hbm3/validation"}) {
    for (const CaseRecord& record :
         read_case_records(fmt::format("{}/results/{}.csv", OCCBENCH_SOURCE_DIR, file))) {
      const CounterValues& counters = record.readings.counters;
      const LaunchFacts facts = facts_of(record);
      const std::optional<Situation> situation = situation_of(facts);
      if (!situation || !record.prediction || !counters.achieved_pct || situation->waves() <= 1) continue;
      const bool is_longer = *counters.sm_cycles_active_max >= kLonger * *counters.sm_cycles_active_avg;
      if (record.prediction->losses.between_blocks >= kMany) {
        ++uneven;
        longer += is_longer ? 1 : 0;
      } else if (record.prediction->losses.overhead >= kMany && share_of_dispatching(*situation) > 0.5) {
        ++waiting;
        even += is_longer ? 0 : 1;
      }
    }
  }
  EXPECT_GT(waiting, 20);
  EXPECT_GT(even, 0.9 * waiting);
  EXPECT_GT(uneven, 300);
  EXPECT_GT(longer, 0.75 * uneven);
}

TEST(RecordedSuite, FindingsAddUpToWhatIsLostInEveryRow) {
  int rows = 0;
  for (const std::string& run : all_recorded()) {
    for (const Told& each : told(run)) {
      ++rows;
      double limits = 0;
      double losses = 0;
      for (const Finding& finding : each.findings) {
        (finding.list == FindingList::limits ? limits : losses) += finding.points;
        EXPECT_EQ(finding.points == 0, finding.list == FindingList::remarks)
            << full_name(each.record.identity);
      }
      const std::string name = run + ": " + full_name(each.record.identity);
      EXPECT_NEAR(limits + losses, 100 - each.achieved_pct(), 0.5) << name;
      EXPECT_NEAR(losses, std::max(0.0, each.lost_points()), 0.5) << name;
    }
  }
  EXPECT_GT(rows, 6900);
}

TEST(RecordedSuite, ReadingsOfOneLaunchAreNotCalledAnothers) {
  for (const std::string& run : all_recorded()) {
    for (const Told& each : told(run)) {
      // Two launches at once are read as one.
      if (each.record.identity.kernel == "concurrent_kernels") continue;
      EXPECT_EQ(std::ranges::find(each.findings, Cause::another_launch, &Finding::cause), each.findings.end())
          << run << ": " << full_name(each.record.identity);
    }
  }
}

/// As at commit 7e14de9: 24 of 6,975 rows, none of which has resident blocks, have unexplained points, 234 together.
TEST(RecordedSuite, NoMoreIsUnexplainedThanBefore) {
  std::vector<double> unexplained;
  for (const std::string& run : all_recorded()) {
    for (const Told& each : told(run)) unexplained.push_back(each.points_of({Cause::unexplained}));
  }
  std::ranges::sort(unexplained);
  EXPECT_EQ(unexplained[unexplained.size() / 2], 0);
  EXPECT_LE(std::ranges::count_if(unexplained, [](double points) { return points > 0; }), 24);
  EXPECT_LE(std::accumulate(unexplained.begin(), unexplained.end(), 0.0), 234.1);
}

TEST(RecordedSuite, NoFindingContradictsTheCounter) {
  int with_parts = 0;
  for (const std::string& run : kRuns) {
    for (const Told& each : told(run)) {
      const std::string name = run + ": " + full_name(each.record.identity);
      const std::optional<MeasuredParts> parts = parts_of(each.record);
      if (!parts) continue;
      ++with_parts;
      EXPECT_LE(each.points_of({Cause::small_grid, Cause::tail, Cause::clusters, Cause::uneven_blocks}),
                std::max(0.0, parts->blocks) + 1)
          << name;
      EXPECT_LE(each.points_of({Cause::uneven_warps}), std::max(0.0, parts->warps) + 1) << name;
    }
  }
  EXPECT_GT(with_parts, 100);
}

TEST(RecordedSuite, MoreExitedWarpsThanContentionLeavesAreUneven) {
  bool found = false;
  for (const Told& each : told("nvidia-h100-80gb-hbm3/programs/sample")) {
    if (full_name(each.record.identity) != "trace/mandelbrot<<<2x1024, 512>>>") continue;
    found = true;
    EXPECT_EQ(each.first(), "uneven_warps");
    EXPECT_EQ(each.findings.front().confidence, Confidence::inferred) << "memory was not read";
  }
  EXPECT_TRUE(found);
}

/// What `memory_contention` rests on.
TEST(RecordedSuite, EqualWorkThatWaitsForMemoryLeavesNoThirdOfPlacesOrWarps) {
  constexpr double kMost = 1.0 / 3;
  double places = 0;
  double warps = 0;
  for (const std::string& suite : kSuites) {
    for (const Told& each : told(suite)) {
      const LaunchFacts facts = facts_of(each.record);
      const std::optional<Situation> situation = situation_of(facts);
      if (!each.expects("memory_contention") || !situation || !situation->parts) continue;
      // Blocks that end as fast as they are given out leave places, too.
      if (share_of_dispatching(*situation) > 0.5) continue;
      const double filled = situation->theoretical_pct - situation->parts->blocks;
      places = std::max(places, 1 - filled / situation->pct_by_grid());
      warps = std::max(warps, 1 - each.achieved_pct() / filled);
    }
  }
  EXPECT_LT(places, kMost);
  EXPECT_LT(warps, kMost);
  EXPECT_GT(std::min(places, warps), 0.28);
}

TEST(RecordedSuite, BlocksThatAreSaidToCostNoTimeCostNoneWhereTheyAreRecorded) {
  // Of one launch the experiment data_race has grids of a block to a wave, whose blocks write to one address.
  constexpr double kNoTime = 1.25;
  int longer = 0;
  for (const std::string& suite : kSuites) {
    std::map<std::string, double> of_wave;
    std::vector<Told> rows;
    for (const Told& each : told(suite)) {
      if (each.record.identity.experiment != "data_race") continue;
      if (each.record.theory->waves == 1) of_wave[each.record.identity.variant] = *each.record.times.time_us;
      rows.push_back(each);
    }
    ASSERT_EQ(of_wave.size(), 6) << suite;
    for (const Told& each : rows) {
      for (const Finding& finding : each.findings) {
        if (finding.cause != Cause::small_grid) continue;
        if (of_wave[each.record.identity.variant] <= kNoTime * *each.record.times.time_us) continue;
        ++longer;
        EXPECT_THAT(finding.remedy, testing::HasSubstr("no further time if they use addresses of their own"))
            << suite << ": " << full_name(each.record.identity);
      }
    }
  }
  EXPECT_GT(longer, 50);
}

/// Times of whole waves and of partial ones of equal blocks are recorded: the partial wave takes as long as a whole one.
TEST(RecordedSuite, WhatWholeWavesCanSaveIsWhatTheySaveWhereTheyAreRecorded) {
  for (const std::string& suite : kSuites) {
    double wave_us = 0;
    std::vector<Told> partial;
    for (const Told& each : told(suite)) {
      if (each.record.identity.experiment != "waves") continue;
      if (each.record.theory->waves == 1) wave_us = *each.record.times.time_us;
      if (each.points_of({Cause::tail}) > 0) partial.push_back(each);
    }
    ASSERT_GT(wave_us, 0) << suite;
    EXPECT_GT(partial.size(), 10U) << suite;
    for (const Told& each : partial) {
      const auto tail = std::ranges::find(each.findings, Cause::tail, &Finding::cause);
      const double saved = 1 - wave_us * *each.record.theory->waves / *each.record.times.time_us;
      ASSERT_TRUE(tail->time);
      EXPECT_NEAR(tail->time->share, saved, 0.03) << suite << ": " << full_name(each.record.identity);
    }
  }
}

TEST(RecordedSuite, ASpilledRowNamesTheBuildOfItsKernelThatIsFaster) {
  for (const std::string& suite : kSuites) {
    const auto records = read_case_records(OCCBENCH_SOURCE_DIR "/results/" + suite + ".csv");
    int faster = 0;
    for (const CaseRecord& record : records) {
      LaunchFacts facts = facts_of(record);
      facts.others = other_builds_of(record, records);
      if (!facts.others.faster) continue;
      ++faster;
      EXPECT_EQ(record.identity.kernel, "register_pressure");
      EXPECT_LT(facts.others.faster->time_us, *record.times.time_us);
      EXPECT_THAT(explanation_of(facts), testing::HasSubstr("times as fast at 24"))
          << full_name(record.identity);
      if (suite == kSuites[0] && record.identity.variant == "cap_48" && record.launch->block_threads == 256) {
        EXPECT_THAT(explanation_of(facts), testing::AllOf(testing::HasSubstr("registers are spilled"),
                                                          testing::HasSubstr("With 128 registers"),
                                                          testing::HasSubstr("3.3 times as fast at 24")));
      }
    }
    EXPECT_GT(faster, 20) << suite;
    const auto few = std::ranges::find_if(records, [](const CaseRecord& each) {
      return each.identity.experiment == "launch_bounds" && each.identity.variant == "min_blocks_5";
    });
    ASSERT_NE(few, records.end());
    ASSERT_TRUE(other_builds_of(*few, records).faster)
        << "another number of minimum blocks is another parameter";
    EXPECT_EQ(other_builds_of(*few, records).faster->build, "min_blocks_2");
    EXPECT_EQ(other_builds_of(*few, records).roomier->registers_per_thread, 128);
    // One build answers for two numbers of minimum blocks, and takes as long.
    int labelled_twice = 0;
    for (const CaseRecord& record : records) {
      if (record.identity.experiment != "launch_bounds" || record.identity.variant != "cap_32") continue;
      ++labelled_twice;
      LaunchFacts facts = facts_of(record);
      facts.others = other_builds_of(record, records);
      ASSERT_TRUE(facts.others.faster) << suite << ": " << full_name(record.identity);
      const auto findings = diagnose(facts);
      const auto spilled = std::ranges::find(findings, Cause::spills, &Finding::cause);
      ASSERT_NE(spilled, findings.end());
      EXPECT_THAT(spilled->time->sentence, testing::EndsWith("were measured with 128 registers (" +
                                                             facts.others.faster->build + ")."));
      EXPECT_EQ(facts.others.faster->registers_per_thread, 128);
    }
    EXPECT_EQ(labelled_twice, 2);
  }
}

TEST(RecordedSuite, ARowOfOtherParametersIsNoOtherBuildWhereAVariantHasSeveral) {
  auto records = read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv");
  std::erase_if(records, [](const CaseRecord& each) {
    return each.identity.variant != "min_blocks_2" && each.identity.variant != "min_blocks_5";
  });
  ASSERT_EQ(records.size(), 2U);
  // As if both variants had been measured with two inputs, one of which takes half of the time.
  for (const std::size_t row : {0, 1}) {
    CaseRecord other = records[row];
    other.identity.parameters.emplace_back("input", "another");
    *other.times.time_us /= 2;
    *other.times.throughput *= 2;
    records.push_back(std::move(other));
  }
  for (const std::size_t row : {1, 3}) {
    const auto faster = other_builds_of(records[row], records).faster;
    ASSERT_TRUE(faster);
    EXPECT_EQ(faster->time_us, records[row - 1].times.time_us) << "of the same input";
    EXPECT_EQ(faster->build, "min_blocks_2");
  }
}

TEST(RecordedSuite, ACapOfASweepIsAnotherBuildAlsoWhereNothingIsSpilled) {
  const auto records =
      read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/sweeps/product.csv");
  for (const auto& [row, times] : {std::pair(0, "2.1 times"), std::pair(1, "1.5 times")}) {
    LaunchFacts facts = facts_of(records.at(row));
    facts.others = other_builds_of(records[row], records);
    const auto findings = diagnose(facts);
    const auto faster = std::ranges::find(findings, Cause::faster_build, &Finding::cause);
    ASSERT_NE(faster, findings.end());
    EXPECT_THAT(faster->sentence, testing::AllOf(testing::HasSubstr("With 70 registers (register_cap=72)"),
                                                 testing::HasSubstr(times)));
  }
}

TEST(RecordedSuite, ASpilledRowThatIsFastestSaysThatItsBuildOfMoreRegistersIsSlower) {
  const auto records = read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv");
  const auto of_cap = [&](std::string_view variant) {
    const auto found = std::ranges::find_if(records, [&](const CaseRecord& each) {
      return full_name(each.identity) ==
             fmt::format("register_cap/register_pressure/{}/block_threads=256", variant);
    });
    return other_builds_of(*found, records).roomier;
  };
  const auto roomier = of_cap("cap_128");
  ASSERT_TRUE(roomier);
  EXPECT_EQ(roomier->registers_per_thread, 155);
  EXPECT_NEAR(roomier->time_us, 1270, 1);
  EXPECT_FALSE(of_cap("cap_255"));
}

TEST(RecordedSuite, SumsByAnAtomicAThreadLoseToAtomicsAlsoWhereThreadsReadForPartOfTheTime) {
  for (const std::string& suite : kSuites) {
    int sums = 0;
    for (const Told& each : told(suite)) {
      if (each.record.identity.experiment != "reductions" || each.record.identity.variant != "thread")
        continue;
      ++sums;
      EXPECT_EQ(each.first(), "atomics") << suite << ": " << full_name(each.record.identity);
    }
    EXPECT_EQ(sums, 2) << suite;
  }
}

/// By the active cycles of the next whole waves, of which the same work needs its share.
TEST(RecordedSuite, WhatIdleSmsAndTailsCanSaveIsNoLessThanTheNextWholeWavesDo) {
  for (const std::string& suite : kSuites) {
    std::map<double, double> cycles;
    const auto rows = told(suite);
    for (const Told& each : rows) {
      if (each.record.identity.experiment == "waves" && std::fmod(*each.record.theory->waves, 1) == 0)
        cycles[*each.record.theory->waves] = *each.record.readings.counters.sm_cycles_active_max;
    }
    int compared = 0;
    for (const Told& each : rows) {
      const double waves = each.record.theory->waves.value_or(0);
      const auto whole = cycles.find(std::ceil(waves));
      if (each.record.identity.experiment != "waves" || waves < 1 || whole == cycles.end()) continue;
      const CounterValues& counters = each.record.readings.counters;
      const double saved_cycles = *counters.sm_cycles_active_max - whole->second * waves / whole->first;
      const double saved = saved_cycles / (*each.record.times.time_us * *counters.sm_clock_mhz);
      for (const Finding& finding : each.findings) {
        if (finding.cause != Cause::tail && finding.cause != Cause::idle_sms) continue;
        ++compared;
        EXPECT_GE(finding.time->share, saved - 0.0001) << suite << ": " << full_name(each.record.identity);
        EXPECT_LE(finding.time->share, saved + 0.002) << suite << ": " << full_name(each.record.identity);
        EXPECT_THAT(finding.sentence, testing::HasSubstr(" waves"));
      }
    }
    EXPECT_GT(compared, 20) << suite;
  }
}

TEST(RecordedSuite, ALimitOfSharedMemorySavesWhatTheSameCaseWithLessOfItDid) {
  const auto records = read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/full.csv");
  const auto saved = [&](std::string_view variant) {
    for (const CaseRecord& record : records) {
      if (record.identity.experiment != "lower_occupancy_faster" || record.identity.variant != variant ||
          record.launch->dynamic_shared_bytes != 32'384)
        continue;
      LaunchFacts facts = facts_of(record);
      facts.others = other_builds_of(record, records);
      const auto findings = diagnose(facts);
      const auto limit = std::ranges::find(findings, Cause::shared_memory_limit, &Finding::cause);
      if (limit != findings.end()) return limit->time.value();
    }
    return TimeSaved{-1, "not found"};
  };
  EXPECT_EQ(saved("walks_together_4").share, 0);
  EXPECT_EQ(
      saved("walks_together_4").sentence,
      "None found: 0.277 instead of 0.272 ms per launch were measured with 0 B of dynamic shared memory.");
  EXPECT_NEAR(saved("walks_together_1").share, 1 - 348.128 / 448.416, 1e-6);
}

/// Variants of one case that differ in registers: of eight more occupancy was slower.
TEST(RecordedSuite, ALimitOfRegistersSavesWhatTheSameCaseWithFewerOfThemDid) {
  for (const std::string& suite : kSuites) {
    const auto records = read_case_records(OCCBENCH_SOURCE_DIR "/results/" + suite + ".csv");
    int limited = 0;
    int measured = 0;
    for (const CaseRecord& record : records) {
      if (record.identity.experiment != "register_cliff" || !record.readings.counters.achieved_pct) continue;
      LaunchFacts facts = facts_of(record);
      facts.others = other_builds_of(record, records);
      EXPECT_FALSE(facts.others.faster) << full_name(record.identity);
      const auto findings = diagnose(facts);
      const auto limit = std::ranges::find(findings, Cause::register_limit, &Finding::cause);
      if (limit == findings.end() || record.theory->waves.value_or(0) <= 1) continue;
      ++limited;
      if (!facts.others.leaner) continue;
      ++measured;
      EXPECT_THAT(limit->time->sentence, testing::HasSubstr(" were measured with "));
      if (record.identity.variant == "throughput_41" && record.launch->block_threads == 512) {
        EXPECT_EQ(limit->time->share, 0) << suite;
        EXPECT_THAT(limit->time->sentence, testing::EndsWith("with 32 registers (throughput_32)."));
      }
      // 32 registers are the advice, and take a tenth longer; 31 take as long as 33.
      if (record.identity.variant == "throughput_33" && record.launch->block_threads == 512) {
        EXPECT_THAT(limit->time->sentence, testing::EndsWith("with 32 registers (throughput_32)."));
      }
    }
    EXPECT_GT(limited, 50) << suite;
    EXPECT_EQ(measured, limited) << suite;
  }
}

TEST(RecordedSuite, UnusedSharedMemorySavesWhatTheSameCaseWithASmallerCarveoutDid) {
  const auto records = read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv");
  const auto saved = [&](std::string_view parameters) {
    const auto found = std::ranges::find_if(records, [&](const CaseRecord& each) {
      return full_name(each.identity) == fmt::format("l1_carveout/l1_reuse/plain/{}", parameters);
    });
    if (found == records.end()) return TimeSaved{-1, "not found"};
    LaunchFacts facts = facts_of(*found);
    facts.others = other_builds_of(*found, records);
    const auto findings = diagnose(facts);
    const auto unused = std::ranges::find(findings, Cause::unused_shared_memory, &Finding::cause);
    return unused == findings.end() ? TimeSaved{-1, "not said"} : unused->time.value();
  };
  EXPECT_EQ(saved("kilobytes=96/carveout_pct=100").sentence,
            "0.0683 instead of 0.11 ms per launch were measured with 0 % as the carveout.");
  const auto time_of = [&](std::string_view parameters) {
    return *std::ranges::find(records, fmt::format("l1_carveout/l1_reuse/plain/{}", parameters),
                              [](const auto& each) { return full_name(each.identity); })
                ->times.time_us;
  };
  EXPECT_NEAR(saved("kilobytes=96/carveout_pct=100").share,
              1 - time_of("kilobytes=96/carveout_pct=0") / time_of("kilobytes=96/carveout_pct=100"), 1e-6);
  EXPECT_THAT(saved("kilobytes=16/carveout_pct=75").sentence, testing::StartsWith("None found: "));
}

TEST(RecordedSuite, ALimitOfTheoryPromisesNoTimeWhereWarpsWaitForAnAddress) {
  for (const std::string& suite : kSuites) {
    int limited = 0;
    for (const Told& each : told(suite)) {
      if (each.points_of({Cause::atomics}) == 0) continue;
      const auto limit = std::ranges::find(each.findings, FindingList::limits, &Finding::list);
      if (limit == each.findings.end()) continue;
      ++limited;
      ASSERT_TRUE(limit->time) << full_name(each.record.identity);
      EXPECT_EQ(limit->time->share, 0) << suite << ": " << full_name(each.record.identity);
      EXPECT_THAT(limit->time->sentence, testing::HasSubstr("wait for an address"));
    }
    EXPECT_GT(limited, 0) << suite;
  }
}

TEST(RecordedSuite, LittleIsUnexplained) {
  for (const std::string& run : kRuns) {
    int counted = 0;
    int rows = 0;
    std::string unexplained;
    for (const Told& each : told(run)) {
      // Neither a prediction nor resident blocks: nothing could part the loss.
      if (!each.record.prediction && !each.record.readings.counters.resident_blocks) continue;
      ++counted;
      if (each.points_of({Cause::unexplained}) <= 2) continue;
      ++rows;
      unexplained += fmt::format("{:.1f} points of {}\n", each.points_of({Cause::unexplained}),
                                 full_name(each.record.identity));
    }
    EXPECT_LE(rows, 0.05 * counted) << run << "\n" << unexplained;
  }
}

class ExpectedCauses : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const Told& each : told(GetParam())) {
      if (100 - each.achieved_pct() >= kNothingLost) rows_.push_back(each);
    }
    const bool declared = std::ranges::any_of(
        rows_, [](const Told& each) { return !each.record.identity.expected_cause.empty(); });
    ASSERT_TRUE(declared) << "the suite was recorded before its experiments declared causes";
  }
  std::vector<Told> rows_;
};

TEST_P(ExpectedCauses, AreNamedFirst) {
  int expected = 0;
  int first = 0;
  std::string others;
  for (const Told& each : rows_) {
    const std::string& cause = each.record.identity.expected_cause;
    if (cause.empty()) continue;
    ++expected;
    if (each.expects(each.first())) {
      ++first;
      continue;
    }
    others += fmt::format("{}: {} instead of {}, {:.1f} of {:.1f} %\n", full_name(each.record.identity),
                          each.first(), cause, each.achieved_pct(), each.record.theory->theoretical_pct);
  }
  EXPECT_GT(expected, 500);
  EXPECT_GE(first, 0.98 * expected) << others;
}

TEST_P(ExpectedCauses, AreNotNamedFirstWhereTheyAreNotExpected) {
  std::map<std::string, std::string> wrong;
  std::map<std::string, int> count;
  for (const Told& each : rows_) {
    if (each.record.identity.expected_cause.empty() || each.expects(each.first())) continue;
    ++count[each.first()];
    wrong[each.first()] += full_name(each.record.identity) + "\n";
  }
  for (const std::string cause : {"small_grid", "tail", "uneven_blocks", "uneven_warps", "spills",
                                  "shared_memory_limit", "atomics", "barriers"}) {
    const int rows = count[cause];
    const auto of_others = std::ranges::count_if(rows_, [&](const Told& each) {
      return !each.record.identity.expected_cause.empty() && !each.expects(cause);
    });
    EXPECT_LE(rows, 0.01 * static_cast<double>(of_others)) << cause << ":\n" << wrong[cause];
  }
}

bool is_cause(std::string_view word) {
  for (std::size_t cause = 0; cause <= static_cast<std::size_t>(Cause::unexplained); ++cause) {
    if (to_string(static_cast<Cause>(cause)) == word) return true;
  }
  return false;
}

TEST_P(ExpectedCauses, AreCauses) {
  for (const Told& each : rows_) {
    std::string words = each.record.identity.expected_cause;
    while (!words.empty()) {
      const std::string word = words.substr(0, words.find('+'));
      EXPECT_TRUE(word == "none" || is_cause(word));
      words.erase(0, std::min(words.size(), word.size() + 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ExpectedCauses, testing::ValuesIn(kSuites), [](const auto& test) {
  return std::string(test.param.find("h100") == std::string::npos ? "H200" : "H100");
});

struct LimitersOfCase {
  std::string name;
  Limiters calculator;
  Limiters hardware;
};

/// Of launches whose blocks have to wait for room.
std::vector<LimitersOfCase> limiters_of_suites() {
  constexpr double kWavesThatWait = 1.2;
  std::vector<LimitersOfCase> cases;
  for (const std::string& suite : kSuites) {
    for (const Told& each : told(suite)) {
      const auto& hardware = each.record.readings.hardware_limiters;
      if (!hardware || each.record.theory->waves.value_or(0) < kWavesThatWait) continue;
      cases.push_back(
          {suite + ": " + full_name(each.record.identity), each.record.theory->limiters, *hardware});
    }
  }
  return cases;
}

bool share_one(Limiters one, Limiters other) {
  return std::ranges::any_of(kAllLimiters,
                             [&](Limiter each) { return one.contains(each) && other.contains(each); });
}

TEST(HardwareLimiterOfTheRecordedSuite, IsTheCalculatorsWhereWarpsDoNotLimit) {
  int compared = 0;
  for (const LimitersOfCase& each : limiters_of_suites()) {
    if (each.calculator.contains(Limiter::warps)) continue;
    EXPECT_TRUE(share_one(each.calculator, each.hardware))
        << each.name << ": " << to_string(each.calculator) << " is called " << to_string(each.hardware);
    ++compared;
  }
  EXPECT_GE(compared, 390);
}

// Warps that have exited give their places back before their block ends, and the hardware counts no stalls for
// want of warps. What it then names is what a block keeps until its end.
TEST(HardwareLimiterOfTheRecordedSuite, IsNoneOrWhatBlocksKeepWhereWarpsLimit) {
  int none = 0;
  int kept = 0;
  int registers = 0;
  for (const LimitersOfCase& each : limiters_of_suites()) {
    if (!each.calculator.contains(Limiter::warps) || share_one(each.calculator, each.hardware)) continue;
    ++(each.hardware == Limiters() ? none : kept);
    registers += each.hardware.contains(Limiter::registers) ? 1 : 0;
  }
  EXPECT_GT(none, 500);
  EXPECT_LT(kept, 0.1 * none);
  EXPECT_LE(registers, 0.01 * none) << "short blocks of 24 warps alone";
}

}  // namespace
}  // namespace occbench
