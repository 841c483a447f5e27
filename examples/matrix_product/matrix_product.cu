// The square of a matrix, in tiles of several sizes and with ceilings on registers: which of them fills the
// SMs best, and which is fastest? An experiment is a kernel family (what is launched, and whether its result
// is right) and a function that declares its cases; theory, prediction, time, counters, CSV and the gate come
// with occbench.
#include <cmath>
#include <random>

#include "gpu/launch.hpp"
#include "gpu/resources.hpp"
#include "harness/experiment.hpp"

namespace occbench {
namespace {

constexpr int kSize = 512;           // rows and columns of the matrix
constexpr int kRows = 8;             // of its tile that a thread computes, one above the other
constexpr double kCycles = 100'000;  // roughly what a block takes when it is alone: for the prediction

// Each block computes a tile of the product, from tiles of the matrix that it stages in shared memory.
template <int kTile, int kMostRegisters>
__global__ void __maxnreg__(kMostRegisters) product_kernel(const float* matrix, float* product) {
  __shared__ float left[kTile][kTile], right[kTile][kTile];
  const int column = threadIdx.x % kTile, first = threadIdx.x / kTile * kRows;
  const int top = blockIdx.x / (kSize / kTile) * kTile, edge = blockIdx.x % (kSize / kTile) * kTile;
  float sums[kRows] = {};
  for (int step = 0; step < kSize; step += kTile) {
    for (int row = first; row < first + kRows; ++row) {
      left[row][column] = matrix[(top + row) * kSize + step + column];
      right[row][column] = matrix[(step + row) * kSize + edge + column];
    }
    __syncthreads();
    for (int k = 0; k < kTile; ++k) {
      for (int row = 0; row < kRows; ++row) sums[row] += left[first + row][k] * right[k][column];
    }
    __syncthreads();
  }
  for (int row = 0; row < kRows; ++row) product[(top + first + row) * kSize + edge + column] = sums[row];
}

// A variant is one compiled function, by the name that its rows will have.
template <int kTile, int kMostRegisters>
Variant variant(std::string_view name) {
  return {name, reinterpret_cast<const void*>(product_kernel<kTile, kMostRegisters>)};
}
const Variant kVariants[] = {
    variant<16, 24>("tile_16_registers_24"), variant<16, 64>("tile_16_registers_64"),
    variant<32, 24>("tile_32_registers_24"), variant<32, 64>("tile_32_registers_64"),
    variant<64, 24>("tile_64_registers_24"), variant<64, 64>("tile_64_registers_64")};

// A case made ready: it owns its buffers, launches, and compares with what the host computes.
class PreparedProduct final : public Prepared {
 public:
  PreparedProduct(const Case& chosen, const Variant& variant)
      : function_(variant.function), launch_(chosen.launch), product_(kSize * kSize) {
    std::mt19937 generator(1);
    for (float& value : matrix_) value = static_cast<float>(generator() % 16);  // so that sums are exact
    on_device_ = DeviceBuffer<float>(std::span<const float>(matrix_));
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {  // what is timed and counted
    launch_kernel(function_, launch_, stream, std::as_const(on_device_).data(), product_.data());
  }

  Check check(cudaStream_t stream) override {
    product_.fill_bytes(0xff);  // so that what is not written shows
    launch(stream);
    occbench::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const std::vector<float> product = product_.to_host();
    const int tile = std::lround(std::sqrt(launch_.block_threads * kRows)), tiles = kSize / tile;
    for (int i = 0; i < kSize * kSize; i += 7) {  // a sample, for the host is slow
      const int row = i / kSize, column = i % kSize;
      if (row / tile * tiles + column / tile >= launch_.grid_blocks) continue;  // --occ_small has fewer
      float sum = 0;
      for (int k = 0; k < kSize; ++k) sum += matrix_[row * kSize + k] * matrix_[k * kSize + column];
      if (product[i] != sum) return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    return {1.0 * launch_.grid_blocks * launch_.block_threads * kRows * kSize, "multiply-adds"};
  }

 private:
  const void* function_;
  Launch launch_;
  std::vector<float> matrix_ = std::vector<float>(kSize * kSize);
  DeviceBuffer<float> on_device_, product_;
};

const Kernel kProduct{
    "matrix_product", "the square of a matrix, in tiles", kVariants,
    [](const Case& chosen, const Variant& variant, const Device&) -> std::unique_ptr<Prepared> {
      return std::make_unique<PreparedProduct>(chosen, variant);
    }};

std::vector<Case> cases(const Planner&) {
  std::vector<Case> cases;
  for (const Variant& variant : kVariants) {
    const int tile = std::stoi(std::string(variant.name.substr(5))), tiles = kSize / tile;
    const Launch launch{.block_threads = tile * tile / kRows, .grid_blocks = tiles * tiles};
    cases.push_back({&kProduct, variant.name, launch, Work::equal(kCycles)});
    cases.back().suite = Suite::smoke;
  }
  return cases;
}

}  // namespace

const Experiment experiment{"matrix_product", "the tile that fills the SMs best is the fastest", "its author",
                            cases};

}  // namespace occbench
