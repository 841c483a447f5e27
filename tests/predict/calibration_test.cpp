#include "predict/calibration.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "predict/parameters.hpp"
#include "predict/work.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

DeviceModel unknown_device(int sm_count) {
  return DeviceModel::uniform(Topology::even(sm_count), typical_parameters());
}

/// Blocks that took SMs in this order, one after another on each, and left it to the next after `latency`.
std::vector<TracedBlock> traced(const std::vector<int>& order, auto&& latency) {
  std::vector<TracedBlock> blocks;
  std::vector<double> free_at(64, -1);
  for (const int sm : order) {
    double& free = free_at[static_cast<std::size_t>(sm)];
    const double start = free < 0 ? 0 : free + latency(sm);
    blocks.push_back({sm, start, start + 1000});
    free = start + 1000;
  }
  return blocks;
}

TEST(Calibration, GpcsAreRunsOfAscendingSmsAndThoseThatComeAgainAreSingleton) {
  // Two GPCs (0, 1, 4, 5 and 2, 3, 6, 7), of which the second is far away, and two singleton SMs (8, 9).
  const std::vector<int> order{8, 9, 2, 3, 6, 7, 8, 9, 0, 1, 4, 5, 2, 3, 6, 7, 0, 1, 4, 5};
  DeviceModel model = unknown_device(10);
  find_gpcs(model,
            traced(order, [](int sm) { return sm == 2 || sm == 3 || sm == 6 || sm == 7 ? 380 : 301; }));
  EXPECT_EQ(model.topology.singleton_sms(), 2);
  EXPECT_THAT(model.topology.gpc_sms(), testing::ElementsAreArray({4, 4}));
  EXPECT_EQ(model.tpc_replacement_latency_cycles, (std::vector{0, 0, 80, 80, 0}));
}

TEST(Calibration, EachGpcHasTheClockThatItsBlocksWereTracedWith) {
  // Four SMs of each GPC, two singleton ones; the first GPC's clock runs 0.1 % faster than the others'.
  const std::vector<int> order{8, 9, 0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 0, 1, 4, 5, 2, 3, 6, 7};
  std::vector<TracedBlock> blocks = traced(order, [](int) { return 300; });
  for (TracedBlock& block : blocks) {
    const bool fast = block.sm == 0 || block.sm == 1 || block.sm == 4 || block.sm == 5;
    block.own_cycles = fast ? 1001 : 1000;
  }
  DeviceModel model = unknown_device(10);
  EXPECT_TRUE(find_gpcs(model, blocks));
  EXPECT_EQ(model.gpc_clock_ppm, (std::vector{600, -400, -400}));
  for (TracedBlock& block : blocks) block.own_cycles = 1000;
  EXPECT_TRUE(find_gpcs(model, blocks)) << "clocks that are alike are known too";
  EXPECT_EQ(model.gpc_clock_ppm, (std::vector{0, 0, 0}));
  EXPECT_FALSE(find_gpcs(model, traced(order, [](int) { return 300; })));
  EXPECT_EQ(model.gpc_clock_ppm, (std::vector{0, 0, 0}));
}

TEST(Calibration, PairsOfSingletonSmsHaveTheClockOfTheGpcThatIsNearestOverBothTraces) {
  // Two GPCs of four SMs, 0.2 % apart, and two pairs of singleton SMs: by both traces together the first is
  // of the fast GPC, though one trace alone says otherwise, and the second of the slow one.
  const std::vector<int> order{8, 9, 10, 11, 0, 1, 4, 5, 8, 9, 10, 11, 2, 3, 6, 7, 0, 1, 4, 5, 2, 3, 6, 7};
  const auto trace = [&](double first_pair) {
    std::vector<TracedBlock> blocks = traced(order, [](int) { return 300; });
    for (TracedBlock& block : blocks) {
      const bool fast = block.sm == 0 || block.sm == 1 || block.sm == 4 || block.sm == 5;
      block.own_cycles = block.sm == 8 || block.sm == 9 ? first_pair : fast ? 1002 : 1000;
    }
    return blocks;
  };
  DeviceModel model = unknown_device(12);
  find_gpcs(model, trace(1000.9), trace(1001.9));
  ASSERT_EQ(model.gpc_clock_ppm.size(), 4u);
  EXPECT_EQ(model.gpc_clock_ppm[2], model.gpc_clock_ppm[0]);
  EXPECT_EQ(model.gpc_clock_ppm[3], model.gpc_clock_ppm[1]);
  find_gpcs(model, trace(1000.9));
  EXPECT_EQ(model.gpc_clock_ppm[2], model.gpc_clock_ppm[1]);
}

TEST(Calibration, TheSmsOfASingletonTpcArePairedInWhateverOrderTheyAreVisited) {
  const std::vector<int> order{8, 10, 9, 11, 0, 1, 4, 5, 8, 10, 9, 11, 2, 3, 6, 7, 0, 1, 4, 5, 2, 3, 6, 7};
  DeviceModel model = unknown_device(12);
  find_gpcs(model, traced(order, [](int sm) { return sm == 8 || sm == 9 ? 400 : 300; }));
  EXPECT_EQ(model.topology.singleton_sms(), 4);
  EXPECT_EQ(model.tpc_replacement_latency_cycles, (std::vector{0, 0, 0, 0, 100, 0}));
}

TEST(Calibration, WithoutATraceGpcsAreAsEvenAsCanBe) {
  DeviceModel model = unknown_device(36);
  find_gpcs(model, {});
  EXPECT_EQ(model.topology.singleton_sms(), 0);
  EXPECT_THAT(model.topology.gpc_sms(), testing::ElementsAreArray({18, 18}));
  EXPECT_THAT(model.tpc_replacement_latency_cycles, testing::Each(0));
}

TEST(Calibration, ALaunchIsHeldToTheGpcThatItBeganWith) {
  const DeviceProfile profile = find_profile("h200");
  CalibrationLaunch launch{.launch = {.block_threads = 256, .grid_blocks = 792},
                           .usage = {.registers_per_thread = 20},
                           .work = parse_work("uniform:200000:0.5:1.5:seed=3")};
  const Simulation measured = simulate(launch.launch, launch.usage, limits_of({9, 0}), profile.model,
                                       Tasks(launch.work, 792, 8), 8 * 1000 + 3);
  launch.achieved_pct = measured.achieved_pct;
  launch.cycles_active = measured.cycles_active_mean;
  const auto misfit_with = [&](std::optional<int> first_gpc) {
    launch.first_gpc = first_gpc;
    return misfit(profile, limits_of({9, 0}), std::span(&launch, 1));
  };
  EXPECT_LT(misfit_with(3), misfit_with(std::nullopt));
  for (const int other : {0, 1, 2, 4, 5, 6, 7}) EXPECT_LT(misfit_with(3), misfit_with(other)) << other;
}

TEST(Calibration, ALaunchThatDoesNotFitAnSmIsRefused) {
  const std::vector<CalibrationLaunch> launches{
      {.launch = {.block_threads = 256, .grid_blocks = 132},
       .usage = {.registers_per_thread = 20, .static_shared_bytes = 400'000},
       .work = parse_work("equal:8000"),
       .achieved_pct = 50,
       .cycles_active = 8000}};
  EXPECT_THROW(fit_parameters(find_profile("h200"), limits_of({9, 0}), launches, true), InputError);
}

TEST(Calibration, FindsTheCyclesThatLaunchesWereSimulatedWith) {
  DeviceProfile truth = find_profile("h200");
  truth.model.parameters.replacement_latency_cycles *= 2;
  std::vector<CalibrationLaunch> launches;
  for (const std::int64_t grid : {2112, 4224, 8448}) {
    const CalibrationLaunch launch{.launch = {.block_threads = 128, .grid_blocks = grid},
                                   .usage = {.registers_per_thread = 20},
                                   .work = parse_work("equal:3000")};
    const Simulation simulation = simulate(launch.launch, launch.usage, limits_of({9, 0}), truth.model,
                                           Tasks(launch.work, grid, 4), 99);
    launches.push_back(launch);
    launches.back().achieved_pct = simulation.achieved_pct;
    launches.back().cycles_active = simulation.cycles_active_mean;
  }
  const DeviceProfile other = find_profile("h200");
  const DeviceProfile found = fit_parameters(other, limits_of({9, 0}), launches, true);
  EXPECT_LT(misfit(found, limits_of({9, 0}), launches), misfit(other, limits_of({9, 0}), launches) / 2);
  EXPECT_GT(found.model.parameters.replacement_latency_cycles, 1.2 * 200);  // where the fit begins
}

}  // namespace
}  // namespace occbench
