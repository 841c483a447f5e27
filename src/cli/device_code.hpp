#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "occupancy/compute_capability.hpp"
#include "occupancy/launch.hpp"

namespace occbench {

/// A kernel's machine code for one architecture, as cuobjdump shows it.
struct DeviceKernel {
  std::string symbol;        ///< as the linker knows it
  std::string architecture;  ///< "sm_90"
  ComputeCapability compute_capability;
  Usage usage;                   ///< static shared memory without the driver's reserve
  std::int64_t stack_bytes = 0;  ///< per thread, part of usage.local_bytes_per_thread
  std::int64_t local_loads = 0;  ///< LDL instructions: spills reloaded, and arrays that registers cannot hold
  std::int64_t local_stores = 0;       ///< STL instructions
  std::int64_t max_block_threads = 0;  ///< launch bounds, 0 where the source gives none
};

/// "shared_sum<256>(float*)": the symbol as the source names it.
std::string source_name(const std::string& symbol);

/// Reads what `cuobjdump -res-usage -elf -sass` prints: per cubin its sections, its functions' resources and
/// its instructions, in this order. Functions that are no kernels are left out.
///
/// From 9.0 on the linker adds the driver's 1 KB per block to a kernel's shared memory (CUDA 13.0: ptxas
/// reports 4096 bytes where cuobjdump has 5120); it is taken off, since the limits table has it.
std::vector<DeviceKernel> parse_device_code(std::istream& cuobjdump_output);

/// The kernels of a cubin, object, library or executable, in the order of the file.
/// @throws InputError if the file cannot be read or has no machine code for a GPU, or there is no cuobjdump
/// on PATH, in $CUDA_HOME/bin, $CUDA_PATH/bin or /usr/local/cuda/bin.
std::vector<DeviceKernel> read_device_code(const std::filesystem::path& file);

}  // namespace occbench
