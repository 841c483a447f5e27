// What is said of a driver that cannot serve, with a stand-in for it.
#include <cstdlib>
#include <string>
#include <sys/wait.h>

#include <cuda_runtime_api.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/input.hpp"
#include "files/output.hpp"

namespace occbench {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Driver : public ::testing::Test {
 protected:
  /// @returns what it printed to standard error, after its status
  std::string told(int version, int init, const std::string& command) const {
    const std::string file = (folder_.path() / "err").string();
    const std::string line =
        fmt::format("LD_LIBRARY_PATH='{}' OCC_DRIVER_VERSION={} OCC_DRIVER_INIT={} '{}' {} > /dev/null 2> {}",
                    OCC_DRIVER_STAND_IN, version, init, OCCBENCH_PROGRAM, command, file);
    const int status = std::system(line.c_str());
    return fmt::format("{}: {}", WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(file));
  }

  TemporaryFolder folder_;
};

TEST_F(Driver, OlderThanTheToolkitIsNamedWithTheRemedy) {
  const std::string message = told(12040, 0, "devices");
  EXPECT_THAT(message, HasSubstr("2: occbench: the NVIDIA driver supports CUDA 12.4"));
  EXPECT_THAT(message, HasSubstr(fmt::format("built with CUDA {}.{}", CUDART_VERSION / 1000,
                                             CUDART_VERSION % 1000 / 10)));
  EXPECT_THAT(message, HasSubstr("a toolkit of CUDA 12.4 or older"));
}

TEST_F(Driver, NewerThanTheToolkitServes) {
  EXPECT_THAT(told(CUDART_VERSION + 1000, cudaErrorNoDevice, "devices"),
              HasSubstr("2: occbench: no NVIDIA GPU is visible"));
}

TEST_F(Driver, WhoseGpuIsNotAvailableIsNamedByItsError) {
  EXPECT_THAT(told(CUDART_VERSION, cudaErrorDevicesUnavailable, "devices"),
              HasSubstr("cudaErrorDevicesUnavailable"));
}

TEST_F(Driver, ThatCannotServeStopsNothingThatNeedsNoGpu) {
  const std::string predict =
      "predict --gpu h200 --block-size 256 --registers 32 --grid 500 --work equal:2000";
  for (const std::string& command : {std::string("calc --gpu h200 --block-size 256 --registers 32"), predict})
    EXPECT_EQ(told(12040, 0, command), "0: ");
}

}  // namespace
}  // namespace occbench
