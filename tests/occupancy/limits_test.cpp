#include "occupancy/limits.hpp"

#include <algorithm>
#include <map>

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

/// CUDA C++ Programming Guide, shared memory capacity per compute capability.
TEST(Limits, LeaveOfTheUnifiedDataCacheAtLeastSomethingForL1) {
  const std::span<const LimitColumn> columns = limit_columns();
  const auto column = std::ranges::find(columns, "unified_data_cache_bytes", &LimitColumn::name);
  ASSERT_NE(column, columns.end());
  for (const auto& [capability, kilobytes] : std::map<ComputeCapability, int>{{{1, 0}, 0},
                                                                              {{3, 5}, 64},
                                                                              {{3, 7}, 128},
                                                                              {{6, 1}, 0},
                                                                              {{7, 0}, 128},
                                                                              {{7, 5}, 96},
                                                                              {{8, 0}, 192},
                                                                              {{8, 6}, 128},
                                                                              {{9, 0}, 256},
                                                                              {{10, 0}, 256},
                                                                              {{12, 0}, 128}})
    EXPECT_EQ(column->value(limits_of(capability)), 1024 * kilobytes) << to_string(capability);
  for (const Limits& limits : all_limits()) {
    if (column->value(limits) == 0) continue;
    EXPECT_GE(column->value(limits), limits.shared_bytes_per_sm + 16 * 1024)
        << to_string(limits.compute_capability);
  }
}

}  // namespace
}  // namespace occbench
