#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace occbench {

// Names for parts of a program: the ranges that its threads open and close by NVTX (PyTorch's torch.cuda.nvtx, nvtx of C++ and
// Python) or by occbench.region of the Python package.

/// Opens a range of the calling thread. Its name is cut after 100 bytes; + and unprintable characters become _.
void push_region(std::string_view name);
/// Closes the newest one, if there is one.
void pop_region();

/// The ranges that the calling thread is in, "outer/inner"; empty if none.
const std::string& current_region();

/// Whether these ranges contain this one, or these nested ones: "outer/inner".
bool is_in_region(std::string_view ranges, std::string_view region);

/// Whether any thread has opened a range.
bool regions_used();
/// Called at once when a thread that is in no range opens one.
void on_region(void (*call)());

/// NVTX's function that returns one of its tables by number (nvtxTypes.h, version 3).
using NvtxTables = const void* (*)(std::uint32_t table);
/// Receives the ranges of a program's NVTX from now on. @returns whether that NVTX has its table of calls
bool take_nvtx(NvtxTables tables);

}  // namespace occbench
