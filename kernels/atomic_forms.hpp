#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/kernel.hpp"

namespace occbench {

/// Each thread adds its value to device memory by one atomic. `extent` consecutive threads share an address;
/// a larger `extent` than the launch's threads means one address for all. The address is computed, so that
/// the compiler cannot combine a warp's adds.
///
/// A variant is a form, a type and a scope (atomic_forms_variant), each with different machine code on sm_90:
///   atomic_ref     cuda::atomic_ref, relaxed fetch_add: ATOM, which returns the old value
///   function       atomicAdd, atomicAdd_block, atomicAdd_system: RED, which returns nothing
///   ordered        cuda::atomic_ref, fetch_add with the default order (sequentially consistent): a fence and
///                  ATOM
///   compare_swap   a loop of compare_exchange_weak, relaxed: ATOM.CAS
/// cuda::std::atomic_ref is cuda::atomic_ref of system scope, and atomicAdd of int is that of unsigned: their
/// code would be the same (tests/kernels/same_atomics.cu).
extern const Kernel kAtomicForms;

inline constexpr int kAtomicFormsBlockThreads = 256;

enum class AtomicForm { atomic_ref, function, ordered, compare_swap };
enum class AtomicType { float32, uint32, uint64 };
enum class AtomicScope { block, device, system };

inline constexpr AtomicForm kAtomicFormKinds[] = {AtomicForm::atomic_ref, AtomicForm::function,
                                                  AtomicForm::ordered, AtomicForm::compare_swap};
inline constexpr AtomicType kAtomicTypes[] = {AtomicType::float32, AtomicType::uint32, AtomicType::uint64};
inline constexpr AtomicScope kAtomicScopes[] = {AtomicScope::block, AtomicScope::device, AtomicScope::system};

std::string_view to_string(AtomicForm form);
std::string_view to_string(AtomicType type);
std::string_view to_string(AtomicScope scope);

/// Name of the variant: "function_uint32_device".
std::string atomic_forms_variant(AtomicForm form, AtomicType type, AtomicScope scope);

}  // namespace occbench
