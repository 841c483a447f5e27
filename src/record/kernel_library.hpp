#pragma once

#include <string_view>

namespace occbench {

/// A library or compiler that decides registers, block and grid of a kernel, so that its caller can not.
struct KernelLibrary {
  std::string_view name;               ///< "cuBLAS"
  std::string_view caller_can_change;  ///< after "Its caller can": a clause without a full stop
  bool is_spared = false;              ///< by what its caller can do: there is no such launch then
  bool waits_for_gpus = false;         ///< others, for most of its time
  bool has_producers = false;          ///< of compute capability 9.0 and later: warps that load for others
};

/// By the first line of a table that matches. Names without parameters, as C has them, are also known by how XLA and PyTorch
/// make theirs. A kernel of a library that it lacks counts as the user's own.
/// @param kernel  demangled, as the column `kernel`
/// @returns nullptr for a kernel of no library of the table
const KernelLibrary* library_of(std::string_view kernel);

/// Whether it was compiled from directives, OpenACC's or OpenMP's, as its name says: by nvc++ and nvfortran, Clang, or GCC.
bool is_of_directives(std::string_view kernel);

// What the names of kernels are made of: here, since the page for the browser has no demangler.

/// Where the bracket that opens at `begin` closes, one past it; the end of the text if it does not.
/// "->" and the operators of names close nothing.
std::size_t end_of_bracket(std::string_view text, std::size_t begin);

/// The function's name of a demangled one, with namespaces and template arguments: what stands before the parameters,
/// behind the return type.
std::string_view function_of(std::string_view demangled);

}  // namespace occbench
