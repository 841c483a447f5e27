#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace occbench {

/// Bytes of a kernel's name that `--kernels` looks at, from its begin. The longest recorded name has 5,082.
inline constexpr std::size_t kMostOfName = 8192;

/// Whether `--kernels` selects a kernel by its demangled name: an extended regular expression of POSIX that is found anywhere
/// in it, or with '-' in front is found nowhere in it; empty or "all" selects every kernel.
///
/// It is the C library's, since the library that is injected into programs may bring no other: there RE2 would need the C++
/// library of this machine. The C library compiles some expressions without bound, so that whoever takes one from a user calls
/// check_kernel_filter() first.
/// @throws InputError if it is not a regular expression
std::function<bool(std::string_view name)> kernel_filter(const std::string& text);

}  // namespace occbench
