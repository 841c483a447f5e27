#pragma once

#include "gpu/warp_record.hpp"
#include "kernels/static_shared.cuh"
#include "kernels/stay.hpp"

namespace occbench {
namespace {

/// @param records null when timed or counted: writing records would change the launch
__global__ void spin_kernel(WarpCyclesView cycles, WarpRecord* records) {
  const long long start = clock64();
  keep_static_shared();
  WarpRecord record;
  if (records != nullptr) record = begin_record(start);
  stay(start, cycles.of(blockIdx.x, threadIdx.x / 32));
  if (records != nullptr) end_record(record, records);
}

}  // namespace
}  // namespace occbench
