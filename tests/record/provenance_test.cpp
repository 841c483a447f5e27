#include "record/provenance.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

// 951782400 is the worked example of date(1): `date -u -d @951782400` is 29 February 2000, midnight.
TEST(Provenance, TimesAreUtcInIso8601) {
  const system_clock::time_point leap_day{seconds{951782400}};
  EXPECT_EQ(iso_time(leap_day), "2000-02-29T00:00:00Z");
  EXPECT_EQ(parse_iso_time("2000-02-29T00:00:00Z"), leap_day);
  EXPECT_EQ(parse_iso_time("2000-02-29T01:01:01Z") - leap_day, seconds{3661});
}

// date -u -d 0020-01-01 +%s
TEST(Provenance, ReadsYearsThatNanosecondsCannotReach) {
  EXPECT_EQ(parse_iso_time("0020-01-01T00:00:00Z").time_since_epoch(), seconds{-61536067200});
}

TEST(Provenance, RefusesOtherFormsOfATime) {
  for (const char* text :
       {"", "2000-02-29", "2000-02-29 00:00:00", "2000-02-29T00:00:00", "2000-02-29T00:00:00Z+1", "now"}) {
    EXPECT_THROW(parse_iso_time(text), InputError) << text;
  }
}

TEST(Provenance, TheMachineHasAName) {
  EXPECT_FALSE(host_name().empty());
}

}  // namespace
}  // namespace occbench
