#include <fstream>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/output.hpp"
#include "orchestrate/devices.hpp"

namespace occbench {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::set<int> allowed_cores() {
  cpu_set_t allowed{};
  ::sched_getaffinity(0, sizeof(allowed), &allowed);
  std::set<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.insert(core);
  }
  return cores;
}

TEST(CpuList, HasRangesAndSingleCores) {
  EXPECT_THAT(parse_cpu_list("0-3,8\n"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(parse_cpu_list("12"), ElementsAre(12));
  EXPECT_EQ(parse_cpu_list("0-47,96-143").size(), 96U);
}

TEST(CpuList, WhatIsNoListNamesNoCore) {
  for (const char* const text : {"", "\n", "-", "0-", "3-1", "0,", "0;1", "a", "0-3x", "-1", "0-1000000000"})
    EXPECT_THAT(parse_cpu_list(text), IsEmpty()) << text;
}

class NearGpu : public ::testing::Test {
 protected:
  NearGpu() {
    std::filesystem::create_directory(folder_.path() / "0000:3b:00.0");
  }
  std::set<int> cores(const std::string& list, const std::string& bus_id = "0000:3b:00.0") const {
    std::ofstream(folder_.path() / "0000:3b:00.0" / "local_cpulist") << list << '\n';
    return cores_near(bus_id, folder_.path());
  }

  TemporaryFolder folder_;
  std::set<int> allowed_ = allowed_cores();
};

TEST_F(NearGpu, CoresAreThoseThatTheSystemNamesAndAllows) {
  EXPECT_THAT(cores(fmt::format("{},{}", *allowed_.begin(), *allowed_.rbegin() + 1)),
              ElementsAre(*allowed_.begin()));
}

TEST_F(NearGpu, NoCoreIsNearWhereNoneIsNamedOrAllowed) {
  EXPECT_THAT(cores(""), IsEmpty());
  EXPECT_THAT(cores(fmt::format("{}", *allowed_.rbegin() + 1)), IsEmpty());
  EXPECT_THAT(cores("0-1023", "0000:99:00.0"), IsEmpty());
  EXPECT_THAT(cores("0-1023", ""), IsEmpty());
}

TEST_F(NearGpu, AProcessIsBoundForAWhileAndNotWithoutCores) {
  {
    const OnCores bound({*allowed_.rbegin()});
    EXPECT_THAT(allowed_cores(), ElementsAre(*allowed_.rbegin()));
  }
  EXPECT_EQ(allowed_cores(), allowed_);
  const OnCores unbound({});
  EXPECT_EQ(allowed_cores(), allowed_);
}

}  // namespace
}  // namespace occbench
