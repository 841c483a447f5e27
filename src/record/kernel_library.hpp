#pragma once

#include <string_view>

namespace occbench {

/// A library or compiler that decides registers, block and grid of a kernel, so that its caller cannot.
struct KernelLibrary {
  std::string_view name;               ///< "cuBLAS"
  std::string_view caller_can_change;  ///< after "Its caller can": a clause without a full stop
  bool is_spared = false;              ///< the caller's change removes the launch
  bool waits_for_gpus = false;         ///< waits for other GPUs, for most of its time
  bool has_producers = false;          ///< from compute capability 9.0 on: warps that load for others
};

/// The library in the first matching line of a table. C names, without parameters, are recognized by the naming of
/// XLA and PyTorch. A kernel of a library outside the table counts as the user's own.
/// @param kernel  demangled, as the column `kernel`
/// @returns nullptr for a kernel of no library of the table
const KernelLibrary* library_of(std::string_view kernel);

/// Whether the name says that nvc++, nvfortran, Clang or GCC compiled it from OpenACC or OpenMP directives.
bool is_of_directives(std::string_view kernel);

// Parts of kernel names: here, because the browser page has no demangler.

/// One past the bracket that closes the one at `begin`; the end of the text if none does. "->" closes none,
/// but the ">" of an operator's name does.
std::size_t end_of_bracket(std::string_view text, std::size_t begin);

/// The function of a demangled name, with namespaces and template arguments, without return type and parameters.
std::string_view function_of(std::string_view demangled);

}  // namespace occbench
