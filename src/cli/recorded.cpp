#include "cli/recorded.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <ostream>
#include <vector>

#include <fmt/ostream.h>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "orchestrate/progress.hpp"
#include "record/case_filter.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// @returns whether theory computed again is what the row records
bool recompute_theory(Theory& theory, const LaunchOnDevice& on) {
  const double recorded_pct = theory.theoretical_pct;
  theory = theory_of(theoretical_occupancy(on), on.launch, on.sm_count);
  return std::abs(recorded_pct - theory.theoretical_pct) < 1e-3;
}

/// Those that the filter matches; empty, and said so, where there are no recorded rows at all.
std::vector<CaseRecord> recorded_cases(const std::string& filter, Console& console) {
  const std::optional<fs::path> file = recorded_suite();
  if (!file) {
    fmt::print(console.err, "no recorded rows of {} were found near this program or the current folder\n",
               kRecordedModel);
    return {};
  }
  std::vector<CaseRecord> cases = read_case_records(*file);
  const auto matches = case_filter(filter);
  std::erase_if(cases, [&](const CaseRecord& each) { return !matches(full_name(each.identity)); });
  if (cases.empty()) throw InputError(fmt::format("--filter {} matches no recorded case", filter));
  return cases;
}

}  // namespace

ExitStatus list_recorded_cases(const std::string& filter, Console& console) {
  const std::vector<CaseRecord> cases = recorded_cases(filter, console);
  if (cases.empty()) return ExitStatus::no_verdict;
  fmt::print(
      console.err,
      "which cases there are depends on the GPU; these are those of the suite that was recorded on {}\n",
      cases.front().provenance.gpu);
  for (const CaseRecord& each : cases) fmt::print(console.out, "{}\n", full_name(each.identity));
  return ExitStatus::done;
}

ExitStatus show_recorded_rows(const std::string& filter, Console& console) {
  std::vector<CaseRecord> cases = recorded_cases(filter, console);
  // What the runtime launches by itself has no theory.
  std::erase_if(
      cases, [](const CaseRecord& each) { return each.times.status == TimeStatus::skipped || !each.theory; });
  if (cases.empty()) return ExitStatus::no_verdict;

  std::size_t widest = 0;
  for (const CaseRecord& each : cases) widest = std::max(widest, full_name(each.identity).size());
  const RowTable table(widest);
  const Provenance& first = cases.front().provenance;
  fmt::print(console.out, "Recorded on {} at commit {}, {}; theory computed again:\n\n{}\n", first.gpu,
             first.commit, first.recorded_at, table.header());
  std::size_t agreeing = 0;
  for (CaseRecord& each : cases) {
    agreeing +=
        in_place(each, [&] { return recompute_theory(*each.theory, launch_on_device(each)); }) ? 1 : 0;
    fmt::print(console.out, "{}\n", table.line(each));
  }
  fmt::print(console.out, "\n{} of {} rows have the theory that was recorded. {}\n", agreeing, cases.size(),
             agreement(cases));
  fmt::print(console.out,
             "`occbench explain` says where the occupancy of these rows went. `occbench calc` and `occbench "
             "predict` "
             "answer for a launch of yours.\n");
  return agreeing == cases.size() ? ExitStatus::done : ExitStatus::no_verdict;
}

}  // namespace occbench
