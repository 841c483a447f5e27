#include "record/kernel_library.hpp"

#include <algorithm>
#include <iterator>

namespace occbench {
namespace {

/// Recognizes a library's kernels by name. A name matches if it has both parts.
struct LibraryPattern {
  std::string_view begins;    ///< the function's name with its namespaces, without return type, begins so
  std::string_view contains;  ///< the whole name, parameters included, contains this
  const KernelLibrary* library;
};

constexpr KernelLibrary kCublas{
    .name = "cuBLAS",
    .caller_can_change =
        "batch several products in a call, time other algorithms "
        "(cublasLtMatmulAlgoGetHeuristic), or change shapes, data type or workspace",
    .has_producers = true};
/// The switch lets engines of convolutions be timed, no others.
constexpr KernelLibrary kConvolution{
    "cuDNN",
    "let other engines be timed (torch.backends.cudnn.benchmark), or change batch, layout or data type"};
constexpr KernelLibrary kLayout{
    .name = "cuDNN",
    .caller_can_change =
        "give it tensors in the layout that the next kernel reads (channels_last), which spares this one",
    .is_spared = true};
/// One block per channel: larger batches do not give it more.
constexpr KernelLibrary kBatchNorm{
    "cuDNN", "change layout (channels_last) or data type, for which it has other kernels"};
constexpr KernelLibrary kCudnn{.name = "cuDNN",
                               .caller_can_change = "give it larger batches, or change the data type",
                               .has_producers = true};
constexpr KernelLibrary kProducts{
    "cuBLAS or cuDNN",
    "batch more in a call, let other algorithms be timed, or change shapes, layout or data type"};
constexpr KernelLibrary kCufft{"cuFFT", "batch more transforms in a plan (cufftPlanMany)"};
constexpr KernelLibrary kCusparse{"cuSPARSE", "choose another algorithm or format of the call"};
constexpr KernelLibrary kNccl{
    .name = "NCCL", .caller_can_change = "send fewer and larger messages", .waits_for_gpus = true};
constexpr KernelLibrary kCub{"CUB or Thrust", "handle more items in a call, or run other kernels beside it"};
constexpr KernelLibrary kCutlass{
    .name = "CUTLASS",
    .caller_can_change = "instantiate it with another tile, cluster or number of stages",
    .has_producers = true};
constexpr KernelLibrary kPytorch{
    "PyTorch",
    "give it larger tensors, use fused or foreach forms of the call, or torch.compile, which fuses kernels"};
constexpr KernelLibrary kFlash{
    .name = "FlashAttention",
    .caller_can_change = "batch more sequences or heads in a call, or let it split keys (num_splits)",
    .has_producers = true};
constexpr KernelLibrary kFmha{"PyTorch or xFormers",
                              "batch more sequences or heads in a call, or choose another backend "
                              "(torch.nn.attention.sdpa_kernel)"};
constexpr KernelLibrary kDeepGemm{.name = "DeepGEMM",
                                  .caller_can_change = "batch more rows in a call, or change shapes",
                                  .has_producers = true};
constexpr KernelLibrary kVllm{"vLLM", "batch more tokens in a step, or replay the step as a CUDA graph"};
constexpr KernelLibrary kSort{"PyTorch", "sort, select or scan more in a call"};
/// Triton's do_bench (triton.testing) clears a tensor of the size of the L2 cache before each launch that it times.
constexpr KernelLibrary kFill{
    .name = "PyTorch",
    .caller_can_change =
        "fill less often; a tuner that clears the L2 cache before each launch that it times, as "
        "Triton's do_bench does, ends with the tuning",
    .is_spared = true};
constexpr KernelLibrary kInductor{"torch.compile",
                                  "compile with mode=max-autotune, which times other BLOCK sizes, num_warps "
                                  "and num_stages, or give it larger tensors"};
constexpr KernelLibrary kCupy{"CuPy", "fuse calls (cupy.fuse, ElementwiseKernel), or give it larger arrays"};
constexpr KernelLibrary kXla{"XLA", "change shapes, or what is compiled together in one jit"};
/// Launches of the autotuner: a kernel that spins until the timed ones are launched, and kernels that fill and check
/// their buffers.
constexpr KernelLibrary kXlaTuner{.name = "XLA's autotuner",
                                  .caller_can_change =
                                      "keep compiled code between runs (jax_compilation_cache_dir), since "
                                      "XLA launches it while it compiles, to "
                                      "choose among kernels",
                                  .is_spared = true};

// Names from traced programs (results/nvidia-h100-80gb-hbm3/programs). Those of volta_, turing_, ampere_, other xmma_
// kernels, NCCL, cuSPARSE and torch.compile are from public profiles. Those of FlashAttention, xFormers, DeepGEMM and
// vLLM are from their public sources.
constexpr LibraryPattern kPatterns[] = {
    {"", "__5x_cudnn", &kConvolution},
    {"", "__5x_cublas", &kCublas},
    {"cudnn::bn_", "", &kBatchNorm},
    {"cudnn::", "nchwToNhwc", &kLayout},
    {"cudnn::", "nhwcToNchw", &kLayout},
    {"cudnn::", "conv", &kConvolution},
    {"cudnn::", "dgrad", &kConvolution},
    {"cudnn::", "wgrad", &kConvolution},
    {"cudnn::", "winograd", &kConvolution},
    {"", "cudnnTensorStruct", &kCudnn},
    {"", "cudnnRNN", &kCudnn},
    {"cudnn::", "", &kCudnn},
    {"cudnn_", "", &kCudnn},
    {"cublas", "", &kCublas},
    {"", "cublasTransposeParams", &kCublas},
    {"", "cublasGemv", &kCublas},
    {"internal::gemvx::", "", &kCublas},
    {"nvjet_", "", &kCublas},
    {"sgemm_largek", "", &kCublas},
    {"sm80_xmma_", "", &kProducts},
    {"sm86_xmma_", "", &kProducts},
    {"sm89_xmma_", "", &kProducts},
    {"sm90_xmma_", "", &kProducts},
    {"sm100_xmma_", "", &kProducts},
    {"volta_", "gemm", &kProducts},
    {"turing_", "gemm", &kProducts},
    {"ampere_", "gemm", &kProducts},
    {"flash::", "", &kFlash},
    {"pytorch_flash::", "", &kFmha},
    {"cutlass::device_kernel", "flash::", &kFlash},
    {"fmha_cutlass", "", &kFmha},
    {"deep_gemm::", "", &kDeepGemm},
    {"vllm::", "", &kVllm},
    {"cutlass::Kernel2", "", &kProducts},
    {"cutlass", "", &kCutlass},
    {"kernel_cutlass_", "flash_attn", &kFlash},
    {"kernel_cutlass_", "", &kCutlass},
    {"", "loadstore_modifier_t", &kCufft},
    {"regular_fft", "", &kCufft},
    {"vector_fft", "", &kCufft},
    {"cusparse::", "", &kCusparse},
    {"ncclDevKernel", "", &kNccl},
    {"ncclKernel", "", &kNccl},
    {"at::native::", "FillFunctor", &kFill},
    {"at::native::mbtopk::", "", &kSort},
    {"at::native::sbtopk::", "", &kSort},
    {"at::native::radixSort", "", &kSort},
    {"at::native::bitonicSort", "", &kSort},
    {"at::native::", "", &kPytorch},
    {"at_cuda_detail::cub::", "", &kSort},
    {"at_cuda_detail::", "", &kPytorch},
    {"(anonymous namespace)::softmax_warp_", "", &kPytorch},
    {"triton_poi_", "", &kInductor},
    {"triton_red_", "", &kInductor},
    {"triton_per_", "", &kInductor},
    {"triton_tem_", "", &kInductor},
    {"triton_for_fused_", "", &kInductor},
    {"triton_spl_fused_", "", &kInductor},
    {"cub::", "", &kCub},
    {"thrust::", "", &kCub},
    {"cupy_", "", &kCupy},
    {"loop_", "_fusion", &kXla},
    {"input_", "_fusion", &kXla},
    {"gemm_fusion_", "", &kXla},
    {"fusion_", "", &kXla},
    {"stream_executor::", "DelayKernel", &kXlaTuner},
    {"stream_executor::", "RedzoneAllocatorKernel", &kXlaTuner},
    {"stream_executor::", "RepeatBufferKernel", &kXlaTuner},
    {"stream_executor::", "xla_fp_comparison", &kXlaTuner},
    {"stream_executor::", "", &kXla},
};

/// Instructions that XLA compiles to separate kernels, called wrapped_subtract, or wrapped_subtract_1 if there are
/// more.
// clang-format off
constexpr std::string_view kXlaInstructions[] = {
    "abs", "add", "and", "atan2", "bitcast_convert", "broadcast", "cbrt", "ceil", "clamp", "compare",
    "complex", "concatenate", "convert", "convolution", "copy", "cosine", "count_leading_zeros", "divide",
    "dot", "dynamic_slice", "dynamic_update_slice", "erf", "exponential", "exponential_minus_one", "floor",
    "gather", "imag", "iota", "is_finite", "log", "log_plus_one", "logistic", "map", "maximum", "minimum",
    "multiply", "negate", "not", "or", "pad", "popcnt", "power", "real", "reduce", "reduce_precision",
    "reduce_window", "remainder", "reshape", "reverse", "round_nearest_afz", "round_nearest_even", "rsqrt",
    "scatter", "select", "select_and_scatter", "shift_left", "shift_right_arithmetic", "shift_right_logical",
    "sign", "sine", "slice", "sqrt", "stochastic_convert", "subtract", "tan", "tanh", "transpose", "xor"};
// clang-format on

std::string_view without_number(std::string_view name) {
  return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

bool is_xla_instruction(std::string_view name) {
  constexpr std::string_view kBegin = "wrapped_";
  if (!name.starts_with(kBegin)) return false;
  name.remove_prefix(kBegin.size());
  if (const std::string_view first = without_number(name); first.size() < name.size() && first.ends_with('_'))
    name = first.substr(0, first.size() - 1);
  return std::ranges::find(kXlaInstructions, name) != std::end(kXlaInstructions);
}

/// abs_kernel_vectorized2_kernel
bool is_compiled_by_pytorch(std::string_view name) {
  constexpr std::string_view kEnd = "_kernel";
  if (!name.ends_with(kEnd)) return false;
  name.remove_suffix(kEnd.size());
  const std::string_view stem = without_number(name);
  return stem.size() < name.size() && stem.ends_with("_vectorized");
}

/// A compiler whose kernels have C names, without parameters. Names of most other kernels have parameters.
const KernelLibrary* compiler_of(std::string_view name) {
  if (is_xla_instruction(name)) return &kXla;
  return is_compiled_by_pytorch(name) ? &kPytorch : nullptr;
}

}  // namespace

std::size_t end_of_bracket(std::string_view text, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char character = text[i];
    if (character == '<' || character == '(' || character == '{' || character == '[') ++depth;
    const bool arrow = character == '>' && i > 0 && text[i - 1] == '-';
    if ((character == '>' && !arrow) || character == ')' || character == '}' || character == ']') --depth;
    if (depth == 0) return i + 1;
  }
  return text.size();
}

std::string_view function_of(std::string_view demangled) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::size_t begin = 0;
  std::size_t i = 0;
  while (i < demangled.size()) {
    if (demangled.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size();
    } else if (demangled[i] == '(') {
      break;
    } else if (demangled[i] == '<' || demangled[i] == '{' || demangled[i] == '[') {
      i = end_of_bracket(demangled, i);
    } else {
      if (demangled[i] == ' ') begin = i + 1;
      ++i;
    }
  }
  return demangled.substr(std::min(begin, i), i - std::min(begin, i));
}

bool is_of_directives(std::string_view kernel) {
  return kernel.starts_with("nvkernel_") || kernel.starts_with("__omp_offloading_") ||
         kernel.find("$_omp_fn$") != std::string_view::npos;
}

const KernelLibrary* library_of(std::string_view kernel) {
  const std::string_view name = function_of(kernel);
  for (const LibraryPattern& pattern : kPatterns) {
    if (name.starts_with(pattern.begins) && kernel.find(pattern.contains) != std::string_view::npos)
      return pattern.library;
  }
  return name == kernel ? compiler_of(name) : nullptr;
}

}  // namespace occbench
