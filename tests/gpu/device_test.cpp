#include "gpu/device.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <cuda_runtime.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "axes/point.hpp"
#include "gpu/error.hpp"
#include "gpu/first_gpc.hpp"
#include "gpu/kernel.hpp"
#include "gpu/launch.hpp"
#include "gpu/launch_timer.hpp"
#include "gpu/no_runtime_compiler.hpp"
#include "gpu/prepared_arguments.hpp"
#include "harness/google_benchmark.hpp"
#include "harness/instruments.hpp"
#include "harness/run.hpp"
#include "kernels/families.hpp"
#include "kernels/spin.hpp"
#include "many_cases.hpp"
#include "measure/counters.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/runtime_answers.hpp"
#include "on_a_gpu.hpp"
#include "users_of_resources.hpp"

namespace occbench {
namespace {

class DeviceOnAGpu : public OnAGpu {
 protected:
  Case hold(std::int64_t grid_blocks, double cycles) const {
    return {.kernel = &kSpin,
            .variant = "plain",
            .launch = {.block_threads = 256, .grid_blocks = grid_blocks},
            .work = Work::equal(cycles),
            .parameters = {}};
  }
};

TEST_F(DeviceOnAGpu, TheLimitsTableSaysWhatTheDeviceSays) {
  EXPECT_THAT(device_.notes, ::testing::IsEmpty());
}

TEST_F(DeviceOnAGpu, ADeviceThatIsNotThereIsWrongUse) {
  EXPECT_THROW(open_device("999"), InputError);
  EXPECT_THROW(open_device("first"), InputError);
}

TEST_F(DeviceOnAGpu, SpinHoldsEachWarpForItsCyclesAndTheClockAgreesWithTheEvents) {
  LaunchTimer timer;
  double microseconds[2] = {};
  for (const int i : {0, 1}) {
    const double cycles = i == 0 ? 400'000 : 800'000;
    const Case chosen = hold(device_.sm_count, cycles);
    const auto prepared = kSpin.prepare(chosen, kSpin.find("plain"), device_);
    EXPECT_EQ(prepared->check(timer.stream().get()), Check::ok);
    prepared->launch(timer.stream().get());
    timer.stream().synchronize();
    microseconds[i] = timer.microseconds([&](cudaStream_t stream) { prepared->launch(stream); });
  }
  // Twice the cycles take twice as long but for what launching takes, a few microseconds.
  EXPECT_NEAR(microseconds[1] - microseconds[0], microseconds[0], 5);
}

TEST_F(DeviceOnAGpu, ACaseWithoutLargeClustersFindsNothingOfTheOneBefore) {
  if (device_.limits.max_cluster_blocks <= 8) GTEST_SKIP() << "this device has no clusters beyond 8 blocks";
  const void* const function = kSpin.find("plain").function;
  const auto allowed_after = [&](int cluster_blocks) {
    configure(function, {.block_threads = 256, .grid_blocks = 16, .cluster_blocks = cluster_blocks});
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes");
    return attributes.nonPortableClusterSizeAllowed;
  };
  EXPECT_EQ(allowed_after(16), 1);
  EXPECT_EQ(allowed_after(8), 0);
  EXPECT_EQ(allowed_after(1), 0);
}

TEST_F(DeviceOnAGpu, CountersSeeTheBlocksThatWereLaunched) {
  LaunchTimer timer;
  const Case chosen = hold(1000, 20'000);
  const auto prepared = kSpin.prepare(chosen, kSpin.find("plain"), device_);
  prepared->launch(timer.stream().get());
  timer.stream().synchronize();
  try {
    Counters counters(device_, 4);
    const CounterReadings readings = counters.read({"sm__ctas_launched.sum", "no_such_metric.sum"}, [&] {
      prepared->launch(timer.stream().get());
      timer.stream().synchronize();
    });
    EXPECT_THAT(readings.at("sm__ctas_launched.sum"), ::testing::Each(1000.0));
    EXPECT_FALSE(readings.contains("no_such_metric.sum"));
  } catch (const CountersUnavailable& unavailable) {
    GTEST_SKIP() << unavailable.what();
  }
}

constexpr int kCases = 2000;
constexpr int kWarmUp = 200;

struct Memory {
  double host_mib;
  double device_mib;
};

Memory memory_in_use() {
  std::size_t total_pages = 0;
  std::size_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  std::size_t free_bytes = 0;
  std::size_t all_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &all_bytes), "cudaMemGetInfo");
  constexpr double kMib = 1 << 20;
  return {static_cast<double>(resident_pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / kMib,
          static_cast<double>(all_bytes - free_bytes) / kMib};
}

std::vector<Memory> memory_at_case;

/// Prepares as hold does, and notes what memory the process has by then.
std::unique_ptr<Prepared> prepare(const Case& chosen, const Variant& variant, const Device& device) {
  memory_at_case.push_back(memory_in_use());
  return kSpin.prepare(chosen, variant, device);
}

TEST(ManyCasesOnAGpu, TwoThousandCasesInOneProcessTakeNoMoreMemoryThanTwoHundred) {
  Device device;
  try {
    device = open_device("auto");
  } catch (const GpuUnavailable& unavailable) {
    GTEST_SKIP() << unavailable.what();
  }
  const Kernel noting{"noting", "hold, and what memory is in use", kSpin.variants, prepare};
  const Experiment experiment = many_cases(noting, kCases, 300);
  const Options options = parse_options({"--occ_readings=2", "--benchmark_min_time=0.0002"});
  const std::string program = "test";
  initialize_google_benchmark(program, options);
  const auto instruments = make_gpu_instruments(device, readings_of(options));
  const Experiment* const experiments[] = {&experiment};
  EXPECT_EQ(run_experiments(experiments, options, device, *instruments), ExitStatus::done);
  ASSERT_EQ(memory_at_case.size(), static_cast<std::size_t>(kCases));
  const Memory early = memory_at_case[kWarmUp];
  const Memory late = memory_at_case.back();
  RecordProperty("host_mib_early", std::to_string(early.host_mib));
  RecordProperty("host_mib_late", std::to_string(late.host_mib));
  EXPECT_LT(late.host_mib, early.host_mib + 8);
  EXPECT_LT(late.device_mib, early.device_mib + 4);
}

// Kernels that were compiled at run time, on a GPU: they are what the assembler's report says, and compute
// what they are to.
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

// The calculator against the CUDA runtime on this machine's GPU: over 100,000 random configurations of
// kernels whose registers, shared memory and barriers differ.
/// Counts questions and keeps the first differences in words.
class Comparison {
 public:
  template <typename Found, typename Describe>
  void compare(Found ours, Found runtime, Describe describe) {
    ++questions_;
    if (ours == runtime) return;
    if (++differences_ <= 10) {
      first_ += fmt::format("  {}: ours {}, the runtime's {}\n", describe(), ours, runtime);
    }
  }

  void expect_none(long at_least) const {
    fmt::print("{} questions, {} differences\n", questions_, differences_);
    EXPECT_GE(questions_, at_least);
    EXPECT_EQ(differences_, 0) << first_;
  }

 private:
  long questions_ = 0;
  long differences_ = 0;
  std::string first_;
};

class CalculatorAgainstRuntime : public OnAGpu {
 protected:
  int up_to(std::int64_t most) {
    return static_cast<int>(random_() % static_cast<std::uint64_t>(most + 1));
  }

  /// Of the driver's default and 0 to 100 %.
  std::optional<int> random_carveout() {
    const int drawn = up_to(110);
    return drawn > 100 ? std::nullopt : std::optional(drawn);
  }

  /// The kernel as compiled, opted in to all the shared memory and all the clusters that there are.
  Compiled prepare(const ResourceUser& user, std::optional<int> carveout) {
    Compiled compiled = inspect({.name = "user", .function = user.function});
    compiled.usage.barriers = user.barriers;
    most_dynamic_ = device_.limits.max_shared_bytes_per_block - compiled.usage.static_shared_bytes;
    check(cudaFuncSetAttribute(user.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(most_dynamic_)),
          "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)");
    check(cudaFuncSetAttribute(user.function, cudaFuncAttributePreferredSharedMemoryCarveout,
                               carveout.value_or(cudaSharedmemCarveoutDefault)),
          "cudaFuncSetAttribute(PreferredSharedMemoryCarveout)");
    if (device_.limits.max_cluster_blocks > 8) {
      check(cudaFuncSetAttribute(user.function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            "cudaFuncSetAttribute(NonPortableClusterSizeAllowed)");
    }
    return compiled;
  }

  std::int64_t random_dynamic_bytes() {
    return up_to(3) == 0 ? up_to(most_dynamic_) : up_to(std::min<std::int64_t>(most_dynamic_, 20'000));
  }

  static std::string words(const Usage& usage, const Launch& launch) {
    return fmt::format(
        "{} registers, {} B static, {} barriers, {} threads, {} B dynamic, carveout {}, clusters of {}",
        usage.registers_per_thread, usage.static_shared_bytes, usage.barriers, launch.block_threads,
        launch.dynamic_shared_bytes, launch.carveout_pct.value_or(-1), launch.cluster_blocks);
  }

  /// Asks about each kernel in so many settings, in each so often. @param at_least  answers that are to be compared
  template <typename Question>
  void ask(int settings, int questions, long at_least, const Question& question) {
    for (const ResourceUser& user : users_of_resources()) {
      for (int setting = 0; setting < settings; ++setting) {
        const std::optional<int> carveout = random_carveout();
        const Usage usage = prepare(user, carveout).usage;
        for (int i = 0; i < questions; ++i) question(user.function, usage, carveout);
      }
    }
    comparison_.expect_none(at_least);
  }

  Comparison comparison_;
  std::int64_t most_dynamic_ = 0;
  std::mt19937_64 random_{2025};
};

/// What a query gives; what it refuses is 0, as is what does not fit.
template <typename Number>
std::int64_t given(cudaError_t code, Number value) {
  if (code == cudaSuccess) return static_cast<std::int64_t>(value);
  static_cast<void>(cudaGetLastError());
  return 0;
}

TEST_F(CalculatorAgainstRuntime, BlocksPerSmAreThoseOfMaxActiveBlocksPerMultiprocessor) {
  ask(50, 120, 100'000, [&](const void* function, const Usage& usage, std::optional<int> carveout) {
    const bool beyond = up_to(19) == 0;
    const Launch launch{
        .block_threads = 1 + up_to(1023),
        .dynamic_shared_bytes = beyond ? most_dynamic_ + 1 + up_to(3000) : random_dynamic_bytes(),
        .carveout_pct = carveout};
    int blocks = 0;
    const cudaError_t code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, function, launch.block_threads, static_cast<std::size_t>(launch.dynamic_shared_bytes));
    comparison_.compare<std::int64_t>(theoretical_occupancy(device_.limits, launch, usage).blocks_per_sm,
                                      given(code, blocks),
                                      [&] { return words(usage, launch) + ": " + cudaGetErrorName(code); });
  });
}

TEST_F(CalculatorAgainstRuntime, DynamicSharedMemoryIsThatOfAvailableDynamicSMemPerBlock) {
  ask(50, 100, 100'000, [&](const void* function, const Usage& usage, std::optional<int> carveout) {
    const Launch launch{.block_threads = 1 + up_to(1023), .carveout_pct = carveout};
    const int most = theoretical_occupancy(device_.limits, launch, usage).blocks_per_sm;
    const int blocks = 1 + up_to(most);
    std::size_t bytes = 0;
    const cudaError_t code =
        cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, function, blocks, launch.block_threads);
    // It leaves the reserve of each block to be used: see runtime_answers.hpp.
    const std::optional<std::int64_t> available =
        available_dynamic_shared_bytes(device_.limits, launch, usage, blocks);
    const std::int64_t most_bytes = device_.limits.max_shared_bytes_per_block - usage.static_shared_bytes;
    comparison_.compare<std::int64_t>(
        available ? std::min(*available + device_.limits.reserved_shared_bytes_per_block, most_bytes) : 0,
        given(code, bytes), [&] {
          return fmt::format("{} blocks of {}: {}", blocks, words(usage, launch), cudaGetErrorName(code));
        });
  });
}

// The runtime's own answer does not pass this test: see runtime_answers.hpp.
TEST_F(CalculatorAgainstRuntime, WithTheDynamicSharedMemoryThatWeSaySoManyBlocksFitAndNoByteMore) {
  ask(170, 20, 100'000, [&](const void* function, const Usage& usage, std::optional<int> carveout) {
    const Launch launch{.block_threads = 1 + up_to(1023), .carveout_pct = carveout};
    const int most = theoretical_occupancy(device_.limits, launch, usage).blocks_per_sm;
    if (most == 0) return;
    const int blocks = 1 + up_to(most - 1);
    const std::int64_t bytes = available_dynamic_shared_bytes(device_.limits, launch, usage, blocks).value();
    const auto fit = [&](std::int64_t dynamic) {
      int fitting = 0;
      const cudaError_t code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &fitting, function, launch.block_threads, static_cast<std::size_t>(dynamic));
      return given(code, fitting) >= blocks;
    };
    const auto describe = [&] {
      return fmt::format("{} B for {} blocks of {}", bytes, blocks, words(usage, launch));
    };
    comparison_.compare(true, fit(bytes), describe);
    comparison_.compare(false, fit(bytes + 1), describe);
  });
}

TEST_F(CalculatorAgainstRuntime, BestBlockSizeIsThatOfMaxPotentialBlockSize) {
  ask(2300, 1, 100'000, [&](const void* function, const Usage& usage, std::optional<int> carveout) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes");
    const Launch launch{.dynamic_shared_bytes = random_dynamic_bytes(), .carveout_pct = carveout};
    const int at_most = 1 + up_to(1023);
    int grid = 0;
    int block = 0;
    const cudaError_t code = cudaOccupancyMaxPotentialBlockSize(
        &grid, &block, function, static_cast<std::size_t>(launch.dynamic_shared_bytes), at_most);
    Limits bounded = device_.limits;
    bounded.max_threads_per_block = std::min(at_most, attributes.maxThreadsPerBlock);
    const BestBlockSize best = best_block_size(bounded, launch, usage);
    const auto describe = [&] {
      return fmt::format("at most {}, {}: {}", at_most, words(usage, launch), cudaGetErrorName(code));
    };
    comparison_.compare<std::int64_t>(best.block_threads, given(code, block), describe);
    comparison_.compare<std::int64_t>(best.blocks_per_sm * device_.sm_count, given(code, grid), describe);
  });
}

TEST_F(CalculatorAgainstRuntime, ActiveClustersAreThoseOfMaxActiveClusters) {
  const std::vector<int> gpcs = sms_per_gpc(device_);
  if (gpcs.empty()) GTEST_SKIP() << "no clusters below compute capability 9.0";
  fmt::print("SMs per GPC: {}\n", fmt::join(gpcs, " "));
  const long at_least = 6'000L * device_.limits.max_cluster_blocks;
  ask(290, 1, at_least, [&](const void* function, const Usage& usage, std::optional<int> carveout) {
    for (int cluster = 1; cluster <= device_.limits.max_cluster_blocks; ++cluster) {
      const Launch launch{.block_threads = 1 + up_to(1023),
                          .cluster_blocks = cluster,
                          .dynamic_shared_bytes = random_dynamic_bytes(),
                          .carveout_pct = carveout};
      cudaLaunchAttribute attribute{};
      attribute.id = cudaLaunchAttributeClusterDimension;
      attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(static_cast<unsigned>(cluster));
      config.blockDim = dim3(static_cast<unsigned>(launch.block_threads));
      config.dynamicSmemBytes = static_cast<std::size_t>(launch.dynamic_shared_bytes);
      config.attrs = &attribute;
      config.numAttrs = 1;
      int clusters = 0;
      const cudaError_t code = cudaOccupancyMaxActiveClusters(&clusters, function, &config);
      const Occupancy occupancy = theoretical_occupancy(device_.limits, launch, usage);
      comparison_.compare<std::int64_t>(
          max_active_clusters(occupancy, cluster, gpcs), given(code, clusters), [&] {
            return fmt::format("{} blocks per SM, {}: {}", occupancy.blocks_per_sm, words(usage, launch),
                               cudaGetErrorName(code));
          });
    }
  });
}

TEST_F(CalculatorAgainstRuntime, TheGpcsHaveAllSms) {
  const std::vector<int> gpcs = sms_per_gpc(device_);
  if (gpcs.empty()) GTEST_SKIP() << "no clusters below compute capability 9.0";
  int sms = 0;
  for (const int of_gpc : gpcs) sms += of_gpc;
  EXPECT_EQ(sms, device_.sm_count);
  // Of one, no cluster could be made, yet every SM takes part.
  EXPECT_GE(gpcs.back(), 2) << fmt::format("{}", fmt::join(gpcs, " "));
}

}  // namespace
}  // namespace occbench
