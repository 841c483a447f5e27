#include "record/highest_clock.hpp"

namespace occbench {
namespace {

struct Clock {
  std::string_view part_of_name;
  double mhz;
};

/// What nvidia-smi -q -d CLOCK gives as Max Clocks, SM. The first that fits holds.
constexpr Clock kClocks[] = {
    {"H200", 1980}, {"GH200", 1980}, {"H100 PCIe", 1755}, {"H100", 1980},      {"A100", 1410},
    {"A10G", 1710}, {"A30", 1440},   {"A40", 1740},       {"L40S", 2520},      {"L40", 2490},
    {"L4", 2040},   {"T4", 1590},    {"V100-PCIE", 1380}, {"V100-SXM2", 1530},
};

}  // namespace

std::optional<double> highest_sm_clock_mhz(std::string_view gpu) {
  for (const Clock& clock : kClocks) {
    if (gpu.find(clock.part_of_name) != std::string_view::npos) return clock.mhz;
  }
  return std::nullopt;
}

}  // namespace occbench
