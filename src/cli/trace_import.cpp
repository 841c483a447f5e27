#include "cli/trace_import.hpp"

#include <map>
#include <ostream>
#include <set>

#include <fmt/ostream.h>

#include "cli/text_table.hpp"
#include "programs/torch_trace.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

/// The clock of each GPU of the trace, and a line about it.
void choose_clocks(TorchTrace& trace, const std::optional<double>& given, Console& console) {
  std::set<std::string> said;
  for (TorchKernel& kernel : trace.kernels) {
    ProgramDevice& device = kernel.entry.device;
    const std::optional<double> clock = given ? given : highest_sm_clock_mhz(device.name);
    device.highest_clock_mhz = clock.value_or(0);
    if (given || !said.insert(device.name).second) continue;
    if (clock) {
      fmt::print(console.err,
                 "{}: the trace has no SM clock; {} MHz, the GPU's highest, is taken (--clock-mhz N)\n",
                 device.name, *clock);
    } else {
      fmt::print(
          console.err,
          "{}: the trace has no SM clock, and this GPU's highest is not known: nothing is predicted without "
          "--clock-mhz N\n",
          device.name);
    }
  }
}

std::string launches_text(std::int64_t launches) {
  return fmt::format("{} launch{}", launches, launches == 1 ? "" : "es");
}

void report_estimates(const std::map<EstimateFault, std::int64_t>& launches, Console& console) {
  const auto say = [&](EstimateFault fault, std::string_view what) {
    const auto found = launches.find(fault);
    if (found == launches.end()) return;
    fmt::print(console.err, "the trace's \"est. achieved occupancy %\" of {} {}\n",
               launches_text(found->second), what);
  };
  say(EstimateFault::shared_memory,
      "is 0, which is wrong: PyTorch's calculator allows no more than 48 KB of shared memory per block");
  say(EstimateFault::spread_over_sms,
      "is the grid's threads over those of all SMs, idle ones included, which no counter reads");
  say(EstimateFault::other, "is not theoretical occupancy for a reason that is not known");
  say(EstimateFault::none,
      "is theoretical occupancy, not achieved: it knows no tail, no uneven blocks, no overhead");
}

}  // namespace

ProgramTable import_torch_trace(const ImportOptions& options, Console& console) {
  TorchTrace trace = read_torch_trace(options.file);
  choose_clocks(trace, options.clock_mhz, console);
  if (trace.malformed > 0) {
    fmt::print(console.err, "{} of {} is left out: no launch has such a grid, block or time\n",
               counted(trace.malformed, "event"), options.file.string());
  }
  ProgramTable table;
  for (const TorchKernel& kernel : trace.kernels) table.entries.push_back(kernel.entry);
  table.cases = program_cases(table.entries);
  std::map<EstimateFault, std::int64_t> estimates;
  for (std::size_t i = 0; i < table.cases.size(); ++i) {
    CaseRecord& record = table.cases[i];
    const TorchKernel& kernel = trace.kernels[i];
    add_note(record.note, fmt::format("imported from {}", options.file.filename().string()));
    if (options.clock_mhz) record.readings.counters.sm_clock_mhz = options.clock_mhz;
    if (!kernel.estimate_pct || !record.theory) continue;
    const EstimateFault fault = fault_of_estimate(kernel, record);
    estimates[fault] += kernel.entry.seen.launches;
    add_note(record.note, to_string(fault, *kernel.estimate_pct));
  }
  report_estimates(estimates, console);
  return table;
}

}  // namespace occbench
