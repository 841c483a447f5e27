#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fleet/compare.hpp"
#include "fleet_fixture.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Cells = std::vector<std::string>;

TEST(Middle, OfValuesThatLieCloseTogetherIsNamedFromTheLeastDistance) {
  const std::vector<double> close = {7, 7.1, 6.9, 7.05, 6.95};
  EXPECT_EQ(middle_of(close, 1).median, 7);
  EXPECT_EQ(middle_of(close, 1).named_from, 1);
  const std::vector<double> three = {0, 5, -5};
  EXPECT_EQ(middle_of(three, 1).named_from, 1) << "three values do not say how far values lie apart";
}

TEST(Middle, OfValuesThatLieFurtherApartIsNamedFromFiveStandardDeviationsWhateverAFewOutliersDo) {
  std::vector<double> values;
  for (int i = 0; i < 1001; ++i) values.push_back((i - 500) / 500.0);  // median absolute deviation 0.5
  EXPECT_NEAR(middle_of(values, 0.1).named_from, 5 * 1.4826 * 0.5, 0.01);
  for (int i = 0; i < 20; ++i) values.push_back(1e6);
  EXPECT_NEAR(middle_of(values, 0.1).median, 0.02, 0.005);
  EXPECT_NEAR(middle_of(values, 0.1).named_from, 5 * 1.4826 * 0.5, 0.2);
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
      EXPECT_GT(std::abs(finding["size"].get<double>()), finding["named_from"].get<double>());
    }
  }
  EXPECT_EQ(sizes.size(), 2);
  EXPECT_NEAR(sizes["sm_clock"], -1, 0.2);
  EXPECT_NEAR(sizes["bandwidth"], -3, 0.4);
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
  EXPECT_THAT(out_, HasSubstr("is named from"));
  EXPECT_THAT(out_, HasSubstr("1 of 12 GPUs is out of line"));
}

TEST_F(Fleet, IsOutOfLineWhateverBecomesOfItsPage) {
  const std::string file = fleet_file(1, 12, {{6, slow_clock}});
  ASSERT_EQ(fleet({file}), ExitStatus::regression);
  const std::string before = environment_variable("TMPDIR");
  ::setenv("TMPDIR", "/nonexistent", 1);
  const ExitStatus status = fleet({file, "--page", (folder_.path() / "page.html").string()});
  before.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before.c_str(), 1);
  EXPECT_EQ(status, ExitStatus::regression) << err_;
  EXPECT_FALSE(fs::exists(folder_.path() / "page.html"));
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

/// Runs of a GPU on days from the first on; `is_faulty` by day.
std::vector<std::vector<Row>> daily_runs(MadeUpFleet& fleet_of, int gpu, int days, const Fault& fault,
                                         const std::function<bool(int)>& is_faulty) {
  std::vector<std::vector<Row>> runs;
  for (int day = 1; day <= days; ++day) {
    runs.push_back(fleet_of.gpu(gpu, is_faulty(day) ? fault : Fault()));
    for (Row& row : runs.back()) row.recorded_at = fmt::format("2026-11-{:02}T00:00:00Z", day);
  }
  return runs;
}

/// Judges the last day by those before.
class OwnPast : public Fleet {
 protected:
  ExitStatus follow(const std::vector<std::vector<Row>>& runs) {
    const fs::path past = folder_.path() / "past";
    fs::remove_all(past);
    for (std::size_t i = 0; i + 1 < runs.size(); ++i)
      write(fmt::format("past/{:02}.csv", i), text_of(runs[i]));
    return fleet({write("now.csv", text_of(runs.back())), "--since", past.string()});
  }

  MadeUpFleet fleet_of_{5};
};

TEST_F(OwnPast, DatesALastingFallHoweverManyOfTheRunsAreSlow) {
  for (int first = 3; first <= 11; ++first) {
    // One run that something disturbed before the fall is no fall.
    std::vector<std::vector<Row>> runs = daily_runs(
        fleet_of_, 0, 11, slow_clock, [&](int day) { return day >= first || (day == 2 && first > 4); });
    const auto healthy = daily_runs(fleet_of_, 1, 11, {}, [](int) { return false; });
    for (std::size_t i = 0; i < runs.size(); ++i)
      runs[i].insert(runs[i].end(), healthy[i].begin(), healthy[i].end());
    EXPECT_EQ(follow(runs), ExitStatus::regression) << first;
    EXPECT_THAT(
        out_, ContainsRegex(fmt::format("SM clock (0\\.[89]|1\\.[012]).* % below the median.*against its own "
                                        "earlier runs; since 2026-11-{:02}",
                                        first)));
    EXPECT_THAT(out_, HasSubstr("1 of 2 GPUs is out of line.")) << first;
  }
}

TEST_F(OwnPast, IsInLineOnceAFallIsRepaired) {
  for (const int first : {1, 3}) {
    const auto is_slow = [&](int day) { return day >= first && day < first + 3; };
    EXPECT_EQ(follow(daily_runs(fleet_of_, 0, 9, slow_clock, is_slow)), ExitStatus::done) << out_;
  }
}

TEST_F(OwnPast, SaysThatItsRunsDifferWhereNoFallLasts) {
  EXPECT_EQ(follow(daily_runs(fleet_of_, 0, 6, slow_clock, [](int day) { return day % 2 == 1; })),
            ExitStatus::no_verdict);
  EXPECT_THAT(out_, HasSubstr("against its own earlier runs: half and more differ in sm_clock"));
  EXPECT_THAT(out_, Not(HasSubstr("there is 1 GPU to compare")));
}

TEST_F(OwnPast, DatesThrottlingThatSlowsNothing) {
  const Fault throttle = [](Row& row) { row.gpu_state += ";throttle_reasons=sw_power_cap"; };
  EXPECT_EQ(follow(daily_runs(fleet_of_, 0, 8, throttle, [](int day) { return day >= 6; })),
            ExitStatus::regression);
  EXPECT_THAT(out_, ContainsRegex("throttle reason sw_power_cap.*since 2026-11-06"));
}

TEST_F(OwnPast, IsComparedWithRunsOfTheSameCommitOnly) {
  const Fault older = [](Row& row) { row.commit = "older"; };
  EXPECT_EQ(follow(daily_runs(fleet_of_, 0, 8, older, [](int day) { return day < 6; })), ExitStatus::done);
  EXPECT_EQ(follow(daily_runs(fleet_of_, 0, 8, older, [](int day) { return day < 8; })),
            ExitStatus::no_verdict);
  EXPECT_THAT(out_, HasSubstr("two earlier runs of each GPU by the same build"));
}

TEST_F(OwnPast, NamesFilesThatAreNoRows) {
  std::ofstream(folder_.path() / "noise.csv") << "garbage";
  write("1.csv", text_of(fleet_of_.gpu(0)));
  fleet({write("now.csv", text_of(fleet_of_.gpu(0))), "--since", folder_.path().string()});
  EXPECT_EQ(err_, (folder_.path() / "noise.csv").string() + " is no file of rows and is left out\n");
}

TEST_F(Fleet, SaysThatItIsTheNodeWhereAllItsGpusAreOutOfLine) {
  std::map<int, Fault> faults;
  for (int number = 8; number < 16; ++number) faults[number] = slow_clock;
  fleet({fleet_file(1, 40, faults)});
  EXPECT_THAT(out_, HasSubstr("all 8 GPUs of node node1 are out of line in sm_clock: look at the node"));
}

TEST_F(Fleet, NamesThrottlingNeighboursWrongResultsAndOtherSettings) {
  const Causes causes = causes_of(
      {fleet_file(1, 12,
                  {{1, [](Row& row) { row.gpu_state += ";throttle_reasons=sw_power_cap+hw_slowdown"; }},
                   {2, [](Row& row) { row.gpu_state += ";other_processes=1"; }},
                   {3,
                    [](Row& row) {
                      if (row.case_ == "reads/copy") row.check = "wrong";
                    }},
                   {4, [](Row& row) { row.gpu_state = "persistence=on;mig=on"; }},
                   {5, [](Row& row) { row.counters_status = "busy"; }},
                   {6, [](Row& row) { row.gpu_state += ";memory_clock_mhz=1593"; }}})});
  const Causes expected = {{"GPU-00001", {"throttle_hw_slowdown", "throttle_sw_power_cap"}},
                           {"GPU-00002", {"other_processes"}},
                           {"GPU-00003", {"failed"}},
                           {"GPU-00004", {"gpu_state"}},
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

TEST_F(Fleet, TheOptionBaselineTakesOneFileAndLeavesTheOthersToBeJudged) {
  MadeUpFleet fleet_of(1);
  std::vector<std::string> files;
  for (int number = 0; number < 4; ++number) {
    const Fault fault = number == 1
                            ? Fault([](Row& row) { row.sm_clock_mhz = row.sm_clock_mhz.value_or(0) * 0.8; })
                            : Fault();
    files.push_back(write(fmt::format("g{}.csv", number), text_of(fleet_of.gpu(number, fault))));
  }
  EXPECT_EQ(fleet({"--baseline", files[0], files[1], files[2], files[3]}), ExitStatus::regression);
  EXPECT_THAT(out_, HasSubstr("1 of 3 GPUs is out of line"));
  EXPECT_EQ(fleet({files[1], "--baseline", files[0], "--baseline", files[2], files[3]}),
            ExitStatus::regression);
  EXPECT_THAT(out_, HasSubstr("1 of 2 GPUs is out of line"));
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

TEST_F(Fleet, HasNoVerdictOnAGpuWhoseRowsReadNothing) {
  for (Real Row::*lost : {&Row::time_us, &Row::sm_clock_mhz}) {
    EXPECT_EQ(fleet({fleet_file(1, 6, {{2, [=](Row& row) { (row.*lost).reset(); }}})}),
              ExitStatus::no_verdict);
    EXPECT_THAT(out_, ContainsRegex(
                          "no verdict: GPU-00002.* 0 of its [0-9]+ cases have a time and a measured clock"));
  }
}

TEST_F(Fleet, HasNoVerdictOnProgramsWhoseClockNobodyMeasured) {
  // Of an imported trace: a constant, or what --clock-mhz says.
  const auto of_a_trace = [](double clock_mhz) {
    return [=](Row& row) {
      row.gpu_uuid.clear();
      row.host = fmt::format("of {} MHz", clock_mhz);
      row.gpu_state.clear();
      row.work.clear();
      row.expected_cause.clear();
      row.throughput.reset();
      row.counters_status = "off";
      row.sm_clock_mhz = clock_mhz;
      for (const auto counter : {&Row::achieved_pct, &Row::achieved_elapsed_pct, &Row::sm_cycles_active_max,
                                 &Row::sm_cycles_active_min})
        (row.*counter).reset();
    };
  };
  std::map<int, Fault> traces;
  for (int rank = 0; rank < 4; ++rank) traces[rank] = of_a_trace(1980 - rank);
  EXPECT_EQ(fleet({fleet_file(1, 4, traces)}), ExitStatus::no_verdict);
  EXPECT_THAT(out_,
              ContainsRegex("no verdict: of 1980 MHz.* 0 of its [0-9]+ cases have a time and a measured"));
  EXPECT_THAT(out_, HasSubstr("0 of 4 GPUs are out of line, 4 without a verdict"));
  EXPECT_THAT(out_, HasSubstr("not compared, since no rows tell it: sm_clock"));
  EXPECT_THAT(out_, HasSubstr("times are not compared: no row says what bounds them"));
}

TEST_F(Fleet, TakesTheClockOfCountedKernelsAlone) {
  // In a traced program some kernels are counted, and the others' rows have the median of their clocks.
  std::map<int, Fault> programs;
  for (int gpu = 0; gpu < 4; ++gpu) {
    programs[gpu] = [gpu](Row& row) {
      row.gpu_state.clear();
      if (row.kernel == "spin") row.achieved_pct.reset();
      row.sm_clock_mhz = gpu == 2 ? 1900 : 1980;
    };
  }
  EXPECT_EQ(fleet({fleet_file(1, 4, programs)}), ExitStatus::regression);
  EXPECT_THAT(out_, HasSubstr("SM clock 4.04 % below the median"));
  EXPECT_THAT(out_, Not(HasSubstr("times are not compared")));
}

TEST_F(Fleet, HasNoVerdictWhereNothingIsCompared) {
  std::string one_case;  // which says nothing of a GPU
  MadeUpFleet fleet_of(1);
  for (int gpu = 0; gpu < 4; ++gpu) one_case += csv_record(fleet_of.gpu(gpu).front());
  EXPECT_EQ(fleet({write("one.csv", one_case)}), ExitStatus::no_verdict);
  EXPECT_THAT(out_, ContainsRegex("no verdict: GPU-00000.*\n.*nothing of it is compared"));
}

TEST_F(Fleet, NamesAGpuThatTakesLongerAtItsClockWhereNoCyclesWereCounted) {
  std::map<int, Fault> faults;
  for (int gpu = 0; gpu < 6; ++gpu) {
    faults[gpu] = [gpu](Row& row) {
      row.sm_cycles_active_max.reset();
      if (gpu == 2) row.time_us = 1.2 * row.time_us.value();
    };
  }
  EXPECT_EQ(fleet({fleet_file(1, 6, faults)}), ExitStatus::regression);
  EXPECT_THAT(out_,
              HasSubstr("% more SM cycles: fewer SMs do it, or, if none were counted, a GPC is slower."));
  EXPECT_THAT(out_, HasSubstr("not compared, since no rows tell it: gpc_clock"));
}

TEST_F(Fleet, HasNoVerdictWhereNoMajorityAgrees) {
  // Of eight the halves themselves make the spread from which on a GPU is named.
  for (const int gpus : {4, 8}) {
    std::map<int, Fault> half;
    for (int gpu = 0; gpu < gpus / 2; ++gpu) half[gpu] = slow_clock;
    EXPECT_EQ(fleet({fleet_file(1, gpus, half)}), ExitStatus::no_verdict);
    EXPECT_THAT(out_, HasSubstr("differ in sm_clock, and no majority says which"));
    EXPECT_THAT(out_, Not(HasSubstr("below the median")));
  }
}

TEST_F(Fleet, NotesCasesThatMostPeersHave) {
  MadeUpFleet made_up(1);
  std::string text;
  for (int gpu = 0; gpu < 4; ++gpu) {
    std::vector<Row> rows = made_up.gpu(gpu);
    if (gpu == 2) rows.erase(rows.begin());
    text += text_of(rows);
  }
  EXPECT_EQ(fleet({write("lacking.csv", text)}), ExitStatus::done);
  EXPECT_THAT(out_, ContainsRegex("it lacks 1 of [0-9]+ cases that most of its peers have"));
}

/// Two GPUs that ran more of the suite, and another with a slow clock.
TEST_F(Fleet, CountsTheCasesThatMostPeersHaveWhateverTwoGpusHaveMore) {
  MadeUpFleet made_up(1);
  std::string text;
  for (int gpu = 0; gpu < 8; ++gpu) {
    const std::vector<Row> rows = made_up.gpu(gpu, gpu == 5 ? Fault(slow_clock) : Fault());
    text += text_of(rows);
    for (Row more : rows) {
      if (gpu != 2 && gpu != 3) break;
      more.case_ += "/more";
      text += csv_record(more);
      more.case_ += "/and_more";
      text += csv_record(more);
    }
  }
  EXPECT_EQ(causes_of({write("more.csv", text)}), (Causes{{"GPU-00005", {"sm_clock"}}}));
  EXPECT_THAT(out_, Not(HasSubstr("no verdict")));
}

TEST_F(Fleet, NamesSlowdownsOfMostGpusAndNotesTheirNeighbours) {
  for (const int throttled : {9, 16}) {
    std::map<int, Fault> faults;
    for (int gpu = 0; gpu < throttled; ++gpu) {
      faults[gpu] = [](Row& row) {
        slow_clock(row);
        row.gpu_state += ";throttle_reasons=hw_thermal_slowdown+sw_power_cap;other_processes=1";
      };
    }
    const Causes causes = causes_of({fleet_file(1, 16, faults)});
    EXPECT_EQ(causes.size(), throttled);
    EXPECT_EQ(causes.at("GPU-00000"), (std::set<std::string>{"throttle_hw_thermal_slowdown"}));
    EXPECT_THAT(out_, ContainsRegex("other_processes\"[^}]*\"note\":true"));
  }
}

TEST_F(Fleet, ComparesWithTheBaselineHoweverManyAreJudged) {
  MadeUpFleet made_up(1);
  const auto baseline = [&](int gpus, const char* commit) {
    std::string text;
    for (int gpu = 0; gpu < gpus; ++gpu)
      text += text_of(made_up.gpu(100 + gpu, [&](Row& row) { row.commit = commit; }));
    return write("baseline.csv", text);
  };
  for (const int gpus : {2, 8, 20}) {
    std::string text;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      text += text_of(made_up.gpu(gpu, [](Row& row) {
        slow_clock(row);
        row.commit = "one";
      }));
    }
    const std::string judged = write("judged.csv", text);
    EXPECT_EQ(causes_of({judged, "--baseline", baseline(8, "one")}).size(), gpus) << out_;
    EXPECT_THAT(out_, Not(HasSubstr("baseline")));
  }
  const std::string judged = (folder_.path() / "judged.csv").string();
  EXPECT_EQ(fleet({judged, "--baseline", baseline(2, "one")}), ExitStatus::done);
  EXPECT_THAT(out_,
              HasSubstr("the baseline has 2 of the 3 other GPUs that it needs: the judged GPUs are peers"));
  EXPECT_EQ(fleet({judged, "--baseline", baseline(8, "another")}), ExitStatus::done);
  EXPECT_THAT(out_,
              HasSubstr("left out of the baseline: 8 of 8 GPUs (GPU-00100: its rows are of commit another"));
}

TEST_F(Fleet, ComparesWithEarlierRunsOfTheSameGpusAsABaseline) {
  const std::string accepted = fleet_file(1, 6, {});
  std::map<int, Fault> all;
  for (int gpu = 0; gpu < 6; ++gpu) all[gpu] = slow_clock;
  EXPECT_EQ(causes_of({fleet_file(2, 6, all), "--baseline", accepted}).size(), 6) << out_;
  fleet({fleet_file(2, 6, all), "--baseline", fleet_file(1, 2, {})});
  EXPECT_THAT(out_, HasSubstr("the baseline has 0 of the 3 other GPUs that it needs"));
}

TEST_F(Fleet, IsNoPeerOfItselfHoweverManyOfTheBaselineCannotBeCompared) {
  MadeUpFleet made_up(1);
  std::string baseline = text_of(made_up.gpu(0)) + text_of(made_up.gpu(1));
  for (int gpu = 2; gpu < 4; ++gpu)
    baseline += text_of(made_up.gpu(gpu, [](Row& row) { row.commit = "another"; }));
  const std::string judged = write("judged.csv", text_of(made_up.gpu(0)) + text_of(made_up.gpu(1)));
  EXPECT_EQ(fleet({judged, "--baseline", write("baseline.csv", baseline)}), ExitStatus::no_verdict) << out_;
  EXPECT_THAT(out_, HasSubstr("the baseline has 0 of the 3 other GPUs that it needs: the judged GPUs are"));
  EXPECT_THAT(out_, HasSubstr("there are 2 GPUs to compare, and a comparison needs 3: give more with"));
}

TEST_F(OwnPast, SaysWhatIsNotCompared) {
  const auto run = [&](std::initializer_list<int> gpus, const char* commit) {
    std::string text;
    for (const int gpu : gpus) text += text_of(fleet_of_.gpu(gpu, [&](Row& row) { row.commit = commit; }));
    return text;
  };
  for (const char* day : {"1", "2"}) write(fmt::format("past/{}.csv", day), run({0, 1, 2, 3}, "one"));
  const std::string past = (folder_.path() / "past").string();
  EXPECT_EQ(fleet({write("now.csv", run({0, 1, 2, 4}, "one")), "--since", past}), ExitStatus::done);
  EXPECT_THAT(out_, ContainsRegex("1 GPU with fewer than two earlier runs by this build.*: GPU-00004"));
  EXPECT_THAT(out_, HasSubstr("1 GPU in each earlier file and missing now: GPU-00003"));
  EXPECT_EQ(fleet({write("now.csv", run({0, 1, 2, 3}, "another")), "--since", past, "--format", "json"}),
            ExitStatus::done);
  EXPECT_THAT(out_, HasSubstr("\"remarks\":[\"4 GPUs with fewer than two earlier runs by this build"));
}

TEST_F(Fleet, NamesAFileWithoutRowsAndGpusWhoseRowsAreOld) {
  const Fault old = [](Row& row) { row.recorded_at = "2024" + row.recorded_at.substr(4); };
  EXPECT_EQ(fleet({fleet_file(1, 6, {{2, old}}), write("nothing.csv", "")}), ExitStatus::done);
  EXPECT_THAT(out_, HasSubstr("1 file without a row: " + (folder_.path() / "nothing.csv").string()));
  EXPECT_THAT(out_, HasSubstr("1 GPU recorded more than 30 days before the newest: GPU-00002"));
}

TEST_F(Fleet, SaysHowMuchLessAndHowMuchLongerInPercentOfTheMedian) {
  const Fault half = [](Row& row) {
    row.sm_clock_mhz = row.sm_clock_mhz.value_or(0) / 2;
    if (follows_sm_clock(row) && row.time_us) *row.time_us *= 2;
  };
  fleet({fleet_file(1, 6, {{2, half}})});
  EXPECT_THAT(out_, ContainsRegex("SM clock (49|50)\\.[0-9]+ % below the median"));
  EXPECT_THAT(out_, ContainsRegex("GPU-00002 +[^ ]+ +-(49|50)\\.")) << "the same in the table";
}

TEST_F(Fleet, SaysOfTimeHowMuchLongerItIsInTheSentenceAndInTheTable) {
  const Fault twice = [](Row& row) {
    if (follows_sm_clock(row) && row.sm_cycles_active_max) *row.sm_cycles_active_max *= 2;
  };
  fleet({fleet_file(1, 6, {{2, twice}}), "--format", "json"});
  const auto worst = nlohmann::json::parse(out_.substr(0, out_.find('\n')));
  ASSERT_EQ(worst["gpu_uuid"].get<std::string>().substr(0, 9), "GPU-00002") << out_;
  const double distance = worst["distances"]["sm_cycles"];
  EXPECT_NEAR(distance, -100, 1);
  for (const auto& finding : worst["findings"]) {
    if (finding["cause"] != "sm_cycles") continue;
    EXPECT_NEAR(finding["size"].get<double>(), distance, 1e-4);
    EXPECT_THAT(finding["sentence"].get<std::string>(),
                ContainsRegex("takes (99|100)\\.[0-9]+ % more SM cycles"));
  }
}

TEST_F(Fleet, RefusesATimeBelowZeroWithItsFileAndLine) {
  const std::string file = fleet_file(1, 3, {{0, [](Row& row) { row.time_us = -3; }}});
  EXPECT_EQ(fleet({file}), ExitStatus::usage);
  EXPECT_THAT(err_, HasSubstr(".csv, line 2: time_us = -3 is out of range"));
}

TEST_F(Fleet, HasNoVerdictOnRowsOfAnotherCommit) {
  const ExitStatus status = fleet({fleet_file(1, 6, {{2, [](Row& row) { row.commit = "another"; }}})});
  EXPECT_EQ(status, ExitStatus::no_verdict);
  EXPECT_THAT(out_, HasSubstr("of commit another"));
  EXPECT_THAT(out_,
              HasSubstr("or compare what two runs share: occbench gate FEWER_CASES.csv MORE_CASES.csv"));
}

TEST_F(Fleet, RefusesAFolderWithoutEarlierRuns) {
  fs::create_directories(folder_.path() / "empty");
  EXPECT_EQ(fleet({fleet_file(1, 3, {}), "--since", (folder_.path() / "empty").string()}), ExitStatus::usage);
  EXPECT_THAT(err_, HasSubstr("no file of earlier rows"));
}

// docs/fleet.md states figures of recorded runs.

/// Cells without spaces, backquotes and thousands separators.
Cells cells_of(std::string line) {
  std::erase_if(line, [](char c) { return c == ' ' || c == '`' || c == ','; });
  Cells cells;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) cells.push_back(cell);
  return cells;
}

/// The lines of the page's table whose header begins so, by their first cell.
std::map<std::string, Cells> table_of_page(std::string_view header) {
  std::ifstream page(OCCBENCH_SOURCE_DIR "/docs/fleet.md");
  std::string line;
  while (std::getline(page, line) && !line.starts_with(header)) {
  }
  std::getline(page, line);
  std::map<std::string, Cells> table;
  while (std::getline(page, line) && line.starts_with("|")) {
    const Cells cells = cells_of(line);
    table[cells[0]] = Cells(cells.begin() + 1, cells.end());
  }
  return table;
}

class FleetPage : public Fleet {
 protected:
  /// Of the distances of GPUs from each other, by quantity.
  std::map<std::string, double> largest_distances(const std::vector<Row>& rows) {
    fleet({write("all.csv", text_of(rows)), "--format", "json"});
    std::map<std::string, double> largest;
    std::istringstream lines(out_);
    for (std::string line; std::getline(lines, line);) {
      const auto gpu = nlohmann::json::parse(line);
      for (const auto& [quantity, distance] : gpu["distances"].items()) {
        if (!distance.is_null())
          largest[quantity] = std::max(largest[quantity], std::abs(distance.get<double>()));
      }
    }
    return largest;
  }

  /// Likewise, of all GPUs and of any three of them.
  std::map<std::string, double> largest_of_any_three(const std::vector<Row>& rows) {
    std::map<std::string, double> largest = largest_distances(rows);
    const std::map<std::string, std::vector<Row>> gpus = by_gpu(rows);
    for (auto a = gpus.begin(); a != gpus.end(); ++a) {
      for (auto b = std::next(a); b != gpus.end(); ++b) {
        for (auto c = std::next(b); c != gpus.end(); ++c) {
          std::vector<Row> three = a->second;
          three.insert(three.end(), b->second.begin(), b->second.end());
          three.insert(three.end(), c->second.begin(), c->second.end());
          for (const auto& [quantity, distance] : largest_distances(three))
            largest[quantity] = std::max(largest[quantity], distance);
        }
      }
    }
    return largest;
  }
};

TEST_F(FleetPage, HasTheLargestDistancesOfRecordedRunsWhichAreFarBelowThoseThatAreNamed) {
  const std::map<std::string, double> recorded[] = {
      largest_of_any_three(five_recorded_h200s({})), largest_of_any_three(five_h100s()),
      largest_distances(runs_as_gpus(kH200, "")), largest_distances(runs_as_gpus(kGpus, "GPU-57106549")),
      largest_distances(three_more_h100s())};
  const std::map<std::string, Cells> page = table_of_page("| quantity | named from");
  ASSERT_EQ(page.size(), kFleetQuantities.size());
  for (const FleetQuantity quantity : kFleetQuantities) {
    const FleetQuantityFacts& facts = facts_of(quantity);
    const std::string name(facts.name);
    const Cells& cells = page.at(name);
    EXPECT_EQ(std::stod(cells[0]), facts.named_from) << name;
    for (std::size_t i = 0; i < std::size(recorded); ++i) {
      const auto found = recorded[i].find(name);
      const std::string said = found == recorded[i].end() ? "" : fmt::format("{:.2f}", found->second);
      EXPECT_EQ(cells[1 + i], said) << name << " " << i;
      const double largest = said.empty() ? 0 : std::stod(said);
      EXPECT_GE(facts.named_from, 2.5 * largest) << name << " " << i;
    }
  }
}

TEST_F(FleetPage, ShowsWhatACopyWithASlowClockLooksLike) {
  std::vector<Row> rows = five_h100s();
  for (Row copy : five_h100s()) {
    if (!copy.gpu_uuid.starts_with("GPU-57106549")) continue;
    copy.gpu_uuid = "GPU-slow";
    copy.host = "node07";
    slow_clock(copy);
    rows.push_back(std::move(copy));
  }
  fleet({write("all.csv", text_of(rows))});
  std::ifstream page(OCCBENCH_SOURCE_DIR "/docs/fleet.md");
  std::string line;
  while (std::getline(page, line) && !line.starts_with("out of line: GPU-slow")) {
  }
  std::size_t lines = 0;
  for (; line != "```" && page; std::getline(page, line), ++lines)
    EXPECT_THAT(out_, testing::HasSubstr(line)) << line;
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace occbench
