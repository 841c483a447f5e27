#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../cli/run_command.hpp"
#include "made_up_fleet.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::Not;

using Causes = std::map<std::string, std::set<std::string>>;  // by UUID

class Fleet : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& rows) {
    const fs::path file = folder_.path() / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << csv_header() << rows;
    return file.string();
  }

  ExitStatus fleet(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "fleet");
    const Outcome outcome = run_command(arguments);
    out_ = outcome.out;
    err_ = outcome.err;
    return outcome.status;
  }

  /// What `occbench fleet --format json` names, notes aside.
  Causes causes_of(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--format", "json"});
    fleet(arguments);
    Causes causes;
    std::istringstream lines(out_);
    for (std::string line; std::getline(lines, line);) {
      const auto object = nlohmann::json::parse(line);
      for (const auto& finding : object["findings"]) {
        if (!finding["note"].get<bool>())
          causes[object["gpu_uuid"]].insert(finding["cause"].get<std::string>());
      }
    }
    return causes;
  }

  /// A fleet of so many GPUs with faults of some of them.
  std::string fleet_file(unsigned seed, int gpus, const std::map<int, Fault>& faults) {
    MadeUpFleet fleet(seed);
    std::string text;
    for (int number = 0; number < gpus; ++number) {
      const auto fault = faults.find(number);
      text += text_of(fleet.gpu(number, fault == faults.end() ? Fault() : fault->second));
    }
    return write(fmt::format("fleet-{}-{}.csv", seed, gpus), text);
  }

  TemporaryFolder folder_;
  std::string out_, err_;
};

const std::map<std::string, Fault> kFaults = {{"sm_clock", slow_clock},
                                              {"bandwidth", slow_memory},
                                              {"sm_count", one_sm_less},
                                              {"sm_cycles", one_hidden_sm_less},
                                              {"gpc_clock", one_slow_gpc}};

TEST_F(Fleet, NamesAFaultByWhatItIsAndNothingElse) {
  for (const int gpus : {12, 40}) {
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

TEST_F(Fleet, NamesAllFaultsOfAFleet) {
  std::map<int, Fault> faults;
  for (const auto& [cause, fault] : kFaults) faults[static_cast<int>(3 * faults.size())] = fault;
  for (unsigned seed = 1; seed <= 5; ++seed)
    EXPECT_EQ(causes_of({fleet_file(seed, 40, faults)}).size(), 5) << seed;
}

TEST_F(Fleet, TellsTheSizeOfAFault) {
  fleet({fleet_file(1, 12, {{1, slow_clock}, {4, slow_memory}}), "--format", "json"});
  std::map<std::string, double> sizes;
  std::istringstream lines(out_);
  for (std::string line; std::getline(lines, line);) {
    const auto object = nlohmann::json::parse(line);
    for (const auto& finding : object["findings"]) {
      sizes[finding["cause"]] = finding["size"];
      EXPECT_LT(finding["chance"].get<double>(), 0.01);
    }
  }
  EXPECT_EQ(sizes.size(), 2);
  EXPECT_NEAR(sizes["sm_clock"], -1, 0.2);
  EXPECT_NEAR(sizes["bandwidth"], -3, 0.4);
}

TEST_F(Fleet, NamesNothingAmongGpusWithoutAFault) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    for (const int gpus : {3, 6, 20}) EXPECT_THAT(causes_of({fleet_file(seed, gpus, {})}), IsEmpty()) << seed;
  }
}

TEST_F(Fleet, NamesOneFaultAmongFiveHundredGpus) {
  EXPECT_EQ(causes_of({fleet_file(7, 500, {{321, slow_memory}})}), (Causes{{"GPU-00321", {"bandwidth"}}}));
}

TEST_F(Fleet, NamesNothingAmongRepeatedRunsOfOneGpu) {
  std::map<std::string, std::string> runs;
  const std::string file = OCCBENCH_SOURCE_DIR "/tests/data/gate/unchanged.csv.gz";
  for (Row& row : parse_rows(read_gzip_text(file), file)) {
    const std::string run = row.extra.front().second;
    row.extra.clear();
    row.gpu_uuid = "GPU of run " + run;
    runs[run] += csv_record(row);
  }
  ASSERT_EQ(runs.size(), 3);
  std::string all;
  for (const auto& [run, rows] : runs) all += rows;
  EXPECT_EQ(fleet({write("all.csv", all)}), ExitStatus::done) << out_;
}

/// Runs of one build on one GPU: six pairs of unchanged code, and the unchanged half of thirty others.
TEST_F(Fleet, NamesNothingAmongFortyTwoRunsOfOneGpu) {
  std::string all;
  std::set<std::string> gpus;
  for (const std::string name : {"none", "registers", "shared_memory", "block_size", "slow_warp", "slower"}) {
    const std::string file = OCCBENCH_SOURCE_DIR "/tests/data/gate/" + name + ".csv.gz";
    for (Row& row : parse_rows(read_gzip_text(file), file)) {
      const std::string run = row.extra.front().second;
      if (name != "none" && run.ends_with("-b")) continue;
      row.extra.clear();
      row.commit = "one";
      row.gpu_uuid = name + run;
      gpus.insert(row.gpu_uuid);
      all += csv_record(row);
    }
  }
  EXPECT_EQ(gpus.size(), 42);
  EXPECT_EQ(fleet({write("all.csv", all)}), ExitStatus::done) << out_;
}

/// Smoke runs of one build on one H100, one after another.
std::map<std::string, std::vector<Row>> repeated_runs() {
  std::map<std::string, std::vector<Row>> runs;
  const std::string file = OCCBENCH_SOURCE_DIR "/tests/data/fleet/h100_repeats.csv.gz";
  for (Row& row : parse_rows(read_gzip_text(file), file)) {
    const std::string run = row.extra.front().second;
    row.extra.clear();
    runs[run].push_back(std::move(row));
  }
  return runs;
}

TEST_F(Fleet, IsInLineWhereOneH100IsComparedWithItsOwnRunsBefore) {
  std::vector<std::string> written;
  for (const auto& [run, rows] : repeated_runs()) {
    written.push_back(write("past/" + run + ".csv", text_of(rows)));
    if (written.size() < 3) continue;
    EXPECT_EQ(fleet({written.back(), "--since", (folder_.path() / "past").string()}), ExitStatus::done)
        << run << out_;
  }
  EXPECT_EQ(written.size(), 12);
}

TEST_F(Fleet, NamesTheRunWithAFaultAmongTwelveRunsOfOneH100) {
  const auto slow_memory_of_an_h100 = [](Row& row) {
    if (row.kernel == "reads" && row.throughput.value_or(0) > 2e12) *row.time_us /= 0.97;
  };
  const std::map<std::string, Fault> faults = {{"none", {}},
                                               {"sm_clock", slow_clock},
                                               {"bandwidth", slow_memory_of_an_h100},
                                               {"sm_count", one_sm_less}};
  const std::map<std::string, std::vector<Row>> runs = repeated_runs();
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

/// A row for each GPU and case, and copies of one of the GPUs with a fault.
std::vector<Row> five_recorded_h200s(const std::map<std::string, Fault>& copies, int of = 0) {
  std::vector<Row> all;
  int gpu = -1;
  for (const char* file : {"results/nvidia-h200/calibration.csv", "tests/data/h200_calibration/gpu_1.csv",
                           "tests/data/h200_calibration/gpu_2.csv", "tests/data/h200_calibration/gpu_3.csv",
                           "tests/data/h200_calibration/gpu_4.csv"}) {
    ++gpu;
    for (Row& row : read_rows(fs::path(OCCBENCH_SOURCE_DIR) / file)) {
      row.commit = "one";
      all.push_back(row);
      for (const auto& [name, fault] : copies) {
        if (gpu != of) continue;
        Row copy = row;
        copy.gpu_uuid = name;
        fault(copy);
        all.push_back(std::move(copy));
      }
    }
  }
  return all;
}

TEST_F(Fleet, NamesNothingAmongFiveRecordedH200s) {
  EXPECT_EQ(fleet({write("all.csv", text_of(five_recorded_h200s({})))}), ExitStatus::done) << out_;
}

// One GPC 0.5 % slower is below what five GPUs can tell; larger fleets find it (docs/fleet.md).
TEST_F(Fleet, NamesFaultyCopiesOfEachOfFiveRecordedH200s) {
  const std::map<std::string, Fault> faults = {{"sm_clock", slow_clock}, {"sm_count", one_sm_less}};
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

TEST_F(Fleet, SaysSinceWhenAGpuIsOutOfLineAndAgainstWhat) {
  MadeUpFleet fleet_of(3);
  std::string now;
  for (int day = 1; day <= 6; ++day) {
    std::string run;
    for (int number = 0; number < 12; ++number) {
      std::vector<Row> rows = fleet_of.gpu(number, number == 2 && day >= 4 ? Fault(slow_clock) : Fault());
      for (Row& row : rows) row.recorded_at = fmt::format("2026-11-0{}T00:00:00Z", day);
      run += text_of(rows);
    }
    now = write(fmt::format("runs/day-{}.csv", day), run);
  }
  const ExitStatus status = fleet({now, "--since", (folder_.path() / "runs").string()});
  EXPECT_EQ(status, ExitStatus::regression);
  EXPECT_THAT(out_, HasSubstr("out of line: GPU-00002"));
  EXPECT_THAT(out_, HasSubstr("since 2026-11-04T00:00:00Z"));
  EXPECT_THAT(out_, HasSubstr("1 of 12 GPUs is out of line"));
}

TEST_F(Fleet, FollowsASingleGpuByItsOwnPast) {
  MadeUpFleet fleet_of(4);
  for (int run = 0; run < 8; ++run) write(fmt::format("runs/{}.csv", run), text_of(fleet_of.gpu(0)));
  const std::string since = (folder_.path() / "runs").string();
  EXPECT_EQ(fleet({write("now.csv", text_of(fleet_of.gpu(0))), "--since", since}), ExitStatus::done) << out_;
  EXPECT_EQ(fleet({write("now.csv", text_of(fleet_of.gpu(0, slow_clock))), "--since", since}),
            ExitStatus::regression);
  EXPECT_THAT(out_, HasSubstr("against its own earlier runs"));
}

TEST_F(Fleet, SaysThatItIsTheNodeWhereAllItsGpusAreOutOfLine) {
  std::map<int, Fault> faults;
  for (int number = 8; number < 16; ++number) faults[number] = slow_clock;
  fleet({fleet_file(1, 40, faults)});
  EXPECT_THAT(out_, HasSubstr("all 8 GPUs of node node1 are out of line in sm_clock: look at the node"));
}

TEST_F(Fleet, NamesThrottlingNeighboursWrongResultsAndOtherSettings) {
  const Causes causes =
      causes_of({fleet_file(1, 12,
                            {{1, [](Row& row) { row.throttle_reasons = "sw_power_cap+hw_slowdown"; }},
                             {2, [](Row& row) { row.other_processes = 1; }},
                             {3,
                              [](Row& row) {
                                if (row.case_ == "reads/copy") row.check = "wrong";
                              }},
                             {4, [](Row& row) { row.gpu_settings = "persistence=on;mig=on"; }},
                             {5, [](Row& row) { row.counters_status = "busy"; }},
                             {6, [](Row& row) { row.memory_clock_mhz = 1593; }}})});
  const Causes expected = {{"GPU-00001", {"throttle_hw_slowdown", "throttle_sw_power_cap"}},
                           {"GPU-00002", {"other_processes"}},
                           {"GPU-00003", {"failed"}},
                           {"GPU-00004", {"gpu_settings"}},
                           {"GPU-00005", {"counters_missing"}},
                           {"GPU-00006", {"memory_clock_mhz"}}};
  EXPECT_EQ(causes, expected);
}

TEST_F(Fleet, NamesAnSmThatGetsNoWork) {
  const Causes causes = causes_of({fleet_file(1, 12, {{7, [](Row& row) {
                                                         if (row.grid_blocks >= row.sm_count)
                                                           row.sm_cycles_active_min = 0;
                                                       }}})});
  EXPECT_EQ(causes, (Causes{{"GPU-00007", {"idle_sm"}}}));
}

TEST_F(Fleet, IsNotMisledByOneDisturbedCase) {
  for (const char* disturbed : {"reads/copy", "spin/plain/waves=1.00"}) {
    const Fault fault = [&](Row& row) {
      if (row.case_ == disturbed) *row.time_us *= 1.5;
    };
    EXPECT_THAT(causes_of({fleet_file(1, 12, {{1, fault}})}), IsEmpty()) << disturbed;
  }
}

TEST_F(Fleet, SaysFromWhatDistanceAGpuIsNamed) {
  fleet({fleet_file(1, 12, {})});
  EXPECT_THAT(out_, HasSubstr("is named from"));
}

TEST_F(Fleet, DoesNotBlameASlowClockTwice) {
  const Causes causes = causes_of({fleet_file(2, 12, {{1, slow_clock}})});
  EXPECT_EQ(causes, (Causes{{"GPU-00001", {"sm_clock"}}}));
}

TEST_F(Fleet, AFasterGpuIsANote) {
  const ExitStatus status = fleet({fleet_file(1, 12, {{1, [](Row& row) {
                                                         row.sm_clock_mhz =
                                                             row.sm_clock_mhz.value_or(0) * 1.02;
                                                         if (follows_sm_clock(row) && row.time_us)
                                                           *row.time_us /= 1.02;
                                                       }}})});
  EXPECT_EQ(status, ExitStatus::done);
  EXPECT_THAT(out_, HasSubstr("note: SM clock"));
}

TEST_F(Fleet, HasNoVerdictOnTwoGpusWithoutABaseline) {
  MadeUpFleet fleet_of(1);
  const std::string two = write("two.csv", text_of(fleet_of.gpu(0)) + text_of(fleet_of.gpu(1)));
  EXPECT_EQ(fleet({two}), ExitStatus::no_verdict);
  EXPECT_THAT(out_, HasSubstr("there are 2 GPUs to compare, and a comparison needs 3"));
  EXPECT_THAT(out_, HasSubstr("GPU-00001"));
  std::string more;
  for (int number = 2; number < 8; ++number) more += text_of(fleet_of.gpu(number));
  EXPECT_EQ(fleet({two, "--baseline", write("more.csv", more)}), ExitStatus::done) << out_;
  EXPECT_THAT(out_, Not(HasSubstr("GPU-00002")));
}

TEST_F(Fleet, RefusesMixedModelsUnlessOneIsChosen) {
  MadeUpFleet fleet_of(1);
  std::string text;
  for (int number = 0; number < 6; ++number) {
    std::vector<Row> rows = fleet_of.gpu(number);
    if (number >= 4) {
      for (Row& row : rows) row.gpu = "NVIDIA H100 80GB HBM3";
    }
    text += text_of(rows);
  }
  const std::string file = write("mixed.csv", text);
  EXPECT_EQ(fleet({file}), ExitStatus::usage);
  EXPECT_THAT(err_, HasSubstr("NVIDIA H100 80GB HBM3"));
  EXPECT_THAT(err_, HasSubstr("--model"));
  EXPECT_EQ(fleet({file, "--model", "NVIDIA H200"}), ExitStatus::done) << err_;
  EXPECT_EQ(fleet({file, "--model", "NVIDIA A100"}), ExitStatus::usage);
}

TEST_F(Fleet, RefusesAGpuSeenTwice) {
  MadeUpFleet fleet_of(1);
  const std::string rows = text_of(fleet_of.gpu(0));
  const std::string again = text_of(fleet_of.gpu(0));
  EXPECT_EQ(fleet({write("twice.csv", rows + again)}), ExitStatus::usage);
  EXPECT_THAT(err_, HasSubstr("GPU-00000 has "));
  EXPECT_EQ(fleet({write("1.csv", rows), write("2.csv", again)}), ExitStatus::usage);
  EXPECT_THAT(err_, HasSubstr("GPU-00000 is in "));
}

TEST_F(Fleet, HasNoVerdictOnAGpuWhoseFileIsTorn) {
  MadeUpFleet fleet_of(1);
  std::string text;
  for (int number = 0; number < 5; ++number) text += text_of(fleet_of.gpu(number));
  const std::string torn = text_of(fleet_of.gpu(5));
  const ExitStatus status = fleet({write("torn.csv", text + torn.substr(0, torn.size() / 3))});
  EXPECT_EQ(status, ExitStatus::no_verdict);
  EXPECT_THAT(err_, HasSubstr("torn.csv: the last line has no end"));
  EXPECT_THAT(out_, HasSubstr("no verdict: GPU-00005"));
  EXPECT_EQ(fleet({write("middle.csv", text + "2,torn\n" + torn)}), ExitStatus::usage);
  EXPECT_THAT(err_, HasSubstr("middle.csv, line "));
}

TEST_F(Fleet, HasNoVerdictOnRowsOfAnotherCommit) {
  const ExitStatus status = fleet({fleet_file(1, 6, {{2, [](Row& row) { row.commit = "another"; }}})});
  EXPECT_EQ(status, ExitStatus::no_verdict);
  EXPECT_THAT(out_, HasSubstr("of commit another"));
}

TEST_F(Fleet, RefusesAFolderWithoutEarlierRuns) {
  fs::create_directories(folder_.path() / "empty");
  EXPECT_EQ(fleet({fleet_file(1, 3, {}), "--since", (folder_.path() / "empty").string()}), ExitStatus::usage);
  EXPECT_THAT(err_, HasSubstr("no file of earlier rows"));
}

}  // namespace
}  // namespace occbench
