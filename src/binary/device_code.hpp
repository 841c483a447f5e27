#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "occupancy/launch.hpp"
#include "occupancy/limits.hpp"
#include "record/kernel_name.hpp"

namespace occbench {

/// Loads from and stores to local memory, as instructions and as bytes per thread.
struct LocalAccesses {
  std::int64_t loads = 0;
  std::int64_t stores = 0;
  std::int64_t bytes = 0;
};

/// Which blocks and clusters a kernel can be launched with.
struct LaunchBounds {
  std::int64_t max_block_threads = 0;       ///< 0 if the source gives none
  std::int64_t required_block_threads = 0;  ///< the only block size, 0 = any
  int cluster_blocks = 0;                   ///< the only cluster, in blocks; 0 = any
  int max_cluster_blocks = 0;               ///< 0 if the source gives none

  /// A clause; empty if it can be launched. A launch without clusters gets those of the source.
  std::string why_not(const Launch& launch) const {
    if (cluster_blocks > 0 && launch.cluster_blocks > 1 && launch.cluster_blocks != cluster_blocks)
      return fmt::format("the source sets clusters of {} blocks, which clusters of {} contradict",
                         cluster_blocks, launch.cluster_blocks);
    if (max_cluster_blocks > 0 && launch.cluster_blocks > max_cluster_blocks)
      return fmt::format("the launch bounds do not allow clusters of {} blocks", launch.cluster_blocks);
    const std::int64_t threads = launch.block_threads;
    const bool can = required_block_threads > 0 ? threads == required_block_threads
                                                : max_block_threads == 0 || threads <= max_block_threads;
    return can ? "" : fmt::format("the launch bounds do not allow {} threads per block", threads);
  }
};

/// A kernel's machine code for one architecture.
struct DeviceKernel : LaunchBounds {
  std::string symbol;  ///< as the linker knows it
  std::string
      architecture;  ///< "sm_90", "sm_90a", "sm_100f"; of a cubin alone without the f, which it does not say
  ComputeCapability compute_capability;
  Usage usage;  ///< static shared memory without the driver's reserve
  /// Per thread, part of usage.local_bytes_per_thread; none if it is not known, as with recursion.
  std::optional<std::int64_t> stack_bytes{};
  /// LDL and STL instructions: spills, and arrays that registers cannot hold. None if they are not known: functions
  /// with code of their own have some, generic instructions (of nvcc -G) use the stack, too many cubins would have to
  /// be disassembled, or nvdisasm is missing or lacks the architecture.
  std::optional<LocalAccesses> local = LocalAccesses();
  /// Between its warps (setmaxnreg). A warp waits forever for registers that its block was not launched with.
  bool moves_registers = false;
  std::string toolkit;  ///< version of the assembler, "13.0.88"; empty if not known
};

/// Within these limits no answer names a block size that the kernel cannot be launched with. Nor does it name fewer
/// registers if the kernel spills, may spill, or moves them between its warps.
inline void narrow_to_kernel(Limits& limits, const DeviceKernel& kernel) {
  const auto required = static_cast<int>(kernel.required_block_threads);
  if (required > 0) limits.min_threads_per_block = limits.max_threads_per_block = required;
  if (kernel.max_block_threads > 0)
    limits.max_threads_per_block =
        static_cast<int>(std::min<std::int64_t>(limits.max_threads_per_block, kernel.max_block_threads));
  if (!kernel.local || kernel.local->bytes > 0 || kernel.moves_registers)
    limits.min_registers_per_thread = kernel.usage.registers_per_thread;
}

/// nvdisasm takes seconds for a cubin of half a megabyte, and libraries have thousands.
inline constexpr std::size_t kMostDisassembled = 50;

/// Which kernels of a binary are asked for.
struct CodeSelection {
  std::string kernels = {};       ///< regular expression found in a kernel's source name; empty = all
  std::string architecture = {};  ///< "sm_90a", "sm_90", or for both "90", "9.0"; empty = all
  std::optional<ComputeCapability> runs_on =
      {};  ///< only the code that such a GPU runs, for each kernel; empty = all
  std::size_t most_disassembled = kMostDisassembled;  ///< cubins
};

/// The kernels of a cubin, object, library or executable, in the order of the file. Registers and memory are read for
/// all of them, launch bounds and barriers for the cubins of the requested ones. Instructions are read for those that
/// may use local memory, if they are not in too many cubins; kernels that cannot use local memory
/// have none.
///
/// From 9.0 on the linker adds the driver's 1 KB per block to a kernel's shared memory (CUDA 13.0: ptxas reports 4096
/// bytes, cuobjdump 5120). It is subtracted, since the limits table has it.
/// @param remarks  gets a line if instructions are not counted
/// @throws InputError if the file cannot be read, has no machine code for a GPU or none of the requested code, if some
/// of that is relocatable, or if there is no cuobjdump (cuobjdump.hpp).
std::vector<DeviceKernel> read_device_code(const std::filesystem::path& file, const CodeSelection& selection,
                                           std::ostream& remarks);

// These are here for the web page, which links no code that reads binaries.

/// "shapes::reversed<256>(float*) sm_90"
inline std::string case_name(const DeviceKernel& kernel) {
  return fmt::format("{} {}", source_name(kernel.symbol), kernel.architecture);
}

/// All that a row says about a kernel beside its name.
inline auto needs_of(const DeviceKernel& kernel) {
  const LocalAccesses local = kernel.local.value_or(LocalAccesses());
  return std::tuple(kernel.usage.registers_per_thread, kernel.usage.static_shared_bytes,
                    kernel.usage.local_bytes_per_thread, kernel.usage.barriers, kernel.max_block_threads,
                    local.bytes, local.loads, local.stores, kernel.local.has_value(), kernel.stack_bytes,
                    kernel.required_block_threads, kernel.cluster_blocks, kernel.max_cluster_blocks);
}

/// Without copies with the same needs, such as a static kernel in a header: one more file that includes it is not a
/// change.
inline std::vector<DeviceKernel> without_copies(std::span<const DeviceKernel> kernels) {
  std::set<std::pair<std::string, decltype(needs_of(kernels[0]))>> seen;
  std::vector<DeviceKernel> first;
  std::ranges::copy_if(kernels, std::back_inserter(first), [&](const DeviceKernel& kernel) {
    return seen.emplace(case_name(kernel), needs_of(kernel)).second;
  });
  return first;
}

/// "shapes::reversed<256>(float*) sm_90", with "(1 of 2)" after it if several of one name differ in their needs. The
/// needs give the order, so another order in the file is not a change, and another number of them does not match.
/// @pre no copies
inline std::vector<std::string> case_names(std::span<const DeviceKernel> kernels) {
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < kernels.size(); ++i) alike[case_name(kernels[i])].push_back(i);
  std::vector<std::string> names(kernels.size());
  for (auto& [name, places] : alike) {
    std::ranges::sort(places, {}, [&](std::size_t i) { return needs_of(kernels[i]); });
    for (std::size_t number = 0; number < places.size(); ++number)
      names[places[number]] =
          places.size() == 1 ? name : fmt::format("{} ({} of {})", name, number + 1, places.size());
  }
  return names;
}

/// A cubin's statements on a kernel beyond its registers and memory.
struct CubinKernel : LaunchBounds {
  int barriers = 0;              ///< named barriers per block
  bool calls = false;            ///< functions that have code of their own
  bool has_functions = false;    ///< within its code; the stack does not include their recursion
  bool moves_registers = false;  ///< between its warps (setmaxnreg)
  std::vector<std::uint32_t> parameter_bytes{};  ///< of each parameter
};

/// A GPU's machine code as an ELF file.
struct Cubin {
  std::size_t code = 0;  ///< hash of machine code and constants, without names
  bool linked = false;   ///< an executable, not relocatable
  std::string toolkit;   ///< version of the assembler, "13.0.88"; empty if the cubin does not say
  std::map<std::string, CubinKernel, std::less<>> kernels;  ///< by symbol; other functions too
};

/// Reads ELF's headers and the sections `.nv.info*` and `.nv.callgraph`, as cuobjdump -elf shows them (CUDA 11 to 13):
/// attributes of 4 bytes (format, code, value), followed by as many bytes as the value says if the format is 4. @throws
/// InputError naming `source` if it is not a cubin.
Cubin parse_cubin(std::string_view bytes, std::string_view source);

}  // namespace occbench
