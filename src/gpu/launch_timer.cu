#include <algorithm>
#include <array>
#include <stdexcept>

#include "gpu/launch_timer.hpp"
#include "gpu/warp_record.hpp"

namespace occbench {
namespace {

/// Long enough for any queueing, short enough that a stopped host does not leave the GPU blocked.
constexpr std::int64_t kGiveUpNanoseconds = 2'000'000'000;

__global__ void block_stream(volatile StreamGate* gate) {
  const std::int64_t start = global_nanoseconds();
  while (gate->released == 0) {
    if (global_nanoseconds() - start > kGiveUpNanoseconds) {
      gate->gave_up = 1;
      return;
    }
    __nanosleep(200);
  }
}

/// Its destructor opens the gate, so that no exception leaves the stream blocked.
class Release {
 public:
  explicit Release(volatile StreamGate* gate) : gate_(gate) {}
  ~Release() {
    gate_->released = 1;
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

 private:
  volatile StreamGate* gate_;
};

}  // namespace

LaunchTimer::LaunchTimer() {
  // The first launch of the blocking kernel loads its module, so it must not block.
  gate_.get()->released = 1;
  block_stream<<<1, 1, 0, stream_.get()>>>(gate_.get());
  check(cudaGetLastError(), "launch of block_stream");
  stream_.synchronize();

  constexpr std::size_t kPairs = 15;
  std::array<double, kPairs> pairs{};
  for (double& pair : pairs) pair = event_pair([](cudaStream_t) {}, {});
  std::ranges::nth_element(pairs, pairs.begin() + kPairs / 2);
  empty_pair_microseconds_ = pairs[kPairs / 2];
}

double LaunchTimer::microseconds(const Queue& queue, const Queue& before) {
  return event_pair(queue, before) - empty_pair_microseconds_;
}

double LaunchTimer::event_pair(const Queue& queue, const Queue& before) {
  constexpr int kTries = 3;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    queue_behind_gate(queue, before);
    after_.synchronize();
    // If the stream went on by itself, the time includes the host's delays.
    if (gate_.get()->gave_up == 0) return after_.microseconds_since(before_);
  }
  throw std::runtime_error("the host was held up for over 2 s while it queued a launch, three times over");
}

void LaunchTimer::queue_behind_gate(const Queue& queue, const Queue& before) {
  gate_.get()->released = 0;
  gate_.get()->gave_up = 0;
  const Release release(gate_.get());
  block_stream<<<1, 1, 0, stream_.get()>>>(gate_.get());
  check(cudaGetLastError(), "launch of block_stream");
  if (before) before(stream_.get());
  before_.record(stream_.get());
  queue(stream_.get());
  after_.record(stream_.get());
}

namespace {

/// L2 replacement is not least-recently-used: a buffer of its size would leave some lines.
constexpr std::size_t kTimesL2 = 4;

constexpr int kBlocks = 512;
constexpr int kThreads = 512;

/// @param values are 0, so that nothing is ever written
__global__ void read_all(std::uint32_t* values, std::size_t count) {
  std::uint32_t any = 0;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    any |= values[i];
  if (any != 0) values[0] = any;
}

}  // namespace

L2Flush::L2Flush(std::size_t l2_bytes) : bytes_(kTimesL2 * l2_bytes) {}

void L2Flush::queue(cudaStream_t stream) {
  if (!memory_) {
    memory_.emplace(bytes_ / sizeof(std::uint32_t));
    check(cudaMemsetAsync(memory_->data(), 0, memory_->bytes(), stream), "cudaMemsetAsync");
  }
  read_all<<<kBlocks, kThreads, 0, stream>>>(memory_->data(), memory_->size());
  check(cudaGetLastError(), "read_all");
}

}  // namespace occbench
