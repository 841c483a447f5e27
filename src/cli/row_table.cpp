#include "cli/row_table.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "record/case_filter.hpp"

namespace occbench {
namespace {

constexpr std::size_t kWidest = 56;
constexpr std::size_t kNarrowest = 24;

std::string number(const Real& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : "-";
}

std::string name_of(const Row& row, std::size_t width) {
  const std::string name = full_name(row);
  if (name.size() <= width) return name;
  // What tells cases apart stands at the end.
  const std::size_t head = width / 3;
  return fmt::format("{}…{}", name.substr(0, head), name.substr(name.size() - (width - head - 1)));
}

std::string verdict(const Row& row) {
  if (row.time_status != "ok") return row.time_status;
  if (row.check == "wrong") return "wrong result";
  return row.counters_status == "ok" ? "ok" : fmt::format("ok, counters {}", row.counters_status);
}

/// Mean of |column - achieved| over the rows that have both.
std::optional<double> mean_error(std::span<const Row> rows, Real Row::*column, std::size_t& count) {
  double sum = 0;
  count = 0;
  for (const Row& row : rows) {
    if (!row.achieved_pct || !(row.*column)) continue;
    sum += std::abs(*(row.*column) - *row.achieved_pct);
    ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

}  // namespace

RowTable::RowTable(std::size_t name_width) : name_width_(std::clamp(name_width, kNarrowest, kWidest)) {}

std::string RowTable::header() const {
  return fmt::format("{:<{}} {:>8} {:>9} {:>8} {:>6} {:>11} {:>6}  {}", "case", name_width_, "theory %",
                     "predict %", "counter%", "+-", "time us", "+- %", "status");
}

std::string RowTable::line(const Row& row) const {
  return fmt::format("{:<{}} {:>8} {:>9} {:>8} {:>6} {:>11} {:>6}  {}", name_of(row, name_width_),
                     name_width_, number(row.theoretical_pct, 2), number(row.predicted_pct, 2),
                     number(row.achieved_pct, 2), number(row.achieved_spread_points, 2),
                     number(row.time_us, 2), number(row.time_spread_pct, 2), verdict(row));
}

std::string agreement(std::span<const Row> rows) {
  std::size_t count = 0;
  const std::optional<double> theory = mean_error(rows, &Row::theoretical_pct, count);
  if (!theory) return "";
  std::string text =
      fmt::format("Theory is {:.2f} points from the counter on average ({} cases)", *theory, count);
  const std::optional<double> prediction = mean_error(rows, &Row::predicted_pct, count);
  if (prediction) text += fmt::format("; the prediction {:.2f} points ({} cases)", *prediction, count);
  return text + ".";
}

}  // namespace occbench
