#pragma once

#include <iosfwd>
#include <optional>
#include <span>

#include <nlohmann/json_fwd.hpp>

#include "diagnose/finding.hpp"

namespace occbench {

/// The lists of findings under their headings, indented: a line a finding, with its confidence, and below it the remedy,
/// unless it is that of the finding before, and what time that can save.
/// @param reached_pct  that the losses end at; empty = theory less the losses
void print_findings(std::span<const Finding> findings, double theoretical_pct,
                    std::optional<double> reached_pct, std::ostream& out);

/// An array, an object a finding: cause, list, points, confidence, evidence (an object of columns and values), remedy,
/// sentence; where it is about time, time in words and time_saved_at_most_pct; of a limit, steps as `calc` has them.
nlohmann::ordered_json findings_json(std::span<const Finding> findings);

}  // namespace occbench
