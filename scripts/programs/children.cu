// A kernel that launches others (dynamic parallelism), and one that does not: children ROUNDS CHILDREN
#include <cstdio>
#include <cstdlib>

__device__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

__global__ void child(long long cycles, unsigned* blocks) {
  spin(cycles);
  if (threadIdx.x == 0) atomicAdd(blocks, 1);
}

__global__ void parent(int children, long long cycles, unsigned* blocks) {
  if (threadIdx.x > 0) return;
  for (int i = 0; i < children; ++i) child<<<528, 256>>>(cycles, blocks);
}

__global__ void childless(long long cycles) {
  spin(cycles);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 2000;
  const int children = argc > 2 ? atoi(argv[2]) : 8;
  unsigned* blocks = nullptr;
  cudaMallocManaged(&blocks, sizeof *blocks);
  *blocks = 0;
  for (int i = 0; i < rounds; ++i) {
    parent<<<1, 32>>>(children, 40000, blocks);
    childless<<<264, 512>>>(40000);
    if (i % 16 == 15) cudaDeviceSynchronize();
  }
  const cudaError_t failure = cudaDeviceSynchronize();
  printf("children %u %s\n", *blocks, cudaGetErrorString(failure));
  return failure != cudaSuccess;
}
