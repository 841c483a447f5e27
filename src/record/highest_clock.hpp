#pragma once

#include <optional>
#include <string_view>

namespace occbench {

/// The highest SM clock of a GPU by its name, as "NVIDIA H100 80GB HBM3", MHz; empty for one that the table
/// lacks.
std::optional<double> highest_sm_clock_mhz(std::string_view gpu);

}  // namespace occbench
