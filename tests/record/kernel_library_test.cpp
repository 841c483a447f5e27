#include "record/kernel_library.hpp"

#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "record/csv.hpp"

namespace occbench {
namespace {

std::string name_of(std::string_view kernel) {
  const KernelLibrary* library = library_of(kernel);
  return library == nullptr ? "" : std::string(library->name);
}

TEST(KernelLibrary, IsKnownByNamespaceOrByTheTypesOfItsParameters) {
  EXPECT_EQ(name_of("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(float*)"),
            "PyTorch");
  EXPECT_EQ(name_of("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(int)"),
            "cuBLAS");
  EXPECT_EQ(name_of("void scal_kernel<float, 1>(cublasTransposeParams<float>, float const*)"), "cuBLAS");
  EXPECT_EQ(name_of("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>(cudnnTensorStruct, float const*)"),
            "cuDNN");
  EXPECT_EQ(name_of("void cub::detail::scan::DeviceScanKernel<cub::Policy, int>(int*)"), "CUB or Thrust");
  EXPECT_EQ(name_of("nvjet_sm90_hsh_128x64_64x8_1x2_h_bz_NNT"), "cuBLAS");
  EXPECT_EQ(name_of("loop_multiply_fusion_1"), "XLA");
}

TEST(KernelLibrary, IsNoneOfAUsersKernelThatOnlyTakesALibrarysTypes) {
  for (const char* own : {"void mine<at::native::AddFunctor<float> >(float*)",
                          "(anonymous namespace)::stencil(float const*, float*, int)",
                          "void ns::apply<cub::Sum>(thrust::device_ptr<int>, cudnn::reduced_divisor)",
                          "softmax", "loop_over_rows", "my_cublas_replacement(float*)"})
    EXPECT_EQ(name_of(own), "") << own;
}

TEST(KernelLibrary, OfRecordedProgramsIsUnknownOnlyWhereTheUserWroteTheKernelOrItsSource) {
  const std::filesystem::path folder = OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs";
  // PyTorch compiles the first at run time; XLA wrote the rest.
  const std::map<std::string, int> not_in_the_table = {{"abs_kernel_vectorized2_kernel", 0},
                                                       {"wrapped_iota", 0},
                                                       {"wrapped_sine", 0},
                                                       {"wrapped_subtract", 0}};
  int of_libraries = 0;
  for (const char* program : {"training", "inference", "gemm", "jax_gradient"}) {
    for (const CaseRecord& record : read_case_records(folder / (std::string(program) + ".csv"))) {
      const std::string& kernel = record.identity.kernel;
      const bool is_known = library_of(kernel) != nullptr;
      EXPECT_TRUE(is_known || not_in_the_table.contains(kernel)) << kernel;
      of_libraries += is_known ? 1 : 0;
    }
  }
  EXPECT_GT(of_libraries, 250);
  for (const CaseRecord& record : read_case_records(folder / "sample.csv")) {
    const std::string& kernel = record.identity.kernel;
    EXPECT_EQ(library_of(kernel) == nullptr, kernel.find("cub::") == std::string::npos) << kernel;
  }
}

}  // namespace
}  // namespace occbench
