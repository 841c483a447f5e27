#include <cstdlib>
#include <fstream>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "fake_cupti.hpp"
#include "measure/counters.hpp"
#include "measure/cupti.hpp"

namespace occbench {
namespace {

/// The folder in which the driver would look for MPS's daemon.
struct Mps : testing::Test {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "occbench_mps_test";

  Mps() {
    std::filesystem::create_directories(folder);
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", folder.c_str(), 1);
  }
  ~Mps() override {
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    std::filesystem::remove_all(folder);
  }
  void start() const {
    const int made = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder / "control").string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ::close(made);
  }
};

TEST_F(Mps, IsWhereItsDaemonHasASocket) {
  EXPECT_FALSE(mps_socket());
  std::ofstream(folder / "control").put('\n');
  EXPECT_FALSE(mps_socket()) << "a file";
  std::filesystem::remove(folder / "control");
  start();
  EXPECT_EQ(mps_socket(), folder / "control");
}

TEST_F(Mps, KeepsCountersFromBeingTouched) {
  FakeCupti cupti;
  start();
  try {
    Counters counters(Device{}, 1, cupti.interceptor());
    counters.read({"sm__cycles_active.max"}, [] {});
    FAIL();
  } catch (const CountersUnavailable& refused) {
    EXPECT_EQ(refused.status(), CountersStatus::unsupported);
    EXPECT_NE(std::string(refused.what()).find("MPS"), std::string::npos);
  }
  EXPECT_TRUE(cupti.calls.empty());
}

}  // namespace
}  // namespace occbench
