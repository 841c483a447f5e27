#include "predict/profile_choice.hpp"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const GpuIdentity kH200{"NVIDIA H200", "GPU-1", 6144, {9, 0}, 132};

class ProfileChoice : public testing::Test {
 protected:
  ProfileChoice() : folder_(fs::path(testing::TempDir()) / ("profiles_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~ProfileChoice() override {
    fs::remove_all(folder_);
  }

  void keep(DeviceProfile profile, const std::string& uuid) const {
    profile.gpu_uuid = uuid;
    profile.name = "kept";
    std::ofstream(profile_file(folder_, uuid)) << to_string(profile);
  }

  fs::path folder_;
};

TEST_F(ProfileChoice, AGpuThatWasCalibratedHasItsOwn) {
  keep(find_profile("h200"), "GPU-1");
  const ChosenProfile own = choose_profile(kH200, folder_);
  EXPECT_EQ(own.profile.name, "kept");
  EXPECT_EQ(own.quality, ProfileQuality::calibrated_device);
  GpuIdentity other = kH200;
  other.uuid = "GPU-2";
  EXPECT_EQ(choose_profile(other, folder_).profile.name, "h200");
  EXPECT_EQ(choose_profile(other, folder_).quality, ProfileQuality::calibrated_model);
}

TEST_F(ProfileChoice, NoUuidLeadsOutOfTheFolder) {
  fs::create_directories(folder_ / "inside");
  keep(find_profile("h200"), "outside");
  GpuIdentity gpu = kH200;
  for (const std::string& uuid :
       {std::string("../outside"), (folder_ / "outside").string(), std::string("..")}) {
    gpu.uuid = uuid;
    ASSERT_TRUE(uuid == ".." || fs::exists(profile_file(folder_ / "inside", uuid)));
    EXPECT_EQ(choose_profile(gpu, folder_ / "inside").profile.name, "h200") << uuid;
  }
}

TEST_F(ProfileChoice, AnotherModelOfTheSameCapabilityAndSizeGetsNoOneElsesProfile) {
  GpuIdentity gpu = kH200;
  gpu.name = "NVIDIA H100 80GB of nobody";
  const ChosenProfile chosen_for_it = choose_profile(gpu, folder_);
  EXPECT_EQ(chosen_for_it.profile.name, "generic");
  EXPECT_EQ(chosen_for_it.quality, ProfileQuality::generic);
  EXPECT_EQ(quality_of(find_profile("h200"), gpu), ProfileQuality::generic);
}

TEST_F(ProfileChoice, ModelsOfOneNameAreToldApartByTheMemoryBusAndTheNumberOfSms) {
  DeviceProfile profile = find_profile("h200");
  profile.memory_bus_bits = 6144;
  EXPECT_EQ(quality_of(profile, kH200), ProfileQuality::calibrated_model);
  GpuIdentity narrow = kH200;
  narrow.memory_bus_bits = 5120;
  EXPECT_EQ(quality_of(profile, narrow), ProfileQuality::generic);
  GpuIdentity part = kH200;
  part.sm_count = 60;
  EXPECT_EQ(quality_of(profile, part), ProfileQuality::generic);
  EXPECT_EQ(chosen(profile, part).profile.sm_count(), 60);
}

TEST_F(ProfileChoice, AGpuThatNobodyKnowsGetsTypicalParameters) {
  const ChosenProfile unknown = choose_profile({"NVIDIA Something", "", 0, {8, 6}, 30}, folder_);
  EXPECT_EQ(unknown.profile, generic_profile({8, 6}, 30));
  EXPECT_EQ(unknown.quality, ProfileQuality::generic);
}

TEST_F(ProfileChoice, AMalformedFileIsNamedInsteadOfPassedOver) {
  std::ofstream(profile_file(folder_, "GPU-1")) << "name = torn\n";
  EXPECT_THROW(choose_profile(kH200, folder_), InputError);
}

TEST(NameOfAProfile, HasTheModelAndTheFirstDigitsOfTheUuid) {
  EXPECT_EQ(name_of_profile("NVIDIA H200", "GPU-91faaf4a-9cbf-8598-1b86-a06954d2532f"), "h200-91faaf4a");
  EXPECT_EQ(name_of_profile("NVIDIA H100 80GB HBM3", "GPU-00112233-44"), "h100-80gb-hbm3-00112233");
  EXPECT_EQ(name_of_profile("NVIDIA A100/x", ""), "a100-x") << "a file name";
  EXPECT_EQ(name_of_profile("", ""), "gpu");
}

TEST(RemarkOnAProfile, SaysWhichItIsWhereItIsNotTheGpusOwn) {
  EXPECT_EQ(remark_on("h200-1", ProfileQuality::calibrated_device, kH200.name), "");
  EXPECT_THAT(remark_on("h200", ProfileQuality::calibrated_model, kH200.name),
              HasSubstr("h200, made on GPUs of this model"));
  EXPECT_THAT(
      remark_on("h200", ProfileQuality::generic, "NVIDIA H100 80GB HBM3"),
      AllOf(HasSubstr("NVIDIA H100 80GB HBM3 is predicted with the profile h200"), HasSubstr("unverified")));
}

TEST(UserProfiles, AreInTheConfigurationFolder) {
  ::setenv("XDG_CONFIG_HOME", "/config", 1);
  EXPECT_EQ(user_profiles(), "/config/occbench/profiles");
  ::setenv("XDG_CONFIG_HOME", "relative", 1);
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(user_profiles(), "/home/me/.config/occbench/profiles");
  ::unsetenv("XDG_CONFIG_HOME");
  EXPECT_EQ(user_profiles(), "/home/me/.config/occbench/profiles");
}

}  // namespace
}  // namespace occbench
