#include "cli/program_table.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <vector>

#include <fmt/ostream.h>

#include "cli/row_table.hpp"
#include "cli/text_table.hpp"
#include "diagnose/diagnose.hpp"
#include "programs/program_report.hpp"

namespace occbench {
namespace {

std::string percent(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}", *value) : "-";
}

/// What tells kernels apart stands at both ends of their names.
std::string narrow(const std::string& name) {
  constexpr std::size_t kWidest = 64;
  if (name.size() <= kWidest) return name;
  const std::size_t tail = kWidest / 2;
  return name.substr(0, kWidest - tail - 3) + "..." + name.substr(name.size() - tail);
}

/// What costs most of the points below theory, as lost time does: a limit of theory only where nothing else is
/// lost.
std::string what_costs_time(const CaseRecord& record) {
  const std::vector<Finding> findings = diagnose(facts_of(record));
  const auto found = std::ranges::find_if(
      findings, [](const Finding& finding) { return finding.points > 0 && !finding.of_theory; });
  return found == findings.end() ? record.explanation : found->sentence;
}

std::vector<std::string> table_line(const CaseRecord& record, double all_us) {
  const double total_us = record.program.total_time_us.value_or(0);
  const std::optional<double> lost = lost_us(record);
  return {lost ? milliseconds(*lost) : "-",
          milliseconds(total_us),
          all_us > 0 ? fmt::format("{:.1f}", 100 * total_us / all_us) : "-",
          fmt::format("{}", record.program.launches.value_or(0)),
          record.theory ? percent(record.theory->theoretical_pct) : "-",
          percent(record.prediction ? std::optional(record.prediction->predicted_pct) : std::nullopt),
          percent(record.readings.counters.achieved_pct),
          narrow(record.identity.name),
          what_costs_time(record)};
}

}  // namespace

std::string milliseconds(double microseconds) {
  return fmt::format("{:.{}f}", microseconds / 1000, microseconds < 10'000 ? 3 : 1);
}

void print_program(std::span<const CaseRecord> cases, std::size_t top, std::ostream& out) {
  double all_us = 0;
  double counted_us = 0;
  std::int64_t launches = 0;
  std::vector<const CaseRecord*> order;
  for (const CaseRecord& record : cases) {
    all_us += record.program.total_time_us.value_or(0);
    if (record.readings.counters.achieved_pct) counted_us += record.program.total_time_us.value_or(0);
    launches += record.program.launches.value_or(0);
    order.push_back(&record);
  }
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const CaseRecord* record) { return lost_us(*record).value_or(-1e300); });
  if (top > 0 && top < order.size()) order.resize(top);
  std::vector<std::vector<std::string>> lines = {{"lost ms", "time ms", "% of time", "launches", "theory %",
                                                  "predicted %", "achieved %", "kernel", "finding"}};
  for (const CaseRecord* record : order) lines.push_back(table_line(*record, all_us));
  fmt::print(out, "{}\n", text_table(lines, ">>>>>>><<"));
  fmt::print(out,
             "{} of {} kernels and configurations, {} launches, {} ms, {:.1f} % of it with a counter. Time lost is time x (theory - "
             "achieved) / theory, "
             "with the prediction where nothing was counted. {}\n",
             order.size(), cases.size(), launches, milliseconds(all_us),
             all_us > 0 ? 100 * counted_us / all_us : 0, agreement(cases));
}

}  // namespace occbench
