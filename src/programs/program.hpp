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

// The launches of a program that knows nothing of occbench: what was seen of them, and the rows made of it.

/// A kernel and how it is launched: a row each.
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
  std::string region{};               ///< where regions are told apart

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

/// What was seen of the launches of one kernel on one GPU.
struct ProgramLaunches {
  std::int64_t launches = 0;
  std::int64_t of_graphs = 0;      ///< those that a CUDA graph made
  std::int64_t timed = 0;          ///< those whose time is known and that were not counted
  double total_us = 0;             ///< of all launches whose time is known
  std::vector<double> times_us{};  ///< a sample of the times of those timed
  /// By name of the counter; a place is the same launch in all.
  std::map<std::string, std::vector<double>, std::less<>> readings{};
  SampledTotals sampled{};
  std::vector<double> sampled_pcts{};               ///< achieved occupancy of some of those sampled
  std::optional<CountersStatus> counters_status{};  ///< where there are no readings
  std::string note{};
  std::set<std::int64_t> processes{};
  std::set<std::int64_t> contexts{};
  std::set<std::int64_t> streams{};
  std::set<std::int64_t> graph_nodes{};
  std::set<std::string> regions{};  ///< of NVTX that launches were made in; no name has a +
};

struct ProgramEntry {
  ProgramDevice device;
  ProgramKernel kernel;
  ProgramLaunches seen;
};

/// Hardware counters that the columns of a program's row need, all collected in one pass; the last two are left out where they do not
/// fit in.
std::vector<std::string> program_metrics();

/// The case of an entry: identity, launch, theory, times and counters; without a prediction. Where the limits
/// of the GPU are not known or the launch is none that they allow, without theory and with a note that says
/// why. `kernel` is the demangled name; the mangled one is the column `variant` where it differs.
CaseRecord program_case(const ProgramEntry& entry);

/// The times and readings behind a case.
std::vector<Sample> program_samples(const CaseRecord& record, const ProgramLaunches& seen);

/// Entries of the same kernel on the same GPU become one; in order of total time, longest first.
std::vector<ProgramEntry> merged(std::vector<ProgramEntry> entries);

/// The cases of a program, each with a name of its own: short name and launch configuration, the GPU where
/// there are several, and a part of the hash of the whole name where these are equal.
std::vector<CaseRecord> program_cases(std::span<const ProgramEntry> entries);

// What becomes of a program's cases once its entries are read: predictions, an order, a file of rows.

/// The SM clock of cases without counters, which their time is turned into cycles with: the median of what
/// the counters of the same GPU's other cases read, else the GPU's highest. The cases' notes say which.
void set_clocks(std::span<CaseRecord> cases, std::span<const ProgramEntry> entries);

/// Infers the work of each case and predicts it, on all processors. @param predicted called after each, by any thread
void predict_all(std::span<CaseRecord> cases, const std::optional<DeviceProfile>& profile,
                 const std::function<void()>& predicted);

/// A case with the finding whose advice can save most of its time; where none can, its largest loss below theory.
struct CaseToTell {
  const CaseRecord* record = nullptr;
  std::optional<Finding> finding{};
  double us = 0;
  bool is_known = true;  ///< where `us` is 0, whether nothing is expected
};

/// Cases that can save most time first, then those that take most.
std::vector<CaseToTell> by_time_saved(std::span<const CaseRecord> cases);
/// The same order.
void sort_by_time_saved(std::vector<CaseRecord>& cases);

/// FILE.csv and FILE.samples.csv. @throws InputError if they cannot be written
/// @param before_replacing  is called once both are whole and lack only their names
void write_program(const std::filesystem::path& file, std::span<const CaseRecord> cases,
                   std::span<const ProgramEntry> entries, const std::function<void()>& before_replacing);

}  // namespace occbench
