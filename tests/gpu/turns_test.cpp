// Which GPC begins (results/nvidia-h200/block-scheduling.md, "Which GPC begins").
#include "turns.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "on_a_gpu.hpp"
#include "schedule/device_profile.hpp"

namespace occbench {
namespace {

class TurnsOnAGpu : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (IsSkipped()) return;
    const DeviceProfile profile = profile_of_device(device_.limits.compute_capability, device_.sm_count);
    if (profile.name == "default") GTEST_SKIP() << "the turns of this GPU's GPCs are not known";
    gpcs_ = static_cast<int>(profile.gpc_sms.size());
    eager_sms_ = profile.eager_sms;
  }

  /// The first SM of the GPC that began. SMs are numbered across GPCs, two of each in turn; eager ones last.
  int first_sm(int blocks) const {
    const std::vector<int> sms = sms_of_blocks(blocks);
    return *std::ranges::find_if(sms, [&](int sm) { return sm < device_.sm_count - eager_sms_; });
  }

  int gpcs_ = 0;
  int eager_sms_ = 0;
};

TEST_F(TurnsOnAGpu, TheNextLaunchBeginsWithTheGpcAfterTheOneThatTookTheLastBlock) {
  for (int round = 0; round < 2; ++round) {
    for (int gpc = 0; gpc < gpcs_; ++gpc) {
      ASSERT_EQ(place_last_block_on(device_, 2 * gpc), 2 * gpc);
      const int next = 2 * ((gpc + 1) % gpcs_);
      EXPECT_EQ(first_sm(device_.sm_count), next) << gpc;
      // And so on, as long as all blocks have room at once.
      EXPECT_EQ(first_sm(8 * device_.sm_count), next) << gpc;
      EXPECT_EQ(first_sm(device_.sm_count / 2), next) << gpc;
    }
  }
}

}  // namespace
}  // namespace occbench
