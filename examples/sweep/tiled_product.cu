// A matrix product in tiles of shared memory: each thread computes TX x TY elements. docs/sweeps.md
//
//   occbench sweep --source examples/sweep/tiled_product.cu --kernel product --fastest --out product.csv
//     --arg 'float[1<<20]' --arg 'float[1<<20]' --arg 'float[1<<20]=zeros' --check-against 'naive<<<64x64,16x16>>>'
//     --block-size 8x8,16x8,32x4,16x16,32x8,64x4,8x32,32x16 --define BX={block-size.x} --define BY={block-size.y}
//     --define TX=1,2,4,8 --define TY=1,2,4,8 --define TK=8,16,32
//     --grid '{1024 / (block_size.x * TX)}x{1024 / (block_size.y * TY)}'
//     --where '(block_size.x * TX + block_size.y * TY + 1) * TK * 4 <= 48K'
#ifndef BX
#define BX 16
#define BY 16
#define TX 4
#define TY 4
#define TK 16
#endif
constexpr int kSize = 1024;  // rows and columns of each matrix

__global__ void __launch_bounds__(BX* BY) product(const float* a, const float* b, float* c) {
  constexpr int kRows = BY * TY, kColumns = BX * TX, kThreads = BX * BY;
  __shared__ float left[TK][kRows + 1], right[TK][kColumns];
  const int thread = threadIdx.y * BX + threadIdx.x;
  const int top = blockIdx.y * kRows, edge = blockIdx.x * kColumns;
  float sums[TY][TX] = {};
  for (int step = 0; step < kSize; step += TK) {
    for (int i = thread; i < kRows * TK; i += kThreads)
      left[i % TK][i / TK] = a[(top + i / TK) * kSize + step + i % TK];
    for (int i = thread; i < kColumns * TK; i += kThreads)
      right[i / kColumns][i % kColumns] = b[(step + i / kColumns) * kSize + edge + i % kColumns];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TK; ++k) {
      float column[TX];
      for (int x = 0; x < TX; ++x) column[x] = right[k][threadIdx.x + x * BX];
      for (int y = 0; y < TY; ++y) {
        const float row = left[k][threadIdx.y + y * BY];
        for (int x = 0; x < TX; ++x) sums[y][x] += row * column[x];
      }
    }
    __syncthreads();
  }
  for (int y = 0; y < TY; ++y) {
    for (int x = 0; x < TX; ++x)
      c[(top + threadIdx.y + y * BY) * kSize + edge + threadIdx.x + x * BX] = sums[y][x];
  }
}

__global__ void naive(const float* a, const float* b, float* c) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < kSize; ++k) sum += a[row * kSize + k] * b[k * kSize + column];
  c[row * kSize + column] = sum;
}
