#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/launch.hpp"
#include "kernels/assembled.hpp"
#include "kernels/atomic_operations.hpp"
#include "kernels/result_of_launch.hpp"

namespace occbench {
namespace {

enum class AtomicOperation { add, sub, max, min, compare_swap };

/// Never 0, and negative for half of the threads, so that both maximum and minimum change 0.
__host__ __device__ int operand_of_thread(unsigned thread) {
  const int size = static_cast<int>(thread % 1021) + 1;
  return thread % 2 == 0 ? size : -size;
}

template <AtomicOperation operation>
__global__ void atomic_operations_kernel(int* values, unsigned threads_per_address) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  int* const value = values + thread / threads_per_address;
  const int operand = operand_of_thread(thread);
  if constexpr (operation == AtomicOperation::add) atomicAdd(value, operand);
  if constexpr (operation == AtomicOperation::sub) atomicSub(value, operand);
  if constexpr (operation == AtomicOperation::max) atomicMax(value, operand);
  if constexpr (operation == AtomicOperation::min) atomicMin(value, operand);
  if constexpr (operation == AtomicOperation::compare_swap) atomicCAS(value, 0, operand);
}

const Variant kAtomicOperationsVariants[] = {
    make_variant("add", atomic_operations_kernel<AtomicOperation::add>),
    make_variant("sub", atomic_operations_kernel<AtomicOperation::sub>),
    make_variant("max", atomic_operations_kernel<AtomicOperation::max>),
    make_variant("min", atomic_operations_kernel<AtomicOperation::min>),
    make_variant("compare_swap", atomic_operations_kernel<AtomicOperation::compare_swap>)};

/// Whether operations of threads `first` to `end` - 1 can turn 0 into `value`.
bool is_result(AtomicOperation operation, int value, unsigned first, unsigned end) {
  std::int64_t sum = 0;
  int most = 0;
  int least = 0;
  bool is_operand = false;
  for (unsigned thread = first; thread < end; ++thread) {
    const int operand = operand_of_thread(thread);
    sum += operand;
    most = std::max(most, operand);
    least = std::min(least, operand);
    is_operand = is_operand || operand == value;
  }
  switch (operation) {
    case AtomicOperation::add:
      return value == sum;
    case AtomicOperation::sub:
      return value == -sum;
    case AtomicOperation::max:
      return value == most;
    case AtomicOperation::min:
      return value == least;
    case AtomicOperation::compare_swap:
      break;
  }
  return is_operand;
}

class PreparedAtomicOperations final : public Prepared {
 public:
  PreparedAtomicOperations(const Case& chosen, const Variant& variant)
      : operation_(static_cast<AtomicOperation>(&variant - kAtomicOperationsVariants)),
        function_(variant.function),
        launch_(chosen.launch),
        threads_(launch_.grid_blocks * launch_.block_threads),
        threads_per_address_(std::min(chosen.extent, threads_)),
        values_(static_cast<std::size_t>((threads_ - 1) / threads_per_address_ + 1)) {
    values_.fill_bytes(0);
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel(function_, launch_, stream, values_.data(), static_cast<unsigned>(threads_per_address_));
  }

  /// Starts from 0, because operations change the present contents.
  Check check(cudaStream_t stream) override {
    const std::vector<int> values = result_of_launch(*this, stream, values_, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t first = static_cast<std::int64_t>(i) * threads_per_address_;
      const std::int64_t end = std::min(first + threads_per_address_, threads_);
      if (!is_result(operation_, values[i], static_cast<unsigned>(first), static_cast<unsigned>(end)))
        return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    return {static_cast<double>(threads_), "operations"};
  }

 private:
  AtomicOperation operation_;
  const void* function_;
  Launch launch_;
  std::int64_t threads_;
  std::int64_t threads_per_address_;
  DeviceBuffer<int> values_;
};

std::unique_ptr<Prepared> prepare_atomic_operations(const Case& chosen, const Variant& variant,
                                                    const Device&) {
  return std::make_unique<PreparedAtomicOperations>(chosen, variant);
}

}  // namespace

const Kernel kAtomicOperations{"atomic_operations", "each thread does one atomic operation of a kind",
                               kAtomicOperationsVariants, prepare_atomic_operations};

}  // namespace occbench
