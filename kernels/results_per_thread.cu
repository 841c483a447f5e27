#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/random_words.hpp"
#include "kernels/result_of_launch.hpp"
#include "kernels/results_per_thread.hpp"

namespace occbench {
namespace {

/// A block of the product has kTile x kTile threads and computes kTile columns.
constexpr int kTile = 16;
static_assert(kTile * kTile == kResultsPerThreadBlockThreads);
constexpr int kMostResults = 8;
/// Rows of the product; a block with eight results per thread computes 128.
constexpr int kProductRows = 4096;
/// Multiply-adds per result.
constexpr int kProductDepth = 512;

struct ProductArguments {
  const float* a;  ///< [kProductRows][kProductDepth]
  const float* b;  ///< [kProductDepth][columns]
  int columns;
  float* c;  ///< [kProductRows][columns]
};

template <int kResults>
__global__ void __launch_bounds__(kResultsPerThreadBlockThreads) product_kernel(ProductArguments of) {
  __shared__ __align__(16) float a[kResults * kTile][kTile];
  __shared__ float b[kTile][kTile];
  const int x = threadIdx.x % kTile;
  const int y = threadIdx.x / kTile;
  const int tiles = of.columns / kTile;
  const int row = blockIdx.x / tiles * kResults * kTile + y;
  const int column = blockIdx.x % tiles * kTile + x;
  float sums[kResults] = {};
#pragma unroll 1
  for (int slice = 0; slice < kProductDepth; slice += kTile) {
#pragma unroll
    for (int result = 0; result < kResults; ++result) {
      a[result * kTile + y][x] = of.a[(row + result * kTile) * kProductDepth + slice + x];
    }
    b[y][x] = of.b[(slice + y) * of.columns + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) {
#pragma unroll
      for (int result = 0; result < kResults; ++result) sums[result] += a[result * kTile + y][k] * b[k][x];
    }
    __syncthreads();
  }
#pragma unroll
  for (int result = 0; result < kResults; ++result) {
    of.c[static_cast<std::int64_t>(row + result * kTile) * of.columns + column] = sums[result];
  }
}

/// Lines of 128 bytes in the table: 4 MiB, too large for L1 and small enough for L2.
constexpr unsigned kWalkLines = 1U << 15;
constexpr int kWalkSteps = 64;

struct WalkArguments {
  const std::uint32_t* next;  ///< [kWalkLines][32]: each word of a line is the line that follows
  std::uint32_t* ends;        ///< one per result
};

/// A warp walks as a unit: its lanes read the words of one line.
__device__ std::uint32_t follow(const WalkArguments& of, std::uint32_t line) {
  return __ldcg(of.next + line * 32 + threadIdx.x % 32);
}

/// Start of this thread's result `result`. The threads of a warp have the same start.
template <int kResults>
__device__ std::uint32_t start_of_walk(int result) {
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  return (warp * kResults + result) * 97 % kWalkLines;
}

template <int kResults>
__device__ std::uint32_t& end_of_walk(const WalkArguments& of, int result) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  return of.ends[(static_cast<std::size_t>(thread / 32) * kResults + result) * 32 + thread % 32];
}

template <int kResults>
__global__ void __launch_bounds__(kResultsPerThreadBlockThreads) walks_together_kernel(WalkArguments of) {
  std::uint32_t lines[kResults];
#pragma unroll
  for (int result = 0; result < kResults; ++result) lines[result] = start_of_walk<kResults>(result);
#pragma unroll 4
  for (int step = 0; step < kWalkSteps; ++step) {
#pragma unroll
    for (int result = 0; result < kResults; ++result) lines[result] = follow(of, lines[result]);
  }
#pragma unroll
  for (int result = 0; result < kResults; ++result) end_of_walk<kResults>(of, result) = lines[result];
}

template <int kResults>
__global__ void __launch_bounds__(kResultsPerThreadBlockThreads) walks_in_turn_kernel(WalkArguments of) {
#pragma unroll 1
  for (int result = 0; result < kResults; ++result) {
    std::uint32_t line = start_of_walk<kResults>(result);
#pragma unroll 4
    for (int step = 0; step < kWalkSteps; ++step) line = follow(of, line);
    end_of_walk<kResults>(of, result) = line;
  }
}

struct ResultsBuild {
  std::string name;
  ResultsBody body;
  int results;
  const void* function;
};

template <int... kResults>
std::deque<ResultsBuild> all_results_builds() {
  std::deque<ResultsBuild> builds;
  const auto add = [&](ResultsBody body, int results, auto* function) {
    builds.push_back({std::string(to_string(body)) + '_' + std::to_string(results), body, results,
                      reinterpret_cast<const void*>(function)});
  };
  (add(ResultsBody::product, kResults, product_kernel<kResults>), ...);
  (add(ResultsBody::walks_together, kResults, walks_together_kernel<kResults>), ...);
  (add(ResultsBody::walks_in_turn, kResults, walks_in_turn_kernel<kResults>), ...);
  return builds;
}

/// The variants point to these names.
const std::deque<ResultsBuild>& results_builds() {
  static const std::deque<ResultsBuild> builds = all_results_builds<1, 2, 4, kMostResults>();
  return builds;
}

const std::vector<Variant> kResultsVariants = [] {
  std::vector<Variant> variants;
  for (const ResultsBuild& build : results_builds())
    variants.push_back(make_variant(build.name, build.function));
  return variants;
}();

/// Whole numbers small enough that each sum of a product is exact.
std::vector<float> small_numbers(std::size_t count) {
  std::vector<float> numbers;
  numbers.reserve(count);
  for (const std::uint32_t word : random_words(count)) numbers.push_back(static_cast<float>(word % 4));
  return numbers;
}

class PreparedProduct final : public Prepared {
 public:
  PreparedProduct(const Case& chosen, const Variant& variant, int results)
      : function_(variant.function),
        launch_(chosen.launch),
        columns_(chosen.small ? kTile : static_cast<int>(chosen.extent / kProductRows)),
        rows_(static_cast<int>(launch_.grid_blocks / (columns_ / kTile)) * kTile * results),
        a_(small_numbers(static_cast<std::size_t>(rows_) * kProductDepth)),
        b_(small_numbers(static_cast<std::size_t>(kProductDepth) * static_cast<std::size_t>(columns_))),
        device_a_(std::span<const float>(a_)),
        device_b_(std::span<const float>(b_)),
        c_(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_)) {
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel(function_, launch_, stream,
                  ProductArguments{device_a_.data(), device_b_.data(), columns_, c_.data()});
  }

  /// Compares each row of C times a vector with A times (B times that vector), in whole numbers (Freivalds).
  Check check(cudaStream_t stream) override {
    const std::vector<float> c = result_of_launch(*this, stream, c_);
    const auto vector = [](int column) { return static_cast<std::int64_t>(column % 5 + 1); };
    std::vector<std::int64_t> b_times_vector(kProductDepth);
    for (int k = 0; k < kProductDepth; ++k) {
      for (int column = 0; column < columns_; ++column)
        b_times_vector[static_cast<std::size_t>(k)] +=
            static_cast<std::int64_t>(b_[at(k, columns_, column)]) * vector(column);
    }
    for (int row = 0; row < rows_; ++row) {
      std::int64_t found = 0;
      std::int64_t wanted = 0;
      for (int column = 0; column < columns_; ++column)
        found += static_cast<std::int64_t>(c[at(row, columns_, column)]) * vector(column);
      for (int k = 0; k < kProductDepth; ++k)
        wanted += static_cast<std::int64_t>(a_[at(row, kProductDepth, k)]) *
                  b_times_vector[static_cast<std::size_t>(k)];
      if (found != wanted) return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    return {2.0 * rows_ * columns_ * kProductDepth, "flop"};
  }

 private:
  static std::size_t at(int row, int columns, int column) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
           static_cast<std::size_t>(column);
  }

  const void* function_;
  Launch launch_;
  int columns_;
  int rows_;
  std::vector<float> a_;
  std::vector<float> b_;
  DeviceBuffer<float> device_a_;
  DeviceBuffer<float> device_b_;
  DeviceBuffer<float> c_;
};

/// Stride of a cycle through all lines: odd, so that it reaches all of them, and large, so that no line is
/// near the previous one.
constexpr unsigned kWalkStride = 12'345;

std::vector<std::uint32_t> walk_table() {
  std::vector<std::uint32_t> next(static_cast<std::size_t>(kWalkLines) * 32);
  for (std::size_t word = 0; word < next.size(); ++word) {
    next[word] = (static_cast<unsigned>(word / 32) + kWalkStride) % kWalkLines;
  }
  return next;
}

class PreparedWalks final : public Prepared {
 public:
  PreparedWalks(const Case& chosen, const Variant& variant, int results)
      : function_(variant.function),
        launch_(chosen.launch),
        next_(std::span<const std::uint32_t>(walk_table())),
        ends_(static_cast<std::size_t>(launch_.grid_blocks * launch_.block_threads * results)) {
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel(function_, launch_, stream, WalkArguments{next_.data(), ends_.data()});
  }

  Check check(cudaStream_t stream) override {
    const std::vector<std::uint32_t> ends = result_of_launch(*this, stream, ends_);
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const auto start = static_cast<std::uint32_t>(i / 32) * 97 % kWalkLines;
      if (ends[i] != (start + kWalkSteps * kWalkStride) % kWalkLines) return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    return {static_cast<double>(ends_.size()), "results"};
  }

 private:
  const void* function_;
  Launch launch_;
  DeviceBuffer<std::uint32_t> next_;
  DeviceBuffer<std::uint32_t> ends_;
};

std::unique_ptr<Prepared> prepare_results(const Case& chosen, const Variant& variant, const Device&) {
  const auto build = std::ranges::find(results_builds(), variant.name, &ResultsBuild::name);
  if (build->body == ResultsBody::product)
    return std::make_unique<PreparedProduct>(chosen, variant, build->results);
  return std::make_unique<PreparedWalks>(chosen, variant, build->results);
}

}  // namespace

std::string_view to_string(ResultsBody body) {
  constexpr std::string_view kNames[] = {"product", "walks_together", "walks_in_turn"};
  return kNames[static_cast<int>(body)];
}

std::string_view results_variant(ResultsBody body, int results) {
  for (const ResultsBuild& build : results_builds()) {
    if (build.body == body && build.results == results) return build.name;
  }
  throw std::out_of_range("results_per_thread has no variant of " + std::to_string(results) + " results");
}

std::int64_t results_extent(int sms, int waves) {
  constexpr int kBlocks = 8;  // of an SM of 2,048 threads
  constexpr int kRowsOfBlock = kMostResults * kTile;
  static_assert(kProductRows % kRowsOfBlock == 0);
  constexpr int kBlocksOfColumn = kProductRows / kRowsOfBlock;
  const int columns = kTile * std::max(1, sms * kBlocks * waves / kBlocksOfColumn);
  return static_cast<std::int64_t>(kProductRows) * columns;
}

const Kernel kResultsPerThread{"results_per_thread",
                               "the same results by threads that compute more of them each", kResultsVariants,
                               prepare_results};

}  // namespace occbench
