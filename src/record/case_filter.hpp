#pragma once

#include <functional>
#include <string>

#include "record/row.hpp"

namespace occbench {

/// "experiment/case", as filters, progress and Google Benchmark name a case.
std::string full_name(const Row& row);

/// Google Benchmark's rule for --benchmark_filter: an extended regular expression that is found anywhere in
/// the full name, or with '-' in front is found nowhere in it; empty or "all" matches every name.
/// @throws InputError if it is not a regular expression
std::function<bool(const std::string& full_name)> case_filter(const std::string& text);

}  // namespace occbench
