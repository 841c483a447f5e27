#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "predict/device_profile.hpp"
#include "programs/program.hpp"

namespace occbench {

struct ImportOptions {
  std::filesystem::path file;
  std::optional<double> clock_mhz;
};

/// A program's cases, without predictions, and the entries that they are made of.
struct ProgramTable {
  std::vector<CaseRecord> cases;
  std::vector<ProgramEntry> entries;
};

/// The cases of a trace of torch.profiler. Says on `console.err` what clock it takes and where the trace's
/// own estimate of occupancy is wrong. @throws InputError as read_torch_trace()
ProgramTable import_torch_trace(const ImportOptions& options, Console& console);

}  // namespace occbench
