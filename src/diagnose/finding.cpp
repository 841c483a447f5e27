#include "diagnose/finding.hpp"

namespace occbench {
namespace {

constexpr std::string_view kCauses[] = {
#define OCC_CAUSE(NAME, MEANING) #NAME,
#include "diagnose/causes.inc"
    "unexplained"};

}  // namespace

std::string_view to_string(Cause cause) {
  return kCauses[static_cast<std::size_t>(cause)];
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
