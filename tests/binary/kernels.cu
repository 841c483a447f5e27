// Kernels whose usage differs in every respect that is read of a binary. tests/binary/cuobjdump has what CUDA's tools
// say of them.

__global__ void plain(float* x) {
  x[threadIdx.x] *= 2;
}

namespace shapes {
template <int kSize>
__global__ void reversed(float* x) {
  __shared__ float block[kSize];
  block[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = block[kSize - 1 - threadIdx.x];
}
}  // namespace shapes

__device__ __noinline__ float sum_of_sines(float x, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += __sinf(x + i);
  return sum;
}

__global__ void __launch_bounds__(256) bounded(float* x, int count) {
  x[threadIdx.x] = sum_of_sines(x[threadIdx.x], count);
}

extern "C" __global__ void named_barriers(float* x) {
  asm volatile("bar.sync 3, 64;");
  asm volatile("bar.sync 5, 64;");
  x[threadIdx.x] = 1;
}

// 28 values across a barrier, where all are needed, in 24 registers.
__global__ void __maxnreg__(24) spilling(float* x) {
  float values[28];
#pragma unroll
  for (int i = 0; i < 28; ++i) values[i] = x[32 * i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 28; ++i) x[32 * i + 1] = values[27 - i];
}

int main() {
  shapes::reversed<256><<<1, 256>>>(nullptr);
  shapes::reversed<1024><<<1, 1024>>>(nullptr);
}
