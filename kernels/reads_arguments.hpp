#pragma once

#include <cstdint>

// Shared by the two halves of reads. It is also compiled at run time, so it includes almost nothing.
namespace occbench {

/// Most threads of a block.
inline constexpr int kReadsBlockThreads = 128;

struct ReadsArguments {
  const void* source;
  std::int64_t waits;
  std::uint32_t* sums;  ///< one per thread
};

}  // namespace occbench
