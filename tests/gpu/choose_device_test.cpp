#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/device.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// As `occbench devices` of such a GPU says: name, multiProcessorCount and integrated.
Device recorded(int index, const char* name, int sm_count, bool integrated) {
  Device device;
  device.index = index;
  device.name = name;
  device.sm_count = sm_count;
  device.integrated = integrated;
  return device;
}

const Device kH200 = recorded(0, "NVIDIA H200", 132, false);
const Device kT1000 = recorded(1, "NVIDIA T1000", 14, false);
const Device kGb10 = recorded(2, "NVIDIA GB10", 48, true);
const Device kOrin = recorded(3, "Orin", 16, true);

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
  const Device second = recorded(1, "NVIDIA H200", 132, false);
  EXPECT_EQ(choose_device(std::vector<Device>{kH200, second}, "auto").index, 0);
}

TEST(ChooseDevice, ANumberIsThatDeviceWhateverItIs) {
  EXPECT_EQ(choose_device(std::vector<Device>{kH200, kT1000, kGb10}, "2").name, "NVIDIA GB10");
}

TEST(ChooseDevice, AnythingElseIsRefusedWithWhatThereIs) {
  const std::vector<Device> devices = {kH200, kT1000};
  for (const char* choice : {"2", "-1", "first", "1x", ""})
    EXPECT_THROW(choose_device(devices, choice), InputError) << choice;
  try {
    choose_device(devices, "7");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr(
                    "--device 7: there is no such GPU; this machine has 2, and occbench devices lists"));
  }
}

}  // namespace
}  // namespace occbench
