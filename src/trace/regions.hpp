#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace occbench {

// Names for parts of a program: the ranges that its threads open and close by NVTX (PyTorch's torch.cuda.nvtx, nvtx of C++ and
// Python) or by occbench.region of the Python package.

/// Opens a range of the calling thread. Its name is cut after 100 bytes; + and what is not printable become _.
void push_region(std::string_view name);
/// Closes the newest one; without any it does nothing.
void pop_region();

/// The ranges that the calling thread is in, "outer/inner"; empty where it is in none.
const std::string& current_region();

/// Whether these ranges have one of this name, or several that follow one another, "outer/inner".
bool is_in_region(std::string_view ranges, std::string_view region);

/// Whether any thread has opened a range.
bool regions_used();
/// Called at once at each opening of a range by a thread that was in none.
void on_region(void (*call)());

/// NVTX's way to find a function of the program's NVTX: a table by its number (nvtxTypes.h, version 3).
using NvtxTables = const void* (*)(std::uint32_t table);
/// Takes the ranges of a program's NVTX from now on. @returns whether that NVTX has the table of its calls
bool take_nvtx(NvtxTables tables);

}  // namespace occbench
