#include "kernels/multiply_add.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "gpu/launch.hpp"
#include "kernels/result_of_launch.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/warps.hpp"
#include "predict/kernel_costs.hpp"

namespace occbench {
namespace {

int loads_in_round(const MultiplyAddShape& shape) {
  if (shape.steps_per_load == 0) return 0;
  return (shape.steps + shape.steps_per_load - 1) / shape.steps_per_load;
}

double cost(std::string_view name) {
  return kernel_cost("multiply_add", name);
}

double cycles_per_round(const MultiplyAddShape& shape) {
  return shape.steps * cost("fma_cycles") + loads_in_round(shape) * cost("l2_load_cycles");
}

double issue_slots(const MultiplyAddShape& shape, double rounds) {
  return rounds * (shape.steps + cost("slots_per_load") * loads_in_round(shape) + cost("slots_per_round")) +
         shape.values + cost("slots_once");
}

/// Values below one half keep the sums bounded.
std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> values(-0.5F, 0.5F);
  std::vector<float> floats(count);
  std::ranges::generate(floats, [&] { return values(generator); });
  return floats;
}

class PreparedMultiplyAdd final : public Prepared {
 public:
  /// @param stay_cycles second argument of a kernel that takes it
  PreparedMultiplyAdd(const MultiplyAddShape& shape, const Case& chosen, const Variant& variant, int rounds,
                      std::optional<long long> stay_cycles)
      : shape_(shape),
        stay_cycles_(stay_cycles),
        function_(variant.function),
        launch_(chosen.launch),
        rounds_(rounds),
        inputs_(random_floats(static_cast<std::size_t>(shape.values + 1) * kInputSets, 1)),
        table_(random_floats(kTableByteMask / sizeof(float) + 1, 2)),
        device_inputs_(std::span<const float>(inputs_)),
        device_table_(std::span<const float>(table_)),
        sums_(static_cast<std::size_t>(launch_.grid_blocks * launch_.block_threads)) {
    configure(function_, launch_);
  }

  void launch(cudaStream_t stream) override {
    const MultiplyAddArguments arguments{device_inputs_.data(), device_table_.data(), rounds_, sums_.data()};
    if (stay_cycles_) {
      launch_kernel(function_, launch_, stream, arguments, *stay_cycles_);
    } else {
      launch_kernel(function_, launch_, stream, arguments);
    }
  }

  Check check(cudaStream_t stream) override {
    const std::vector<float> sums = result_of_launch(*this, stream, sums_);
    std::vector<float> reference(kInputSets);
    for (unsigned set = 0; set < kInputSets; ++set) reference[set] = reference_sum(set);
    const std::size_t threads_per_set = shape_.steps_per_load > 0 ? 32 : 1;
    for (std::size_t thread = 0; thread < sums.size(); ++thread) {
      if (sums[thread] != reference[thread / threads_per_set % kInputSets]) return Check::wrong;
    }
    return Check::ok;
  }

  Amount useful() const override {
    if (stay_cycles_) {
      return {static_cast<double>(launch_.grid_blocks) * warps_of_block(launch_.block_threads) *
                  static_cast<double>(*stay_cycles_),
              "warp-cycles"};
    }
    return {static_cast<double>(sums_.size()) * rounds_ * shape_.steps, "multiply-adds"};
  }

 private:
  float reference_sum(unsigned set) const {
    const auto value = [&](int i) { return inputs_[static_cast<std::size_t>(i) * kInputSets + set]; };
    float sum = value(shape_.values);
    for (int round = 0; round < rounds_; ++round) {
      for (int step = 0; step < shape_.steps; ++step) {
        float addend = value((step + 1) % shape_.values);
        if (shape_.steps_per_load > 0 && step % shape_.steps_per_load == 0) {
          addend = table_[(std::bit_cast<std::uint32_t>(sum) & kTableByteMask) / sizeof(float)];
        }
        sum = std::fma(sum, value(step % shape_.values), addend);
      }
    }
    return sum;
  }

  MultiplyAddShape shape_;
  std::optional<long long> stay_cycles_;
  const void* function_;
  Launch launch_;
  int rounds_;
  std::vector<float> inputs_;
  std::vector<float> table_;
  DeviceBuffer<float> device_inputs_;
  DeviceBuffer<float> device_table_;
  DeviceBuffer<float> sums_;
};

}  // namespace

Work multiply_add_work(const MultiplyAddShape& shape, int rounds) {
  return {.cycles = rounds * cycles_per_round(shape), .issue_slots = issue_slots(shape, rounds)};
}

std::unique_ptr<Prepared> prepare_multiply_add(const MultiplyAddShape& shape, const Case& chosen,
                                               const Variant& variant) {
  const double rounds = std::round(chosen.work.value().cycles / cycles_per_round(shape));
  return std::make_unique<PreparedMultiplyAdd>(shape, chosen, variant, std::max(1, static_cast<int>(rounds)),
                                               std::nullopt);
}

std::unique_ptr<Prepared> prepare_resident(const MultiplyAddShape& shape, const Case& chosen,
                                           const Variant& variant) {
  const Work& work = chosen.work.value();
  if (work.distribution.form != WorkForm::equal)
    throw InputError(fmt::format("--work {}: warps of this kernel all stay equally long", to_string(work)));
  return std::make_unique<PreparedMultiplyAdd>(shape, chosen, variant, 1, work.cycles_of(0, 1));
}

}  // namespace occbench
