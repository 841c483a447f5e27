#include "cli/findings_text.hpp"

#include <cmath>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

#include "cli/calc_answer.hpp"

namespace occbench {
namespace {

/// As rows show reals: with up to four decimals.
double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

}  // namespace

void print_findings(std::span<const Finding> findings, double theoretical_pct,
                    std::optional<double> reached_pct, std::ostream& out) {
  std::string_view remedy_before;
  const auto print = [&](FindingList list, const std::string& heading) {
    bool is_first = true;
    // What no cause explains is read after all causes, however much it is.
    for (const bool unexplained : {false, true})
      for (const Finding& finding : findings) {
        if (finding.list != list || (finding.cause == Cause::unexplained) != unexplained) continue;
        if (std::exchange(is_first, false)) fmt::print(out, "  {}\n", heading);
        fmt::print(out, "    {} [{}, {}]\n", finding.sentence, to_string(finding.cause),
                   to_string(finding.confidence));
        if (finding.remedy != std::exchange(remedy_before, finding.remedy))
          fmt::print(out, "      {}\n", finding.remedy);
        if (finding.time) fmt::print(out, "      Time saved: {}\n", finding.time->sentence);
      }
  };
  double losses = 0;
  for (const Finding& finding : findings) {
    if (finding.list == FindingList::losses) losses += finding.points;
  }
  print(FindingList::limits, fmt::format("Limits of theory: 100 to {:.4g} %", theoretical_pct));
  print(FindingList::losses, fmt::format("Lost below theory: {:.4g} to {:.4g} %", theoretical_pct,
                                         reached_pct.value_or(theoretical_pct - losses)));
  print(FindingList::remarks, "Remarks");
}

nlohmann::ordered_json findings_json(std::span<const Finding> findings) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json evidence = nlohmann::ordered_json::object();
    for (const auto& [column, value] : finding.evidence) evidence[std::string(column)] = rounded(value);
    nlohmann::ordered_json object = {
        {"cause", to_string(finding.cause)}, {"list", to_string(finding.list)},
        {"points", rounded(finding.points)}, {"confidence", to_string(finding.confidence)},
        {"evidence", std::move(evidence)},   {"remedy", finding.remedy},
        {"sentence", finding.sentence}};
    if (finding.time) {
      object["time"] = finding.time->sentence;
      object["time_saved_at_most_pct"] = rounded(100 * finding.time->share);
    }
    if (finding.advice) object["steps"] = steps_json(*finding.advice);
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace occbench
