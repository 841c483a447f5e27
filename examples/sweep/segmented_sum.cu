// Sums of 262,144 segments of 1 to 127 numbers: LANES threads add up a segment, and each reads UNROLL numbers at a time.
//
//   occbench sweep --source examples/sweep/segmented_sum.cu --kernel sums --fastest --out sums.csv
//     --arg 'float[1<<24]' --arg 'float[1<<18]=zeros' --check-against 'naive<<<1024,256>>>'
//     --block-size 64,96,128,192,256,384,512,768,1024 --define LANES=2,4,8,16,32 --define UNROLL=1,2,4
//     --define PER=1,2,4,8 --grid '{(256K * LANES / PER + block_size - 1) / block_size}'
#ifndef LANES
#define LANES 8
#define UNROLL 2
#define PER 1
#endif
constexpr int kSegments = 1 << 18, kMean = 64;

// Where a segment begins: anywhere in its 64 numbers, so that lengths differ.
__device__ int begin_of(int segment) {
  return segment * kMean + static_cast<int>(segment * 2654435761u >> 26);
}

__device__ int end_of(int segment) {
  return segment + 1 < kSegments ? begin_of(segment + 1) : kSegments * kMean;
}

__global__ void sums(const float* values, float* result) {
  const int group = (blockIdx.x * blockDim.x + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
#pragma unroll
  for (int each = 0; each < PER; ++each) {
    const int segment = group * PER + each;
    const int end = segment < kSegments ? end_of(segment) : 0;  // all lanes of a warp come to the shuffle
    float partial[UNROLL] = {};
    for (int at = begin_of(segment) + lane; at < end; at += LANES * UNROLL) {
#pragma unroll
      for (int i = 0; i < UNROLL; ++i) {
        if (at + i * LANES < end) partial[i] += values[at + i * LANES];
      }
    }
    float sum = 0;
    for (int i = 0; i < UNROLL; ++i) sum += partial[i];
    for (int step = LANES / 2; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffff, sum, step, LANES);
    if (lane == 0 && segment < kSegments) result[segment] = sum;
  }
}

__global__ void naive(const float* values, float* result) {
  const int segment = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int at = begin_of(segment); at < end_of(segment); ++at) sum += values[at];
  result[segment] = sum;
}
