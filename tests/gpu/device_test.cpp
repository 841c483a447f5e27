#include "gpu/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/error.hpp"
#include "gpu/launch.hpp"
#include "gpu/launch_timer.hpp"
#include "kernels/spin.hpp"
#include "measure/counters.hpp"
#include "occupancy/input_error.hpp"
#include "on_a_gpu.hpp"

namespace occbench {
namespace {

class DeviceOnAGpu : public OnAGpu {
 protected:
  Case hold(std::int64_t grid_blocks, double cycles) const {
    return {.kernel = &kSpin,
            .variant = "plain",
            .launch = {.block_threads = 256, .grid_blocks = grid_blocks},
            .work = Work::equal(cycles),
            .parameters = {}};
  }
};

TEST_F(DeviceOnAGpu, TheLimitsTableSaysWhatTheDeviceSays) {
  EXPECT_THAT(device_.notes, ::testing::IsEmpty());
}

TEST_F(DeviceOnAGpu, ADeviceThatIsNotThereIsWrongUse) {
  EXPECT_THROW(open_device("999"), InputError);
  EXPECT_THROW(open_device("first"), InputError);
}

TEST_F(DeviceOnAGpu, SpinHoldsEachWarpForItsCyclesAndTheClockAgreesWithTheEvents) {
  LaunchTimer timer;
  double microseconds[2] = {};
  for (const int i : {0, 1}) {
    const double cycles = i == 0 ? 400'000 : 800'000;
    const Case chosen = hold(device_.sm_count, cycles);
    const auto prepared = kSpin.prepare(chosen, kSpin.find("plain"), device_);
    EXPECT_EQ(prepared->check(timer.stream().get()), Check::ok);
    prepared->launch(timer.stream().get());
    timer.stream().synchronize();
    microseconds[i] = timer.microseconds([&](cudaStream_t stream) { prepared->launch(stream); });
  }
  // Twice the cycles take twice as long but for what launching takes, a few microseconds.
  EXPECT_NEAR(microseconds[1] - microseconds[0], microseconds[0], 5);
}

TEST_F(DeviceOnAGpu, ACaseWithoutLargeClustersFindsNothingOfTheOneBefore) {
  if (device_.limits.max_cluster_blocks <= 8) GTEST_SKIP() << "this device has no clusters beyond 8 blocks";
  const void* const function = kSpin.find("plain").function;
  const auto allowed_after = [&](int cluster_blocks) {
    configure(function, {.block_threads = 256, .grid_blocks = 16, .cluster_blocks = cluster_blocks});
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes");
    return attributes.nonPortableClusterSizeAllowed;
  };
  EXPECT_EQ(allowed_after(16), 1);
  EXPECT_EQ(allowed_after(8), 0);
  EXPECT_EQ(allowed_after(1), 0);
}

TEST_F(DeviceOnAGpu, CountersSeeTheBlocksThatWereLaunched) {
  LaunchTimer timer;
  const Case chosen = hold(1000, 20'000);
  const auto prepared = kSpin.prepare(chosen, kSpin.find("plain"), device_);
  prepared->launch(timer.stream().get());
  timer.stream().synchronize();
  try {
    Counters counters(device_, 4);
    const CounterReadings readings = counters.read({"sm__ctas_launched.sum", "no_such_metric.sum"}, [&] {
      prepared->launch(timer.stream().get());
      timer.stream().synchronize();
    });
    EXPECT_THAT(readings.at("sm__ctas_launched.sum"), ::testing::Each(1000.0));
    EXPECT_FALSE(readings.contains("no_such_metric.sum"));
  } catch (const CountersUnavailable& unavailable) {
    GTEST_SKIP() << unavailable.what();
  }
}

}  // namespace
}  // namespace occbench
