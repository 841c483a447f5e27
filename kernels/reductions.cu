#include <algorithm>
#include <cmath>
#include <cub/device/device_reduce.cuh>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/random_words.hpp"
#include "kernels/reductions.hpp"
#include "kernels/reductions_device.cuh"
#include "occupancy/occupancy.hpp"

namespace occbench {
namespace {

/// A variant, its function, and the most additions that one value goes through when a launch's threads are
/// combined.
struct ReductionBuild {
  std::string_view name;
  void (*function)(ReductionArguments);
  double (*additions)(const Launch&);
};

double blocks_of(const Launch& launch) {
  return static_cast<double>(launch.grid_blocks);
}

// Shuffles of a whole block take 5 + 3 additions.
constexpr ReductionBuild kReductionBuilds[] = {
    {"thread", reduce_by_thread, [](const Launch& launch) { return blocks_of(launch) * kReductionThreads; }},
    {"warp", reduce_by_warp, [](const Launch& launch) { return 5 + blocks_of(launch) * kReductionWarps; }},
    {"serial", reduce_by_thread_0,
     [](const Launch& launch) { return kReductionThreads + blocks_of(launch); }},
    {"shuffle", reduce_by_shuffles, [](const Launch& launch) { return 8 + blocks_of(launch); }},
    {"cooperative_groups", reduce_by_cooperative_groups,
     [](const Launch& launch) { return kReductionThreads + blocks_of(launch); }},
    {"cub_block", reduce_by_cub_block,
     [](const Launch& launch) { return kReductionThreads + blocks_of(launch); }},
    {"cluster", reduce_by_cluster,
     [](const Launch& launch) { return 13 + blocks_of(launch) / launch.cluster_blocks; }},
    {"last_block", reduce_by_last_block,
     [](const Launch& launch) { return 17 + blocks_of(launch) / kReductionThreads; }}};

constexpr std::string_view kCubDevice = "cub_device";

const std::vector<Variant> kReductionVariants = [] {
  std::vector<Variant> variants;
  for (const ReductionBuild& build : kReductionBuilds)
    variants.push_back(make_variant(build.name, build.function));
  variants.push_back({kCubDevice, nullptr});
  return variants;
}();

constexpr std::size_t kTableLength = kReductionTableLength;

std::vector<float> table_of_whole_numbers() {
  std::vector<float> table;
  for (const std::uint32_t word : random_words(kTableLength)) table.push_back(word % 8 == 0 ? 1.0F : 0.0F);
  return table;
}

/// From 0 to 1, with all bits of a float.
std::vector<float> table_of_reals() {
  std::vector<float> table;
  for (const std::uint32_t word : random_words(kTableLength))
    table.push_back(static_cast<float>(word >> 8) * 0x1p-24F);
  return table;
}

/// Sum of the first `count` values that repeat the table; none is negative.
double sum_of_repeated(const std::vector<float>& table, std::size_t count) {
  const auto sum = [&](std::size_t first) {
    return std::accumulate(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(first), 0.0);
  };
  return static_cast<double>(count / table.size()) * sum(table.size()) + sum(count % table.size());
}

class PreparedReduction : public Prepared {
 public:
  /// @param additions most that one value goes through
  PreparedReduction(std::size_t count, double additions)
      : additions_(additions), values_(count), table_(kTableLength), total_(1) {}

  Check check(cudaStream_t stream) override {
    const std::vector<float> whole_numbers = table_of_whole_numbers();
    const std::vector<float> reals = table_of_reals();
    const double exact = sum_of_repeated(whole_numbers, values_.size());
    if (sum_of(whole_numbers, stream) != exact) return Check::wrong;
    const double reference = sum_of_repeated(reals, values_.size());
    const bool close = std::abs(sum_of(reals, stream) - reference) <= summation_bound(additions_) * reference;
    return close ? Check::ok : Check::wrong;
  }

  Amount useful() const override {
    return {static_cast<double>(values_.bytes()), "bytes"};
  }

 protected:
  const float* values() const {
    return values_.data();
  }
  std::size_t count() const {
    return values_.size();
  }
  float* total() {
    return total_.data();
  }

 private:
  double sum_of(const std::vector<float>& table, cudaStream_t stream) {
    occbench::check(cudaMemcpy(table_.data(), table.data(), table_.bytes(), cudaMemcpyHostToDevice),
                    "cudaMemcpy to device");
    total_.fill_bytes(0);
    constexpr Launch kFill{.block_threads = 256, .grid_blocks = 1024};
    launch_kernel(reinterpret_cast<const void*>(&repeat_table), kFill, stream,
                  static_cast<const float*>(table_.data()), static_cast<std::int64_t>(table_.size()),
                  values_.data(), static_cast<std::int64_t>(values_.size()));
    launch(stream);
    occbench::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    return static_cast<double>(total_.to_host().front());
  }

  double additions_;
  DeviceBuffer<float> values_;
  DeviceBuffer<float> table_;
  DeviceBuffer<float> total_;
};

/// Additions of a thread that reads every `threads`th group of four values.
double additions_of_thread(std::size_t count, double threads) {
  return std::ceil(static_cast<double>(count) / 4 / threads) + 2;
}

class PreparedOwnReduction final : public PreparedReduction {
 public:
  PreparedOwnReduction(const Case& chosen, std::size_t count, const ReductionBuild& build,
                       const Variant& variant)
      : PreparedReduction(count, additions_of_thread(count, blocks_of(chosen.launch) * kReductionThreads) +
                                     build.additions(chosen.launch)),
        function_(variant.function),
        launch_(chosen.launch),
        partials_(static_cast<std::size_t>(launch_.grid_blocks)),
        arrived_(1) {
    arrived_.fill_bytes(0);
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel(
        function_, launch_, stream,
        ReductionArguments{reinterpret_cast<const float4*>(values()), static_cast<std::int64_t>(count() / 4),
                           total(), partials_.data(), arrived_.data()});
  }

 private:
  const void* function_;
  Launch launch_;
  DeviceBuffer<float> partials_;
  DeviceBuffer<unsigned> arrived_;
};

/// The order is CUB's own, with at least one warp on each SM.
class PreparedCubDevice final : public PreparedReduction {
 public:
  PreparedCubDevice(std::size_t count, const Device& device)
      : PreparedReduction(count, additions_of_thread(count, device.sm_count * kThreadsPerWarp) +
                                     device.warp_slots() * kThreadsPerWarp),
        storage_(storage_bytes()) {}

  void launch(cudaStream_t stream) override {
    std::size_t bytes = storage_.size();
    occbench::check(cub::DeviceReduce::Sum(storage_.data(), bytes, values(), total(),
                                           static_cast<std::int64_t>(count()), stream),
                    "cub::DeviceReduce::Sum");
  }

 private:
  std::size_t storage_bytes() {
    std::size_t bytes = 0;
    occbench::check(
        cub::DeviceReduce::Sum(nullptr, bytes, values(), total(), static_cast<std::int64_t>(count())),
        "cub::DeviceReduce::Sum");
    return bytes;
  }

  DeviceBuffer<unsigned char> storage_;
};

std::unique_ptr<Prepared> prepare_reduction(const Case& chosen, const Variant& variant,
                                            const Device& device) {
  constexpr std::size_t kSmallCount = 1 << 14;
  const std::size_t count = chosen.small ? kSmallCount : static_cast<std::size_t>(chosen.extent);
  if (variant.name == kCubDevice) return std::make_unique<PreparedCubDevice>(count, device);
  const auto build = std::ranges::find(kReductionBuilds, variant.name, &ReductionBuild::name);
  return std::make_unique<PreparedOwnReduction>(chosen, count, *build, variant);
}

}  // namespace

double summation_bound(double additions) {
  return std::expm1(additions * std::log1p(0x1p-24));
}

const Kernel kReductions{"reductions", "the sum of floats in device memory, put together in several ways",
                         kReductionVariants, prepare_reduction};

}  // namespace occbench
