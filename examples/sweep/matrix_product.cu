// A matrix product to sweep from the command line (docs/own-kernels.md): the square of a matrix of 512 rows
// and columns, in tiles that each block stages in shared memory. A block has kTile * kTile / kRows threads,
// and a grid (512 / kTile)^2 blocks.
constexpr int kSize = 512;
constexpr int kRows = 8;  // rows of its tile that a thread computes, one above the other

template <int kTile>
__global__ void product(const float* matrix, float* result) {
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
  for (int row = 0; row < kRows; ++row) result[(top + first + row) * kSize + edge + column] = sums[row];
}

// Ends the process's use of the GPU where TRAP is 1: what a sweep does then (scripts/sweeps).
#ifndef TRAP
#define TRAP 0
#endif
__global__ void trapping(float* result) {
  if (TRAP) __trap();
  result[threadIdx.x] = 1;
}
