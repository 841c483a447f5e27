// Recorded runs: those of fifteen GPUs, each compared with all others of its build, and whose samples lie beside them.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "gate/compare.hpp"
#include "gate/run.hpp"
#include "packed_runs.hpp"

namespace occbench {
namespace {

using Runs = std::vector<RecordedRun>;

const std::filesystem::path kSource = OCCBENCH_SOURCE_DIR;

const std::string& gpu_of(const RecordedRun& run) {
  return run.cases.front().row.gpu_uuid;
}

/// Runs of one build on GPUs of one model, in the order of recording on each.
Runs runs_of(const std::string& name) {
  Runs runs;
  for (auto& [run, recorded] : recorded_runs(name)) runs.push_back(std::move(recorded));
  return runs;
}

/// Two H200s of one host.
Runs two_h200s() {
  std::map<std::string, RecordedRun> runs;
  RecordedRun both = read_run(kSource / "results/nvidia-h200/two_gpus_alone.csv");
  for (RecordedCase& each : both.cases) {
    RecordedRun& run = runs[each.row.gpu_uuid];
    run.source = each.row.gpu_uuid;
    run.columns = both.columns;
    run.cases.push_back(std::move(each));
  }
  Runs list;
  for (auto& [gpu, run] : runs) list.push_back(std::move(run));
  return list;
}

/// Of unchanged code: those of an element were made by one build. Tests of the command compare the whole suites.
const std::vector<Runs>& all_runs() {
  static const std::vector<Runs> kRuns = {runs_of("fleet/h100_gpus"),
                                          runs_of("fleet/h100_repeats"),
                                          runs_of("fleet/h200_repeats"),
                                          runs_of("gate/unchanged"),
                                          runs_of("gate/h100_gpus"),
                                          runs_of("gate/h200_gpus"),
                                          two_h200s()};
  return kRuns;
}

std::string regressions_of(const Comparison& comparison) {
  std::string text;
  for (const ComparedCase& each : comparison.cases) {
    for (const GateFinding& finding : each.findings) {
      if (finding.grade == Grade::regression)
        text += fmt::format("{} against {}: {} {}\n", comparison.candidate, comparison.baseline,
                            each.full_name(), finding.message);
    }
  }
  return text;
}

TEST(RecordedGpus, NoRunOfUnchangedCodeIsARegressionOfAnother) {
  std::size_t pairs = 0;
  std::set<std::string> gpus;
  for (const Runs& runs : all_runs()) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
      gpus.insert(gpu_of(runs[i]));
      for (std::size_t k = 0; k < runs.size(); ++k) {
        EXPECT_EQ(regressions_of(compare(runs[i], runs[k], {})), "");
        ++pairs;
      }
    }
  }
  EXPECT_GE(pairs, 1223);
  EXPECT_EQ(gpus.size(), 15);
}

/// How many cases say that they would find a change so large, and how many find it.
struct Found {
  int judged = 0;
  int found = 0;

  double pct() const {
    return 100.0 * found / judged;
  }
};

bool has_regression(const ComparedCase& compared, std::string_view subject) {
  return std::ranges::any_of(compared.findings, [&](const GateFinding& finding) {
    return finding.grade == Grade::regression && finding.subject == subject;
  });
}

constexpr double kSlowerPct = 3;
constexpr double kLowerPoints = 2;

/// In each run but the first of a build all cases take longer and read less than in the run before.
TEST(RecordedGpus, ThreePercentOfTimeAndTwoPointsOfOccupancyAreFound) {
  Found time;
  Found occupancy;
  for (const Runs& runs : all_runs()) {
    for (std::size_t i = 1; i < runs.size(); ++i) {
      RecordedRun worse = runs[i];
      std::set<std::string> below;  // the points
      for (RecordedCase& each : worse.cases) {
        if (each.row.time_us) *each.row.time_us *= 1 + kSlowerPct / 100;
        for (Real* const value : {&each.row.achieved_pct, &each.row.achieved_elapsed_pct}) {
          if (*value && **value < kLowerPoints) below.insert(each.row.experiment + "/" + each.row.case_);
          if (*value) **value = std::max(0.0, **value - kLowerPoints);
        }
      }
      for (const ComparedCase& each : compare(runs[i - 1], worse, {}).cases) {
        if (each.caught_time_pct && *each.caught_time_pct < kSlowerPct) {
          ++time.judged;
          time.found += has_regression(each, "time_us") ? 1 : 0;
        }
        if (each.caught_points && *each.caught_points < kLowerPoints && !below.contains(each.full_name())) {
          ++occupancy.judged;
          occupancy.found += has_regression(each, "achieved_elapsed_pct") ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(time.judged, 2500);
  EXPECT_GT(occupancy.judged, 3000);
  EXPECT_GE(time.pct(), 95) << time.found << " of " << time.judged;
  EXPECT_GE(occupancy.pct(), 95) << occupancy.found << " of " << occupancy.judged;
  RecordProperty("time_pct", fmt::format("{:.2f} of {}", time.pct(), time.judged));
  RecordProperty("occupancy_pct", fmt::format("{:.2f} of {}", occupancy.pct(), occupancy.judged));
}

/// Rows of the run's cases that the model's suite has from another GPU and of the same machine code. Another release of CUDA
/// 13.0 rounded static shared memory up.
RecordedRun rows_of_suite(const RecordedRun& suite, const RecordedRun& run) {
  std::map<std::string, const Row*> of_run;
  for (const RecordedCase& each : run.cases) of_run[each.row.experiment + "/" + each.row.case_] = &each.row;
  RecordedRun part{.source = suite.source, .columns = suite.columns, .cases = {}};
  for (const RecordedCase& each : suite.cases) {
    const auto found = of_run.find(each.row.experiment + "/" + each.row.case_);
    if (found == of_run.end() || found->second->gpu_uuid == each.row.gpu_uuid) continue;
    if (found->second->static_shared_bytes == each.row.static_shared_bytes) part.cases.push_back(each);
  }
  return part;
}

/// Runs of two H200s and three H100s, one of each held out from every tolerance, against the suite that comes with the project.
TEST(RecordedGpus, OthersHaveNoRegressionAgainstTheModelsSuite) {
  for (const auto& [model, name] :
       {std::pair{"nvidia-h200", "gate/h200_gpus"}, std::pair{"nvidia-h100-80gb-hbm3", "gate/h100_gpus"}}) {
    const RecordedRun suite = parse_run(read_text(kSource / "results" / model / "full.csv"), "", model);
    for (const RecordedRun& run : runs_of(name)) {
      const RecordedRun part = rows_of_suite(suite, run);
      EXPECT_GE(part.cases.size(), 54);
      EXPECT_EQ(regressions_of(compare(part, run, {})), "");
    }
  }
}

TEST(RecordedRuns, HaveSamplesOfTheirRows) {
  int with_samples = 0;
  for (const std::filesystem::directory_entry& entry :
       std::filesystem::recursive_directory_iterator(OCCBENCH_SOURCE_DIR "/results")) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".csv") || name.ends_with(".samples.csv")) continue;
    if (samples_beside(entry.path()).empty()) continue;
    const RecordedRun run = read_run(entry.path());
    EXPECT_EQ(run.stray_samples, "") << entry.path();
    EXPECT_TRUE(run.has_samples) << entry.path();
    ++with_samples;
  }
  EXPECT_GE(with_samples, 14);
}

}  // namespace
}  // namespace occbench
