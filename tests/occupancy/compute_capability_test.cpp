#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"
#include "occupancy/limits.hpp"

namespace occbench {
namespace {

TEST(ComputeCapability, IsReadInEveryFormThatTheToolkitPrints) {
  for (const char* text : {"9.0", "90", "sm_90", "compute_90"}) {
    EXPECT_EQ(parse_compute_capability(text), (ComputeCapability{9, 0})) << text;
  }
  EXPECT_EQ(parse_compute_capability("sm_121"), (ComputeCapability{12, 1}));
  EXPECT_EQ(parse_compute_capability("12.1"), (ComputeCapability{12, 1}));
  EXPECT_EQ(to_string(ComputeCapability{12, 1}), "12.1");
}

TEST(ComputeCapability, RefusesWhatIsNotOne) {
  for (const char* text :
       {"", "9", "9.", ".0", "9.0.0", "9.00", "sm_", "nine", "-9.0", "9.0 ", "sm_90a", "1000"}) {
    EXPECT_THROW(parse_compute_capability(text), InputError) << text;
  }
}

}  // namespace
}  // namespace occbench
