#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "programs/program.hpp"

namespace occbench {

// Chrome traces of torch.profiler: `prof.export_chrome_trace("trace.json")`, plain or compressed with gzip.

struct TorchKernel {
  ProgramEntry entry;
  /// The profiler's own "est. achieved occupancy %".
  std::optional<double> estimate_pct;
  double beside_us = 0;  ///< launch time in which others ran
};

struct TorchTrace {
  std::vector<TorchKernel> kernels;  ///< by total time, longest first
  std::int64_t malformed = 0;        ///< kernel events without a valid grid, block or time
};

/// Reads a trace event by event: memory grows with its distinct kernels, and by 24 bytes per launch. The profiler gives one sum of shared
/// memory, which is taken as dynamic. @throws InputError if the file cannot be read, is not such a trace, or is not of an NVIDIA GPU.
TorchTrace read_torch_trace(const std::filesystem::path& file);
TorchTrace parse_torch_trace(std::istream& text, std::string_view source);

/// Why the profiler's estimate does not fit its name, and what it is instead.
enum class EstimateFault {
  none,             ///< there is no estimate, or it is theoretical occupancy
  shared_memory,    ///< 0: its calculator allows no more than 48 KB of shared memory per block
  spread_over_sms,  ///< the grid is smaller than a wave, and it averages over SMs that are idle
  other,
};

/// @param row of the kernel, with theory
EstimateFault fault_of_estimate(const TorchKernel& kernel, const CaseRecord& record);

/// A sentence for the row's note; empty for none.
std::string to_string(EstimateFault fault, double estimate_pct);

struct ImportOptions {
  std::filesystem::path file;
  std::optional<double> clock_mhz;
};

/// A program's cases, without predictions, and the entries that they are made of.
struct ProgramTable {
  std::vector<CaseRecord> cases;
  std::vector<ProgramEntry> entries;
};

/// The cases of a trace of torch.profiler. Says on `err` which clock it takes, and where the trace's own occupancy estimate is wrong.
/// @throws InputError as read_torch_trace()
ProgramTable import_torch_trace(const ImportOptions& options, std::ostream& err);

}  // namespace occbench
