#include "diagnose/finding.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

constexpr std::string_view kCauses[] = {
#define OCC_CAUSE(NAME, MEANING) #NAME,
    "unexplained"};

}  // namespace

std::string_view to_string(Cause cause) {
  return kCauses[static_cast<std::size_t>(cause)];
}

Cause parse_cause(std::string_view word) {
  const auto found = std::ranges::find(kCauses, word);
  if (found == std::end(kCauses)) {
    throw InputError(
        fmt::format("there is no cause '{}'; the causes are {}", word, fmt::join(kCauses, ", ")));
  }
  return static_cast<Cause>(found - std::begin(kCauses));
}

std::string_view to_string(FindingList list) {
  static constexpr std::string_view kWords[] = {"limits", "losses", "remarks"};
  return kWords[static_cast<std::size_t>(list)];
}

std::string_view to_string(Confidence confidence) {
  static constexpr std::string_view kWords[] = {"measured", "simulated", "inferred"};
  return kWords[static_cast<std::size_t>(confidence)];
}

}  // namespace occbench
