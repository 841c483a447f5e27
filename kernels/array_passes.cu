#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "gpu/launch.hpp"
#include "kernels/array_passes.hpp"
#include "kernels/assembled.hpp"
#include "kernels/random_words.hpp"
#include "kernels/result_of_launch.hpp"

namespace occbench {
namespace {

struct ArrayPassArguments {
  const float* input;
  std::int64_t size;
  float* output;
};

/// Neighbours outside the array are clamped to its first or last element.
__host__ __device__ std::array<std::int64_t, 5> stencil_places(std::int64_t i, std::int64_t size) {
  const auto within = [size](std::int64_t place) { return place < 0 ? 0 : place < size ? place : size - 1; };
  return {i, within(i - 1), within(i + 1), within(i - kStencilWidth), within(i + kStencilWidth)};
}

__global__ void copy_kernel(ArrayPassArguments of) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < of.size) of.output[i] = of.input[i];
}

__global__ void stencil_kernel(ArrayPassArguments of) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= of.size) return;
  float sum = 0;
  for (const std::int64_t place : stencil_places(i, of.size)) sum += __ldg(of.input + place);
  of.output[i] = sum;
}

constexpr std::string_view kStencil = "stencil";

const Variant kArrayPassesVariants[] = {make_variant("copy", copy_kernel),
                                        make_variant(kStencil, stencil_kernel)};

class PreparedArrayPass final : public Prepared {
 public:
  PreparedArrayPass(const Case& chosen, const Variant& variant)
      : stencil_(variant.name == kStencil),
        function_(variant.function),
        launch_(chosen.launch),
        input_(inputs(std::min(chosen.extent, launch_.grid_blocks * launch_.block_threads))),
        device_input_(std::span<const float>(input_)),
        output_(input_.size()) {
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    launch_kernel(function_, launch_, stream,
                  ArrayPassArguments{device_input_.data(), size(), output_.data()});
  }

  Check check(cudaStream_t stream) override {
    const std::vector<float> output = result_of_launch(*this, stream, output_);
    for (std::int64_t i = 0; i < size(); ++i) {
      float wanted = input(i);
      if (stencil_) {
        wanted = 0;
        for (const std::int64_t place : stencil_places(i, size())) wanted += input(place);
      }
      if (output[static_cast<std::size_t>(i)] != wanted) return Check::wrong;
    }
    return Check::ok;
  }

  /// The data read once and written once.
  Amount useful() const override {
    return {2.0 * static_cast<double>(input_.size() * sizeof(float)), "bytes"};
  }

 private:
  /// Whole numbers small enough that each sum is exact.
  static std::vector<float> inputs(std::int64_t count) {
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(count));
    for (const std::uint32_t word : random_words(static_cast<std::size_t>(count)))
      values.push_back(static_cast<float>(word % 1024));
    return values;
  }
  std::int64_t size() const {
    return static_cast<std::int64_t>(input_.size());
  }
  float input(std::int64_t i) const {
    return input_[static_cast<std::size_t>(i)];
  }

  bool stencil_;
  const void* function_;
  Launch launch_;
  std::vector<float> input_;
  DeviceBuffer<float> device_input_;
  DeviceBuffer<float> output_;
};

std::unique_ptr<Prepared> prepare_array_pass(const Case& chosen, const Variant& variant, const Device&) {
  return std::make_unique<PreparedArrayPass>(chosen, variant);
}

}  // namespace

const Kernel kArrayPasses{"array_passes", "an element a thread of arrays in device memory",
                          kArrayPassesVariants, prepare_array_pass};

}  // namespace occbench
