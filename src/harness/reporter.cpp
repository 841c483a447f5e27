#include "harness/reporter.hpp"

#include <algorithm>

#include "record/columns.hpp"

namespace occbench {
namespace {

std::optional<double> number(const Row& row, const Column& column) {
  if (const auto* real = std::get_if<Real Row::*>(&column.where)) return row.**real;
  if (const auto* integer = std::get_if<Integer Row::*>(&column.where)) {
    if (const Integer& value = row.**integer) return static_cast<double>(*value);
  }
  return std::nullopt;
}

}  // namespace

bool RowReporter::ReportContext(const Context& context) {
  inner_.SetOutputStream(&GetOutputStream());
  inner_.SetErrorStream(&GetErrorStream());
  return inner_.ReportContext(context);
}

void RowReporter::ReportRuns(const std::vector<Run>& runs) {
  const auto is_iteration = [](const Run& run) { return run.run_type == Run::RT_Iteration; };
  const auto repetitions = static_cast<std::size_t>(std::ranges::count_if(runs, is_iteration));
  std::vector<Run> ours = runs;
  for (Run& run : ours) {
    if (!is_iteration(run)) continue;
    const Row* row = find_row_(run.run_name.function_name, repetitions);
    if (row == nullptr) continue;
    for (const std::string_view name : columns_) {
      const std::optional<double> value = number(*row, *find_column(name));
      if (value) run.counters[std::string(name)] = benchmark::Counter(*value);
    }
  }
  inner_.ReportRuns(ours);
}

void RowReporter::Finalize() {
  inner_.Finalize();
}

}  // namespace occbench
