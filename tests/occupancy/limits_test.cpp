#include "occupancy/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using testing::HasSubstr;

std::string refusal_of(ComputeCapability capability) {
  return message_of([&] { limits_of(capability); });
}

TEST(Limits, CoverAllThirtyComputeCapabilitiesFrom10To121) {
  EXPECT_EQ(all_limits().size(), 30u);
  EXPECT_EQ(all_limits().front().compute_capability, (ComputeCapability{1, 0}));
  EXPECT_EQ(all_limits().back().compute_capability, (ComputeCapability{12, 1}));
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
