#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include <cuda/atomic>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/atomic_forms.hpp"
#include "kernels/result_of_launch.hpp"

namespace occbench {
namespace {

template <AtomicType type>
using ValueOf =
    std::conditional_t<type == AtomicType::float32, float,
                       std::conditional_t<type == AtomicType::uint32, unsigned, unsigned long long>>;

constexpr cuda::thread_scope cuda_scope(AtomicScope scope) {
  switch (scope) {
    case AtomicScope::block:
      return cuda::thread_scope_block;
    case AtomicScope::device:
      return cuda::thread_scope_device;
    case AtomicScope::system:
      break;
  }
  return cuda::thread_scope_system;
}

template <AtomicScope scope, typename Value>
__device__ void add_by_function(Value* total, Value value) {
  if constexpr (scope == AtomicScope::block) {
    atomicAdd_block(total, value);
  } else if constexpr (scope == AtomicScope::device) {
    atomicAdd(total, value);
  } else {
    atomicAdd_system(total, value);
  }
}

template <AtomicForm form, AtomicScope scope, typename Value>
__device__ void add_in_form(Value* total, Value value) {
  const cuda::atomic_ref<Value, cuda_scope(scope)> atomic(*total);
  if constexpr (form == AtomicForm::atomic_ref) {
    atomic.fetch_add(value, cuda::memory_order_relaxed);
  } else if constexpr (form == AtomicForm::function) {
    add_by_function<scope>(total, value);
  } else if constexpr (form == AtomicForm::ordered) {
    atomic.fetch_add(value);
  } else {
    Value old = atomic.load(cuda::memory_order_relaxed);
    while (!atomic.compare_exchange_weak(old, old + value, cuda::memory_order_relaxed)) {
    }
  }
}

/// The value that a thread adds: small, so that a float sums exactly.
__host__ __device__ unsigned value_of_thread(unsigned thread) {
  return thread % 7 + 1;
}

template <AtomicForm form, AtomicType type, AtomicScope scope>
__global__ void atomic_forms_kernel(void* totals, unsigned threads_per_address) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  auto* const total = static_cast<ValueOf<type>*>(totals) + thread / threads_per_address;
  add_in_form<form, scope>(total, static_cast<ValueOf<type>>(value_of_thread(thread)));
}

struct AtomicFormsBuild {
  std::string name;
  AtomicForm form;
  AtomicType type;
  AtomicScope scope;
  void (*function)(void*, unsigned);
};

template <AtomicForm form, AtomicType type, AtomicScope... scopes>
void append_scopes(std::deque<AtomicFormsBuild>& builds) {
  (builds.push_back({atomic_forms_variant(form, type, scopes), form, type, scopes,
                     atomic_forms_kernel<form, type, scopes>}),
   ...);
}

template <AtomicType type, AtomicForm... forms>
void append_forms(std::deque<AtomicFormsBuild>& builds) {
  (append_scopes<forms, type, AtomicScope::block, AtomicScope::device, AtomicScope::system>(builds), ...);
}

template <AtomicType... types>
std::deque<AtomicFormsBuild> all_atomic_forms() {
  std::deque<AtomicFormsBuild> builds;
  (append_forms<types, AtomicForm::atomic_ref, AtomicForm::function, AtomicForm::ordered,
                AtomicForm::compare_swap>(builds),
   ...);
  return builds;
}

/// The variants point to these names.
const std::deque<AtomicFormsBuild> kAtomicFormsBuilds =
    all_atomic_forms<AtomicType::float32, AtomicType::uint32, AtomicType::uint64>();

const std::vector<Variant> kAtomicFormsVariants = [] {
  std::vector<Variant> variants;
  for (const AtomicFormsBuild& build : kAtomicFormsBuilds)
    variants.push_back(make_variant(build.name, build.function));
  return variants;
}();

template <typename Value>
class PreparedAtomicForms final : public Prepared {
 public:
  PreparedAtomicForms(const Case& chosen, const Variant& variant)
      : function_(variant.function),
        launch_(chosen.launch),
        threads_(launch_.grid_blocks * launch_.block_threads),
        threads_per_address_(std::min(chosen.extent, threads_)),
        totals_(static_cast<std::size_t>((threads_ - 1) / threads_per_address_ + 1)) {
    totals_.fill_bytes(0);
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel(function_, launch_, stream, static_cast<void*>(totals_.data()),
                  static_cast<unsigned>(threads_per_address_));
  }

  /// Adds to the present contents, so it starts from 0.
  Check check(cudaStream_t stream) override {
    const std::vector<Value> totals = result_of_launch(*this, stream, totals_, 0);
    std::vector<std::uint64_t> reference(totals.size());
    for (std::int64_t thread = 0; thread < threads_; ++thread)
      reference[static_cast<std::size_t>(thread / threads_per_address_)] +=
          value_of_thread(static_cast<unsigned>(thread));
    const bool same = std::ranges::equal(totals, reference, [](Value total, std::uint64_t wanted) {
      return total == static_cast<Value>(wanted);
    });
    return same ? Check::ok : Check::wrong;
  }

  Amount useful() const override {
    return {static_cast<double>(threads_), "adds"};
  }

 private:
  const void* function_;
  Launch launch_;
  std::int64_t threads_;
  std::int64_t threads_per_address_;
  DeviceBuffer<Value> totals_;
};

std::unique_ptr<Prepared> prepare_atomic_forms(const Case& chosen, const Variant& variant, const Device&) {
  const auto build = std::ranges::find(kAtomicFormsBuilds, variant.name, &AtomicFormsBuild::name);
  switch (build->type) {
    case AtomicType::float32:
      return std::make_unique<PreparedAtomicForms<float>>(chosen, variant);
    case AtomicType::uint32:
      return std::make_unique<PreparedAtomicForms<unsigned>>(chosen, variant);
    case AtomicType::uint64:
      break;
  }
  return std::make_unique<PreparedAtomicForms<unsigned long long>>(chosen, variant);
}

}  // namespace

std::string_view to_string(AtomicForm form) {
  constexpr std::string_view kNames[] = {"atomic_ref", "function", "ordered", "compare_swap"};
  return kNames[static_cast<int>(form)];
}

std::string_view to_string(AtomicType type) {
  constexpr std::string_view kNames[] = {"float32", "uint32", "uint64"};
  return kNames[static_cast<int>(type)];
}

std::string_view to_string(AtomicScope scope) {
  constexpr std::string_view kNames[] = {"block", "device", "system"};
  return kNames[static_cast<int>(scope)];
}

std::string atomic_forms_variant(AtomicForm form, AtomicType type, AtomicScope scope) {
  return std::string(to_string(form)) + '_' + std::string(to_string(type)) + '_' +
         std::string(to_string(scope));
}

const Kernel kAtomicForms{"atomic_forms", "each thread adds once by an atomic of a form, type and scope",
                          kAtomicFormsVariants, prepare_atomic_forms};

}  // namespace occbench
