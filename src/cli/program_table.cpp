#include "cli/program_table.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <utility>

#include <fmt/ostream.h>

#include "occupancy/text.hpp"
#include "orchestrate/progress.hpp"
#include "programs/program.hpp"
#include "record/kernel_library.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

/// Kernel names differ at both ends.
std::string narrow(const std::string& name) {
  constexpr std::size_t kWidest = 44;
  return shortened(name, kWidest, kWidest / 2);
}

std::string interval_of_line(const CaseRecord& record) {
  if (!record.prediction) return "-";
  return is_reconstructed_work(record.identity.work_source) ? "reconstructed"
                                                            : to_string(record.prediction->interval);
}

/// "88 points small_grid (PyTorch)"
std::string finding_text(const CaseToTell& saved) {
  if (!saved.finding) return saved.record->explanation;
  const KernelLibrary* const library = library_of(saved.record->identity.kernel);
  std::string text(to_string(saved.finding->cause));
  if (saved.finding->points > 0) text = fmt::format("{:.0f} points {}", saved.finding->points, text);
  return library == nullptr ? text : fmt::format("{} ({})", text, library->name);
}

std::vector<std::string> table_line(const CaseToTell& saved, double all_us) {
  const CaseRecord& record = *saved.record;
  const double total_us = record.program.total_time_us.value_or(0);
  return {saved.us > 0 || saved.is_known ? milliseconds(saved.us) : "?",
          milliseconds(total_us),
          all_us > 0 ? fmt::format("{:.1f}", 100 * total_us / all_us) : "-",
          fmt::format("{}", record.program.launches.value_or(0)),
          record.theory ? number_or_dash(record.theory->theoretical_pct, 1) : "-",
          interval_of_line(record),
          number_or_dash(record.readings.counters.achieved_pct, 1),
          narrow(record.identity.name),
          finding_text(saved)};
}

/// The reason in a note; empty if it gives none.
std::string why_not_counted(const CaseRecord& record) {
  constexpr std::string_view kLead = "not counted: ";
  const std::size_t at = record.note.find(kLead);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kLead.size();
  return record.note.substr(begin, record.note.find("; ", begin) - begin);
}

/// Time of a program's cases, the part with a counter, and achieved occupancy weighted by that part.
struct Sums {
  double us = 0;
  double counted_us = 0;
  double achieved_us = 0;
  std::int64_t launches = 0;
  std::int64_t without_time = 0;           ///< launches
  std::map<std::string, int> uncounted{};  ///< cases, by the reason in their notes

  void add(const CaseRecord& record) {
    const double total_us = record.program.total_time_us.value_or(0);
    us += total_us;
    launches += record.program.launches.value_or(0);
    if (total_us <= 0) without_time += record.program.launches.value_or(0);
    const auto& achieved = record.readings.counters.achieved_pct;
    if (!achieved) {
      if (const std::string why = why_not_counted(record); !why.empty()) ++uncounted[why];
      return;
    }
    counted_us += total_us;
    achieved_us += total_us * *achieved / 100;
  }
  std::string counted_share() const {
    return fmt::format("{:.1f}", us > 0 ? 100 * counted_us / us : 0);
  }
};

}  // namespace

void print_regions(std::span<const CaseRecord> cases, std::ostream& out) {
  struct Region {
    Sums sums;
    const CaseToTell* first = nullptr;  ///< the case that can save most
    double saved_us = 0;
  };
  const std::vector<CaseToTell> order = by_time_saved(cases);
  std::map<std::string, Region> regions;
  double all_us = 0;
  for (const CaseToTell& each : order) {
    Region& region = regions[each.record->program.regions];
    region.sums.add(*each.record);
    region.saved_us += each.us;
    if (region.first == nullptr) region.first = &each;
    all_us += each.record->program.total_time_us.value_or(0);
  }
  std::vector<std::pair<std::string, Region>> by_time(regions.begin(), regions.end());
  std::ranges::stable_sort(by_time, std::ranges::greater{},
                           [](const auto& one) { return one.second.sums.us; });
  std::vector<std::vector<std::string>> lines = {{"time ms", "% of time", "launches", "% with a counter",
                                                  "achieved %", "max saved ms", "region", "most in"}};
  for (const auto& [name, region] : by_time) {
    const Sums& sums = region.sums;
    lines.push_back(
        {milliseconds(sums.us), fmt::format("{:.1f}", all_us > 0 ? 100 * sums.us / all_us : 0),
         fmt::format("{}", sums.launches), sums.counted_share(),
         sums.counted_us > 0 ? fmt::format("{:.1f}", 100 * sums.achieved_us / sums.counted_us) : "-",
         milliseconds(region.saved_us), name.empty() ? "(no range)" : name,
         narrow(region.first->record->identity.name)});
  }
  fmt::print(out, "{}\n", text_table(lines, ">>>>>><<"));
}

std::string milliseconds(double microseconds) {
  return fmt::format("{:.{}f}", microseconds / 1000, microseconds < 10'000 ? 3 : 1);
}

std::string program_total(std::span<const CaseRecord> cases) {
  Sums sums;
  for (const CaseRecord& record : cases) sums.add(record);
  std::string text = fmt::format("{} kernels and configurations, {} launches, {} ms", cases.size(),
                                 sums.launches, milliseconds(sums.us));
  if (sums.without_time > 0) text += fmt::format(" without {} launches that have no time", sums.without_time);
  text += fmt::format(", {} % of it with a counter", sums.counted_share());
  if (sums.counted_us > 0)
    text += fmt::format(", mean achieved {:.1f} %", 100 * sums.achieved_us / sums.counted_us);
  std::string_view lead = "; not counted ";
  for (const auto& [why, count] : sums.uncounted)
    text += fmt::format("{}{}: {}", std::exchange(lead, "; "), count, why);
  return text;
}

void print_program(std::span<const CaseRecord> cases, std::size_t top, std::ostream& out) {
  double all_us = 0;
  for (const CaseRecord& record : cases) all_us += record.program.total_time_us.value_or(0);
  std::vector<CaseToTell> order = by_time_saved(cases);
  if (top > 0 && top < order.size()) order.resize(top);
  std::vector<std::vector<std::string>> lines = {{"max saved ms", "time ms", "% of time", "launches",
                                                  "theory %", "predicted range", "achieved %", "kernel",
                                                  "finding"}};
  for (const CaseToTell& each : order) lines.push_back(table_line(each, all_us));
  fmt::print(out, "{}\n", text_table(lines, ">>>>>>><<"));
  fmt::print(
      out,
      "{} of {}. Max saved is the most time that the remedy of the finding could save, which `occbench "
      "explain` names with its conditions; ? where it is not known. The column kernel has whole names. {}\n",
      order.size(), program_total(cases), agreement(cases));
}

}  // namespace occbench
