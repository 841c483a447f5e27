#include "gpu/runtime_kernel.hpp"

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/output.hpp"
#include "gpu/argument.hpp"
#include "gpu/cuda_library.hpp"
#include "gpu/nvrtc.hpp"
#include "gpu/prepared_arguments.hpp"
#include "message_of.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Sums of many values that live at once: as many registers as values, and some.
constexpr const char* kText = R"(
#include <cstdint>
template <int kValues>
__global__ void sum(float* data, std::int32_t rounds) {
  __shared__ float tile[256];
  float values[kValues];
  for (int i = 0; i < kValues; ++i) values[i] = data[i * 1024 + threadIdx.x];
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kValues; ++i) values[i] = values[i] * values[(i + 1) % kValues] + 1.0f;
  }
  float total = 0;
  for (int i = 0; i < kValues; ++i) total += values[i];
  tile[threadIdx.x] = total;
  __syncthreads();
  data[threadIdx.x] = tile[255 - threadIdx.x];
}
)";

class RuntimeKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      Nvrtc::loaded();
    } catch (const InputError& missing) {
      EXPECT_THAT(missing.what(), AllOf(HasSubstr("cuda-nvrtc-"), HasSubstr("nvidia-cuda-nvrtc")));
      GTEST_SKIP() << missing.what();
    }
  }

  std::shared_ptr<RuntimeKernel> compile(KernelSource source, KernelBuild build) const {
    return compile_kernel(source, build, KernelCache(folder_));
  }
  std::ptrdiff_t kept() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(RuntimeKernels, InstructionsOfOneComputeCapabilityAloneGetItsOwnTarget) {
  const KernelSource source{.name = "moves.cu",
                            .text =
                                "__global__ void __launch_bounds__(384, 1) moves(float* data) {\n"
                                "  asm volatile(\"setmaxnreg.dec.sync.aligned.u32 24;\");\n"
                                "  data[threadIdx.x] = 1;\n}\n"};
  const auto moves = compile(source, {.function = "moves", .compute_capability = {9, 0}});
  EXPECT_EQ(moves->compiled().code_architecture, "sm_90a");
  EXPECT_EQ(moves->compiled().usage.registers_per_thread, 168);
  const auto compile_for_ampere = [&] {
    compile(source, {.function = "moves", .compute_capability = {8, 0}});
  };
  EXPECT_THAT(compile_for_ampere, ThrowsMessage<DoesNotCompile>(HasSubstr("'setmaxnreg.dec' not supported")));
}

KernelBuild build_of(int values, std::optional<int> cap = {}) {
  return {
      .function = "sum<" + std::to_string(values) + ">", .compute_capability = {9, 0}, .register_cap = cap};
}

TEST_F(RuntimeKernels, HaveTheUsageThatTheAssemblerReports) {
  const Compiled compiled = compile({"sum.cu", kText}, build_of(40))->compiled();
  EXPECT_GE(compiled.usage.registers_per_thread, 40);
  EXPECT_LT(compiled.usage.registers_per_thread, 64);
  EXPECT_EQ(compiled.usage.static_shared_bytes, 1024);
  EXPECT_EQ(compiled.usage.barriers, 1);
  EXPECT_EQ(compiled.usage.local_bytes_per_thread, 0);
  EXPECT_EQ(compiled.spill_bytes, 0);
  EXPECT_EQ(compiled.code_architecture, "sm_90");
}

TEST_F(RuntimeKernels, SpillWhatTheCapLeavesNoRegisterFor) {
  const auto capped = compile({"sum.cu", kText}, build_of(40, 32));
  EXPECT_EQ(capped->compiled().usage.registers_per_thread, 32);
  EXPECT_GT(capped->compiled().spill_bytes.value(), 0);
  EXPECT_GT(capped->compiled().usage.local_bytes_per_thread, 0);
  EXPECT_EQ(capped->note(), "");
}

TEST_F(RuntimeKernels, SayThatTheAssemblerRaisedACapOfFewerThan24) {
  const auto capped = compile({"sum.cu", kText}, build_of(40, 16));
  EXPECT_EQ(capped->compiled().usage.registers_per_thread, 24);
  EXPECT_EQ(capped->note(), "the assembler raised the cap of 16 registers to 24");
}

TEST_F(RuntimeKernels, MayIncludeIntegersOfTheHostTogetherWithTheToolkit) {
  const auto compiled = [&](const std::string& text) {
    return message_of([&] {
      try {
        compile({.name = "k.cu", .text = text}, {.function = "k", .compute_capability = {9, 0}});
      } catch (const DoesNotCompile& refused) {
        throw InputError("{}", refused.what());
      }
    });
  };
  const std::string kernel = "__global__ void k(std::int64_t* x, size_t n) { x[n] = 0; }\n";
  EXPECT_EQ(compiled("#include <stdint.h>\n#include <stddef.h>\n" + kernel), "nothing was thrown");
  // As <cooperative_groups.h> and others include it; an installation of NVRTC alone lacks it.
  const std::string toolkit =
      "#if __has_include(<cuda/std/cstdint>)\n#include <cuda/std/cstdint>\n#endif\n#include <cstdint>\n";
  EXPECT_EQ(compiled(toolkit + kernel), "nothing was thrown");
  EXPECT_THAT(compiled("#include <vector>\n" + kernel),
              HasSubstr("headers of the host between #ifndef __CUDACC_RTC__"));
  EXPECT_THAT(compiled(kernel + "int"), testing::Not(HasSubstr("__CUDACC_RTC__")));
}

TEST_F(RuntimeKernels, ThatDoNotCompileShowTheCompilersMessage) {
  try {
    compile({"broken.cu", "__global__ void broken(float* x) { x = unknown; }"},
            {.function = "broken", .compute_capability = {9, 0}});
    FAIL() << "it compiled";
  } catch (const DoesNotCompile& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("broken.cu"), HasSubstr("identifier \"unknown\" is undefined")));
  }
  EXPECT_EQ(kept(), 0);
}

TEST_F(RuntimeKernels, ThatDoNotCompileHaveTheFirstErrorInTheFirstLine) {
  const auto first_line = [&](const char* text) -> std::string {
    try {
      compile({"k.cu", text}, {.function = "k", .compute_capability = {9, 0}});
    } catch (const DoesNotCompile& refused) {
      const std::string message = refused.what();
      return message.substr(0, message.find('\n'));
    }
    return "it compiled";
  };
  // A line of a warning may have the word, too.
  EXPECT_EQ(first_line("__global__ void k(float* p) {\n  float error;\n  x = 1; p[0] = y;\n}"),
            "k.cu does not compile for k: k.cu(3): error: identifier \"x\" is undefined");
  // The assembler's error stands behind the end of the log's first part.
  EXPECT_THAT(
      first_line("__global__ void a(int* x) { __shared__ int s[8]; s[x[0]] = 1; x[1] = s[x[2]]; }\n"
                 "__global__ void k(int* x) { __shared__ int s[12296]; s[x[0]] = 1; x[1] = s[x[2]]; }"),
      testing::EndsWith(
          "for k: ptxas error   : Entry function '_Z1kPi' uses too much shared data (0xc020 bytes, "
          "0xc000 max)"));
}

/// As a cache has it that keeps machine code alone.
TEST_F(RuntimeKernels, WhoseRegistersTheLogLacksCostTheirOwnRow) {
  EXPECT_THROW(RuntimeKernel({.cubin = "code", .symbol = "sum", .log = ""}, build_of(40)), DoesNotCompile);
}

TEST_F(RuntimeKernels, AreCompiledForTheDefinesOfTheBuild) {
  KernelBuild build{.function = "filled", .compute_capability = {8, 6}, .defines = {"BYTES=4096"}};
  const auto kernel =
      compile({"filled.cu",
               "__global__ void filled(char* x) { __shared__ char s[BYTES]; s[threadIdx.x] = x[0]; "
               "__syncthreads(); x[1] = s[7]; }"},
              build);
  EXPECT_EQ(kernel->compiled().usage.static_shared_bytes, 4096);
  EXPECT_EQ(kernel->compiled().code_architecture, "sm_86");
}

TEST_F(RuntimeKernels, AreKeptByTheirContent) {
  const KernelCache cache(folder_);
  const Nvrtc::Output output{.cubin = std::string("code\0code", 9), .symbol = "name", .log = "log"};
  cache.keep("content", output);
  EXPECT_EQ(kept(), 1);
  const auto found = cache.find("content");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cubin, output.cubin);
  EXPECT_EQ(found->symbol, "name");
  EXPECT_EQ(found->log, "log");
  EXPECT_FALSE(cache.find("another content"));
}

TEST_F(RuntimeKernels, ThatAreDamagedInTheCacheAreCompiledAgain) {
  const KernelCache cache(folder_);
  cache.keep("content", {.cubin = "code", .symbol = "name", .log = "log"});
  const fs::path file = fs::directory_iterator(folder_)->path();
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_FALSE(cache.find("content"));
}

TEST_F(RuntimeKernels, AreCompiledAnewWhereAnIncludedFileHasChanged) {
  const fs::path header = folder_ / "width.h";
  const fs::path cache_folder = folder_ / "cache";
  KernelSource source{"k.cu",
                      "#include \"width.h\"\n__global__ void k(float* x) { __shared__ float s[WIDTH]; "
                      "s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[7]; }"};
  source.include_folders = {folder_};
  const auto bytes_with = [&](int width) {
    std::ofstream(header) << "#define WIDTH " << width << "\n";
    return compile_kernel(source, {.function = "k", .compute_capability = {9, 0}}, KernelCache(cache_folder))
        ->compiled()
        .usage.static_shared_bytes;
  };
  EXPECT_EQ(bytes_with(64), 256);
  EXPECT_EQ(bytes_with(128), 512);
  EXPECT_EQ(std::distance(fs::directory_iterator(cache_folder), fs::directory_iterator()), 2);
}

/// CuTe's headers have a line of this kind.
TEST_F(RuntimeKernels, MayNameAFolderInALineThatLooksLikeAnInclude) {
  KernelSource source{"k.cu",
                      "#if 0\n#error include \"\"\n#endif\n__global__ void k(float* x) { x[1] = x[0]; }"};
  source.include_folders = {folder_};
  EXPECT_EQ(compile(source, {.function = "k", .compute_capability = {9, 0}})->compiled().code_architecture,
            "sm_90");
}

TEST_F(RuntimeKernels, TakeAtMostASecondToCompileAndNextToNothingFromTheCache) {
  // Of this process's own time: the machine may be busy.
  const auto seconds = [&](const std::function<void()>& act) {
    const std::clock_t begin = std::clock();
    act();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const KernelCache cache(folder_);
  EXPECT_LT(seconds([&] { compile({"sum.cu", kText}, build_of(100, 64)); }), 1);
  EXPECT_EQ(kept(), 1);
  std::ifstream file(fs::directory_iterator(folder_)->path(), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t content = text.find("NVRTC ");
  const std::string key = text.substr(content, std::stoul(text.substr(text.find('\n') + 1)));
  EXPECT_LT(seconds([&] { EXPECT_TRUE(cache.find(key)); }), 0.05);
}

TEST(Arguments, AreBuffersByTypeCountAndContents) {
  EXPECT_EQ(parse_argument("float[1<<24]"), (Argument{.type = ElementType::float32, .count = 16'777'216}));
  EXPECT_EQ(parse_argument("double[512*512]=zeros"),
            (Argument{.type = ElementType::float64, .count = 262'144, .contents = Contents::zeros}));
  EXPECT_EQ(parse_argument("unsigned char[48K]=iota"),
            (Argument{.type = ElementType::uint8, .count = 49'152, .contents = Contents::iota}));
}

TEST(Arguments, AreValuesWithOrWithoutTheirType) {
  EXPECT_EQ(parse_argument("int=5"), (Argument{.type = ElementType::int32, .value = 5}));
  EXPECT_EQ(parse_argument("5"), (Argument{.type = ElementType::int32, .value = 5}));
  EXPECT_EQ(parse_argument("0.25"), (Argument{.type = ElementType::float32, .value = 0.25}));
  EXPECT_EQ(parse_argument("double=1e-3"), (Argument{.type = ElementType::float64, .value = 1e-3}));
  EXPECT_EQ(parse_argument("size_t=1024"), (Argument{.type = ElementType::uint64, .value = 1024}));
}

TEST(Arguments, ThatCannotBeReadAreRefusedWithTheReason) {
  const auto refusal = [](std::string_view text) -> std::string {
    return message_of([&] { parse_argument(text); });
  };
  EXPECT_THAT(refusal("float4[4]"),
              AllOf(HasSubstr("'float4' is none of float"), HasSubstr("float[4*1024] for float4[1024]")));
  EXPECT_THAT(refusal("float[4"), HasSubstr("a ']' is missing"));
  EXPECT_THAT(refusal("float[0]"), HasSubstr("at least one element"));
  EXPECT_THAT(refusal("float[many]"), HasSubstr("'many' is no number of elements"));
  EXPECT_THAT(refusal("float[1<<60]"), HasSubstr("no GPU has so much memory"));
  EXPECT_THAT(refusal("float[1<<30*9]"), HasSubstr("'30*9' is no number"));
  EXPECT_THAT(refusal("float[4]=ones"), HasSubstr("=random, =zeros, =iota and =@FILE"));
  EXPECT_THAT(refusal("int=five"), HasSubstr("the value is not a number"));
  EXPECT_THAT(refusal("int=2.5"), HasSubstr("not a whole number"));
  EXPECT_THAT(refusal("float[99999999999999999999]"), HasSubstr("is no number of elements"));
}

TEST(Arguments, AreBuffersWithTheBytesOfAFileOfTheirSize) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "in.bin").string();
  std::ofstream(file, std::ios::binary) << std::string(16, 'x');
  const Argument argument = parse_argument("float[4]=@" + file);
  EXPECT_EQ(argument.contents, Contents::file);
  EXPECT_EQ(argument.file, file);
  EXPECT_THAT(bytes_of_file(file, 16), ::testing::Each(std::byte{'x'}));
  EXPECT_THROW(bytes_of_file(file, 12), InputError);
  EXPECT_THROW(bytes_of_file(file, 20), InputError);
  const std::string pipe = (folder.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(bytes_of_file(pipe, 16), InputError) << "nobody writes to it";
  const auto refusal = [](const std::string& text) -> std::string {
    return message_of([&] { parse_argument(text); });
  };
  EXPECT_THAT(refusal("float[5]=@" + file), HasSubstr("has 16 bytes, and the buffer 20: give the count"));
  EXPECT_THAT(refusal("float[5]=@/nowhere"), HasSubstr("/nowhere cannot be read: No such file"));
}

template <typename T>
bool equal(ElementType type, std::vector<T> found, std::vector<T> expected, double tolerance) {
  return equal_within(type, std::as_bytes(std::span(found)), std::as_bytes(std::span(expected)), tolerance);
}

TEST(Results, AreEqualWithinATolerance) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto floats = [](float found, float expected) {
    return equal<float>(ElementType::float32, {1, found}, {1, expected}, 1e-3);
  };
  EXPECT_TRUE(floats(1000.9F, 1000));  // 1e-3 of what is expected
  EXPECT_FALSE(floats(1001.1F, 1000));
  EXPECT_TRUE(floats(0.0009F, 0));  // 1e-3 of 1
  EXPECT_FALSE(floats(0.0011F, 0));
  EXPECT_FALSE(floats(kNan, 1));
  EXPECT_FALSE(floats(1, kNan));
  EXPECT_TRUE(floats(kNan, kNan));
  EXPECT_TRUE(floats(kInfinity, kInfinity));
  EXPECT_FALSE(floats(1, kInfinity));
  EXPECT_FALSE(floats(-kInfinity, kInfinity));
  EXPECT_TRUE(equal<double>(ElementType::float64, {2.0005}, {2}, 1e-3));
  EXPECT_FALSE(equal<int>(ElementType::int32, {1000}, {1001}, 1));
}

// One test, for its folder beside the program is that of all processes of it.
TEST(LibrariesOfCuda, AreThoseOfTheFolderThatIsNamedThenTheLoadersThenThoseOfWheelsOfTheSameMajorVersion) {
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path() / "nvidia";
  // Where NVIDIA's wheels would lie beside this program: of CUDA 13 in one folder, of CUDA 12 in one each.
  const fs::path of_13 = beside / "cu13" / "lib" / "libocctest.so.13";
  const fs::path of_12 = beside / "cuda_occtest" / "lib" / "libocctest.so.12";
  for (const fs::path& file : {of_13, of_12}) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << "no library";
  }
  EXPECT_THAT(cuda_library_files("libocctest.so.12"), ElementsAre("libocctest.so.12", of_12));
  EXPECT_THAT(cuda_library_files("libocctest.so.11"), ElementsAre("libocctest.so.11"));

  const TemporaryFolder named;
  std::ofstream(named.path() / "libocctest.so.13") << "no library";
  ::setenv("OCCBENCH_CUPTI", named.path().c_str(), 1);
  EXPECT_THAT(cuda_library_files("libocctest.so.13"),
              ElementsAre(named.path() / "libocctest.so.13", "libocctest.so.13", of_13));
  ::unsetenv("OCCBENCH_CUPTI");
  fs::remove_all(beside);
}

}  // namespace
}  // namespace occbench
