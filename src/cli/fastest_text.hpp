#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "record/case_record.hpp"

namespace occbench {

/// What a race found, in a few lines: the fastest configuration, how sure that is, what was left out and why, and its
/// occupancy beside the highest.
/// @param cases  those of the sweep that have a row
/// @param all    how many configurations the sweep has
std::string fastest_text(std::span<const CaseRecord> cases, std::size_t all);

}  // namespace occbench
