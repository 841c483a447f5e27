#include "cli/findings_text.hpp"

#include <cmath>
#include <ostream>
#include <string>

#include <fmt/ostream.h>
#include <nlohmann/json.hpp>

namespace occbench {
namespace {

/// As rows show reals: with up to four decimals.
double rounded(double value) {
  return std::round(value * 1e4) / 1e4;
}

}  // namespace

void print_findings(std::span<const Finding> findings, std::ostream& out) {
  for (const Finding& finding : findings) {
    fmt::print(out, "  {} [{}, {}]\n    {}\n", finding.sentence, to_string(finding.cause),
               to_string(finding.confidence), finding.remedy);
  }
}

nlohmann::ordered_json findings_json(std::span<const Finding> findings) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json evidence = nlohmann::ordered_json::object();
    for (const auto& [column, value] : finding.evidence) evidence[std::string(column)] = rounded(value);
    array.push_back({{"cause", to_string(finding.cause)},
                     {"points", rounded(finding.points)},
                     {"confidence", to_string(finding.confidence)},
                     {"evidence", std::move(evidence)},
                     {"remedy", finding.remedy},
                     {"sentence", finding.sentence}});
  }
  return array;
}

}  // namespace occbench
