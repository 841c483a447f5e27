#include "gate/findings.hpp"

#include <fmt/core.h>

namespace occbench {
namespace {

std::string shown(std::string_view value) {
  return value.empty() ? "(empty)" : std::string(value);
}

}  // namespace

std::string change_text(std::string_view what, std::string_view before, std::string_view now) {
  return fmt::format("{} {} -> {}", what, shown(before), shown(now));
}

void add_finding(ComparedCase& into, Grade grade, std::string_view subject, std::string message,
                 double weight) {
  into.findings.push_back({grade, std::string(subject), "", "", std::move(message), weight});
}

std::array<std::pair<std::string_view, const Cases*>, 2> named(const Sides& sides) {
  return {{{"baseline", &sides.baseline}, {"candidate", &sides.candidate}}};
}

}  // namespace occbench
