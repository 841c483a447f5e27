#include "cli/fastest_text.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "cli/text_table.hpp"
#include "record/race.hpp"

namespace occbench {
namespace {

bool has_right_time(const CaseRecord& record) {
  return record.times.time_us && record.times.status != TimeStatus::failed && record.check != Check::wrong;
}

double time_of(const CaseRecord& record) {
  return *record.times.time_us;
}

std::string occupancy_of(const CaseRecord& fastest, std::span<const CaseRecord* const> timed) {
  if (!fastest.theory) return {};
  const auto theory = [](const CaseRecord* each) { return each->theory ? each->theory->theoretical_pct : 0; };
  // Of those with the highest, the fastest.
  const CaseRecord& highest = **std::ranges::max_element(
      timed, {}, [&](const CaseRecord* each) { return std::pair(theory(each), -time_of(*each)); });
  std::string text =
      fmt::format("occupancy    theoretical {}", percent_text(fastest.theory->theoretical_pct));
  if (const auto achieved = fastest.readings.counters.achieved_pct)
    text += fmt::format(", achieved {}", percent_text(*achieved));
  if (theory(&highest) <= fastest.theory->theoretical_pct) return text + ": the highest of the sweep\n";
  return text + fmt::format("; the highest of the sweep is {}: {}, {:.2f} times as long\n",
                            percent_text(theory(&highest)), highest.identity.name,
                            time_of(highest) / time_of(fastest));
}

}  // namespace

std::string fastest_text(std::span<const CaseRecord> cases, std::size_t all) {
  std::vector<const CaseRecord*> timed;
  for (const CaseRecord& each : cases) {
    if (has_right_time(each)) timed.push_back(&each);
  }
  if (timed.empty()) return "No configuration ran with a right result: the rows say why.\n";
  // The fastest is measured as every case is; the median of one that is as fast can read lower.
  std::ranges::sort(timed, {}, [](const CaseRecord* each) {
    const bool of_race =
        each->note.find(kRuledOut) != std::string::npos || each->note.find(kAsFast) != std::string::npos;
    return std::pair(of_race, time_of(*each));
  });
  const CaseRecord& fastest = *timed.front();
  std::string text = fmt::format("\nfastest      {}   {:.4g} us\n", fastest.identity.name, time_of(fastest));
  const auto noted = [&](std::string_view note) {
    return std::ranges::count_if(
        cases, [&](const CaseRecord& each) { return each.note.find(note) != std::string::npos; });
  };
  const auto as_fast = std::ranges::count_if(timed, [&](const CaseRecord* each) {
    return each != &fastest && each->note.find(kRuledOut) == std::string::npos;
  });
  const auto by_intervals = std::ranges::count_if(
      cases, [](const CaseRecord& each) { return each.note.find("95 % intervals") != std::string::npos; });
  text += fmt::format(
      "certainty    {} ruled out by 95 % intervals, {} by one or two launches that were 5 % slower or more; "
      "{} not told "
      "from the fastest\n",
      by_intervals, noted(kRuledOut) - by_intervals, as_fast);
  for (std::size_t i = 1, shown = 0; i < timed.size() && shown < 3; ++i) {
    if (timed[i]->note.find(kRuledOut) != std::string::npos) continue;
    text += fmt::format("             {}   {:.4g} us\n", timed[i]->identity.name, time_of(*timed[i]));
    ++shown;
  }
  const auto left_out = noted(kLeftOut);
  const auto failed = static_cast<long>(cases.size() - timed.size()) - left_out;
  text += fmt::format(
      "left out     {} without a launch, {} that cannot run or are wrong, {} not decided, of {}\n", left_out,
      failed, all - cases.size(), all);
  return text + occupancy_of(fastest, timed);
}

}  // namespace occbench
