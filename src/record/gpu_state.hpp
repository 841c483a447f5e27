#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/row.hpp"

namespace occbench {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// "key=value;key=value"
std::string pairs_text(const Pairs& pairs);

/// Pairs that have a value.
Pairs known_pairs(Pairs pairs);

/// @param column  for the message @throws InputError where a part has no '='
Pairs parse_pairs(std::string_view text, std::string_view column);

/// The GPU when the times had been taken.
struct Condition {
  Integer memory_clock_mhz;
  Integer temperature_c;
  std::optional<double> power_w;
  std::string throttle_reasons;  ///< as clocks_event_reasons_text writes them
  Integer other_processes;
};

/// The column gpu_state.
struct GpuState {
  std::optional<int> memory_bus_bits;
  std::string settings;  ///< other pairs, as NVML's settings() writes them
  Condition condition;
};

std::string to_string(const GpuState& state);

/// @throws InputError naming the key for a number that is none, or below 0 where it cannot be
GpuState parse_gpu_state(std::string_view text);

}  // namespace occbench
