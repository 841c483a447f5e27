#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/device_model.hpp"

namespace occbench {
namespace {

using testing::ElementsAre;

TEST(Topology, AnH200HasSingletonTpcsFirstAndEightGpcs) {
  const Topology h200({8, 16, 16, 16, 16, 16, 18, 18}, 8);
  EXPECT_EQ(h200.sm_count(), 132);
  EXPECT_EQ(h200.gpc_count(), 8);
  EXPECT_EQ(h200.tpc_count(), 66);
  EXPECT_EQ(h200.clock_domain_count(), 12);
  EXPECT_EQ(h200.gpc_of(7), 8) << "of a singleton TPC";
  EXPECT_EQ(h200.gpc_of(8), 0);
  EXPECT_EQ(h200.gpc_of(131), 7);
  EXPECT_EQ(h200.tpc_of(8), 0);
  EXPECT_EQ(h200.tpc_of(131), 61);
  EXPECT_EQ(h200.tpc_of(0), 62);
  EXPECT_EQ(h200.tpc_of(7), 65);
  EXPECT_EQ(h200.clock_domain_of(8), 0);
  EXPECT_EQ(h200.clock_domain_of(1), 8);
  EXPECT_EQ(h200.clock_domain_of(2), 9);
}

TEST(Topology, SmsOfATpcAreEachOthersSibling) {
  const Topology h200({8, 16, 16, 16, 16, 16, 18, 18}, 8);
  for (int sm = 0; sm < h200.sm_count(); ++sm) {
    const std::optional<int> sibling = h200.sibling(sm);
    ASSERT_TRUE(sibling) << sm;
    EXPECT_EQ(h200.sibling(*sibling), sm);
    EXPECT_EQ(h200.tpc_of(*sibling), h200.tpc_of(sm)) << sm;
    EXPECT_NE(h200.is_second_of_tpc(sm), h200.is_second_of_tpc(*sibling)) << sm;
  }
}

// The SMs after an odd-sized GPC have even and odd numbers the other way round.
TEST(Topology, TheLastSmOfAnOddSizedGpcIsAloneAndShiftsNoOneElse) {
  const Topology odd({3, 4}, 0);
  EXPECT_EQ(odd.tpc_count(), 4);
  EXPECT_EQ(odd.sibling(2), std::nullopt);
  EXPECT_EQ(odd.sibling(3), 4);
  EXPECT_EQ(odd.sibling(4), 3);
  EXPECT_FALSE(odd.is_second_of_tpc(3));
  EXPECT_TRUE(odd.is_second_of_tpc(4));
  EXPECT_EQ(odd.tpc_of(2), 1);
  EXPECT_EQ(odd.tpc_of(3), 2);
  EXPECT_EQ(odd.tpc_of(6), 3);
}

TEST(Topology, AnUnknownDeviceHasEvenGpcsOfWholeTpcs) {
  EXPECT_THAT(Topology::even(132).gpc_sms(), ElementsAre(18, 18, 16, 16, 16, 16, 16, 16));
  EXPECT_THAT(Topology::even(15).gpc_sms(), ElementsAre(15));
  EXPECT_THAT(Topology::even(15, 8).gpc_sms(), ElementsAre(8, 7));
  EXPECT_THAT(Topology::even(1).gpc_sms(), ElementsAre(1));
  for (int sms = 1; sms <= 300; ++sms) EXPECT_EQ(Topology::even(sms).sm_count(), sms);
}

}  // namespace
}  // namespace occbench
