#pragma once

#include <iosfwd>
#include <span>

#include <nlohmann/json_fwd.hpp>

#include "diagnose/finding.hpp"

namespace occbench {

/// A line a finding with its confidence, and below it the remedy. Indented by two spaces.
void print_findings(std::span<const Finding> findings, std::ostream& out);

/// An array, an object a finding: cause, points, confidence, evidence (an object of columns and values), remedy
/// and sentence.
nlohmann::ordered_json findings_json(std::span<const Finding> findings);

}  // namespace occbench
