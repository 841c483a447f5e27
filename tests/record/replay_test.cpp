#include "record/replay.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "record/calibrate.hpp"
#include "simulate/work.hpp"

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
  const Prediction prediction = predict({{.block_threads = 256, .grid_blocks = 1584},
                                         {.registers_per_thread = 20},
                                         limits_of({9, 0}),
                                         chosen(find_profile("h200"))},
                                        Tasks(Work::equal(20'000), 1584, 8));
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
    return predict({{.block_threads = 256, .grid_blocks = 792},
                    {.registers_per_thread = 20},
                    limits_of({9, 0}),
                    chosen(find_profile("h200")),
                    {.first_gpc = first_gpc}},
                   Tasks(*record.identity.work, 792, 8))
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

}  // namespace
}  // namespace occbench
