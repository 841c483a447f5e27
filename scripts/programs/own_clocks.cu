// Kernels that note when each of their warps begins and ends, so that the program itself says what its occupancy was: with
// no tool, and with one. Prints for each launch "fill ACHIEVED_PCT CYCLES_ACTIVE", or copy or wait: warps' cycles over the
// cycles from the first warp's begin to the last one's end on each SM, and the mean of those cycles over the SMs.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <vector>

namespace {

constexpr int kValues = 1 << 20;
constexpr int kBlock = 256;
constexpr int kWarps = kValues / 32;
constexpr int kRounds = 40;
constexpr long long kCyclesOfWait = 10'000;
constexpr const char* kKernels[] = {"fill", "copy", "wait"};
constexpr int kLaunches = kRounds * std::size(kKernels);

struct Life {
  long long begin;
  long long end;
  long long sm;
};

void require(cudaError_t result, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(result));
  std::exit(1);
}
#define REQUIRE(call) require(call, __LINE__)

__device__ long long now() {
  long long cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

__device__ void note(Life* lives, int at, long long begin) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (at % 32 == 0) lives[at / 32] = Life{begin, now(), sm};
}

__global__ void fill(unsigned* values, Life* lives) {
  const long long begin = now();
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  values[at] = at * 2654435761u;
  note(lives, at, begin);
}

__global__ void copy(const float* from, float* to, Life* lives) {
  const long long begin = now();
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = from[at] + 1;
  to[at] = value;
  asm volatile("" ::"f"(value) : "memory");  // a warp ends after what it reads has come
  note(lives, at, begin);
}

__global__ void wait(Life* lives) {
  const long long begin = now();
  while (now() - begin < kCyclesOfWait) {
  }
  note(lives, blockIdx.x * blockDim.x + threadIdx.x, begin);
}

void print(const char* name, const Life* lives, int warps_of_sm) {
  std::map<long long, Life> of_sm;
  double cycles_of_warps = 0;
  for (const Life* life = lives; life != lives + kWarps; ++life) {
    cycles_of_warps += static_cast<double>(life->end - life->begin);
    Life& sm = of_sm.try_emplace(life->sm, *life).first->second;
    sm.begin = std::min(sm.begin, life->begin);
    sm.end = std::max(sm.end, life->end);
  }
  double active = 0;
  for (const auto& [number, sm] : of_sm) active += static_cast<double>(sm.end - sm.begin);
  std::printf("%s %.2f %.0f\n", name, 100 * cycles_of_warps / active / warps_of_sm,
              active / static_cast<double>(of_sm.size()));
}

}  // namespace

int main() {
  int threads_of_sm = 0;
  REQUIRE(cudaDeviceGetAttribute(&threads_of_sm, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
  unsigned* values = nullptr;
  float* from = nullptr;
  float* to = nullptr;
  Life* lives = nullptr;
  REQUIRE(cudaMalloc(&values, kValues * sizeof(*values)));
  REQUIRE(cudaMalloc(&from, kValues * sizeof(*from)));
  REQUIRE(cudaMalloc(&to, kValues * sizeof(*to)));
  REQUIRE(cudaMalloc(&lives, kLaunches * kWarps * sizeof(*lives)));
  REQUIRE(cudaMemset(from, 0, kValues * sizeof(*from)));
  for (Life* round = lives; round != lives + kLaunches * kWarps; round += std::size(kKernels) * kWarps) {
    fill<<<kValues / kBlock, kBlock>>>(values, round);
    copy<<<kValues / kBlock, kBlock>>>(from, to, round + kWarps);
    wait<<<kValues / kBlock, kBlock>>>(round + 2 * kWarps);
  }
  REQUIRE(cudaDeviceSynchronize());
  std::vector<Life> all(kLaunches * kWarps);
  REQUIRE(cudaMemcpy(all.data(), lives, all.size() * sizeof(Life), cudaMemcpyDeviceToHost));
  for (int launch = 0; launch < kLaunches; ++launch) {
    print(kKernels[launch % std::size(kKernels)], all.data() + launch * kWarps, threads_of_sm / 32);
  }
}
