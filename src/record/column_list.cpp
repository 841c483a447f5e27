#include "record/column_list.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "record/columns.hpp"
#include "record/csv.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

constexpr std::string_view kResultsReadme = R"(# Recorded runs

A folder a GPU model. `FILE.csv` has a row for each case, `FILE.samples.csv` every reading behind the medians of those rows:
`experiment, case` as in the row, `quantity` (`time_us`, the name of a hardware counter, or `trace_...`), `index` (0, 1, ...
within the case and quantity) and `value`. What begins with `trace_` is from a launch of its own, in which each warp wrote
down where and when it ran: `trace_sm`, `trace_start_ns` and `trace_end_ns` have a value for each block, in the order of the
grid; `trace_replacement_latency_cycles` has one for each block that took an ended one's place, `trace_most_blocks` for each SM the
most blocks that it held at once; `trace_achieved_pct` is the achieved occupancy of that launch, `trace_out_of_order` the
number of its blocks that started after one of a higher index. A second traced launch has the same under `trace_again_...`.
`achieved_pct_by_trace` is the achieved occupancy of each traced launch of a case; `same_launch_trace_pct` and
`same_launch_counter_pct` are those of launches that were traced and counted at once. `timeline_mean_pct` is the mean of a
case's timeline, `time_us_discarded` what a case that was unstable or throttled at first was timed with.

`EXPERIMENT.CASE.timeline.csv` has occupancy over time: a line is the mean, over all SMs, from its own `time_us` (from the
launch's first warp) to the next line's, measured and predicted; the last lines of 0 are the end. `EXPERIMENT.CASE.per_sm.csv`
has a line for each SM of each traced launch: its blocks, its achieved occupancy, its place in the order in which SMs began
(1 = first), when it began and ended, and how long its freed places stood empty.

Both are UTF-8 and RFC 4180 with a line feed at the end of each line; columns are read by name. A cell of something that was
not measured is empty, never 0. Names that end in `_pct` are percentages, in `_points` differences of percentages. A last line
without its line end was being written when the run was stopped, and is not a row.

The gate compares the columns of two runs by these rules:

| rule | what it does |
|---|---|
| `key` | rows are matched by these columns |
| `machine` | must be equal for anything to be compared |
| `exact` | known before the launch: any difference is a regression |
| `lower_is_better` | known before the launch: more is a regression, less a note |
| `higher_is_better` | known before the launch: less is a regression, more a note |
| `consequence` | follows from columns known before the launch: as grave as their difference |
| `measured` | compared within a tolerance |
| `time` | compared by a statistical test over the samples |
| `status` | says whether the row can be compared at all |
| `none` | not compared |

## Columns

This page is what `occbench columns --format markdown` prints.

| column | type | unit | meaning | gate | hardware counter |
|---|---|---|---|---|---|
)";

constexpr std::array<const char*, 7> kNames = {"name", "type", "unit", "gate", "metric", "meaning", "read"};

std::string_view metric_of(const Column& column) {
  return column.counter ? column.counter->metric : "";
}

std::vector<std::string> cells(const Column& column) {
  return {std::string(column.name),
          std::string(type_name(column)),
          std::string(column.unit),
          std::string(to_string(column.gate)),
          std::string(metric_of(column)),
          std::string(column.meaning),
          column.counter ? std::string(to_string(column.counter->read)) : ""};
}

std::string code(std::string_view text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

std::string markdown() {
  std::string text(kResultsReadme);
  for (const Column& column : columns()) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", code(column.name), type_name(column),
                        column.unit, column.meaning, to_string(column.gate), code(metric_of(column)));
  }
  return text;
}

std::string table() {
  std::size_t width = 0;
  for (const Column& column : columns()) width = std::max(width, column.name.size());
  std::string text;
  for (const Column& column : columns()) {
    const std::string unit = column.unit.empty() ? "" : fmt::format(" [{}]", column.unit);
    text += fmt::format("{:<{}}  {:<8}  {}{}\n", column.name, width, to_string(column.gate), column.meaning,
                        unit);
  }
  return text;
}

std::string csv() {
  std::string text = csv_record(std::vector<std::string>(kNames.begin(), kNames.end()));
  for (const Column& column : columns()) text += csv_record(cells(column));
  return text;
}

std::string json() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Column& column : columns()) {
    const std::vector<std::string> values = cells(column);
    nlohmann::ordered_json& entry = list.emplace_back();
    for (std::size_t i = 0; i < values.size(); ++i) entry[kNames[i]] = values[i];
    if (column.counter) entry["scale"] = column.counter->scale;
  }
  return json_text(list) + "\n";
}

}  // namespace

std::string column_list(ColumnListFormat format) {
  switch (format) {
    case ColumnListFormat::table:
      return table();
    case ColumnListFormat::markdown:
      return markdown();
    case ColumnListFormat::csv:
      return csv();
    case ColumnListFormat::json:
      return json();
  }
  return "";
}

}  // namespace occbench
