// A stencil of 7 x 7 on an image, from shared memory or from the caches: each thread computes PX x PY pixels.
//
//   occbench sweep --source examples/sweep/stencil.cu --kernel stencil --fastest --out stencil.csv
//     --arg 'float[2048*2048]' --arg 'float[2048*2048]=zeros' --check-against 'naive<<<128x128,16x16>>>'
//     --block-size 16x4,16x8,16x16,32x2,32x4,32x8,32x16,64x1,64x2,64x4,64x8,128x1,128x2,128x4
//     --define BX={block-size.x} --define BY={block-size.y} --define PX=1,2,4 --define PY=1,2,4,8 --define SHARED=0,1
//     --define PAD=0,1 --where 'SHARED || !PAD' --grid '{2048 / (block_size.x * PX)}x{2048 / (block_size.y * PY)}'
#ifndef BX
#define BX 32
#define BY 8
#define PX 1
#define PY 4
#define SHARED 1
#define PAD 0
#endif
constexpr int kSize = 2048, kRadius = 3;

__device__ float weight(int dx, int dy) {
  return 1.0f / (1 + dx * dx + dy * dy);
}

__device__ float pixel(const float* image, int x, int y) {
  return image[min(max(y, 0), kSize - 1) * kSize + min(max(x, 0), kSize - 1)];
}

__global__ void __launch_bounds__(BX* BY) stencil(const float* image, float* result) {
  constexpr int kWidth = BX * PX + 2 * kRadius, kHeight = BY * PY + 2 * kRadius;
  const int left = blockIdx.x * BX * PX, top = blockIdx.y * BY * PY;
#if SHARED
  __shared__ float tile[kHeight][kWidth + PAD];
  for (int i = threadIdx.y * BX + threadIdx.x; i < kWidth * kHeight; i += BX * BY)
    tile[i / kWidth][i % kWidth] = pixel(image, left + i % kWidth - kRadius, top + i / kWidth - kRadius);
  __syncthreads();
#endif
  for (int py = 0; py < PY; ++py) {
    for (int px = 0; px < PX; ++px) {
      const int x = threadIdx.x + px * BX, y = threadIdx.y + py * BY;
      float sum = 0;
      for (int dy = -kRadius; dy <= kRadius; ++dy) {
        for (int dx = -kRadius; dx <= kRadius; ++dx)
#if SHARED
          sum += weight(dx, dy) * tile[y + dy + kRadius][x + dx + kRadius];
#else
          sum += weight(dx, dy) * pixel(image, left + x + dx, top + y + dy);
#endif
      }
      result[(top + y) * kSize + left + x] = sum;
    }
  }
}

__global__ void naive(const float* image, float* result) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int i = 0; i < 49; ++i)
    sum += weight(i % 7 - 3, i / 7 - 3) * pixel(image, x + i % 7 - 3, y + i / 7 - 3);
  result[y * kSize + x] = sum;
}
