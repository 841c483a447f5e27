#include "record/hardware_limiter.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"
#include "record/row.hpp"

namespace occbench {
namespace {

constexpr std::array<std::string_view, 5> kWords = {"none", "registers", "shared_memory", "blocks",
                                                    "barriers"};

}  // namespace

std::string_view to_string(HardwareLimiter limiter) {
  return kWords.at(static_cast<std::size_t>(limiter));
}

HardwareLimiter parse_hardware_limiter(std::string_view word) {
  const auto found = std::ranges::find(kWords, word);
  if (found == kWords.end()) {
    throw InputError(fmt::format("hardware_limiter = '{}' is none of {}", word, fmt::join(kWords, ", ")));
  }
  return static_cast<HardwareLimiter>(found - kWords.begin());
}

std::optional<Limiter> limiter_of(HardwareLimiter limiter) {
  switch (limiter) {
    case HardwareLimiter::none:
      return std::nullopt;
    case HardwareLimiter::registers:
      return Limiter::registers;
    case HardwareLimiter::shared_memory:
      return Limiter::shared_memory;
    case HardwareLimiter::blocks:
      return Limiter::blocks;
    case HardwareLimiter::barriers:
      return Limiter::barriers;
  }
  return std::nullopt;
}

std::optional<HardwareLimiter> hardware_limiter_of(const CounterValues& counters) {
  const std::pair<HardwareLimiter, Real> stalls[] = {
      {HardwareLimiter::registers, counters.launch_stall_registers_cycles},
      {HardwareLimiter::shared_memory, counters.launch_stall_shared_memory_cycles},
      {HardwareLimiter::blocks, counters.launch_stall_blocks_cycles},
      {HardwareLimiter::barriers, counters.launch_stall_barriers_cycles}};
  const auto& [limiter, cycles] =
      *std::ranges::max_element(stalls, {}, [](const auto& stall) { return stall.second.value_or(-1); });
  if (!cycles) return std::nullopt;
  return *cycles > 0 ? limiter : HardwareLimiter::none;
}

}  // namespace occbench
