// The square of a matrix, in tiles of several sizes and with ceilings on registers: which of them fills the
// SMs best, and which is fastest?
#include "harness/benchmark.hpp"

using namespace occbench;

constexpr int kSize = 512;  // rows and columns of the matrix
constexpr int kRows = 8;    // of its tile that a thread computes, one above the other

// Each block computes a tile of the product, from tiles of the matrix that it stages in shared memory.
template <int kTile, int kMostRegisters>
__global__ void __maxnreg__(kMostRegisters) product(const float* matrix, float* product) {
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

bool is_square(const Results& results) {
  const auto matrix = results.before<float>(0), product = results.after<float>(1);
  for (int i = 0; i < kSize * kSize; i += 7) {  // a sample, for the host is slow
    double sum = 0;
    for (int k = 0; k < kSize; ++k) sum += matrix[i / kSize * kSize + k] * matrix[k * kSize + i % kSize];
    if (std::abs(product[i] - sum) > 1e-4 * sum) return false;
  }
  return true;
}

Launchable configure(const Point& at) {
  const auto tile = at.integer("tile"), tiles = kSize / tile;
  return {.function = instance(OneOf<16, 32, 64>{tile}, OneOf<24, 64>{at.integer("registers")},
                               [](auto side, auto most) { return kernel(product<side, most>); }),
          .launch = {.block_threads = static_cast<int>(tile * tile / kRows), .grid_blocks = tiles * tiles},
          .arguments = {random_values<float>(kSize * kSize), zeros<float>(kSize * kSize)},
          .work = Work::equal(100'000),  // cycles of a block that is alone: for the prediction
          .useful = {1.0 * kSize * kSize * kSize, "multiply-adds"},
          .check = is_square};
}

const Experiment occbench::experiment =
    benchmark("matrix_product", "the tile that fills the SMs best is the fastest",
              {{"tile", "16,32,64"}, {"registers", "24,64", "most registers of a thread"}}, configure);
