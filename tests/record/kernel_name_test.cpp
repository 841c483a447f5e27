#include "record/kernel_name.hpp"

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/statistics.hpp"
#include "record/case_filter.hpp"
#include "record/kernel_library.hpp"

namespace occbench {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string shortened(const std::string& name) {
  return shortened_kernel_name(demangled_kernel_name(name));
}

TEST(KernelName, OfCudaIsAsItsSourceHasIt) {
  EXPECT_EQ(demangled_kernel_name("_Z6reducePKfPfi"), "reduce(float const*, float*, int)");
  EXPECT_EQ(shortened("_Z6reducePKfPfi"), "reduce");
}

TEST(KernelName, OfCubLeavesOutForWhichArchitecturesItWasBuilt) {
  EXPECT_EQ(demangled_kernel_name("_ZN3cub21CUB_300001_SM_800_9006detail11EmptyKernelIvEEvv"),
            "void cub::detail::EmptyKernel<void>()");
}

// Names of one file that was built in two folders, and of PyTorch 2.11.
TEST(KernelName, OfAnyBuildLacksTheHashesOfAnonymousNamespaces) {
  const std::string one = kernel_name_of_any_build("_ZN37_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji");
  EXPECT_EQ(one, "_ZN21_GLOBAL__N__sample_cu4fillEPji");
  EXPECT_EQ(kernel_name_of_any_build("_ZN37_GLOBAL__N__ed239ef3_9_sample_cu_main4fillEPji"), one);
  EXPECT_EQ(kernel_name_of_any_build(one), one);
  EXPECT_EQ(demangled_kernel_name(one), "(anonymous namespace)::fill(unsigned int*, int)");
  EXPECT_EQ(
      kernel_name_of_any_build("_ZN2at6native52_GLOBAL__N__e57809e0_19_DilatedMaxPool2d_cu_6258b5743fooEv"),
      "_ZN2at6native31_GLOBAL__N__DilatedMaxPool2d_cu3fooEv");
  // A namespace before it whose name ends with a digit.
  EXPECT_EQ(kernel_name_of_any_build("_ZN3ns237_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji"),
            "_ZN3ns221_GLOBAL__N__sample_cu4fillEPji");
}

TEST(KernelName, OfRelocatableCodeLacksTheModuleInFrontOfStaticKernels) {
  const std::string of_file = "__nv_static_25__f2289418_4_k_cu_a83b04ce__Z4statPf";
  EXPECT_EQ(demangled_kernel_name(of_file), "stat(float*)");
  EXPECT_EQ(kernel_name_of_any_build(of_file), "_Z4statPf");
  // Of a module that is told apart by the name of one of its functions.
  const std::string by_function = "__nv_static_24__f8d9ad54_5_s1_cu__Z1hPf__Z2stPf";
  EXPECT_EQ(demangled_kernel_name(by_function), "st(float*)");
  EXPECT_EQ(kernel_name_of_any_build(by_function), "_Z2stPf");
  EXPECT_EQ(demangled_kernel_name(
                "__nv_static_25__f2289418_4_k_cu_a83b04ce__ZN36_GLOBAL__N__f2289418_4_k_cu_a83b04ce4anonEPf"),
            "(anonymous namespace)::anon(float*)");
}

TEST(KernelName, OfAnyBuildLacksTheArchitecturesOfCub) {
  const std::string built_for_one = "_ZN3cub17CUB_300001_SM_9006detail11EmptyKernelIvEEvv";
  const std::string built_for_two = "_ZN3cub21CUB_300001_SM_800_9006detail11EmptyKernelIvEEvv";
  EXPECT_EQ(kernel_name_of_any_build(built_for_one), "_ZN3cub10CUB_3000016detail11EmptyKernelIvEEvv");
  EXPECT_EQ(kernel_name_of_any_build(built_for_two), kernel_name_of_any_build(built_for_one));
  EXPECT_EQ(demangled_kernel_name(kernel_name_of_any_build(built_for_one)),
            "void cub::detail::EmptyKernel<void>()");
}

TEST(KernelName, OfAnyBuildLacksTheArchitecturesOfThrustAndOfEarlierCub) {
  EXPECT_EQ(kernel_name_of_any_build("_ZN6thrust23THRUST_300001_SM_900_NS4fillEPji"),
            "_ZN6thrust13THRUST_3000014fillEPji");
  EXPECT_EQ(kernel_name_of_any_build("_ZN6thrust20THRUST_200700_860_NS4fillEPji"),
            "_ZN6thrust13THRUST_2007004fillEPji");
  EXPECT_EQ(kernel_name_of_any_build("_ZN3cub21CUB_200200_800_900_NS4fillEPji"),
            "_ZN3cub10CUB_2002004fillEPji");
  EXPECT_EQ(demangled_kernel_name("_ZN6thrust23THRUST_300001_SM_900_NS4fillEPji"),
            "thrust::fill(unsigned int*, int)");
}

// Of numba-cuda 0.26.
TEST(KernelName, OfAnyBuildLacksTheTagsOfNumba) {
  const std::string name = kernel_name_of_any_build(
      "_ZN8__main__10add_"
      "racingB2v1B104cw51cXTLSUwv1sDUaKthqaNgoKmjgOR3W3Cw6igA9duC0hkwnNGiHEkYkrqQBFBTDEwCyQe21eqwcFW3UoDGj"
      "zpQEsgzrtUEAA_3d_3dE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE");
  EXPECT_EQ(name, "_ZN8__main__10add_racingE5ArrayIfLi1E1C7mutable7alignedE5ArrayIfLi1E1C7mutable7alignedE");
  EXPECT_EQ(shortened(name), "add_racing");
}

TEST(KernelName, OfAnyBuildIsTheNameWhereNothingDiffers) {
  for (const char* const name :
       {"", "_Z", "_GLOBAL__N__1", "_ZN12_GLOBAL__N_14fillEPj",
        "_ZN99_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji", "_ZN16_GLOBAL__N__3037e4fillEPj",
        "_Z9CUB_bytesPj", "_Z4fillB5cxx11v", "_Z1fB2v1", "_Z1fB2v1B18446744073709551615abc",
        "_ZN10CUB_SM_9004fillEPj", "CUB_1_SM_90", "_ZCUB_1_SM_90"}) {
    EXPECT_EQ(kernel_name_of_any_build(name), name);
  }
}

TEST(KernelName, ThatNoCompilerMangledStays) {
  EXPECT_EQ(shortened("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(shortened("ampere_sgemm_128x64_nn"), "ampere_sgemm_128x64_nn");
  EXPECT_EQ(shortened("_Z"), "_Z");
  EXPECT_EQ(shortened("_Znonsense"), "_Znonsense");
  EXPECT_EQ(shortened(""), "");
}

TEST(KernelName, LosesReturnTypeParametersAndNamespaces) {
  EXPECT_EQ(shortened_kernel_name(
                "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"),
            "vectorized_elementwise_kernel<4, FillFunctor<float>, array<char*, 1>>");
  EXPECT_EQ(shortened_kernel_name("void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, "
                                  "false, false>(float*, float const*, int, int, int)"),
            "softmax_warp_forward<float, float, float, 10, false, false>");
  EXPECT_EQ(shortened_kernel_name("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, "
                                  "__half, (bool)1, (int)7>(int)"),
            "kernel<int, int, __half, 1, 7>");
}

TEST(KernelName, OfALambdaIsThatOfTheKernelThatRunsIt) {
  EXPECT_EQ(
      shortened_kernel_name(
          "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
          "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::"
          "operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&, "
          "at::native::direct_copy_kernel_cuda("
          "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() "
          "const::{lambda("
          "float)#1} const&)::{lambda(int)#1}>(int, int)"),
      "elementwise_kernel<128, 2, lambda>");
}

TEST(KernelName, LosesArgumentsOfArgumentsFirstWhereItIsLong) {
  const std::string name =
      "void "
      "cub::CUB_200400_900::DeviceRadixSortOnesweepKernel<cub::CUB_200400_900::detail::radix::policy_hub<"
      "unsigned int, cub::NullType, unsigned int>::Policy900, false, unsigned int, cub::NullType, unsigned "
      "int, "
      "int, int, cub::detail::identity_decomposer_t>(int)";
  const std::string text = shortened_kernel_name(name);
  EXPECT_LE(text.size(), kLongestKernelName);
  EXPECT_TRUE(text.starts_with("DeviceRadixSortOnesweepKernel<")) << text;
}

TEST(KernelName, OfALibraryKeepsBothEnds) {
  const std::string name =
      "sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_"
      "kernel__5x_cublas";
  const std::string text = shortened_kernel_name(name);
  EXPECT_EQ(text.size(), kLongestKernelName);
  EXPECT_TRUE(text.starts_with("sm90_xmma_gemm_f16f16_f16f32") && text.ends_with("kernel__5x_cublas"))
      << text;
}

TEST(KernelName, IsCutBetweenCharacters) {
  std::string letters;
  for (int i = 0; i < 60; ++i) letters += "ü";
  EXPECT_EQ(shortened_kernel_name("[" + letters + "]"), "[" + letters + "]");
  EXPECT_EQ(shortened_kernel_name("f<g<" + letters + ">>"), "f<g<" + letters + ">>");
  const std::string end = letters.substr(0, std::size_t{2} * 25) + "]";
  EXPECT_EQ(shortened_kernel_name("[" + letters + letters + "]"),
            "[" + letters.substr(0, std::size_t{2} * 50) + "..." + end);
}

/// Of a template whose arguments are twice those of the last one: P<int, int>, P<P<int, int>, P<int, int>>, ...
std::string doubling_name(int pairs) {
  constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1f1PIiiE";
  for (int pair = 0; pair < pairs; ++pair) {
    const std::string last = fmt::format("S{}_", kDigits[static_cast<std::size_t>(pair)]);
    name += fmt::format("S_I{}{}E", last, last);
  }
  return name;
}

TEST(KernelName, ThatStandsForTooMuchStaysMangled) {
  EXPECT_TRUE(
      demangled_kernel_name(doubling_name(2)).starts_with("f(P<int, int>, P<P<int, int>, P<int, int> >"));
  EXPECT_GT(demangled_kernel_name(doubling_name(9)).size(), 10'000);
  const auto begin = std::chrono::steady_clock::now();
  for (const int pairs : {12, 20, 33}) {
    const std::string name = doubling_name(pairs);
    EXPECT_EQ(demangled_kernel_name(name), name);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1))
      << "2^33 arguments take forever";
}

TEST(KernelName, OfAnyLengthIsShortenedInAMoment) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string longest = demangled_kernel_name(doubling_name(10));
  EXPECT_LE(longest.size(), kMostOfDemangledName);
  EXPECT_LE(shortened_kernel_name(longest).size(), kLongestKernelName);
  for (const std::string& piece : {std::string("<"), std::string("a<"), std::string("(("), std::string("a::"),
                                   std::string("{lambda(a)#1}::"), std::string("a,")}) {
    std::string name;
    while (name.size() < kMostOfDemangledName) name += piece;
    EXPECT_LE(shortened_kernel_name(name).size(), kLongestKernelName) << piece;
    EXPECT_FALSE(kernel_name_of_any_build("_Z" + name).empty());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(KernelName, IsFoundForAnyText) {
  const std::string letters = "ab:<>(){}[],* &-#'~19_";
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string name;
    for (std::size_t n = random() % 60; n > 0; --n) name += letters[random() % letters.size()];
    const std::string text = shortened_kernel_name(name);
    EXPECT_LE(text.size(), kLongestKernelName);
    EXPECT_EQ(text.empty(), name.empty()) << name;
  }
}

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
  EXPECT_EQ(name_of("kernel_cutlass_kernel_flash_attncuteflash_fwd_sm90_0"), "FlashAttention");
  EXPECT_EQ(
      name_of(
          "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int> > >(int)"),
      "FlashAttention");
  EXPECT_EQ(name_of("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64> >(int)"),
            "PyTorch or xFormers");
  EXPECT_EQ(name_of("fmha_cutlassF_f16_aligned_64x64_rf_sm80(int)"), "PyTorch or xFormers");
  EXPECT_EQ(name_of("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int> >(int)"),
            "CUTLASS");
}

TEST(KernelLibrary, OfCompilersIsKnownByNamesWithoutParameters) {
  for (const char* kernel : {"wrapped_subtract", "wrapped_iota", "wrapped_sine_12", "wrapped_atan2",
                             "wrapped_atan2_1", "wrapped_dynamic_update_slice"})
    EXPECT_EQ(name_of(kernel), "XLA") << kernel;
  EXPECT_EQ(name_of("abs_kernel_vectorized2_kernel"), "PyTorch");
  EXPECT_EQ(name_of("sinc_vectorized16_kernel"), "PyTorch");
}

TEST(KernelLibrary, TellsWhoeverCompilesToTritonOfBlocksAndWarps) {
  for (const char* kernel : {"triton_poi_fused_add_0", "triton_red_fused_sum_1", "triton_per_fused_mean_2",
                             "triton_tem_fused_mm_3", "triton_for_fused_4", "triton_spl_fused_cumsum_5"}) {
    EXPECT_EQ(name_of(kernel), "torch.compile") << kernel;
    EXPECT_THAT(std::string(library_of(kernel)->caller_can_change),
                AllOf(HasSubstr("num_warps"), HasSubstr("num_stages"), HasSubstr("BLOCK")))
        << kernel;
  }
  for (const char* own : {"product", "triton_for_loops", "triton_kernel"}) EXPECT_EQ(name_of(own), "") << own;
}

TEST(KernelName, SaysWhetherDirectivesWereCompiled) {
  for (const char* kernel : {"nvkernel_hydro_update_density_F1L77_2", "nvkernel__ZN4eulr6updateEv_F1L123_4",
                             "__omp_offloading_fd00_2a0041_main_l12", "main$_omp_fn$0"})
    EXPECT_TRUE(is_of_directives(kernel)) << kernel;
  for (const char* own : {"product", "scale_2_gpu", "nvkernel", ""})
    EXPECT_FALSE(is_of_directives(own)) << own;
}

TEST(KernelLibrary, TellsWhoeverSortsOfMoreInACall) {
  for (const char* kernel :
       {"at::native::mbtopk::computeDigitCumSum(short*, unsigned int*, unsigned int)",
        "void at::native::radixSortKVInPlace<-2, -1, 32, 4, float, long, unsigned int>(int)",
        "void at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortOnesweepKernel<int>(int)"}) {
    EXPECT_EQ(name_of(kernel), "PyTorch");
    EXPECT_EQ(library_of(kernel)->caller_can_change, "sort, select or scan more in a call") << kernel;
  }
}

TEST(KernelLibrary, SaysOfAFillThatATunerMayClearACacheByIt) {
  const KernelLibrary* const fill = library_of(
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, "
      "1ul> >(int)");
  ASSERT_TRUE(fill);
  EXPECT_EQ(fill->name, "PyTorch");
  EXPECT_THAT(std::string(fill->caller_can_change), HasSubstr("a tuner that clears the L2 cache"));
}

TEST(KernelLibrary, KnowsWhatXlaLaunchesOnlyToTune) {
  const auto waits = [](std::string_view kernel) { return library_of(kernel)->is_spared; };
  EXPECT_TRUE(
      waits("stream_executor::gpu::(anonymous namespace)::DelayKernel(stream_executor::GpuSemaphoreState "
            "volatile*, stream_executor::GpuSemaphoreState)"));
  EXPECT_TRUE(waits("stream_executor::gpu::RedzoneAllocatorKernelImpl(unsigned char*, unsigned long)"));
  EXPECT_FALSE(waits("stream_executor::gpu::TopKKernel(float*, unsigned long)"));
}

TEST(KernelLibrary, LetsEnginesBeTimedForConvolutionsAlone) {
  const auto times_engines = [](std::string_view kernel) {
    const KernelLibrary* library = library_of(kernel);
    EXPECT_EQ(library == nullptr ? "" : library->name, "cuDNN") << kernel;
    return library != nullptr && library->caller_can_change.find("cudnn.benchmark") != std::string_view::npos;
  };
  for (const char* convolution :
       {"sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_execute_kernel__5x_cudnn",
        "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688dgrad_optimized_tf32_256x64>(int)",
        "void cudnn::cnn::conv2d_grouped_direct_kernel<false, float>(cudnnTensorStruct, float const*)",
        "void cudnn::cnn::wgrad2d_grouped_direct_kernel<float>(cudnnTensorStruct)",
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float>(float const*)"})
    EXPECT_TRUE(times_engines(convolution)) << convolution;
  for (const char* other :
       {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128, true, 1>(cudnnTensorStruct)",
        "void elemWiseRNNcell<float, float, float, (cudnnRNNMode_t)2, (cudnnRNNBiasMode_t)2>(int)",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_kernel0_0",
        "void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false, true>(float)"})
    EXPECT_FALSE(times_engines(other)) << other;
}

TEST(KernelLibrary, IsNoneOfAUsersKernelThatOnlyTakesALibrarysTypes) {
  for (const char* own :
       {"void mine<at::native::AddFunctor<float> >(float*)",
        "(anonymous namespace)::stencil(float const*, float*, int)",
        "void ns::apply<cub::Sum>(thrust::device_ptr<int>, cudnn::reduced_divisor)", "softmax",
        "loop_over_rows", "my_cublas_replacement(float*)", "wrapped_subtract(float*)", "wrapped_index",
        "wrapped_", "wrapped_1", "void wrapped_add<float>(float*)",
        "void mine::copy_vectorized4_kernel<float>(float*)", "copy_vectorized4_kernel(float*)",
        "copy_vectorized_kernel", "vectorized4_kernel", "DelayKernel(int)"})
    EXPECT_EQ(name_of(own), "") << own;
}

TEST(KernelLibrary, OfRecordedProgramsIsUnknownOnlyWhereTheUserWroteTheKernel) {
  const std::filesystem::path folder = OCCBENCH_SOURCE_DIR "/results/nvidia-h100-80gb-hbm3/programs";
  int of_libraries = 0;
  for (const char* program : {"training", "inference", "gemm", "jax_gradient"}) {
    for (const CaseRecord& record : read_case_records(folder / (std::string(program) + ".csv"))) {
      const std::string& kernel = record.identity.kernel;
      const bool is_known = library_of(kernel) != nullptr;
      EXPECT_TRUE(is_known) << kernel;
      of_libraries += is_known ? 1 : 0;
    }
  }
  EXPECT_GT(of_libraries, 250);
  for (const CaseRecord& record : read_case_records(folder / "sample.csv")) {
    const std::string& kernel = record.identity.kernel;
    EXPECT_EQ(library_of(kernel) == nullptr, kernel.find("cub::") == std::string::npos) << kernel;
  }
}

std::string refusal(auto&& make, const std::string& text) {
  return message_of([&] { make(text); });
}

/// Expressions that take a matcher that goes back time without end, and whether the name of 28,000 letters has them.
const std::pair<const char*, bool> kSlowByGoingBack[] = {{"(a+)+$", false}, {"(a|a)*$", true},
                                                         {"(a*)*b", false}, {"^(a|aa)+$", false},
                                                         {".*b", false},    {"(.*)(.*)(.*)b", false}};

TEST(CaseFilter, IsFoundAnywhereAndWithAMinusNowhere) {
  EXPECT_TRUE(case_filter("")("waves/spin"));
  EXPECT_TRUE(case_filter("all")("waves/spin"));
  EXPECT_TRUE(case_filter("^waves/.*in$")("waves/spin"));
  EXPECT_FALSE(case_filter("^spin")("waves/spin"));
  EXPECT_FALSE(case_filter("-spin")("waves/spin"));
  EXPECT_TRUE(case_filter("-pins")("waves/spin"));
  EXPECT_TRUE(case_filter("(w|x)av{1}es\\/[^/]+=(1|2)\\.5")("waves/spin=2.5"));
}

/// A filter of each of them finds what it should in that name and in a short one. Of the name it looks at so many characters.
template <typename Filter>
void expect_no_going_back(Filter filter_of, std::size_t looked_at, seconds limit) {
  const auto begin = steady_clock::now();
  for (const std::size_t length : {std::size_t{36}, std::size_t{28'000}}) {
    const std::string name = std::string(length, 'a') + "!";
    for (const auto& [expression, found] : kSlowByGoingBack) {
      // Beyond what is looked at no '!' follows.
      const bool seen = found || (length > looked_at && std::string_view(expression).ends_with('$'));
      EXPECT_EQ(filter_of(expression)(name), seen) << expression << length;
    }
  }
  EXPECT_LT(steady_clock::now() - begin, limit);
}

TEST(CaseFilter, TakesTimeInProportionToTheNameWhateverTheExpression) {
  expect_no_going_back(case_filter, std::string::npos, seconds(5));
}

TEST(CaseFilter, ThatIsNoExpressionOrTooLargeIsAMessage) {
  for (const std::string& text :
       {std::string("("), std::string("a**b("), std::string("[z-a]"), std::string("(a)\\1"),
        std::string("a{1000000}"), std::string("((a{1000}){1000}){1000}"), std::string(16'000, '(')}) {
    const std::string message = refusal(case_filter, text);
    EXPECT_THAT(message,
                AllOf(StartsWith("'"), HasSubstr("' is not a regular expression: "), SizeIs(Lt(250u))))
        << text.substr(0, 30);
  }
  EXPECT_EQ(refusal(case_filter, std::string(58'000, 'x')), "nothing was thrown");
  EXPECT_EQ(refusal(case_filter, std::string(16'000, '(') + std::string(16'000, ')')), "nothing was thrown");
}

TEST(KernelFilter, SelectsByPosixExtendedExpressions) {
  EXPECT_TRUE(checked_kernel_filter("")("f"));
  EXPECT_TRUE(checked_kernel_filter("^gemm<(float|half)>")("gemm<half>(int)"));
  EXPECT_FALSE(checked_kernel_filter("-gemm")("gemm<half>(int)"));
  EXPECT_TRUE(checked_kernel_filter("-gemm")("fill(int)"));
}

TEST(KernelFilter, TakesNoTimeWithoutEndEither) {
  expect_no_going_back(checked_kernel_filter, kMostOfName, seconds(10));
}

TEST(KernelFilter, RefusesWhatTheCLibraryMustNotBeGiven) {
  for (const char* text : {"(a)\\1", "\\w+", "((a{1,255}){1,255}){1,255}", "(", "-(", "a{70000}"})
    EXPECT_THAT(refusal(checked_kernel_filter, text),
                HasSubstr("is not a regular expression of POSIX's extended syntax"))
        << text;
  EXPECT_THAT(refusal(checked_kernel_filter, std::string(1001, 'a')),
              HasSubstr("has 1001 characters; at most 1000"));
  EXPECT_THAT(refusal(checked_kernel_filter, std::string(58'000, '(')), HasSubstr("at most 1000"));
}

// Expected values: numpy.quantile(readings, [.25, .5, .75]) of NumPy 2, default method ("linear").
TEST(Statistics, QuartilesAreThoseOfNumpy) {
  const auto expect = [](std::vector<double> readings, double lower, double middle, double upper) {
    const Quartiles found = quartiles(readings);
    EXPECT_DOUBLE_EQ(found.lower, lower);
    EXPECT_DOUBLE_EQ(found.median, middle);
    EXPECT_DOUBLE_EQ(found.upper, upper);
    EXPECT_DOUBLE_EQ(found.range(), upper - lower);
    EXPECT_DOUBLE_EQ(median(readings), middle);
  };
  expect({7}, 7, 7, 7);
  expect({3, 1}, 1.5, 2, 2.5);
  expect({1, 2, 3, 4}, 1.75, 2.5, 3.25);
  expect({2.5, 9, 4, 4, 7.25, 1, 8}, 3.25, 4, 7.625);
}

TEST(Statistics, TheEndsOfTheRangeAreTheExtremes) {
  const std::vector<double> ascending = {1, 5, 6, 90};
  EXPECT_EQ(quantile_of_sorted(ascending, 0), 1);
  EXPECT_EQ(quantile_of_sorted(ascending, 1), 90);
}

}  // namespace
}  // namespace occbench
