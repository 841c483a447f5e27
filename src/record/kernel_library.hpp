#pragma once

#include <span>
#include <string_view>

namespace occbench {

/// A library or compiler that decides registers, block and grid of a kernel, so that its caller can not.
struct KernelLibrary {
  std::string_view name;               ///< "cuBLAS"
  std::string_view caller_can_change;  ///< after "Its caller can": a clause without a full stop
};

/// How kernels of one are known by their names. A name matches that has both parts.
struct LibraryPattern {
  std::string_view begins;    ///< the function's name with its namespaces, without return type, begins so
  std::string_view contains;  ///< the whole name, parameters included, contains this
  const KernelLibrary* library;
};

/// The table. The first line that matches counts. A kernel of a library that it lacks counts as the user's own.
std::span<const LibraryPattern> library_patterns();

/// @param kernel  demangled, as the column `kernel`
/// @returns nullptr for a kernel of no library of the table
const KernelLibrary* library_of(std::string_view kernel);

}  // namespace occbench
