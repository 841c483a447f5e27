#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "record/case_record.hpp"

namespace occbench {

/// Microseconds as milliseconds, with three decimals below 10.
std::string milliseconds(double microseconds);

/// "37 kernels and configurations, 1204 launches, 31.0 ms, ...", with achieved occupancy weighted by time.
std::string program_total(std::span<const CaseRecord> cases);

/// One line per region of a program's cases, by time: its time, the share with a counter, the achieved occupancy over
/// that share, and the kernel whose finding's advice can save most.
void print_regions(std::span<const CaseRecord> cases, std::ostream& out);

/// The `top` cases whose findings' advice can save most time (0 = all), and a line for all cases.
void print_program(std::span<const CaseRecord> cases, std::size_t top, std::ostream& out);

}  // namespace occbench
