#include <gtest/gtest.h>

#include "predict/parameters.hpp"
#include "predict/profile_choice.hpp"

namespace occbench {
namespace {

/// Less the bandwidth, which is the GPU's.
DeviceParameters without_bandwidth(DeviceParameters parameters) {
  parameters.bytes_per_cycle = 0;
  return parameters;
}

TEST(GenericProfile, HasTypicalParametersEvenGpcsAndTheSizeOfItsGpu) {
  const DeviceProfile profile = generic_profile({8, 9}, 76);
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
    EXPECT_FALSE(is_obsolete_parameter(parameter.name)) << parameter.name;
    if (!parameter.off) continue;
    ++optional;
    EXPECT_GE(*parameter.off, parameter.least_allowed) << parameter.name;
    EXPECT_LE(*parameter.off, parameter.most_allowed) << parameter.name;
  }
  EXPECT_LE(optional, 10) << "a rule has to be worth its place: CONTRIBUTING.md, \"To add an optional rule\"";
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

}  // namespace
}  // namespace occbench
