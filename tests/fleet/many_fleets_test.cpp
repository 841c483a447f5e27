// Faults are named, and nothing else, among hundreds of fleets: minutes under sanitizers, where smaller tests run the same code.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet_fixture.hpp"

namespace occbench {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

TEST_F(Fleet, NamesAFaultByWhatItIsAndNothingElse) {
  for (const int gpus : {3, 12, 40}) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      for (const auto& [cause, fault] : kFaults) {
        const Causes causes = causes_of({fleet_file(seed, gpus, {{gpus / 2, fault}})});
        SCOPED_TRACE(fmt::format("{}, seed {}, {} GPUs: {}", cause, seed, gpus, out_.substr(0, 1500)));
        ASSERT_EQ(causes.size(), 1);
        EXPECT_EQ(causes.begin()->first, fmt::format("GPU-{:05}", gpus / 2));
        EXPECT_THAT(causes.begin()->second, Contains(cause));
        EXPECT_EQ(causes.begin()->second.size(), cause == "sm_count" ? 2 : 1);  // its cycles too
      }
    }
  }
}

TEST_F(Fleet, NamesNothingAmongGpusWithoutAFault) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    for (const int gpus : {3, 6, 20}) EXPECT_THAT(causes_of({fleet_file(seed, gpus, {})}), IsEmpty()) << seed;
  }
}

TEST_F(Fleet, NamesOneFaultAmongFiveHundredGpus) {
  EXPECT_EQ(causes_of({fleet_file(7, 500, {{321, slow_memory}})}), (Causes{{"GPU-00321", {"bandwidth"}}}));
}

/// Where memory lies in L2 differs from process to process. Adds then differ by 2 % on an H200, and
/// launches of 5 us by 7 %.
TEST_F(Fleet, NamesNothingAmongAFewRunsOfOneGpu) {
  std::mt19937 generator(1);
  for (const auto& [file, gpu] : {std::pair{kH200, ""}, std::pair{kGpus, "GPU-57106549"}}) {
    const std::map<std::string, std::vector<Row>> runs = by_gpu(runs_as_gpus(file, gpu));
    std::vector<std::string> names;
    for (const auto& [name, rows] : runs) names.push_back(name);
    for (int set = 0; set < 40; ++set) {
      std::ranges::shuffle(names, generator);
      const std::size_t few[] = {3, 5, 8, 12};
      std::string all;
      for (std::size_t i = 0; i < few[set % 4]; ++i) all += text_of(runs.at(names[i]));
      EXPECT_EQ(fleet({write("all.csv", all)}), ExitStatus::done) << set << out_.substr(0, 1500);
    }
  }
}

void slow_l2(Row& row) {
  if (row.kernel == "atomics" && row.time_us) *row.time_us *= 1.06;
}

const std::map<std::string, Fault> kFaultsOfAnH100 = {
    {"sm_clock", slow_clock},          {"bandwidth", slow_memory_of_an_h100}, {"sm_count", one_sm_less},
    {"sm_cycles", one_hidden_sm_less}, {"gpc_clock", one_slow_gpc},           {"l2", slow_l2}};

void expect_one(const Causes& causes, const std::string& gpu, const std::string& cause) {
  EXPECT_EQ(causes.size(), 1);
  ASSERT_TRUE(causes.contains(gpu));
  EXPECT_THAT(causes.at(gpu), Contains(cause));
}

TEST_F(Fleet, NamesFaultyCopiesOfEachOfFiveRecordedH100sAndNothingElse) {
  const std::vector<Row> healthy = five_h100s();
  std::set<std::string> gpus;
  for (const Row& row : healthy) gpus.insert(row.gpu_uuid);
  for (const auto& [cause, fault] : kFaultsOfAnH100) {
    for (const std::string& of : gpus) {
      std::vector<Row> all = healthy;
      for (Row row : healthy) {
        if (row.gpu_uuid != of) continue;
        row.gpu_uuid = "copy";
        fault(row);
        all.push_back(std::move(row));
      }
      const Causes causes = causes_of({write("all.csv", text_of(all))});
      SCOPED_TRACE(fmt::format("{} of {}: {}", cause, of, out_.substr(0, 1500)));
      expect_one(causes, "copy", cause);
    }
  }
}

TEST_F(Fleet, NamesTheRunWithAFaultAmongRepeatedRuns) {
  for (const auto& [file, gpu] : {std::pair{kH200, ""}, std::pair{kGpus, "GPU-57106549"}}) {
    const std::vector<Row> runs = runs_as_gpus(file, gpu);
    for (const std::string& of : {runs.front().gpu_uuid, runs[runs.size() / 2].gpu_uuid}) {
      for (const auto& [cause, fault] : kFaultsOfAnH100) {
        std::vector<Row> all = runs;
        for (Row& row : all) {
          if (row.gpu_uuid == of) fault(row);
        }
        const Causes causes = causes_of({write("all.csv", text_of(all))});
        SCOPED_TRACE(fmt::format("{} of {}: {}", cause, of, out_.substr(0, 1000)));
        expect_one(causes, of, cause);
      }
    }
  }
}

TEST_F(Fleet, NamesFaultyCopiesOfEachOfFiveRecordedH200s) {
  const std::map<std::string, Fault> faults = {{"sm_clock", slow_clock},
                                               {"gpc_clock", one_slow_gpc},
                                               {"sm_count", one_sm_less},
                                               {"sm_cycles", one_hidden_sm_less}};
  for (const auto& [cause, fault] : faults) {
    for (int of = 0; of < 5; ++of) {
      const Causes causes =
          causes_of({write("all.csv", text_of(five_recorded_h200s({{"copy", fault}}, of)))});
      SCOPED_TRACE(fmt::format("{} of GPU {}: {}", cause, of, out_.substr(0, 1000)));
      expect_one(causes, "copy", cause);
    }
  }
}

}  // namespace
}  // namespace occbench
