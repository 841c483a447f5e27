#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "diagnose/finding.hpp"
#include "predict/device_profile.hpp"
#include "programs/program.hpp"

namespace occbench {

// What becomes of a program's cases once its entries are read: predictions, an order, a file of rows.

/// The SM clock of cases without counters, which their time is turned into cycles with: the median of what
/// the counters of the same GPU's other cases read, else the GPU's highest, which the cases' notes then say.
void set_clocks(std::span<CaseRecord> cases, std::span<const ProgramEntry> entries);

/// Infers the work of each case and predicts it, on all processors. @param predicted called after each, by any thread
void predict_all(std::span<CaseRecord> cases, const std::optional<DeviceProfile>& profile,
                 const std::function<void()>& predicted);

/// A case with the finding whose advice can save most of its time; where none can, its largest loss below theory.
struct CaseToTell {
  const CaseRecord* record = nullptr;
  std::optional<Finding> finding{};
  double us = 0;
};

/// Cases that can save most time first, then those that take most.
std::vector<CaseToTell> by_time_saved(std::span<const CaseRecord> cases);
/// The same order.
void sort_by_time_saved(std::vector<CaseRecord>& cases);

/// FILE.csv and FILE.samples.csv. @throws InputError if they cannot be written
void write_program(const std::filesystem::path& file, std::span<const CaseRecord> cases,
                   std::span<const ProgramEntry> entries);

}  // namespace occbench
