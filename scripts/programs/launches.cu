// How long launches take, by the host's clock. `launches looked N`: N launches of one kernel, nanoseconds each, waiting for
// the GPU now and then. `launches cold N SECONDS`: after so many seconds of launches, N of them, each once
// 2 MB of other memory were read, as by a program that does much between launches: what the fastest twentieth takes at most. `launches counted N`: N configurations, four launches of each, milliseconds in all.
// `launches waits SECONDS PERCENT`: once PERCENT of the free device memory is taken, launches of that memory's kernel for so many seconds;
// the milliseconds of the first, of those later launches and synchronizations that took more than 10, of the longest of these, what of the
// free memory went meanwhile in MB, and whether what was computed is right.
// `launches threads N`: 64 threads, N launches each. `launches killed N`: launches until the process kills itself after N
// milliseconds, and prints how many it had made.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

__global__ void spin(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The queue never fills, so that the host does not wait for the GPU: only calls are timed.
double nanoseconds_of(int launches) {
  constexpr int kAtOnce = 500;
  double calls = 0;
  for (int made = 0; made < launches; made += kAtOnce) {
    const double begin = seconds();
    for (int i = 0; i < kAtOnce; ++i) spin<<<132, 128>>>(100);
    calls += seconds() - begin;
    cudaDeviceSynchronize();
  }
  return 1e9 * calls / launches;
}

double cold_nanoseconds_of(int launches) {
  std::vector<long> others((2 << 20) / sizeof(long), 1);
  std::vector<double> calls;
  long sum = 0;
  for (int made = 0; made < launches; ++made) {
    for (std::size_t i = 0; i < others.size(); i += 8) sum += others[i];
    const double begin = seconds();
    spin<<<132, 128>>>(100);
    calls.push_back(seconds() - begin);
    if (made % 500 == 0) cudaDeviceSynchronize();
  }
  const auto twentieth = calls.begin() + launches / 20;
  std::nth_element(calls.begin(), twentieth, calls.end());
  return sum > 0 ? 1e9 * *twentieth : 0;
}

void launch_from_threads(int launches) {
  std::vector<std::thread> threads;
  for (int number = 0; number < 64; ++number) {
    threads.emplace_back([=] {
      for (int i = 0; i < launches; ++i) spin<<<number + 1, 64, 0, cudaStreamPerThread>>>(500);
      cudaStreamSynchronize(cudaStreamPerThread);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void launch_until_killed(int milliseconds) {
  std::atomic<int> made{0};
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    std::printf("launched %d\n", made.load());
    std::fflush(stdout);
    std::raise(SIGKILL);
  });
  while (true) {
    spin<<<132, 128>>>(100);
    if (++made % 500 == 0) cudaDeviceSynchronize();
  }
}

double milliseconds_of(int configurations) {
  const double begin = seconds();
  for (int repetition = 0; repetition < 4; ++repetition) {
    for (int blocks = 1; blocks <= configurations; ++blocks) spin<<<blocks, 128>>>(20000);
  }
  cudaDeviceSynchronize();
  return 1e3 * (seconds() - begin);
}

__global__ void add(unsigned* values, std::size_t count) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    values[i] = values[i] * 3 + static_cast<unsigned>(i);
}

int wait_for(double during, double percent) {
  constexpr double kLongMs = 10;
  std::size_t free_at_first = 0;
  std::size_t free_at_last = 0;
  std::size_t total = 0;
  unsigned* values = nullptr;
  if (cudaMemGetInfo(&free_at_first, &total) != cudaSuccess) return 1;
  const auto bytes = static_cast<std::size_t>(percent / 100 * static_cast<double>(free_at_first));
  if (cudaMalloc(&values, std::max<std::size_t>(bytes, 1 << 20)) != cudaSuccess) return 1;
  constexpr std::size_t kCount = 200'000;
  if (cudaMemset(values, 0, kCount * sizeof *values) != cudaSuccess) return 1;
  if (cudaMemGetInfo(&free_at_first, &total) != cudaSuccess) return 1;
  std::size_t least_free = free_at_first;
  const double before_first = seconds();
  add<<<132, 256>>>(values, kCount);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  const double first_ms = 1e3 * (seconds() - before_first);
  double waited = 0;
  double longest = 0;
  int made = 1;
  for (const double end = seconds() + during; seconds() < end; ++made) {
    const double begin = seconds();
    add<<<132, 256>>>(values, kCount);
    if (made % 4 == 0 && cudaDeviceSynchronize() != cudaSuccess) return 1;
    const double took = 1e3 * (seconds() - begin);
    if (took > kLongMs) waited += took;
    longest = std::max(longest, took);
    if (made % 1000 != 0) continue;
    if (cudaMemGetInfo(&free_at_last, &total) != cudaSuccess) return 1;
    least_free = std::min(least_free, free_at_last);
  }
  // What any number of launches has computed: the first value stays 0, the second counts.
  unsigned found[2] = {1, 0};
  if (cudaMemcpy(found, values, sizeof found, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  unsigned expected = 0;
  for (int i = 0; i < made; ++i) expected = expected * 3 + 1;
  std::printf("first %.1f\nwaited %.1f\nlongest %.1f\ntaken %.1f\ncorrect %d\n", first_ms, waited, longest,
              static_cast<double>(free_at_first - least_free) / (1 << 20),
              found[0] == 0 && found[1] == expected);
  return cudaFree(values) == cudaSuccess ? 0 : 1;
}

}  // namespace

int main(int, char** words) {
  const int count = std::atoi(words[2]);
  if (std::strcmp(words[1], "waits") == 0) return wait_for(count, std::atof(words[3]));
  spin<<<132, 128>>>(100);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  if (std::strcmp(words[1], "looked") == 0) {
    static_cast<void>(nanoseconds_of(5000));
    std::printf("nanoseconds %.1f\n", nanoseconds_of(count));
  } else if (std::strcmp(words[1], "cold") == 0) {
    const double end = seconds() + std::atof(words[3]);
    while (seconds() < end) static_cast<void>(nanoseconds_of(5000));
    std::printf("nanoseconds %.1f\n", cold_nanoseconds_of(count));
  } else if (std::strcmp(words[1], "threads") == 0) {
    launch_from_threads(count);
  } else if (std::strcmp(words[1], "killed") == 0) {
    launch_until_killed(count);
  } else {
    std::printf("milliseconds %.3f\n", milliseconds_of(count));
  }
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
