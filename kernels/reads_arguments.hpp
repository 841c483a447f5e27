#pragma once

#include <cstdint>

// What the two halves of reads share. It is also compiled at run time, and so includes next to nothing.
namespace occbench {

/// Threads of a block, at most.
inline constexpr int kReadsBlockThreads = 128;

struct ReadsArguments {
  const void* source;
  std::int64_t waits;
  std::uint32_t* sums;  ///< one a thread
};

}  // namespace occbench
