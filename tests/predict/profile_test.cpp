#include <cstdlib>
#include <fstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "predict/calibration.hpp"
#include "predict/device_profile.hpp"
#include "predict/parameters.hpp"
#include "predict/profile_choice.hpp"
#include "simulate/simulate.hpp"
#include "simulate/work.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

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

/// Less the bandwidth, which is the GPU's.
DeviceParameters without_bandwidth(DeviceParameters parameters) {
  parameters.bytes_per_cycle = 0;
  return parameters;
}

TEST(GenericProfile, HasTypicalParametersEvenGpcsAndTheSizeOfItsGpu) {
  const DeviceProfile profile = generic_profile(any_gpu({8, 9}, 76));
  EXPECT_EQ(profile.name, "generic");
  EXPECT_EQ(profile.sm_count(), 76);
  EXPECT_EQ(profile.compute_capability, (ComputeCapability{8, 9}));
  EXPECT_EQ(profile.model.topology, Topology::even(76));
  EXPECT_EQ(without_bandwidth(profile.model.parameters), without_bandwidth(typical_parameters()));
}

TEST(Parameters, AreAtMostTenOptionalRulesAndTypicalValuesLieInTheirRanges) {
  int optional = 0;
  for (const Parameter& parameter : parameters()) {
    EXPECT_GE(parameter.typical, parameter.least_elsewhere) << parameter.name;
    EXPECT_LE(parameter.typical, parameter.most_elsewhere) << parameter.name;
    EXPECT_GE(parameter.least_elsewhere, parameter.least_allowed) << parameter.name;
    EXPECT_LE(parameter.most_elsewhere, parameter.most_allowed) << parameter.name;
    if (!parameter.off) continue;
    ++optional;
    EXPECT_GE(*parameter.off, parameter.least_allowed) << parameter.name;
    EXPECT_LE(*parameter.off, parameter.most_allowed) << parameter.name;
  }
  EXPECT_LE(optional, 10)
      << "a rule has to be worth its place: CONTRIBUTING.md, \"To add a parameter or rule\"";
}

// Measured by `occbench calibrate`: the H200's profile, and 1,549 bytes a cycle on an H100 80GB HBM3.
TEST(GenericProfile, BandwidthFromTheDataSheetHoldsWhatCalibrationsMeasured) {
  const Bandwidth h200 = bandwidth_of(identity_of(gpu_of("h200")));
  EXPECT_NEAR(h200.typical, find_profile("h200").model.parameters.bytes_per_cycle, 0.05 * 2350);
  const Bandwidth h100 = bandwidth_of(identity_of(gpu_of("h100-sxm5-80gb")));
  EXPECT_NEAR(h100.typical, 1549, 0.05 * 1549);
  for (const auto& [bandwidth, measured] :
       {std::pair{h200, 2350.0}, std::pair{h200, 2273.0}, std::pair{h100, 1549.0}}) {
    EXPECT_LT(bandwidth.low, measured);
    EXPECT_GT(bandwidth.high, measured);
  }
}

TEST(GenericProfile, BandwidthOfACapabilityAloneSpansTheGpusThatHaveIt) {
  GpuIdentity unknown;
  unknown.compute_capability = {8, 0};
  unknown.sm_count = 108;
  const Bandwidth any = bandwidth_of(unknown);
  for (const char* name : {"a100-sxm4-40gb", "a100-sxm4-80gb"}) {
    const Bandwidth known = bandwidth_of(identity_of(gpu_of(name)));
    EXPECT_LE(any.low, known.low + 0.001) << name;
    EXPECT_GE(any.high, known.high - 0.001) << name;
  }
  EXPECT_LT(any.low, any.typical);
  EXPECT_LT(any.typical, any.high);
}

TEST(GenericProfile, BandwidthOfACapabilityThatNoGpuOfTheTableHasIsThatOfTheNearest) {
  GpuIdentity unknown;
  unknown.compute_capability = {9, 9};
  unknown.sm_count = 100;
  GpuIdentity hopper = unknown;
  hopper.compute_capability = {9, 0};
  EXPECT_EQ(bandwidth_of(unknown).typical, bandwidth_of(hopper).typical);
}

TEST(GenericProfile, AGpuOfAnotherSizeThanItsNameSaysIsNotTakenForThatOfTheTable) {
  GpuIdentity part = identity_of(gpu_of("h200"));
  part.sm_count = 16;  // as a MIG instance
  EXPECT_LT(bandwidth_of(part).high, bandwidth_of(identity_of(gpu_of("h200"))).low);
}

const GpuIdentity kH200{"NVIDIA H200", "GPU-1", 6144, {9, 0}, 132};

class ProfileChoice : public testing::Test {
 protected:
  void keep(DeviceProfile profile, const std::string& uuid) const {
    profile.gpu_uuid = uuid;
    profile.name = "kept";
    std::ofstream(profile_file(folder_, uuid)) << to_string(profile);
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
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

TEST_F(ProfileChoice, AProfileOfTypicalValuesAloneIsGenericWhateverGpuItNames) {
  const std::string text = "name = mine\ngpu = NVIDIA H200\ncompute_capability = 9.0\nsm_count = 132\n";
  EXPECT_EQ(quality_of(parse_profile(text, "mine"), kH200), ProfileQuality::generic);
  EXPECT_EQ(quality_of(parse_profile(text + "block_launch_cycles = 7\n", "mine"), kH200),
            ProfileQuality::calibrated_model);
}

TEST_F(ProfileChoice, AGpuThatNobodyKnowsGetsTypicalParameters) {
  const ChosenProfile unknown = choose_profile({"NVIDIA Something", "", 0, {8, 6}, 30}, folder_);
  EXPECT_EQ(unknown.profile, generic_profile(any_gpu({8, 6}, 30)));
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

DeviceModel unknown_device(int sm_count) {
  return DeviceModel::uniform(Topology::even(sm_count), typical_parameters());
}

/// Blocks that took SMs in this order, one after another on each, and left it to the next after `latency`.
std::vector<RecordedBlock> recorded(const std::vector<int>& order, auto&& latency) {
  std::vector<RecordedBlock> blocks;
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
            recorded(order, [](int sm) { return sm == 2 || sm == 3 || sm == 6 || sm == 7 ? 380 : 301; }));
  EXPECT_EQ(model.topology.singleton_sms(), 2);
  EXPECT_THAT(model.topology.gpc_sms(), testing::ElementsAreArray({4, 4}));
  EXPECT_EQ(model.tpc_replacement_latency_cycles, (std::vector{0, 0, 80, 80, 0}));
}

TEST(Calibration, EachGpcHasTheClockThatItsBlocksWereTracedWith) {
  // Four SMs of each GPC, two singleton ones; the first GPC's clock runs 0.1 % faster than the others'.
  const std::vector<int> order{8, 9, 0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 0, 1, 4, 5, 2, 3, 6, 7};
  std::vector<RecordedBlock> blocks = recorded(order, [](int) { return 300; });
  for (RecordedBlock& block : blocks) {
    const bool fast = block.sm == 0 || block.sm == 1 || block.sm == 4 || block.sm == 5;
    block.own_cycles = fast ? 1001 : 1000;
  }
  DeviceModel model = unknown_device(10);
  EXPECT_TRUE(find_gpcs(model, blocks));
  EXPECT_EQ(model.gpc_clock_ppm, (std::vector{600, -400, -400}));
  for (RecordedBlock& block : blocks) block.own_cycles = 1000;
  EXPECT_TRUE(find_gpcs(model, blocks)) << "clocks that are alike are known too";
  EXPECT_EQ(model.gpc_clock_ppm, (std::vector{0, 0, 0}));
  EXPECT_FALSE(find_gpcs(model, recorded(order, [](int) { return 300; })));
  EXPECT_EQ(model.gpc_clock_ppm, (std::vector{0, 0, 0}));
}

TEST(Calibration, PairsOfSingletonSmsHaveTheClockOfTheGpcThatIsNearestOverBothTraces) {
  // Two GPCs of four SMs, 0.2 % apart, and two pairs of singleton SMs: by both traces together the first is
  // of the fast GPC, though one trace alone says otherwise, and the second of the slow one.
  const std::vector<int> order{8, 9, 10, 11, 0, 1, 4, 5, 8, 9, 10, 11, 2, 3, 6, 7, 0, 1, 4, 5, 2, 3, 6, 7};
  const auto trace = [&](double first_pair) {
    std::vector<RecordedBlock> blocks = recorded(order, [](int) { return 300; });
    for (RecordedBlock& block : blocks) {
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
  find_gpcs(model, recorded(order, [](int sm) { return sm == 8 || sm == 9 ? 400 : 300; }));
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
