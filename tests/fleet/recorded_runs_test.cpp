#include <algorithm>
#include <filesystem>
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
#include "recorded_gpus.hpp"

namespace occbench {
namespace {

using ::testing::Contains;

TEST_F(Fleet, NamesNothingAmongRepeatedRunsOfOneGpu) {
  const std::vector<Row> all = runs_as_gpus("gate/unchanged.csv.gz", "");
  EXPECT_EQ(gpus_of(all), 3);
  EXPECT_EQ(fleet({write("all.csv", text_of(all))}), ExitStatus::done) << out_;
}

/// Runs of one build on one GPU: six pairs of unchanged code, and the unchanged half of thirty others.
TEST_F(Fleet, NamesNothingAmongFortyTwoRunsOfOneGpu) {
  std::string all;
  std::set<std::string> gpus;
  for (const std::string name : {"none", "registers", "shared_memory", "block_size", "slow_warp", "slower"}) {
    for (const auto& [run, rows] : packed_runs("gate/" + name + ".csv.gz")) {
      if (name != "none" && run.ends_with("-b")) continue;
      gpus.insert(name + run);
      for (Row row : rows) {
        row.commit = "one";
        row.gpu_uuid = name + run;
        all += csv_record(row);
      }
    }
  }
  EXPECT_EQ(gpus.size(), 42);
  EXPECT_EQ(fleet({write("all.csv", all)}), ExitStatus::done) << out_;
}

TEST_F(Fleet, IsInLineWhereOneH100IsComparedWithItsOwnRunsBefore) {
  std::vector<std::string> written;
  for (const auto& [run, rows] : packed_runs(kRepeats)) {
    written.push_back(write("past/" + run + ".csv", text_of(rows)));
    if (written.size() < 3) continue;
    EXPECT_EQ(fleet({written.back(), "--since", (folder_.path() / "past").string()}), ExitStatus::done)
        << run << out_;
  }
  EXPECT_EQ(written.size(), 12);
}

TEST_F(Fleet, NamesNothingAmongSeventeenRunsOfAnotherH100) {
  const std::vector<Row> all = runs_as_gpus(kGpus, "GPU-57106549");
  EXPECT_EQ(gpus_of(all), 17);
  EXPECT_EQ(fleet({write("all.csv", text_of(all))}), ExitStatus::done) << out_;
}

TEST_F(Fleet, NamesNothingAmongTwentyRunsOfAnH200) {
  const std::vector<Row> all = runs_as_gpus(kH200, "");
  EXPECT_EQ(gpus_of(all), 20);
  EXPECT_EQ(fleet({write("all.csv", text_of(all))}), ExitStatus::done) << out_;
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

void slow_memory_of_an_h100(Row& row) {
  if (row.kernel == "reads" && row.throughput.value_or(0) > 2e12) *row.time_us /= 0.97;
}

void slow_l2(Row& row) {
  if (row.kernel == "atomics" && row.time_us) *row.time_us *= 1.06;
}

TEST_F(Fleet, NamesFaultyCopiesOfEachOfFiveRecordedH100sAndNothingElse) {
  const std::vector<Row> healthy = five_h100s();
  EXPECT_EQ(fleet({write("all.csv", text_of(healthy))}), ExitStatus::done) << out_;
  std::set<std::string> gpus;
  for (const Row& row : healthy) gpus.insert(row.gpu_uuid);
  EXPECT_EQ(gpus.size(), 5);
  const std::map<std::string, Fault> faults = {
      {"sm_clock", slow_clock},          {"bandwidth", slow_memory_of_an_h100}, {"sm_count", one_sm_less},
      {"sm_cycles", one_hidden_sm_less}, {"gpc_clock", one_slow_gpc},           {"l2", slow_l2}};
  for (const auto& [cause, fault] : faults) {
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
      EXPECT_EQ(causes.size(), 1);
      ASSERT_TRUE(causes.contains("copy"));
      EXPECT_THAT(causes.at("copy"), Contains(cause));
    }
  }
}

TEST_F(Fleet, NamesTheRunWithAFaultAmongRepeatedRuns) {
  const std::map<std::string, Fault> faults = {
      {"sm_clock", slow_clock},          {"bandwidth", slow_memory_of_an_h100}, {"sm_count", one_sm_less},
      {"sm_cycles", one_hidden_sm_less}, {"gpc_clock", one_slow_gpc},           {"l2", slow_l2}};
  for (const auto& [file, gpu] : {std::pair{kH200, ""}, std::pair{kGpus, "GPU-57106549"}}) {
    const std::vector<Row> runs = runs_as_gpus(file, gpu);
    for (const std::string& of : {runs.front().gpu_uuid, runs[runs.size() / 2].gpu_uuid}) {
      for (const auto& [cause, fault] : faults) {
        std::vector<Row> all = runs;
        for (Row& row : all) {
          if (row.gpu_uuid == of) fault(row);
        }
        const Causes causes = causes_of({write("all.csv", text_of(all))});
        SCOPED_TRACE(fmt::format("{} of {}: {}", cause, of, out_.substr(0, 1000)));
        EXPECT_EQ(causes.size(), 1);
        ASSERT_TRUE(causes.contains(of));
        EXPECT_THAT(causes.at(of), Contains(cause));
      }
    }
  }
}

TEST_F(Fleet, NamesTheRunWithAFaultAmongTwelveRunsOfOneH100) {
  const std::map<std::string, Fault> faults = {{"none", {}},
                                               {"sm_clock", slow_clock},
                                               {"bandwidth", slow_memory_of_an_h100},
                                               {"sm_count", one_sm_less}};
  const std::map<std::string, std::vector<Row>> runs = packed_runs(kRepeats);
  for (const auto& [cause, fault] : faults) {
    std::string all;
    for (const auto& [run, rows] : runs) {
      for (Row row : rows) {
        row.gpu_uuid = run;
        if (run == "run-07" && fault) fault(row);
        all += csv_record(row);
      }
    }
    const Causes causes = causes_of({write(cause + ".csv", all)});
    SCOPED_TRACE(cause + out_.substr(0, 1500));
    EXPECT_EQ(causes.size(), cause == "none" ? 0 : 1);
    if (!causes.empty()) {
      EXPECT_THAT(causes.at("run-07"), Contains(cause));
    }
  }
}

TEST_F(Fleet, NamesNothingAmongFiveRecordedH200s) {
  EXPECT_EQ(fleet({write("all.csv", text_of(five_recorded_h200s({})))}), ExitStatus::done) << out_;
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
      EXPECT_EQ(causes.size(), 1);
      ASSERT_TRUE(causes.contains("copy"));
      EXPECT_THAT(causes.at("copy"), Contains(cause));
    }
  }
}

}  // namespace
}  // namespace occbench
