#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>

#include "record/case_record.hpp"

namespace occbench {

/// Microseconds as milliseconds, with three decimals below 10.
std::string milliseconds(double microseconds);

/// The `top` cases of a program that lose most time (0 = all), and a line for the whole of them.
void print_program(std::span<const CaseRecord> cases, std::size_t top, std::ostream& out);

}  // namespace occbench
