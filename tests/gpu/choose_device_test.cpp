#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/device.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// What the choice depends on: name, multiProcessorCount and integrated of cudaDeviceProp.
Device device_named(const char* name, int index, int sm_count, bool integrated) {
  Device device;
  device.index = index;
  device.name = name;
  device.sm_count = sm_count;
  device.integrated = integrated;
  return device;
}

// The H200 is as results/nvidia-h200/devices.json has it. The others are typed in: none was recorded.
const Device kH200 = device_named("NVIDIA H200", 0, 132, false);
const Device kT1000 = device_named("NVIDIA T1000", 1, 14, false);
const Device kGb10 = device_named("NVIDIA GB10", 2, 48, true);
const Device kOrin = device_named("Orin", 3, 16, true);

TEST(ChooseDevice, TheH200OfTheseTestsIsTheRecordedOne) {
  std::ifstream file(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/devices.json");
  const std::string recorded{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(recorded, testing::HasSubstr(fmt::format("\"name\":\"{}\",", kH200.name)));
  EXPECT_THAT(recorded, testing::HasSubstr(fmt::format("\"multiProcessorCount\":{},", kH200.sm_count)));
  EXPECT_THAT(recorded, testing::HasSubstr(fmt::format("\"integrated\":{},", kH200.integrated ? 1 : 0)));
}

TEST(ChooseDevice, AutoIsADiscreteGpuBeforeAnIntegratedOneOfMoreSms) {
  const std::vector<Device> devices = {kGb10, kOrin, kT1000};
  EXPECT_EQ(choose_device(devices, "auto").name, "NVIDIA T1000");
}

TEST(ChooseDevice, AutoIsTheDiscreteGpuWithMostSms) {
  EXPECT_EQ(choose_device(std::vector<Device>{kT1000, kH200, kGb10}, "auto").name, "NVIDIA H200");
}

TEST(ChooseDevice, AutoIsAnIntegratedGpuWhereThereIsNoOther) {
  EXPECT_EQ(choose_device(std::vector<Device>{kOrin, kGb10}, "auto").name, "NVIDIA GB10");
}

TEST(ChooseDevice, OfEqualGpusAutoIsTheFirst) {
  const Device second = device_named("NVIDIA H200", 1, 132, false);
  EXPECT_EQ(choose_device(std::vector<Device>{kH200, second}, "auto").index, 0);
}

TEST(ChooseDevice, ANumberIsThatDeviceWhateverItIs) {
  EXPECT_EQ(choose_device(std::vector<Device>{kH200, kT1000, kGb10}, "2").name, "NVIDIA GB10");
}

TEST(ChooseDevice, AnythingElseIsRefusedWithWhatThereIs) {
  const std::vector<Device> devices = {kH200, kT1000};
  for (const char* choice : {"2", "-1", "first", "1x", ""})
    EXPECT_THROW(choose_device(devices, choice), InputError) << choice;
  EXPECT_THAT(
      message_of([&] { choose_device(devices, "7"); }),
      testing::HasSubstr("--device 7: there is no such GPU; this machine has 2, and occbench devices lists"));
}

}  // namespace
}  // namespace occbench
