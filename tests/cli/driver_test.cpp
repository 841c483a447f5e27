// What is said of a driver that cannot serve, with a stand-in for it; and where NVRTC's second library comes from.
#include <cstdlib>
#include <filesystem>
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

// Without a toolkit in the loader's own folders NVRTC would not find its second library, which it opens by its name alone.
TEST(Nvrtc, HasItsBuiltinsFromTheFolderThatItIsIn) {
  const TemporaryFolder folder;
  for (const auto& file : std::filesystem::directory_iterator(OCC_TOOLKIT_LIBRARIES)) {
    const std::string name = file.path().filename().string();
    if (name.starts_with("libnvrtc") && name.find(".so.") != std::string::npos &&
        name.find(".alt.") == std::string::npos)
      std::filesystem::copy_file(std::filesystem::canonical(file.path()), folder.path() / name);
  }
  const std::string err = (folder.path() / "err").string();
  const std::string line = fmt::format(
      "LD_DEBUG=files OCCBENCH_CUPTI='{0}' XDG_CACHE_HOME='{0}' '{1}' sweep spin --block-size 64,128 --list "
      "--gpu h200 "
      "> /dev/null 2> {2}",
      folder.path().string(), OCCBENCH_PROGRAM, err);
  static_cast<void>(std::system(line.c_str()));
  EXPECT_THAT(read_text(err),
              HasSubstr("calling init: " + (folder.path() / "libnvrtc-builtins.so.").string()));
}

}  // namespace
}  // namespace occbench
