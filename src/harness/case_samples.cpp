#include "harness/case_samples.hpp"

#include <cmath>

namespace occbench {

void CaseSamples::add(std::string_view quantity, std::int64_t index, double value) {
  samples_.push_back({experiment_, case_name_, std::string(quantity), index, value});
}

void CaseSamples::add(std::string_view quantity, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) add(quantity, static_cast<std::int64_t>(i), values[i]);
  }
}

}  // namespace occbench
