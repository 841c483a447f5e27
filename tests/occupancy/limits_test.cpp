#include "occupancy/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;

std::string refusal_of(ComputeCapability capability) {
  try {
    limits_of(capability);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Limits, CoverAllThirtyComputeCapabilitiesFrom10To121) {
  EXPECT_EQ(all_limits().size(), 30u);
  EXPECT_EQ(all_limits().front().compute_capability, (ComputeCapability{1, 0}));
  EXPECT_EQ(all_limits().back().compute_capability, (ComputeCapability{12, 1}));
}

// Peak FP32 = SMs x lanes x 2 x clock, from NVIDIA's data sheets (boost clock).
TEST(Limits, GiveThePeakFloatingPointRateOfDataSheets) {
  struct Product {
    const char* name;
    ComputeCapability capability;
    int sms;
    double boost_ghz, teraflops;
  };
  for (const Product& product :
       {Product{"Tesla K40", {3, 5}, 15, 0.875, 5.04}, Product{"Tesla P100 SXM2", {6, 0}, 56, 1.480, 10.6},
        Product{"Tesla V100 SXM2", {7, 0}, 80, 1.530, 15.7}, Product{"Tesla T4", {7, 5}, 40, 1.590, 8.1},
        Product{"A100 SXM4", {8, 0}, 108, 1.410, 19.5}, Product{"GeForce RTX 3090", {8, 6}, 82, 1.695, 35.6},
        Product{"GeForce RTX 4090", {8, 9}, 128, 2.520, 82.6},
        Product{"H100 SXM5", {9, 0}, 132, 1.980, 66.9}}) {
    const double peak = product.sms * limits_of(product.capability).fp32_lanes * 2 * product.boost_ghz / 1000;
    EXPECT_NEAR(peak, product.teraflops, 0.01 * product.teraflops) << product.name;
  }
}

TEST(Limits, OfAnUnknownComputeCapabilityAreRefusedWithTheNearestKnown) {
  EXPECT_THAT(refusal_of({8, 8}), HasSubstr("8.8"));
  EXPECT_THAT(refusal_of({8, 8}), HasSubstr("nearest known is 8.7"));
  EXPECT_THAT(refusal_of({4, 0}), HasSubstr("nearest known is 3.7"));
  EXPECT_THAT(refusal_of({13, 0}), HasSubstr("nearest known is 12.1"));
  EXPECT_THAT(refusal_of({0, 5}), HasSubstr("nearest known is 1.0"));
}

}  // namespace
}  // namespace occbench
