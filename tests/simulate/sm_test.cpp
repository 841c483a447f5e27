#include <gtest/gtest.h>

#include "simulate/residency.hpp"

namespace occbench {
namespace {

SmRules rules_of(const DeviceParameters& parameters, int block_threads) {
  const Limits& limits = limits_of({9, 0});
  return {parameters, limits,
          theoretical_occupancy(limits, {.block_threads = block_threads}, {.registers_per_thread = 20})};
}

TEST(Sm, BlocksAreLaunchedOneAfterAnother) {
  const SmRules rules = rules_of({.block_launch_cycles = 20}, 256);
  Sm sm({});
  EXPECT_EQ(sm.launch(100, rules).start, 100);
  const Sm::Launched second = sm.launch(100, rules);
  EXPECT_EQ(second.start, 120);
  EXPECT_EQ(second.number, 1);
  EXPECT_EQ(sm.resident_blocks(), 2);
}

TEST(Sm, ActiveCyclesCountWhatOverlapsOnce) {
  ActiveCycles active;
  active.add(0, 10);
  active.add(5, 8);
  active.add(9, 20);
  active.add(30, 40);
  EXPECT_EQ(active.total(), 30);
}

TEST(OneAtATime, WhatComesWhileItIsBusyWaits) {
  OneAtATime one(50);
  EXPECT_EQ(one.begin(0, 10), 50) << "it is not free before";
  EXPECT_EQ(one.begin(55, 10), 60);
  EXPECT_EQ(one.begin(100, 10), 100);
}

TEST(Sms, TakeTheirPartOfTheFirstWave) {
  const DeviceModel device = DeviceModel::uniform(Topology({4, 4}, 2), {});
  const std::vector<Sm> sms = sms_of(device, {2, {3}}, Draws(1), 1);
  EXPECT_EQ(sms[2].traits().first_wave_blocks, 2);
  EXPECT_EQ(sms[3].traits().first_wave_blocks, 3);
}

}  // namespace
}  // namespace occbench
