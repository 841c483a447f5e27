#include "record/replay.hpp"

#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

Row recorded_row() {
  Row row;
  row.compute_capability = "9.0";
  row.sm_count = 132;
  row.block_threads = 256;
  row.grid_blocks = 1584;
  row.registers_per_thread = 20;
  row.work = "equal:20000";
  return row;
}

TEST(Replay, ARowSaysAllThatItsPredictionNeeds) {
  Row row = recorded_row();
  predict_anew(row);
  const Prediction prediction =
      predict({.block_threads = 256, .grid_blocks = 1584}, {.registers_per_thread = 20}, limits_of({9, 0}),
              132, find_profile("h200"), Tasks(Work::equal(20'000), 1584, 8));
  EXPECT_EQ(row.device_profile, "h200");
  EXPECT_EQ(row.predicted_pct, prediction.predicted_pct);
  EXPECT_EQ(row.predicted_low_pct, prediction.predicted_low_pct);
  EXPECT_EQ(row.predicted_high_pct, prediction.predicted_high_pct);
  EXPECT_EQ(row.predicted_elapsed_pct, prediction.predicted_elapsed_pct);
  EXPECT_EQ(row.predicted_cycles_active, prediction.cycles_active_mean);
  EXPECT_EQ(row.loss_tail_points, prediction.losses.tail);
  EXPECT_EQ(row.loss_overhead_points, prediction.losses.overhead);
  EXPECT_EQ(row.explanation, prediction.explanation);
}

TEST(Replay, WithoutWorkThereIsNoPrediction) {
  Row row = recorded_row();
  predict_anew(row);
  row.work.clear();
  predict_anew(row);
  Row empty = recorded_row();
  empty.work.clear();
  EXPECT_EQ(row, empty);
}

TEST(Replay, ADeviceWithoutAProfileGetsTheDefault) {
  Row row = recorded_row();
  row.compute_capability = "8.0";
  row.sm_count = 108;
  predict_anew(row);
  EXPECT_EQ(row.device_profile, "default");
}

TEST(Replay, AProfileThatIsGivenComesBeforeTheOneThatTheRowNames) {
  Row row = recorded_row();
  row.sm_count = 66;
  row.device_profile = "h200";
  predict_anew(row);
  EXPECT_EQ(row.device_profile, "h200");
  predict_anew(row, default_profile({9, 0}, 66));
  EXPECT_EQ(row.device_profile, "default");
  row.device_profile = "of a unit elsewhere";
  predict_anew(row);
  EXPECT_EQ(row.device_profile, "default");
}

TEST(Replay, ARowThatLacksWhatIsNeededIsRefused) {
  for (Integer Row::*const column :
       {&Row::block_threads, &Row::grid_blocks, &Row::registers_per_thread, &Row::sm_count}) {
    Row row = recorded_row();
    (row.*column).reset();
    EXPECT_THROW(predict_anew(row), InputError);
  }
}

}  // namespace
}  // namespace occbench
