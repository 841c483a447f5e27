#include <algorithm>
#include <array>

#include "gpu/launch_timer.hpp"
#include "gpu/warp_record.hpp"

namespace occbench {
namespace {

/// Long enough for any queueing, short enough that a host that stopped does not leave the GPU blocked.
constexpr std::int64_t kGiveUpNanoseconds = 2'000'000'000;

__global__ void block_stream(volatile int* released) {
  const std::int64_t start = global_nanoseconds();
  while (*released == 0 && global_nanoseconds() - start < kGiveUpNanoseconds) __nanosleep(200);
}

/// Opens the gate when it goes, so that no exception leaves the stream blocked.
class Release {
 public:
  explicit Release(volatile int* released) : released_(released) {}
  ~Release() {
    *released_ = 1;
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  volatile int* released_;
};

}  // namespace

LaunchTimer::LaunchTimer() {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, sizeof(int), cudaHostAllocMapped), "cudaHostAlloc");
  released_ = static_cast<volatile int*>(memory);
  // The first launch of the blocking kernel loads its module, so it must not block.
  *released_ = 1;
  block_stream<<<1, 1, 0, stream_.get()>>>(released_);
  check(cudaGetLastError(), "launch of block_stream");
  stream_.synchronize();

  constexpr std::size_t kPairs = 15;
  std::array<double, kPairs> pairs{};
  for (double& pair : pairs) pair = event_pair([](cudaStream_t) {});
  std::ranges::nth_element(pairs, pairs.begin() + kPairs / 2);
  empty_pair_microseconds_ = pairs[kPairs / 2];
}

LaunchTimer::~LaunchTimer() {
  static_cast<void>(cudaFreeHost(const_cast<int*>(released_)));
}

double LaunchTimer::microseconds(const std::function<void(cudaStream_t)>& queue) {
  return event_pair(queue) - empty_pair_microseconds_;
}

double LaunchTimer::event_pair(const std::function<void(cudaStream_t)>& queue) {
  *released_ = 0;
  {
    const Release release(released_);
    block_stream<<<1, 1, 0, stream_.get()>>>(released_);
    check(cudaGetLastError(), "launch of block_stream");
    before_.record(stream_.get());
    queue(stream_.get());
    after_.record(stream_.get());
  }
  after_.synchronize();
  return after_.microseconds_since(before_);
}

}  // namespace occbench
