#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "predict/device_profile.hpp"
#include "programs/program.hpp"

namespace occbench {

// What becomes of a program's cases once its entries are read: predictions, and a file of rows.

/// The SM clock of cases without counters, which their time is turned into cycles with: the median of what
/// the counters of the same GPU's other cases read, else the GPU's highest, which the cases' notes then say.
void set_clocks(std::span<CaseRecord> cases, std::span<const ProgramEntry> entries);

/// Infers the work of each case and predicts it, on all processors.
void predict_all(std::span<CaseRecord> cases, const std::optional<DeviceProfile>& profile);

/// FILE.csv and FILE.samples.csv. @throws InputError if they cannot be written
void write_program(const std::filesystem::path& file, std::span<const CaseRecord> cases,
                   std::span<const ProgramEntry> entries);

}  // namespace occbench
