#include "kernels/warp_cycles.hpp"

#include <limits>
#include <vector>

#include "occupancy/input_error.hpp"

namespace occbench {

WarpCycles::WarpCycles(Work work, std::int64_t blocks, int warps_per_block)
    : work_(std::move(work)), blocks_(blocks), warps_per_block_(warps_per_block) {
  // All units of equal work share one value; a stride of 0 makes each of them read it.
  const bool one_value = work_.distribution.form == WorkForm::equal;
  const std::int64_t units = one_value ? 1 : work_.unit_count(blocks, warps_per_block);
  block_stride_ = one_value ? 0 : work_.unit_of(1, 0, warps_per_block);
  warp_stride_ = one_value ? 0 : static_cast<int>(work_.unit_of(0, 1, warps_per_block));
  std::vector<std::uint32_t> values(static_cast<std::size_t>(units));
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const std::int64_t cycles = work_.cycles_of(unit, units);
    if (cycles >= std::numeric_limits<std::uint32_t>::max()) {
      throw InputError("a unit of work is longer than 4,294,967,294 cycles");
    }
    values[static_cast<std::size_t>(unit)] = static_cast<std::uint32_t>(cycles);
  }
  values_ = DeviceBuffer<std::uint32_t>(std::span<const std::uint32_t>(values));
}

double WarpCycles::total() const {
  double total = 0;
  for (std::int64_t block = 0; block < blocks_; ++block) {
    for (int warp = 0; warp < warps_per_block_; ++warp) total += static_cast<double>(of(block, warp));
  }
  return total;
}

}  // namespace occbench
