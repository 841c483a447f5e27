#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace occbench {

/// What a cubin says of a kernel beyond its registers and memory.
struct CubinKernel {
  int barriers = 0;                         ///< named barriers per block
  std::int64_t max_block_threads = 0;       ///< launch bounds, 0 where the source gives none
  std::int64_t required_block_threads = 0;  ///< the only block size that it can be launched with, 0 = any
};

/// A GPU's machine code as an ELF file.
struct Cubin {
  bool linked = false;  ///< an executable, whose shared memory includes the driver's reserve from 9.0 on
  std::string toolkit;  ///< version of the assembler, "13.0.88"; empty if the cubin does not say
  std::map<std::string, CubinKernel, std::less<>> kernels;  ///< by symbol; functions that are no kernels too
};

/// Reads ELF's headers and the sections `.nv.info.SYMBOL`, in the layout that cuobjdump -elf shows (CUDA 11
/// to 13): attributes of 4 bytes (format, code, value), followed by as many bytes as the value says where the
/// format is 4. @throws InputError naming `source` for what is no cubin.
Cubin parse_cubin(std::string_view bytes, std::string_view source);

}  // namespace occbench
