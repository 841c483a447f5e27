// Kernels that were compiled at run time, on a GPU: they are what the assembler's report says, and compute
// what they are to.

#include <cmath>

#include <gtest/gtest.h>

#include "axes/point.hpp"
#include "gpu/error.hpp"
#include "gpu/launch.hpp"
#include "gpu/no_runtime_compiler.hpp"
#include "gpu/prepared_arguments.hpp"
#include "kernels/families.hpp"
#include "occupancy/occupancy.hpp"
#include "on_a_gpu.hpp"

namespace occbench {
namespace {

class KernelsAtRunTime : public OnAGpu {
 protected:
  void SetUp() override {
    OnAGpu::SetUp();
    if (IsSkipped()) return;
    try {
      Nvrtc::loaded();
    } catch (const NoRuntimeCompiler& missing) {
      GTEST_SKIP() << missing.what();
    }
  }

  std::vector<Case> cases_of(const Family& family, const std::vector<GivenAxis>& axes) const {
    std::vector<Case> cases;
    for (const Point& at : points_of(family.axes, axes, Combine::product)) {
      cases.push_back(family.configure(at, device_));
      if (cases.back().work)
        cases.back().work->poll_cycles_per_warp = cases.back().kernel->poll_cycles_per_warp;
    }
    return cases;
  }
};

TEST_F(KernelsAtRunTime, OfEveryFamilyComputeWhatTheyAreTo) {
  const Stream stream;
  for (const Family& family : kernel_families()) {
    for (const Case& each : cases_of(family, {{"waves", "1,2.5"}, {"block-size", "32,128"}})) {
      const std::unique_ptr<Prepared> prepared = each.prepare(each, *each.built, device_);
      EXPECT_EQ(prepared->check(stream.get()), Check::ok) << family.name << ", " << each.launch.block_threads;
      prepared->launch(stream.get());
      stream.synchronize();
    }
  }
}

TEST_F(KernelsAtRunTime, OfOtherRegistersAndSharedMemoryComputeTheSame) {
  const Stream stream;
  const std::vector<std::pair<Family, std::vector<GivenAxis>>> sweeps = {
      {live_registers_family(), {{"registers", "=24,33,64,127"}, {"body", "resident,throughput,latency"}}},
      {register_pressure_family(), {{"registers", "16,32,96,255"}, {"rounds", "2"}}},
      {fma_chains_family(), {{"chains", "1:8:1"}}},
      {reads_family(), {{"bytes", "4,8,16"}, {"in-flight", "1,3"}}},
      {shared_staging_family(), {{"static-smem", "0,4K,40K"}, {"dynamic-smem", "0,8K"}}},
      {spin_family(),
       {{"static-smem", "0,1K,47K"}, {"work", "equal:50000,warp/uniform:50000:0.5:1.5:seed=1"}}}};
  for (const auto& [family, axes] : sweeps) {
    for (const Case& each : cases_of(family, axes)) {
      const std::unique_ptr<Prepared> prepared = each.prepare(each, *each.built, device_);
      EXPECT_EQ(prepared->check(stream.get()), Check::ok) << family.name << ", " << each.variant;
    }
  }
}

/// The assembler's report and the runtime, which reads the machine code, are two sources.
TEST_F(KernelsAtRunTime, UseWhatTheRuntimeSaysTheyUse) {
  const KernelSource source{"k.cu",
                            "template <int kBytes> __global__ void k(float* x) {\n"
                            "  __shared__ char tile[kBytes]; float values[48];\n"
                            "  for (int i = 0; i < 48; ++i) values[i] = x[i * 1024 + threadIdx.x];\n"
                            "  tile[threadIdx.x] = 1; __syncthreads();\n"
                            "  float sum = tile[(threadIdx.x * 7) % kBytes];\n"
                            "  for (int i = 0; i < 48; ++i) sum = sum * values[i] + values[(i * 5) % 48];\n"
                            "  x[threadIdx.x] = sum;\n}\n"};
  for (const int bytes : {1024, 20'000}) {
    for (const std::optional<int> cap : {std::optional<int>(), std::optional(32), std::optional(16)}) {
      const auto code = compile_kernel(source, {.function = "k<" + std::to_string(bytes) + ">",
                                                .compute_capability = device_.compute_capability,
                                                .register_cap = cap});
      const Usage& usage = code->compiled().usage;
      cudaFuncAttributes attributes{};
      check(cudaFuncGetAttributes(&attributes, code->function()), "cudaFuncGetAttributes");
      EXPECT_EQ(usage.registers_per_thread, attributes.numRegs);
      EXPECT_EQ(usage.static_shared_bytes, static_cast<std::int64_t>(attributes.sharedSizeBytes));
      EXPECT_EQ(usage.local_bytes_per_thread > 0, attributes.localSizeBytes > 0);
      const Launch launch{.block_threads = 256, .dynamic_shared_bytes = 4096};
      configure(code->function(), launch);
      int blocks = 0;
      check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, code->function(), 256, 4096),
            "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
      EXPECT_EQ(theoretical_occupancy(device_.limits, launch, usage).blocks_per_sm, blocks);
    }
  }
}

TEST_F(KernelsAtRunTime, GetTheArgumentsThatAreDescribed) {
  const auto code = compile_kernel({"add.cu",
                                    "__global__ void add(const float* from, double* to, int n, float by) {\n"
                                    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                    "  if (i < n) to[i] += from[i] * by;\n}\n"},
                                   {.function = "add", .compute_capability = device_.compute_capability});
  const std::vector<Argument> arguments = {parse_argument("float[1024]"), parse_argument("double[1024]=iota"),
                                           parse_argument("1000"), parse_argument("float=0.5")};
  const CheckResults added = [](const Results& results) {
    for (std::size_t i = 0; i < 1024; ++i) {
      const double by = i < 1000 ? 0.5 * static_cast<double>(results.before<float>(0)[i]) : 0;
      if (std::abs(results.after<double>(1)[i] - (static_cast<double>(i) + by)) > 1e-6) return false;
    }
    return true;
  };
  const Kernel kernel{.name = "add", .description = "adds", .variants = {}, .prepare = nullptr};
  const Case chosen = case_of(kernel, "source", code, {.block_threads = 128, .grid_blocks = 8},
                              [&](const Case& of, const Variant& variant, const Device&) {
                                return prepare_arguments(of, variant, arguments, added, {1, "launches"});
                              });
  const Stream stream;
  const std::unique_ptr<Prepared> prepared = chosen.prepare(chosen, *chosen.built, device_);
  EXPECT_EQ(prepared->check(stream.get()), Check::ok);
  prepared->launch(stream.get());
  EXPECT_EQ(prepared->check(stream.get()), Check::ok);  // each check begins with the buffers as they were
}

}  // namespace
}  // namespace occbench
