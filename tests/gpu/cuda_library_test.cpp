#include "gpu/cuda_library.hpp"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/output.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class LibrariesOfCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    // Where NVIDIA's wheels would lie beside this program: of CUDA 13 in one folder, of CUDA 12 in one each.
    for (const fs::path& file : {beside_ / "cu13" / "lib" / "libocctest.so.13",
                                 beside_ / "cuda_occtest" / "lib" / "libocctest.so.12"}) {
      fs::create_directories(file.parent_path());
      std::ofstream(file) << "no library";
    }
  }
  void TearDown() override {
    ::unsetenv("OCCBENCH_CUPTI");
    fs::remove_all(beside_);
  }

  fs::path beside_ = fs::read_symlink("/proc/self/exe").parent_path() / "nvidia";
};

TEST_F(LibrariesOfCuda, AreThoseOfTheFolderThatIsNamedThenTheLoadersThenThoseOfWheels) {
  const TemporaryFolder named;
  std::ofstream(named.path() / "libocctest.so.13") << "no library";
  ::setenv("OCCBENCH_CUPTI", named.path().c_str(), 1);
  EXPECT_THAT(cuda_library_files("libocctest.so.13"),
              ElementsAre(named.path() / "libocctest.so.13", "libocctest.so.13",
                          beside_ / "cu13" / "lib" / "libocctest.so.13"));
}

TEST_F(LibrariesOfCuda, OfAnotherMajorVersionAreNotTaken) {
  EXPECT_THAT(cuda_library_files("libocctest.so.12"),
              ElementsAre("libocctest.so.12", beside_ / "cuda_occtest" / "lib" / "libocctest.so.12"));
  EXPECT_THAT(cuda_library_files("libocctest.so.11"), ElementsAre("libocctest.so.11"));
}

}  // namespace
}  // namespace occbench
