#include "gate/launch_change.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "gate/findings.hpp"
#include "record/observed.hpp"

namespace occbench {
namespace {

/// How grave it is that a column differs; consequences are as grave as their causes and have no grade yet.
std::optional<Grade> grade_of(const Column& column, const Row& before, const Row& now) {
  if (column.gate == GateRule::consequence) return std::nullopt;
  const Real was = number_of(before, column);
  const Real is = number_of(now, column);
  if (column.gate == GateRule::exact || !was || !is) return Grade::regression;
  const bool better = column.gate == GateRule::lower_is_better ? *is < *was : *is > *was;
  return better ? Grade::note : Grade::regression;
}

/// Work that was inferred from a measurement differs from run to run.
bool is_inferred(const Column& column, const Row& row) {
  return column.name == "work" && is_inferred_work(row.work_source);
}

}  // namespace

bool is_one_launch(const Sides& sides, const GateContext& context, ComparedCase& into) {
  for (const auto& [side, runs] : named(sides)) {
    for (const RecordedCase* recorded : *runs) {
      for (const Column* column : context.exact) {
        if (cell_text(recorded->row, *column) == cell_text(runs->front()->row, *column)) continue;
        if (is_inferred(*column, recorded->row)) continue;
        add_finding(into, Grade::no_verdict, column->name,
                    fmt::format("{} differs between runs of the {}", column->name, side));
        return false;
      }
    }
  }
  return true;
}

LaunchChange compare_launches(const Sides& sides, const GateContext& context, ComparedCase& into) {
  const Row& before = sides.baseline.front()->row;
  const Row& now = sides.candidate.front()->row;
  const double loss = before.theoretical_pct.value_or(0) - now.theoretical_pct.value_or(0);
  std::vector<const Column*> different;
  std::optional<Grade> gravest;
  for (const Column* column : context.exact) {
    if (cell_text(before, *column) == cell_text(now, *column) || is_inferred(*column, now)) continue;
    different.push_back(column);
    gravest = std::max(gravest, grade_of(*column, before, now));
  }
  if (different.empty()) return LaunchChange::none;
  const Grade of_consequences = gravest.value_or(Grade::regression);
  for (const Column* column : different) {
    const std::string was = cell_text(before, *column);
    const std::string is = cell_text(now, *column);
    const Grade grade = grade_of(*column, before, now).value_or(of_consequences);
    into.findings.push_back({grade, std::string(column->name), was, is,
                             change_text(column->name, was, is) + (grade == Grade::note ? ": better" : ""),
                             1000 + std::max(0.0, loss)});
  }
  if (of_consequences == Grade::note) {
    add_finding(into, Grade::note, "", "record the baseline again");
    return LaunchChange::better;
  }
  if (loss <= 0) {
    add_finding(into, Grade::note, "",
                "theoretical occupancy is no lower; if the change is meant, record the baseline again");
  }
  return LaunchChange::other;
}

bool was_never_launched(const Sides& sides) {
  const auto is_calculated = [](const RecordedCase* recorded) {
    const Row& row = recorded->row;
    return row.gpu.empty() && row.time_status.empty() && row.counters_status.empty() && !row.time_us &&
           !row.achieved_pct;
  };
  return std::ranges::all_of(sides.baseline, is_calculated) &&
         std::ranges::all_of(sides.candidate, is_calculated);
}

}  // namespace occbench
