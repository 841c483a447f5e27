#include "record/replay.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "predict/parallel.hpp"
#include "predict/work.hpp"
#include "record/calibrate.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

CaseRecord recorded_case() {
  Row row;
  row.experiment = "waves";
  row.case_ = "spin";
  row.gpu = "NVIDIA H200";
  row.compute_capability = "9.0";
  row.sm_count = 132;
  row.block_threads = 256;
  row.grid_blocks = 1584;
  row.registers_per_thread = 20;
  row.work = "equal:20000";
  return case_record(row);
}

TEST(Replay, ACaseSaysAllThatItsPredictionNeeds) {
  CaseRecord record = recorded_case();
  repredict(record);
  const Prediction prediction =
      predict({.block_threads = 256, .grid_blocks = 1584}, {.registers_per_thread = 20}, limits_of({9, 0}),
              chosen(find_profile("h200")), Tasks(Work::equal(20'000), 1584, 8));
  const Row row = row_of(record);
  EXPECT_EQ(row.device_profile, "h200 (calibrated_model)");
  EXPECT_EQ(row.predicted_pct, prediction.predicted_pct);
  EXPECT_EQ(row.predicted_low_pct, prediction.interval.low);
  EXPECT_EQ(row.predicted_high_pct, prediction.interval.high);
  EXPECT_EQ(row.predicted_elapsed_pct, prediction.predicted_elapsed_pct);
  EXPECT_EQ(row.predicted_cycles_active, prediction.cycles_active_mean);
  EXPECT_EQ(row.loss_tail_points, prediction.losses.tail);
  EXPECT_EQ(row.loss_overhead_points, prediction.losses.overhead);
}

TEST(Replay, TheGpcThatACaseBeganWithIsThatOfItsPrediction) {
  CaseRecord record = recorded_case();
  record.launch->grid_blocks = 792;
  record.identity.work = parse_work("uniform:200000:0.5:1.5:seed=3");
  const auto predicted = [&](std::optional<int> first_gpc) {
    return predict({.block_threads = 256, .grid_blocks = 792}, {.registers_per_thread = 20},
                   limits_of({9, 0}), chosen(find_profile("h200")), Tasks(*record.identity.work, 792, 8),
                   {.first_gpc = first_gpc})
        .predicted_pct;
  };
  ASSERT_NE(predicted(5), predicted(std::nullopt));
  repredict(record);
  EXPECT_EQ(record.prediction->predicted_pct, predicted(std::nullopt));
  record.first_gpc = 5;
  repredict(record);
  EXPECT_EQ(record.prediction->predicted_pct, predicted(5));
}

/// As a row of the experiment `calibration`, of which a profile can be made.
CaseRecord calibrating(CaseRecord record) {
  record.identity.experiment = "calibration";
  record.readings.counters.achieved_pct = 74;
  record.readings.counters.sm_cycles_active_avg = 40'000;
  return record;
}

TEST(Replay, AGpcThatTheDeviceOfACaseDoesNotHaveIsRefused) {
  for (const int gpc : {8, -1, 1 << 30}) {
    CaseRecord record = recorded_case();
    record.first_gpc = gpc;
    EXPECT_THROW(repredict(record), InputError) << gpc;
    const CaseRecord calibration = calibrating(record);
    EXPECT_THROW(calibrate(std::span(&calibration, 1), {}, "name"), InputError) << gpc;
  }
}

TEST(Calibrate, BandwidthIsWhatTheRowsThatReadMoved) {
  const CaseRecord holds = calibrating(recorded_case());
  CaseRecord reads = holds;
  reads.launch = {.block_threads = 128, .grid_blocks = 1000};
  reads.identity.work = parse_work("equal:7500:issue=300:bytes=20000");
  reads.readings.counters.sm_cycles_active_avg = 100'000;
  const double bytes_per_cycle = 1000 * 4 * 20'000 / 100'000.0;
  const std::vector<CaseRecord> both{holds, reads};
  EXPECT_EQ(calibrate(both, {}, "name").model.parameters.bytes_per_cycle, bytes_per_cycle);
  // Which leaves all else as it is.
  DeviceProfile without = calibrate(std::span(&holds, 1), {}, "name");
  EXPECT_EQ(without.model.parameters.bytes_per_cycle,
            generic_profile(identity_of(gpu_of("h200"))).model.parameters.bytes_per_cycle);
  without.model.parameters.bytes_per_cycle = bytes_per_cycle;
  EXPECT_EQ(to_string(calibrate(both, {}, "name")), to_string(without));
  EXPECT_THROW(calibrate(std::span(&reads, 1), {}, "name"), InputError);
}

TEST(Replay, WithoutWorkThereIsNoPrediction) {
  CaseRecord record = recorded_case();
  repredict(record);
  record.identity.work.reset();
  repredict(record);
  CaseRecord empty = recorded_case();
  empty.identity.work.reset();
  EXPECT_EQ(row_of(record), row_of(empty));
}

/// A new folder with a profile of a GPU.
std::filesystem::path folder_of_profile(const std::string& name, const std::string& uuid) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "profile_beside_rows";
  std::filesystem::create_directories(folder);
  DeviceProfile profile = find_profile("h200");
  profile.name = name;
  profile.gpu_uuid = uuid;
  std::ofstream(folder / (name + ".profile")) << to_string(profile);
  return folder;
}

TEST(Replay, ADeviceWithoutAProfileGetsAGenericOne) {
  CaseRecord record = recorded_case();
  record.provenance.compute_capability = {8, 0};
  record.provenance.sm_count = 108;
  repredict(record);
  EXPECT_EQ(record.device_profile, "generic");
}

TEST(Replay, TheProfileThatACaseNamesLiesBesideItsRows) {
  CaseRecord record = recorded_case();
  record.device_profile = "own";
  record.provenance.gpu_uuid = "GPU-1";
  record.file = folder_of_profile("own", "GPU-1") / "rows.csv";
  EXPECT_EQ(profile_of(record).profile.name, "own");
  EXPECT_EQ(profile_of(record).quality, ProfileQuality::calibrated_device);
  record.provenance.gpu_uuid = "GPU-2";
  EXPECT_EQ(profile_of(record).profile.name, "h200") << "it is another GPU's";
  record.provenance.gpu_uuid = "GPU-1";
  record.device_profile = "../" + record.file.parent_path().filename().string() + "/own";
  EXPECT_EQ(profile_of(record).profile.name, "h200") << "a name is no path";
}

TEST(Replay, AProfileThatIsGivenComesBeforeTheOneThatTheRowNames) {
  CaseRecord record = recorded_case();
  record.provenance.sm_count = 66;
  record.device_profile = "h200";
  repredict(record);
  EXPECT_EQ(record.device_profile, "h200");
  repredict(record, generic_profile(any_gpu({9, 0}, 66)));
  EXPECT_EQ(record.device_profile, "generic");
  record.device_profile = "of a unit elsewhere";
  repredict(record);
  EXPECT_EQ(record.device_profile, "generic");
}

TEST(Replay, ACaseThatLacksWhatIsNeededIsRefusedByTheColumnsName) {
  const auto message_without = [](Integer Row::*column) -> std::string {
    Row row = row_of(recorded_case());
    (row.*column).reset();
    return message_of([&] {
      CaseRecord record = case_record(row);
      repredict(record);
    });
  };
  EXPECT_EQ(message_without(&Row::block_threads), "there is no block_threads");
  EXPECT_EQ(message_without(&Row::grid_blocks), "there is no grid_blocks");
  EXPECT_EQ(message_without(&Row::registers_per_thread), "there is no registers_per_thread");
  EXPECT_EQ(message_without(&Row::sm_count), "there is no sm_count");
}

constexpr const char* kRepredict =
    ": the model predicts another value than the recorded row has. If that is meant, CONTRIBUTING.md, \"To "
    "change "
    "the simulation\", has the commands";

std::vector<Row> recorded_suite_rows(const std::string& run = "full") {
  std::vector<Row> rows = read_rows(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/" + run + ".csv");
  std::erase_if(rows, [](const Row& row) { return !row.predicted_pct || !row.achieved_pct; });
  return rows;
}

/// A row of results/nvidia-h200, which finds its profile there.
CaseRecord recorded_on_h200(const Row& row) {
  CaseRecord record = case_record(row);
  record.file = OCCBENCH_SOURCE_DIR "/results/nvidia-h200/full.csv";
  return record;
}

TEST(RecordedSuite, ItsPredictionsAreThoseThatAreMadeToday) {
  const std::vector<Row> rows = recorded_suite_rows();
  ASSERT_GT(rows.size(), 600u);
  for (std::size_t i = 0; i < rows.size(); i += 25) {
    CaseRecord again = recorded_on_h200(rows[i]);
    repredict(again);
    EXPECT_NEAR(again.prediction->predicted_pct, *rows[i].predicted_pct, 1e-3)
        << full_name(rows[i]) << kRepredict;
  }
}

/// Each `every`-th of these, predicted again: a recorded prediction is as far from a recorded counter as ever, whatever the model does.
std::vector<CaseRecord> predicted_today(std::vector<CaseRecord> cases, std::size_t every) {
  std::vector<CaseRecord> chosen;
  for (std::size_t i = 0; i < cases.size(); i += every) chosen.push_back(std::move(cases[i]));
  for_each_parallel(chosen.size(), [&](std::size_t i) { repredict(chosen[i]); });
  return chosen;
}

// Nothing is left to chance where the GPC that begins is known and no block waits for room.
TEST(RecordedSuite, UnevenBlocksOfOneWaveAreWhatIsPredictedWhereTheGpcThatBeginsIsKnown) {
  std::vector<CaseRecord> cases;
  for (const Row& row : recorded_suite_rows()) {
    if (row.experiment == "imbalance_between_blocks" && row.waves == 1 && !row.work.starts_with("equal"))
      cases.push_back(recorded_on_h200(row));
  }
  EXPECT_EQ(cases.size(), 9U);
  for (const CaseRecord& each : predicted_today(cases, 1)) {
    EXPECT_EQ(each.first_gpc, 0) << full_name(each.identity);
    EXPECT_NEAR(each.prediction->predicted_pct, *each.readings.counters.achieved_pct, 0.025)
        << full_name(each.identity);
  }
}

/// How far predictions for resident warps that do not contend, from 20,000 cycles on, are from the counters of both runs, where
/// these read the same within a point: tails of some equal blocks do not. The profile is of the GPU that the suite was measured on;
/// one of these launches was in its calibration.
void expect_agreement(bool per_warp, std::size_t least, double mean_points) {
  std::map<std::string, CounterValues> again;
  for (const Row& row : recorded_suite_rows("repeat"))
    again[full_name(row)] = case_record(row).readings.counters;
  std::vector<CaseRecord> cases;
  for (const Row& row : recorded_suite_rows()) {
    const Work work = parse_work(row.work);
    if (work.cycles < 20'000 || work.rates() != Rates{} || work.per_warp != per_warp) continue;
    if (std::abs(*row.achieved_pct - *again.at(full_name(row)).achieved_pct) <= 1)
      cases.push_back(recorded_on_h200(row));
  }
  double points = 0;
  std::vector<double> active_pct;
  for (const CaseRecord& each : predicted_today(cases, 1)) {
    EXPECT_EQ(each.profile_quality, ProfileQuality::calibrated_device);
    for (const CounterValues& read : {each.readings.counters, again.at(full_name(each.identity))}) {
      points += std::abs(each.prediction->predicted_pct - *read.achieved_pct);
      active_pct.push_back(100 *
                           std::abs(each.prediction->cycles_active_mean / *read.sm_cycles_active_avg - 1));
    }
  }
  ASSERT_GT(active_pct.size(), least);
  EXPECT_LE(points / static_cast<double>(active_pct.size()), mean_points);
  EXPECT_LE(median(active_pct), 2);
}

TEST(RecordedSuite, WorkThatDiffersByBlockOrIsEqualIsPredicted) {
  // 0.35 on one H200 and 0.42 on the next: where the heaviest blocks of a second wave go is chance (results/nvidia-h200/gate.md).
  expect_agreement(false, 400, 0.45);
}

TEST(RecordedSuite, WorkThatDiffersByWarpIsPredicted) {
  expect_agreement(true, 100, 0.25);
}

/// The launches of a kind that `occbench validate` drew, and what is asked of their predictions: mean error
/// and 95th percentile, points, and the median error of active cycles. Of the model of twenty rules a 95th percentile of
/// 1.2 was asked for blocks of 8,000 cycles; what that of nine costs is in docs/notes/block-scheduler.md. 1.3 was asked for uneven warps:
/// on four GPUs it is 1.05 to 1.45.
struct Asked {
  const char* kind;
  std::size_t launches;
  double mean;
  double percentile_95;
  double active_pct = 2;  // median, percent of active cycles
};

void PrintTo(const Asked& asked, std::ostream* out) {
  *out << asked.kind;
}

class RandomLaunches : public testing::TestWithParam<Asked> {
 protected:
  std::vector<CaseRecord> launches_of_kind() const {
    auto launches = read_case_records(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/validation.csv");
    std::erase_if(launches, [](const CaseRecord& each) {
      return *find_parameter(each.identity, "kind") != GetParam().kind;
    });
    return launches;
  }
};

TEST_P(RandomLaunches, ArePredictedWithinWhatWasAsked) {
  constexpr std::size_t kEvery = 4;
  const std::vector<CaseRecord> recorded = launches_of_kind();
  ASSERT_EQ(recorded.size(), GetParam().launches);
  const std::vector<CaseRecord> today = predicted_today(recorded, kEvery);
  for (std::size_t i = 0; i < today.size(); ++i) {
    EXPECT_EQ(today[i].profile_quality, ProfileQuality::calibrated_device);
    EXPECT_NEAR(today[i].prediction->predicted_pct, recorded[kEvery * i].prediction->predicted_pct, 1e-3)
        << full_name(today[i].identity) << kRepredict;
  }
  const ErrorsOfKind errors = errors_by_kind(today).at(0);
  EXPECT_LE(mean(errors.predicted), GetParam().mean);
  EXPECT_LE(median(errors.active_pct), GetParam().active_pct);
  // A percentile needs all launches: of those between, as they are recorded.
  std::vector<double> points = errors_by_kind(recorded).at(0).predicted;
  std::ranges::sort(points);
  EXPECT_LE(quantile_of_sorted(points, 0.95), GetParam().percentile_95);
}

// Two models of one layout, GH100: the profile of either predicts the launches of the other.
std::vector<CaseRecord> random_launches_of(const std::string& model) {
  const std::string file = OCCBENCH_SOURCE_DIR "/results/nvidia-" + model + "/validation.csv";
  return std::filesystem::exists(file) ? read_case_records(file) : std::vector<CaseRecord>();
}

void expect_predicted_by(const DeviceProfile& profile, std::vector<CaseRecord> launches) {
  std::erase_if(launches, [](const CaseRecord& each) {
    return !find_parameter(each.identity, "kind")->ends_with("_from_20000_cycles");
  });
  ASSERT_GE(launches.size(), 300U);
  double points = 0;
  std::size_t predicted = 0;
  // results/profiles.csv has the error over all of them.
  for (std::size_t i = 0; i < launches.size(); i += 4, ++predicted) {
    CaseRecord& each = launches[i];
    repredict(each, profile);
    EXPECT_EQ(each.profile_quality, ProfileQuality::generic) << "never as if it were its own";
    points += std::abs(each.prediction->predicted_pct - *each.readings.counters.achieved_pct);
  }
  EXPECT_LE(points / static_cast<double>(predicted), 0.35);
}

TEST(ProfileOfTheOtherModel, PredictsRandomLaunchesOfBothFrom20000CyclesOn) {
  const std::vector<CaseRecord> on_h100 = random_launches_of("h100-80gb-hbm3");
  if (on_h100.empty()) GTEST_SKIP() << "no random launches of an H100 are recorded";
  expect_predicted_by(find_profile("h200"), on_h100);
  expect_predicted_by(profile_of(on_h100.front()).profile, random_launches_of("h200"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, RandomLaunches,
                         // For uneven warps 1.2 was asked at the 95th percentile, and reached on an H100.
                         testing::Values(Asked{"blocks_from_20000_cycles", 240, 0.35, 1.2},
                                         Asked{"warps_from_20000_cycles", 120, 0.5, 1.4},
                                         Asked{"blocks_of_8000_cycles", 120, 0.8, 1.5},
                                         Asked{"blocks_of_1000_to_8000_cycles", 120, 2, 4},
                                         Asked{"issue_bound", 80, 1, 2}, Asked{"always_issuing", 80, 2, 6},
                                         Asked{"memory_bound", 80, 1.5, 4, 3.5}),
                         [](const auto& test) { return std::string(test.param.kind); });

}  // namespace
}  // namespace occbench
