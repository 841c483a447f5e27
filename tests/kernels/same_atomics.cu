#include <cuda/atomic>
#include <cuda/std/atomic>

/// Adds that are written in different ways and have no cases of their own in the experiment atomic_forms, with
/// those that have. Nothing runs them: same_atomics_test.cpp compares their machine code, and results/nvidia-h200/
/// atomic_forms.md says what it is.
template <typename Value>
using OfSystem = cuda::atomic_ref<Value, cuda::thread_scope_system>;
template <typename Value>
using OfDevice = cuda::atomic_ref<Value, cuda::thread_scope_device>;

// Names without mangling, which the test and cuobjdump show as they are.
#define ADD(name, Value, add)                                              \
  extern "C" __global__ void name(Value* const total, const Value value) { \
    add;                                                                   \
  }
#define RELAXED(name, Value, Atomic) \
  ADD(name, Value, Atomic(*total).fetch_add(value, cuda::std::memory_order_relaxed))
#define ORDERED(name, Value, Atomic) ADD(name, Value, Atomic(*total).fetch_add(value))

RELAXED(relaxed_float_system, float, OfSystem<float>)
RELAXED(relaxed_float_std, float, cuda::std::atomic_ref<float>)
RELAXED(relaxed_unsigned_system, unsigned, OfSystem<unsigned>)
RELAXED(relaxed_unsigned_std, unsigned, cuda::std::atomic_ref<unsigned>)
ORDERED(ordered_float_system, float, OfSystem<float>)
ORDERED(ordered_float_std, float, cuda::std::atomic_ref<float>)
ORDERED(ordered_unsigned_system, unsigned, OfSystem<unsigned>)
ORDERED(ordered_unsigned_std, unsigned, cuda::std::atomic_ref<unsigned>)

RELAXED(relaxed_unsigned_device, unsigned, OfDevice<unsigned>)
RELAXED(relaxed_int_device, int, OfDevice<int>)
ADD(function_unsigned_device, unsigned, atomicAdd(total, value))
ADD(function_int_device, int, atomicAdd(total, value))

RELAXED(relaxed_double_device, double, OfDevice<double>)
ADD(function_double_device, double, atomicAdd(total, value))
