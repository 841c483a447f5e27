#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "predict/device_profile.hpp"
#include "record/program.hpp"

namespace occbench {

// What becomes of a program's rows once they are read: predictions, a file, a table for the terminal.

/// The SM clock of cases without counters, which their time is turned into cycles with: the median of what
/// the counters of the same GPU's other cases read, else the GPU's highest, which the cases' notes then say.
void set_clocks(std::span<CaseRecord> cases, std::span<const ProgramEntry> entries);

/// Infers the work of each case and predicts it, on all processors.
void predict_all(std::span<CaseRecord> cases, const std::optional<DeviceProfile>& profile);

/// Cases whose findings' advice can save most time first.
void sort_by_time_saved(std::vector<CaseRecord>& cases);

/// Microseconds as milliseconds, with three decimals below 10.
std::string milliseconds(double microseconds);

/// FILE.csv and FILE.samples.csv. @throws InputError if they cannot be written
void write_program(const std::filesystem::path& file, std::span<const CaseRecord> cases,
                   std::span<const ProgramEntry> entries);

/// The `top` cases whose findings' advice can save most time (0 = all), and a line for the whole of them.
void print_program(std::span<const CaseRecord> cases, std::size_t top, std::ostream& out);

}  // namespace occbench
