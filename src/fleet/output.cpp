#include "fleet/output.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "record/json.hpp"

namespace occbench {
namespace {

/// More lines than this nobody reads; JSON has all.
constexpr std::size_t kMostLines = 40;

constexpr const char* kDistances = "distance from the peers' median";

std::string_view verdict_of(const ComparedGpu& gpu) {
  if (gpu.out_of_line()) return "out of line";
  return gpu.no_verdict.empty() ? "in line" : "no verdict";
}

/// No control character of a file reaches the terminal.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char character) { return character < 0x20 || character == 0x7f; }, ' ');
  return text;
}

std::string told(const FleetFinding& finding) {
  std::string text = fmt::format(
      "    {}{} ({}", finding.note ? "note: " : "", finding.sentence,
      finding.named_from ? fmt::format("named from {:.2g} {}", *finding.named_from, finding.size_unit)
                         : "the rows say so");
  if (finding.own_past) text += "; against its own earlier runs";
  if (!finding.since.empty()) text += "; since " + finding.since;
  if (!finding.worst_case.empty()) text += "; furthest in " + finding.worst_case;
  return text + ")\n";
}

std::string name_of(const MeasuredGpu& gpu) {
  return fmt::format("{}  {}", gpu.uuid, gpu.host);
}

std::string heading(const FleetRows& rows, const RankedFleet& ranked) {
  if (ranked.gpus.empty()) return "no GPU\n";
  std::set<std::string> hosts;
  std::string from = "~";
  std::string to;
  for (const ComparedGpu& each : ranked.gpus) {
    const MeasuredGpu& gpu = rows.gpus[each.gpu];
    hosts.insert(gpu.host);
    from = std::min(from, gpu.recorded_at);
    to = std::max(to, gpu.recorded_at);
  }
  return fmt::format("{}: {} GPU{} on {} node{}, {} cases, {} to {}\n\n", rows.gpus[ranked.gpus[0].gpu].model,
                     ranked.gpus.size(), ranked.gpus.size() == 1 ? "" : "s", hosts.size(),
                     hosts.size() == 1 ? "" : "s", rows.cases.size(), from, to);
}

std::string distances(const ComparedGpu& gpu) {
  std::string line;
  for (const auto& deviation : gpu.deviations)
    line += deviation ? fmt::format(" {:>10.2f}", deviation->value + 0.0) : fmt::format(" {:>10}", "");
  return line;
}

std::string ranking(const FleetRows& rows, const RankedFleet& ranked) {
  std::size_t widest = std::string_view(kDistances).size();
  const std::size_t shown = std::min(kMostLines, ranked.gpus.size());
  for (std::size_t i = 0; i < shown; ++i)
    widest = std::max(widest, one_line(name_of(rows.gpus[ranked.gpus[i].gpu])).size());
  std::string text = fmt::format("\n{:<{}}", "GPU", widest);
  for (const FleetQuantity quantity : kFleetQuantities)
    text += fmt::format(" {:>10}", facts_of(quantity).name);
  text += fmt::format("\n{:<{}}", kDistances, widest);
  for (const FleetQuantity quantity : kFleetQuantities)
    text += fmt::format(" {:>10}", facts_of(quantity).unit);
  text += fmt::format("\n{:<{}}", "is named from", widest);
  for (const auto& smallest : ranked.named_from)
    text += smallest ? fmt::format(" {:>10.2f}", *smallest) : fmt::format(" {:>10}", "");
  text += "\n";
  for (std::size_t i = 0; i < shown; ++i) {
    const ComparedGpu& gpu = ranked.gpus[i];
    text += fmt::format("{:<{}}{}  {}\n", one_line(name_of(rows.gpus[gpu.gpu])), widest, distances(gpu),
                        verdict_of(gpu));
  }
  if (shown < ranked.gpus.size())
    text += fmt::format("... and {} more (--format json has all)\n", ranked.gpus.size() - shown);
  return text;
}

nlohmann::ordered_json json_of(const FleetFinding& finding) {
  nlohmann::ordered_json object = {{"cause", finding.cause},
                                   {"size", finding.size},
                                   {"unit", finding.size_unit},
                                   {"named_from", nullptr},
                                   {"note", finding.note},
                                   {"sentence", finding.sentence},
                                   {"worst_case", finding.worst_case},
                                   {"against", finding.own_past ? "own past" : "peers"},
                                   {"since", finding.since}};
  if (finding.named_from) object["named_from"] = *finding.named_from;
  return object;
}

}  // namespace

std::string fleet_headline(const RankedFleet& ranked) {
  const std::size_t out = ranked.out_of_line();
  std::string text = fmt::format("{} of {} GPU{} {} out of line", out, ranked.gpus.size(),
                                 ranked.gpus.size() == 1 ? "" : "s", out == 1 ? "is" : "are");
  if (ranked.no_verdict() > 0) text += fmt::format(", {} without a verdict", ranked.no_verdict());
  return text + ".";
}

std::string fleet_table(const FleetRows& rows, const RankedFleet& ranked) {
  std::string text = heading(rows, ranked);
  std::size_t shown = 0;
  for (const ComparedGpu& gpu : ranked.gpus) {
    if (gpu.findings.empty() && gpu.no_verdict.empty()) continue;
    if (++shown > kMostLines) break;
    text += fmt::format("{}: {}\n", verdict_of(gpu), one_line(name_of(rows.gpus[gpu.gpu])));
    for (const FleetFinding& finding : gpu.findings) text += "  " + one_line(told(finding)) + "\n";
    if (!gpu.no_verdict.empty()) text += fmt::format("    {}\n", one_line(gpu.no_verdict));
  }
  for (const std::string& remark : ranked.remarks) text += one_line(remark) + "\n";
  return text + ranking(rows, ranked) + "\n" + fleet_headline(ranked) + "\n";
}

std::string fleet_json(const FleetRows& rows, const RankedFleet& ranked) {
  std::string text;
  for (const ComparedGpu& each : ranked.gpus) {
    const MeasuredGpu& gpu = rows.gpus[each.gpu];
    nlohmann::ordered_json object = {{"gpu_uuid", gpu.uuid},
                                     {"host", gpu.host},
                                     {"gpu", gpu.model},
                                     {"recorded_at", gpu.recorded_at},
                                     {"simulated", rows.kind.simulated()},
                                     {"verdict", verdict_of(each)},
                                     {"why_no_verdict", each.no_verdict}};
    nlohmann::ordered_json& distances = object["distances"] = nlohmann::ordered_json::object();
    for (const FleetQuantity quantity : kFleetQuantities) {
      const auto& deviation = each.deviations[static_cast<std::size_t>(quantity)];
      nlohmann::ordered_json& value = distances[std::string(facts_of(quantity).name)];
      if (deviation) value = deviation->value;
    }
    nlohmann::ordered_json& findings = object["findings"] = nlohmann::ordered_json::array();
    for (const FleetFinding& finding : each.findings) findings.push_back(json_of(finding));
    text += json_text(object, -1) + "\n";
  }
  return text;
}

}  // namespace occbench
