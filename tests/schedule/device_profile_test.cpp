#include "schedule/device_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(DeviceProfile, TheH200IsBuiltIn) {
  const DeviceProfile profile = find_profile("h200");
  EXPECT_EQ(profile.compute_capability, (ComputeCapability{9, 0}));
  EXPECT_EQ(profile.sm_count, 132);
  EXPECT_THAT(built_in_profiles(), testing::Contains("h200"));
}

TEST(DeviceProfile, SurvivesBeingWrittenAndRead) {
  const DeviceProfile profile = find_profile("h200");
  EXPECT_EQ(parse_profile(to_string(profile), "written"), profile);
}

TEST(DeviceProfile, AGpuWithoutOneGetsTheDefaultAndItsOwnSize) {
  EXPECT_EQ(profile_of_device({9, 0}, 132).name, "h200");
  const DeviceProfile profile = profile_of_device({8, 9}, 76);
  EXPECT_EQ(profile.name, "default");
  EXPECT_EQ(profile.sm_count, 76);
  EXPECT_EQ(profile.compute_capability, (ComputeCapability{8, 9}));
  EXPECT_EQ(profile.replacement_latency_cycles, find_profile("h200").replacement_latency_cycles);
}

TEST(DeviceProfile, AnUnknownDeviceHasEvenGpcsOfWholePairs) {
  EXPECT_EQ(even_gpcs(132), (std::vector{18, 18, 16, 16, 16, 16, 16, 16}));
  EXPECT_EQ(even_gpcs(15), (std::vector{15}));
  EXPECT_EQ(even_gpcs(1), (std::vector{1}));
}

TEST(DeviceProfile, ItsGroupsFitOneAnother) {
  const auto complains = [](auto&& change, std::string_view about) {
    DeviceProfile profile = find_profile("h200");
    change(profile);
    EXPECT_THAT([&] { parse_profile(to_string(profile), "my.profile"); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("my.profile"), HasSubstr(std::string(about)))));
  };
  complains([](DeviceProfile& profile) { profile.gpc_sms.pop_back(); }, "sm_count says 132");
  complains([](DeviceProfile& profile) { profile.singleton_sms = 10; }, "134 SMs together");
  complains([](DeviceProfile& profile) { profile.tpc_replacement_latency_cycles.pop_back(); },
            "tpc_replacement_latency_cycles has 65");
  complains([](DeviceProfile& profile) { profile.gpc_clock_ppm.pop_back(); },
            "gpc_clock_ppm has 11 values, 12");
}

TEST(DeviceProfile, ComplaintsNameFileAndLine) {
  const std::string good = to_string(find_profile("h200"));
  const auto complains = [](const std::string& text, std::string_view place, std::string_view about) {
    EXPECT_THAT(
        [&] { parse_profile(text, "my.profile"); },
        ThrowsMessage<InputError>(AllOf(HasSubstr(std::string(place)), HasSubstr(std::string(about)))));
  };
  complains("speed = 3\n", "my.profile:1:", "no 'speed'");
  complains("# nothing\n\nsm_count = many\n", "my.profile:3:", "'many' is not a value for sm_count");
  complains("sm_count = 0\n", "my.profile:1:", "'0'");
  complains("replacement_latency_cycles = -1\n", "my.profile:1:", "'-1'");
  complains("gpc_sms = 16 x\n", "my.profile:1:", "'16 x'");
  complains("gpc_sms = 16 65\n", "my.profile:1:", "'16 65'");
  complains("gpc_clock_ppm = -100001\n", "my.profile:1:", "'-100001'");
  complains("gpc_clock_spread_ppm = 100001\n", "my.profile:1:", "'100001'");
  complains("tpc_replacement_latency_cycles =\n", "my.profile:1:", "''");
  complains("name\n", "my.profile:1:", "name");
  complains("name = h\n", "my.profile:2:", "compute_capability is missing");
  EXPECT_THAT([] { find_profile("no_such_gpu"); }, ThrowsMessage<InputError>(HasSubstr("h200")));
  EXPECT_NO_THROW(parse_profile("# a comment\n\n" + good, "my.profile"));
}

}  // namespace
}  // namespace occbench
