// Plain CUDA: CUB's radix sort and scan, stencils, uneven blocks, a cooperative launch, clusters, two streams, a graph of
// one kernel and one of several. `sample N` runs them N times.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <vector>

#include <cooperative_groups.h>

namespace {

void require(cudaError_t result, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(result));
  std::exit(1);
}
#define REQUIRE(call) require(call, __LINE__)

__global__ void fill(std::uint32_t* values, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) values[at] = at * 2654435761u;
}

__global__ void stencil(const float* in, float* out, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= width - 1) return;
  const float* const at = in + y * width + x;
  out[y * width + x] = 0.2f * (at[0] + at[-1] + at[1] + at[-width] + at[width]);
}

/// Blocks take longer along the grid, warps of a block as their pixels want.
__global__ void mandelbrot(std::uint32_t* steps, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y;
  const float re = 3.0f * x / width - 2.2f;
  const float im = 2.4f * y / width - 1.2f;
  float a = 0, b = 0;
  std::uint32_t step = 0;
  while (step < 2000 && a * a + b * b < 4) {
    const float next = a * a - b * b + re;
    b = 2 * a * b + im;
    a = next;
    ++step;
  }
  steps[y * width + x] = step;
}

__global__ void bodies(const float4* at, float4* pull, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float4 sum{};
  for (int j = 0; j < count; ++j) {
    const float x = at[j].x - at[i].x, y = at[j].y - at[i].y, z = at[j].z - at[i].z;
    const float inverse = rsqrtf(x * x + y * y + z * z + 1e-3f);
    const float strength = inverse * inverse * inverse;
    sum.x += x * strength, sum.y += y * strength, sum.z += z * strength;
  }
  pull[i] = sum;
}

__global__ void together(std::uint32_t* values, int count) {
  const auto grid = cooperative_groups::this_grid();
  for (auto at = grid.thread_rank(); at < count; at += grid.size()) values[at] += 1;
  grid.sync();
  if (grid.thread_rank() == 0) values[0] = values[count - 1];
}

__global__ void __cluster_dims__(4, 1, 1) clustered(std::uint32_t* values) {
  __shared__ std::uint32_t number;
  const auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) number = blockIdx.x;
  cluster.sync();
  const std::uint32_t* const next = cluster.map_shared_rank(&number, (cluster.block_rank() + 1) % 4);
  if (threadIdx.x == 0) values[blockIdx.x] = *next;
  cluster.sync();
}

__global__ void staged(const float* in, float* out, int rounds) {
  extern __shared__ float stage[];
  stage[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int round = 0; round < rounds; ++round) sum += stage[(threadIdx.x * 17 + round) % blockDim.x];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

struct Memory {
  static constexpr int kCount = 1 << 20;
  std::uint32_t *keys, *sorted, *steps;
  float *in, *out;
  float4 *at, *pull;
  void* temporary;
  std::size_t temporary_bytes = 64 << 20;

  Memory() {
    REQUIRE(cudaMalloc(&keys, 4 * kCount));
    REQUIRE(cudaMalloc(&sorted, 4 * kCount));
    REQUIRE(cudaMalloc(&steps, 4 * kCount));
    REQUIRE(cudaMalloc(&in, 4 * kCount));
    REQUIRE(cudaMalloc(&out, 4 * kCount));
    REQUIRE(cudaMalloc(&at, 16 * 16384));
    REQUIRE(cudaMalloc(&pull, 16 * 16384));
    REQUIRE(cudaMalloc(&temporary, temporary_bytes));
    std::vector<float> numbers(kCount);
    for (int i = 0; i < kCount; ++i) numbers[i] = (i % 10007 * 7919 % 10007) / 10007.0f;
    REQUIRE(cudaMemcpy(in, numbers.data(), 4 * kCount, cudaMemcpyHostToDevice));
    REQUIRE(cudaMemcpy(at, numbers.data(), 16 * 16384, cudaMemcpyHostToDevice));
    REQUIRE(cudaMemset(out, 0, 4 * kCount));
  }
};

void round_of(Memory& memory, cudaStream_t other) {
  constexpr int kCount = Memory::kCount;
  fill<<<kCount / 256, 256>>>(memory.keys, kCount);
  std::size_t bytes = memory.temporary_bytes;
  REQUIRE(cub::DeviceRadixSort::SortKeys(memory.temporary, bytes, memory.keys, memory.sorted, kCount));
  REQUIRE(cub::DeviceScan::InclusiveSum(memory.temporary, bytes, memory.sorted, memory.keys, kCount));
  stencil<<<dim3(32, 128), dim3(32, 8)>>>(memory.in, memory.out, 1024);
  stencil<<<dim3(64, 64), dim3(16, 16)>>>(memory.in, memory.out, 1024);
  mandelbrot<<<dim3(8, 1024), 128>>>(memory.steps, 1024);
  mandelbrot<<<dim3(2, 1024), 512>>>(memory.steps, 1024);
  bodies<<<64, 256>>>(memory.at, memory.pull, 16384);
  bodies<<<128, 128, 0, other>>>(memory.at, memory.pull, 16384);
  REQUIRE(cudaDeviceSynchronize());
  int count = kCount;
  void* arguments[] = {&memory.sorted, &count};
  REQUIRE(cudaLaunchCooperativeKernel(together, dim3(264), dim3(512), arguments));
  clustered<<<512, 256>>>(memory.keys);
  staged<<<1024, 256, 60000>>>(memory.in, memory.out, 5000);
  staged<<<300, 1024, 4096>>>(memory.in, memory.out, 5000);
  REQUIRE(cudaGetLastError());
}

cudaGraphExec_t graph_of(Memory& memory, cudaStream_t stream, int kernels) {
  cudaGraph_t graph;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kernels; ++i) staged<<<500 + 64 * i, 128, 2048, stream>>>(memory.in, memory.out, 300);
  REQUIRE(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t exec;
  REQUIRE(cudaGraphInstantiate(&exec, graph, 0));
  REQUIRE(cudaGraphDestroy(graph));
  return exec;
}

template <typename Value>
double sum_of(const Value* values, int count) {
  std::vector<Value> host(count);
  REQUIRE(cudaMemcpy(host.data(), values, sizeof(Value) * count, cudaMemcpyDeviceToHost));
  double sum = 0;
  for (const Value value : host) sum += value;
  return sum;
}

}  // namespace

int main(int arguments, char** words) {
  const int rounds = arguments > 1 ? std::atoi(words[1]) : 1;
  Memory memory;
  cudaStream_t other;
  REQUIRE(cudaStreamCreate(&other));
  REQUIRE(cudaFuncSetAttribute(staged, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
  const cudaGraphExec_t one = graph_of(memory, other, 1);
  const cudaGraphExec_t several = graph_of(memory, other, 3);
  for (int round = 0; round < rounds; ++round) {
    round_of(memory, other);
    REQUIRE(cudaGraphLaunch(one, other));
    REQUIRE(cudaGraphLaunch(several, other));
    REQUIRE(cudaDeviceSynchronize());
  }
  std::printf("sample %.9g %.9g %.9g %.9g %.9g\n", sum_of(memory.keys, 1000), sum_of(memory.sorted, 1 << 20),
              sum_of(memory.steps, 1 << 20), sum_of(memory.out, 1 << 20),
              sum_of(reinterpret_cast<const float*>(memory.pull), 4 * 16384));
}
