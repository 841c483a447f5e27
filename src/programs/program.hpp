#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "diagnose/finding.hpp"
#include "entries/entries.hpp"
#include "occupancy/launch.hpp"
#include "occupancy/statuses.hpp"
#include "predict/device_profile.hpp"
#include "record/case_record.hpp"
#include "record/row.hpp"

namespace occbench {

// The launches of a program that knows nothing of occbench: observations, and the rows made from them.

/// A kernel and how it is launched: one row each.
struct ProgramKernel {
  std::string name;  ///< as the program has it, mangled or not
  Shape grid{1, 1, 1};
  Shape block{1, 1, 1};
  Shape cluster{1, 1, 1};
  int registers_per_thread = 0;
  std::int64_t static_shared_bytes = 0;
  std::int64_t dynamic_shared_bytes = 0;
  std::int64_t local_bytes_per_thread = 0;
  std::optional<int> carveout_pct{};  ///< empty = the driver's default
  std::string region{};               ///< if regions are told apart

  auto operator<=>(const ProgramKernel&) const = default;
};

/// A GPU that a program used.
struct ProgramDevice {
  std::string name;
  std::string uuid;
  int index = 0;
  std::string compute_capability;
  int sm_count = 0;
  double highest_clock_mhz = 0;  ///< of the SMs; 0 = not known

  auto operator<=>(const ProgramDevice&) const = default;
};

/// Observations of one kernel's launches on one GPU.
struct ProgramLaunches {
  std::int64_t launches = 0;
  std::int64_t of_graphs = 0;      ///< those that a CUDA graph made
  std::int64_t timed = 0;          ///< those whose time is known and that were not counted
  double total_us = 0;             ///< of all launches whose time is known
  std::vector<double> times_us{};  ///< a sample of the times of those timed
  /// By counter name; an index is the same launch in all.
  std::map<std::string, std::vector<double>, std::less<>> readings{};
  SampledTotals sampled{};
  std::vector<double> sampled_pcts{};               ///< achieved occupancy of some of those sampled
  std::optional<CountersStatus> counters_status{};  ///< if there are no readings
  std::string note{};
  std::set<std::int64_t> processes{};
  std::set<std::int64_t> contexts{};
  std::set<std::int64_t> streams{};
  std::set<std::int64_t> graph_nodes{};
  std::set<std::string> regions{};  ///< NVTX regions of the launches; no name has a +
};

struct ProgramEntry {
  ProgramDevice device;
  ProgramKernel kernel;
  ProgramLaunches seen;
};

/// Hardware counters for a program's row, all collected in one pass; the last two are left out if they do not fit in.
std::vector<std::string> program_metrics();

/// The case of an entry: identity, launch, theory, times and counters; without a prediction. If the GPU's limits are not known or the
/// launch is invalid, it has no theory and a note that says why. `kernel` is the demangled name; the mangled one is the column `variant` if
/// it differs.
CaseRecord program_case(const ProgramEntry& entry);

/// The times and readings behind a case.
std::vector<Sample> program_samples(const CaseRecord& record, const ProgramLaunches& seen);

/// Entries of the same kernel on the same GPU become one; in order of total time, longest first.
std::vector<ProgramEntry> merged(std::vector<ProgramEntry> entries);

/// The cases of a program, each with its own name: short name and launch configuration, the GPU if there are several, and a part of the
/// whole name's hash if these are equal.
std::vector<CaseRecord> program_cases(std::span<const ProgramEntry> entries);

// After a program's entries are read, its cases get predictions, an order and a file of rows.

/// The SM clock of cases without counters, which converts their time to cycles. It is the median over the same GPU's other cases with
/// counters, else the GPU's highest. The cases' notes say which.
void set_clocks(std::span<CaseRecord> cases, std::span<const ProgramEntry> entries);

/// Infers the work of each case and predicts it, on all processors. @param predicted called after each, by any thread
void predict_all(std::span<CaseRecord> cases, const std::optional<DeviceProfile>& profile,
                 const std::function<void()>& predicted);

/// A case with the finding whose advice can save most of its time, or if none can, its largest loss below theory.
struct CaseToTell {
  const CaseRecord* record = nullptr;
  std::optional<Finding> finding{};
  double us = 0;
  bool is_known = true;  ///< if `us` is 0, whether nothing is expected
};

/// Cases that can save most time first, then those that take most.
std::vector<CaseToTell> by_time_saved(std::span<const CaseRecord> cases);
/// The same order.
void sort_by_time_saved(std::vector<CaseRecord>& cases);

/// FILE.csv and FILE.samples.csv. @throws InputError if they cannot be written
/// @param before_replacing  called once both are complete and lack only their names
void write_program(const std::filesystem::path& file, std::span<const CaseRecord> cases,
                   std::span<const ProgramEntry> entries, const std::function<void()>& before_replacing);

}  // namespace occbench
