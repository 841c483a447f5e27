#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace occbench {

/// The names among `known` that are most like `wanted`, best first, at most `count`: those that begin with
/// `wanted`, then those with the fewest letters to insert, delete or replace (Levenshtein distance). Equals
/// in alphabetical order.
std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> known,
                                       std::size_t count);

}  // namespace occbench
