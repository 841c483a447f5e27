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
  double beside_us = 0;  ///< of its launches' time, in which others ran
};

struct TorchTrace {
  std::vector<TorchKernel> kernels;  ///< by total time, longest first
  std::int64_t malformed = 0;        ///< events of kernels without a grid, block or time that can be
};

/// Reads a trace event by event: memory grows with its distinct kernels, and by 24 bytes for each launch. Shared memory,
/// of which the profiler gives one sum, is taken as dynamic. @throws InputError if the file cannot be read,
/// is no such trace, or is one of no NVIDIA GPU.
TorchTrace read_torch_trace(const std::filesystem::path& file);
TorchTrace parse_torch_trace(std::istream& text, std::string_view source);

/// Why the profiler's estimate is not what it is called, and what it is instead.
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

/// The cases of a trace of torch.profiler. Says on `err` what clock it takes, and where the trace's own estimate of
/// occupancy is wrong. @throws InputError as read_torch_trace()
ProgramTable import_torch_trace(const ImportOptions& options, std::ostream& err);

}  // namespace occbench
