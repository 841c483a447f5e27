#include "diagnose/finding.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

constexpr std::array<std::string_view, 23> kCauses = {"small_grid",
                                                      "tail",
                                                      "clusters",
                                                      "uneven_blocks",
                                                      "uneven_warps",
                                                      "overhead",
                                                      "spills",
                                                      "atomics",
                                                      "memory_contention",
                                                      "issue_contention",
                                                      "barriers",
                                                      "register_limit",
                                                      "shared_memory_limit",
                                                      "block_size_limit",
                                                      "barrier_limit",
                                                      "another_launch",
                                                      "idle_sms",
                                                      "low_occupancy_suffices",
                                                      "idle_lanes",
                                                      "unused_shared_memory",
                                                      "faster_build",
                                                      "prediction_differs",
                                                      "unexplained"};
static_assert(kCauses.size() == static_cast<std::size_t>(Cause::unexplained) + 1);

}  // namespace

std::string_view to_string(Cause cause) {
  return kCauses.at(static_cast<std::size_t>(cause));
}

Cause parse_cause(std::string_view word) {
  const auto found = std::ranges::find(kCauses, word);
  if (found == kCauses.end()) {
    throw InputError(
        fmt::format("there is no cause '{}'; the causes are {}", word, fmt::join(kCauses, ", ")));
  }
  return static_cast<Cause>(found - kCauses.begin());
}

std::string_view to_string(FindingList list) {
  switch (list) {
    case FindingList::limits:
      return "limits";
    case FindingList::losses:
      return "losses";
    case FindingList::remarks:
      return "remarks";
  }
  return "";
}

std::string_view to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::measured:
      return "measured";
    case Confidence::simulated:
      return "simulated";
    case Confidence::inferred:
      return "inferred";
  }
  return "";
}

}  // namespace occbench
