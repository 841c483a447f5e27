#include "cli/calibrate.hpp"

#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "predict/profile_choice.hpp"

namespace occbench {
namespace {

class KeptProfile : public testing::Test {
 protected:
  KeptProfile() {
    ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
    profile_.gpu_uuid = "GPU-1";
    profile_.name = name_of_profile(profile_.gpu, "GPU-91faaf4a-9cbf-8598-1b86-a06954d2532f");
  }
  ~KeptProfile() override {
    ::unsetenv("XDG_CONFIG_HOME");
  }

  TemporaryFolder folder_;
  DeviceProfile profile_ = find_profile("h200");
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{out_, err_};
};

TEST_F(KeptProfile, IsTheOneThatItsGpuIsThenPredictedWith) {
  const GpuIdentity gpu = identity_of(profile_);
  EXPECT_EQ(choose_profile(gpu).quality, ProfileQuality::calibrated_model);
  keep_profile(profile_, "", console_);
  EXPECT_EQ(choose_profile(gpu).quality, ProfileQuality::calibrated_device);
  EXPECT_EQ(choose_profile(gpu).profile.name, "h200-91faaf4a");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(KeptProfile, GoesWhereItIsToldTo) {
  const std::filesystem::path file = folder_.path() / "new" / "my.profile";
  keep_profile(profile_, file, console_);
  EXPECT_EQ(find_profile(file.string()), profile_);
  EXPECT_EQ(choose_profile(identity_of(profile_)).quality, ProfileQuality::calibrated_model);
  keep_profile(profile_, "-", console_);
  EXPECT_EQ(out_.str(), to_string(profile_));
}

TEST_F(KeptProfile, IsPrintedWhereItCannotBeWritten) {
  EXPECT_THROW(keep_profile(profile_, folder_.path(), console_), InputError);
  EXPECT_EQ(out_.str(), to_string(profile_));
}

}  // namespace
}  // namespace occbench
