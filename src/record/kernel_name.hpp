#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace occbench {

/// A kernel's name as in its source, with namespaces, template arguments and parameters. The inline namespaces of CUB
/// and Thrust are left out: they name the architectures of a build, CUB_300001_SM_800_900. A name that no C++
/// compiler mangled is returned unchanged. So is a name of more than 1,024 characters (the limit of GCC's demangler),
/// or one that stands for more than kMostOfDemangledName: a short name can stand for gigabytes.
std::string demangled_kernel_name(const std::string& name);

/// The kernel's name in the source, with its parameters: "shared_sum<256>(float*)"; the name alone if it has none
/// (extern "C").
std::string source_name(const std::string& symbol);

/// Most bytes of a demangled name. The longest recorded one has 5,082.
inline constexpr std::size_t kMostOfDemangledName = std::size_t{1} << 16;

/// A mangled name without the parts that differ between builds of the same source: nvcc's hashes in the names of
/// anonymous namespaces (of the source's path and of the module), the architectures in the namespaces of CUB and
/// Thrust, and numba's tags (number of the compilation, hash of its options). The result is a mangled name.
///   _ZN37_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji -> _ZN21_GLOBAL__N__sample_cu4fillEPji
///   _ZN3cub17CUB_300001_SM_9006detail... -> _ZN3cub10CUB_3000016detail...
///   _ZN8__main__10add_racingB2v1B104cw51cXTLSUw...E -> _ZN8__main__10add_racingE
std::string kernel_name_of_any_build(std::string name);

/// Longest name that shortened_kernel_name() returns, characters.
inline constexpr std::size_t kLongestKernelName = 80;

/// A demangled name as people write it: without return type, parameters and namespaces. The longer it is, the fewer
/// nested template arguments it keeps. "..." marks a cut. Never empty for a name that is not.
///   void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>
///   >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)
///   -> vectorized_elementwise_kernel<4, FillFunctor<float>, array<char*, 1>>
std::string shortened_kernel_name(std::string_view demangled);

/// Bytes at the start of a kernel's name that `--kernels` examines. The longest recorded name has 5,082.
inline constexpr std::size_t kMostOfName = 8192;

/// Whether `--kernels` selects a kernel by its demangled name: a POSIX extended regular expression that must occur in
/// it, or, with '-' in front, must not. Empty or "all" selects every kernel.
///
/// It uses the C library: the library that is injected into programs may bring no other, and RE2 would need this
/// machine's C++ library there. The C library compiles some expressions without bound, so code that takes one from a
/// user calls checked_kernel_filter() instead.
/// @throws InputError if it is not a regular expression
std::function<bool(std::string_view name)> kernel_filter(const std::string& text);

}  // namespace occbench
