#include "occupancy/statuses.hpp"

#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

TEST(Statuses, AreTheWordsThatRowsHave) {
  EXPECT_EQ(to_string(TimeStatus::skipped), "skipped");
  EXPECT_EQ(to_string(CountersStatus::unsupported), "unsupported");
  EXPECT_EQ(to_string(CountersStatus::failed), "failed");
  EXPECT_EQ(to_string(Check::none), "none");
  EXPECT_EQ(to_string(Check::lost_updates), "lost_updates");
}

TEST(Statuses, AreReadBackFromTheirWords) {
  for (const TimeStatus status :
       {TimeStatus::ok, TimeStatus::unstable, TimeStatus::throttled, TimeStatus::failed, TimeStatus::skipped})
    EXPECT_EQ(parse_time_status(to_string(status)), status);
  for (const CountersStatus status :
       {CountersStatus::ok, CountersStatus::denied, CountersStatus::busy, CountersStatus::unsupported,
        CountersStatus::off, CountersStatus::failed})
    EXPECT_EQ(parse_counters_status(to_string(status)), status);
  for (const Check check : {Check::ok, Check::wrong, Check::none, Check::lost_updates})
    EXPECT_EQ(parse_check(to_string(check)), check);
  EXPECT_THROW(parse_time_status(""), InputError);
  EXPECT_THROW(parse_check("OK"), InputError);
}

}  // namespace
}  // namespace occbench
