#include "predict/device_profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "predict/parameters.hpp"

namespace occbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(DeviceProfile, TheH200IsBuiltIn) {
  const DeviceProfile profile = find_profile("h200");
  EXPECT_EQ(profile.compute_capability, (ComputeCapability{9, 0}));
  EXPECT_EQ(profile.sm_count(), 132);
  EXPECT_THAT(built_in_profiles(), testing::Contains("h200"));
}

TEST(DeviceProfile, SurvivesBeingWrittenAndRead) {
  const DeviceProfile profile = find_profile("h200");
  EXPECT_EQ(parse_profile(to_string(profile), "written"), profile);
}

TEST(DeviceProfile, ResizedItKeepsItsParametersAndForgetsGpcsAndClocks) {
  const DeviceProfile h200 = find_profile("h200");
  EXPECT_EQ(resized(h200, 132), h200);
  const DeviceProfile smaller = resized(h200, 66);
  EXPECT_EQ(smaller.model.parameters, h200.model.parameters);
  EXPECT_EQ(smaller.model.topology, Topology::even(66));
  EXPECT_THAT(smaller.model.gpc_clock_ppm, testing::Each(0));
}

TEST(DeviceProfile, LinesThatAreMissingHaveTypicalValues) {
  const DeviceProfile profile = parse_profile(
      "name = mine\ncompute_capability = 8.0\nsm_count = 108\nblock_launch_cycles = 7\n", "mine");
  DeviceParameters expected = typical_parameters();
  expected.block_launch_cycles = 7;
  EXPECT_EQ(profile.model, DeviceModel::uniform(Topology::even(108), expected));
}

TEST(DeviceProfile, LinesOfRulesThatTheModelNoLongerHasAreIgnored) {
  const std::string device = "name = mine\ncompute_capability = 8.0\nsm_count = 108\n";
  EXPECT_EQ(parse_profile(device + "jitter_cycles = 217\n", "mine"), parse_profile(device, "mine"));
}

TEST(DeviceProfile, ItsGroupsFitOneAnother) {
  const auto complains = [](const std::string& lines, std::string_view about) {
    const std::string text = "name = mine\ncompute_capability = 9.0\nsm_count = 6\n" + lines;
    EXPECT_THAT([&] { parse_profile(text, "my.profile"); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("my.profile"), HasSubstr(std::string(about)))));
  };
  complains("gpc_sms = 2 2\n", "4 SMs together, sm_count says 6");
  complains("gpc_sms = 2 2\nsingleton_sms = 4\n", "8 SMs together");
  complains("gpc_sms = 2 2\nsingleton_sms = 2\ntpc_replacement_latency_cycles = 0 10\n",
            "tpc_replacement_latency_cycles has 2 values, 3");
  complains("gpc_sms = 4\nsingleton_sms = 2\ngpc_clock_ppm = 5\n", "gpc_clock_ppm has 1 values, 2");
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
  complains("even_first_wave = 2\n", "my.profile:1:", "'2'");
  complains("name\n", "my.profile:1:", "name");
  complains("name = h\n", "my.profile", "compute_capability is missing");
  EXPECT_THAT([] { find_profile("no_such_gpu"); }, ThrowsMessage<InputError>(HasSubstr("h200")));
  EXPECT_NO_THROW(parse_profile("# a comment\n\n" + good, "my.profile"));
}

}  // namespace
}  // namespace occbench
