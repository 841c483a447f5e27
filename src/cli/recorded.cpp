#include "cli/recorded.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <ostream>
#include <system_error>
#include <vector>

#include <fmt/ostream.h>

#include "cli/row_table.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// The GPU model whose recorded suite the project shows where there is no GPU.
constexpr std::string_view kModel = "nvidia-h200";

/// @returns whether theory computed again is what the row records
bool compute_theory_anew(Row& row) {
  const Limits& limits = limits_of(parse_compute_capability(row.compute_capability));
  const Occupancy occupancy = theoretical_occupancy(limits, launch_of(row), usage_of(row));
  const Real recorded = std::exchange(row.theoretical_pct, occupancy.theoretical_pct);
  return recorded && std::abs(*recorded - occupancy.theoretical_pct) < 1e-3;
}

}  // namespace

std::optional<fs::path> recorded_suite() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  std::vector<fs::path> roots = {program.parent_path() / "share" / "occbench"};
  const auto add_with_all_above = [&](fs::path folder) {
    for (; folder != folder.parent_path(); folder = folder.parent_path()) roots.push_back(folder);
  };
  add_with_all_above(program);
  // A program that was built or copied elsewhere.
  std::error_code error;
  add_with_all_above(fs::current_path(error));
  roots.emplace_back(OCCBENCH_SOURCE);
  for (const fs::path& root : roots) {
    for (const char* suite : {"full.csv", "quick.csv"}) {
      fs::path file = root / "results" / kModel / suite;
      if (fs::exists(file, error)) return file;
    }
  }
  return std::nullopt;
}

namespace {

/// Those that the filter matches; empty, and said so, where there are no recorded rows at all.
std::vector<Row> recorded_rows(const std::string& filter, Console& console) {
  const std::optional<fs::path> file = recorded_suite();
  if (!file) {
    fmt::print(console.err, "no recorded rows of {} were found near this program or the current folder\n",
               kModel);
    return {};
  }
  std::vector<Row> rows = read_rows(*file);
  const auto matches = case_filter(filter);
  std::erase_if(rows, [&](const Row& row) { return !matches(full_name(row)); });
  if (rows.empty()) throw InputError(fmt::format("--filter {} matches no recorded case", filter));
  return rows;
}

}  // namespace

ExitStatus list_recorded_cases(const std::string& filter, Console& console) {
  const std::vector<Row> rows = recorded_rows(filter, console);
  if (rows.empty()) return ExitStatus::no_verdict;
  fmt::print(
      console.err,
      "which cases there are depends on the GPU; these are those of the suite that was recorded on {}\n",
      rows.front().gpu);
  for (const Row& row : rows) fmt::print(console.out, "{}\n", full_name(row));
  return ExitStatus::done;
}

ExitStatus show_recorded_rows(const std::string& filter, Console& console) {
  std::vector<Row> rows = recorded_rows(filter, console);
  // What the runtime launches by itself has no theory.
  std::erase_if(rows, [](const Row& row) { return row.time_status == "skipped" || !row.theoretical_pct; });
  if (rows.empty()) return ExitStatus::no_verdict;

  std::size_t widest = 0;
  for (const Row& row : rows) widest = std::max(widest, full_name(row).size());
  const RowTable table(widest);
  fmt::print(console.out, "Recorded on {} at commit {}, {}; theory computed again:\n\n{}\n", rows.front().gpu,
             rows.front().commit, rows.front().recorded_at, table.header());
  std::size_t agreeing = 0;
  for (Row& row : rows) {
    agreeing += compute_theory_anew(row) ? 1 : 0;
    fmt::print(console.out, "{}\n", table.line(row));
  }
  fmt::print(console.out, "\n{} of {} rows have the theory that was recorded. {}\n", agreeing, rows.size(),
             agreement(rows));
  return agreeing == rows.size() ? ExitStatus::done : ExitStatus::no_verdict;
}

}  // namespace occbench
