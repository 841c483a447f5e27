// The calculator against the CUDA runtime on this machine's GPU: over 100,000 random configurations of
// kernels whose registers, shared memory and barriers differ.
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "gpu/error.hpp"
#include "gpu/first_gpc.hpp"
#include "gpu/kernel.hpp"
#include "occupancy/runtime_answers.hpp"
#include "on_a_gpu.hpp"
#include "users_of_resources.hpp"

namespace occbench {
namespace {

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
  Comparison comparison;
  for (const ResourceUser& user : users_of_resources()) {
    for (int round = 0; round < 50; ++round) {
      const std::optional<int> carveout = random_carveout();
      const Usage usage = prepare(user, carveout).usage;
      for (int question = 0; question < 120; ++question) {
        const bool beyond = up_to(19) == 0;
        const Launch launch{
            .block_threads = 1 + up_to(1023),
            .dynamic_shared_bytes = beyond ? most_dynamic_ + 1 + up_to(3000) : random_dynamic_bytes(),
            .carveout_pct = carveout};
        int blocks = 0;
        const cudaError_t code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, user.function, launch.block_threads,
            static_cast<std::size_t>(launch.dynamic_shared_bytes));
        comparison.compare<std::int64_t>(
            theoretical_occupancy(device_.limits, launch, usage).blocks_per_sm, given(code, blocks),
            [&] { return words(usage, launch) + ": " + cudaGetErrorName(code); });
      }
    }
  }
  comparison.expect_none(100'000);
}

TEST_F(CalculatorAgainstRuntime, DynamicSharedMemoryIsThatOfAvailableDynamicSMemPerBlock) {
  Comparison comparison;
  for (const ResourceUser& user : users_of_resources()) {
    for (int round = 0; round < 50; ++round) {
      const std::optional<int> carveout = random_carveout();
      const Usage usage = prepare(user, carveout).usage;
      for (int question = 0; question < 100; ++question) {
        const Launch launch{.block_threads = 1 + up_to(1023), .carveout_pct = carveout};
        const int most = theoretical_occupancy(device_.limits, launch, usage).blocks_per_sm;
        const int blocks = 1 + up_to(most);
        std::size_t bytes = 0;
        const cudaError_t code =
            cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, user.function, blocks, launch.block_threads);
        comparison.compare<std::int64_t>(
            runtime_available_dynamic_shared_bytes(device_.limits, launch, usage, blocks).value_or(0),
            given(code, bytes), [&] {
              return fmt::format("{} blocks of {}: {}", blocks, words(usage, launch), cudaGetErrorName(code));
            });
      }
    }
  }
  comparison.expect_none(100'000);
}

// The runtime's own answer does not pass this test: see runtime_answers.hpp.
TEST_F(CalculatorAgainstRuntime, WithTheDynamicSharedMemoryThatWeSaySoManyBlocksFitAndNoByteMore) {
  Comparison comparison;
  for (const ResourceUser& user : users_of_resources()) {
    for (int round = 0; round < 170; ++round) {
      const std::optional<int> carveout = random_carveout();
      const Usage usage = prepare(user, carveout).usage;
      for (int question = 0; question < 20; ++question) {
        const Launch launch{.block_threads = 1 + up_to(1023), .carveout_pct = carveout};
        const int most = theoretical_occupancy(device_.limits, launch, usage).blocks_per_sm;
        if (most == 0) continue;
        const int blocks = 1 + up_to(most - 1);
        const std::int64_t bytes =
            available_dynamic_shared_bytes(device_.limits, launch, usage, blocks).value();
        const auto fit = [&](std::int64_t dynamic) {
          int fitting = 0;
          const cudaError_t code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
              &fitting, user.function, launch.block_threads, static_cast<std::size_t>(dynamic));
          return given(code, fitting) >= blocks;
        };
        const auto describe = [&] {
          return fmt::format("{} B for {} blocks of {}", bytes, blocks, words(usage, launch));
        };
        comparison.compare(true, fit(bytes), describe);
        comparison.compare(false, fit(bytes + 1), describe);
      }
    }
  }
  comparison.expect_none(100'000);
}

TEST_F(CalculatorAgainstRuntime, BestBlockSizeIsThatOfMaxPotentialBlockSize) {
  Comparison comparison;
  for (const ResourceUser& user : users_of_resources()) {
    for (int round = 0; round < 2300; ++round) {
      const std::optional<int> carveout = random_carveout();
      const Compiled compiled = prepare(user, carveout);
      cudaFuncAttributes attributes{};
      check(cudaFuncGetAttributes(&attributes, user.function), "cudaFuncGetAttributes");
      const Launch launch{.dynamic_shared_bytes = random_dynamic_bytes(), .carveout_pct = carveout};
      const int at_most = 1 + up_to(1023);
      const int bytes_per_thread = up_to(60);
      const bool grows = up_to(1) == 1;
      const auto dynamic = [&](int threads) {
        return grows ? std::int64_t{threads} * bytes_per_thread : launch.dynamic_shared_bytes;
      };
      int grid = 0;
      int block = 0;
      const cudaError_t code = cudaOccupancyMaxPotentialBlockSizeVariableSMem(
          &grid, &block, user.function,
          [&](int threads) { return static_cast<std::size_t>(dynamic(threads)); }, at_most);
      const BestBlockSize best = best_block_size(device_.limits, launch, compiled.usage,
                                                 std::min(at_most, attributes.maxThreadsPerBlock), dynamic);
      const auto describe = [&] {
        return fmt::format("at most {}, {} B a thread, {}: {}", at_most, grows ? bytes_per_thread : 0,
                           words(compiled.usage, launch), cudaGetErrorName(code));
      };
      comparison.compare<std::int64_t>(best.block_threads, given(code, block), describe);
      comparison.compare<std::int64_t>(best.blocks_per_sm * device_.sm_count, given(code, grid), describe);
    }
  }
  comparison.expect_none(100'000);
}

TEST_F(CalculatorAgainstRuntime, ActiveClustersAreThoseOfMaxActiveClusters) {
  const std::vector<int> gpcs = sms_per_gpc(device_);
  if (gpcs.empty()) GTEST_SKIP() << "no clusters below compute capability 9.0";
  fmt::print("SMs per GPC: {}\n", fmt::join(gpcs, " "));
  Comparison comparison;
  for (const ResourceUser& user : users_of_resources()) {
    for (int round = 0; round < 290; ++round) {
      const std::optional<int> carveout = random_carveout();
      const Usage usage = prepare(user, carveout).usage;
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
        const cudaError_t code = cudaOccupancyMaxActiveClusters(&clusters, user.function, &config);
        const Occupancy occupancy = theoretical_occupancy(device_.limits, launch, usage);
        comparison.compare<std::int64_t>(
            max_active_clusters(occupancy, cluster, gpcs), given(code, clusters), [&] {
              return fmt::format("{} blocks per SM, {}: {}", occupancy.blocks_per_sm, words(usage, launch),
                                 cudaGetErrorName(code));
            });
      }
    }
  }
  comparison.expect_none(6'000L * device_.limits.max_cluster_blocks);
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
