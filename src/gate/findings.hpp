#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "gate/judge.hpp"

namespace occbench {

/// "registers_per_thread 31 -> 33"
std::string change_text(std::string_view what, std::string_view before, std::string_view now);

/// Adds a finding without values.
void add_finding(ComparedCase& into, Grade grade, std::string_view subject, std::string message,
                 double weight = 0);

/// The two sides with their names for messages.
std::array<std::pair<std::string_view, const Cases*>, 2> named(const Sides& sides);

}  // namespace occbench
