#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "cli/gpu_option.hpp"
#include "occupancy/configuration.hpp"

namespace CLI {
class App;
}

namespace occbench {

/// A launch of which numbers alone are known, as a profiler's page shows them.
struct NumbersOption {
  GpuOption gpu;
  Configuration configuration;
  std::optional<double> achieved_pct;
  std::optional<double> time_us;
  std::optional<double> sm_cycles_active_avg;
  std::optional<double> resident_blocks;

  bool given() const {
    return gpu.given();
  }
};

/// Declares --gpu, --cc, --sm-count, --block-size, --grid, --registers and so on.
void declare_numbers_option(CLI::App& parser, NumbersOption& numbers);

/// Theory with its rules, waves, and what cost the rest.
/// @param json  one object, the columns that are known and `findings`, instead of text
/// @throws InputError where a number is missing or out of its range
void explain_numbers(const NumbersOption& numbers, bool json, std::ostream& out);

}  // namespace occbench
