#include "record/gpu_state.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "record/columns.hpp"

namespace occbench {
namespace {

constexpr std::string_view kColumn = "gpu_state";

template <typename Number>
Number number_of(std::string_view key, std::string_view text, Number least) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least))
    throw InputError(fmt::format("{} has {}={}, which is no number from {} on", kColumn, key, text, least));
  return value;
}

}  // namespace

std::string pairs_text(const Pairs& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", key, value);
  }
  return text;
}

Pairs known_pairs(Pairs pairs) {
  std::erase_if(pairs, [](const auto& pair) { return pair.second.empty(); });
  return pairs;
}

Pairs parse_pairs(std::string_view text, std::string_view column) {
  Pairs pairs;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(';'));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos)
      throw InputError(fmt::format("{} = '{}' has no key=value in '{}'", column, text, one));
    pairs.emplace_back(one.substr(0, equals), one.substr(equals + 1));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
  }
  return pairs;
}

std::string to_string(const GpuState& state) {
  const auto text = [](const auto& value) { return value ? fmt::format("{}", *value) : ""; };
  const Condition& condition = state.condition;
  Pairs pairs = {{"memory_bus_bits", text(state.memory_bus_bits)}};
  for (auto& pair : parse_pairs(state.settings, kColumn)) pairs.push_back(std::move(pair));
  const Pairs then = {{"memory_clock_mhz", text(condition.memory_clock_mhz)},
                      {"temperature_c", text(condition.temperature_c)},
                      {"power_w", condition.power_w ? real_text(*condition.power_w) : ""},
                      {"throttle_reasons", condition.throttle_reasons},
                      {"other_processes", text(condition.other_processes)}};
  pairs.insert(pairs.end(), then.begin(), then.end());
  return pairs_text(known_pairs(std::move(pairs)));
}

GpuState parse_gpu_state(std::string_view text) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();
  GpuState state;
  Pairs settings;
  for (auto& [key, value] : parse_pairs(text, kColumn)) {
    Condition& condition = state.condition;
    if (key == "memory_bus_bits") {
      state.memory_bus_bits = number_of(key, value, 1);
    } else if (key == "memory_clock_mhz") {
      condition.memory_clock_mhz = number_of<std::int64_t>(key, value, 0);
    } else if (key == "temperature_c") {
      condition.temperature_c = number_of(key, value, kAny);
    } else if (key == "power_w") {
      condition.power_w = number_of(key, value, 0.0);
    } else if (key == "throttle_reasons") {
      condition.throttle_reasons = value;
    } else if (key == "other_processes") {
      condition.other_processes = number_of<std::int64_t>(key, value, 0);
    } else {
      settings.emplace_back(std::move(key), std::move(value));
    }
  }
  state.settings = pairs_text(settings);
  return state;
}

}  // namespace occbench
