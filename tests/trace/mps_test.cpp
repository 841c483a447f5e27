#include "trace/mps.hpp"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "record/files.hpp"

namespace occbench {
namespace {

TEST(Mps, IsWhereItsDaemonHasASocket) {
  const TemporaryFolder folder;
  ASSERT_EQ(::setenv("CUDA_MPS_PIPE_DIRECTORY", folder.path().c_str(), 1), 0);
  EXPECT_FALSE(mps_socket());
  std::ofstream(folder.path() / "control").put('\n');
  EXPECT_EQ(mps_socket(), folder.path() / "control");
  ASSERT_EQ(::setenv("CUDA_MPS_PIPE_DIRECTORY", "/no/such/folder", 1), 0);
  EXPECT_FALSE(mps_socket());
  ASSERT_EQ(::unsetenv("CUDA_MPS_PIPE_DIRECTORY"), 0);
}

}  // namespace
}  // namespace occbench
