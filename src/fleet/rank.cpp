#include "fleet/rank.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "occupancy/text.hpp"
#include "record/json.hpp"
#include "record/provenance.hpp"

namespace occbench {
namespace {

using Numbers = std::vector<std::size_t>;

/// GPU and cause of a run's findings.
using Named = std::set<std::pair<std::string, std::string>>;

Named named_in(const FleetRows& rows, std::span<const ComparedGpu> compared) {
  Named named;
  for (const ComparedGpu& each : compared) {
    for (const FleetFinding& finding : each.findings) named.emplace(rows.gpus[each.gpu].uuid, finding.cause);
  }
  return named;
}

/// An earlier run of the fleet and its findings.
struct PastRun {
  std::string recorded_at;
  Named named;
};

/// Latest first.
std::vector<PastRun> past_runs(const FleetRows& rows, const FleetQuestion& question) {
  std::map<std::string, Numbers> by_run;
  for (const std::size_t gpu : question.earlier) by_run[rows.gpus[gpu].run].push_back(gpu);
  std::vector<PastRun> runs;
  for (const auto& [run, gpus] : by_run) {
    const auto latest =
        std::ranges::max_element(gpus, {}, [&](std::size_t gpu) { return rows.gpus[gpu].recorded_at; });
    runs.push_back(
        {rows.gpus[*latest].recorded_at, named_in(rows, compare_gpus(rows, gpus, question.baseline).gpus)});
  }
  std::ranges::sort(runs, std::ranges::greater(), &PastRun::recorded_at);
  return runs;
}

void say_since_when(const FleetRows& rows, std::span<const PastRun> runs, ComparedGpu& compared) {
  const MeasuredGpu& gpu = rows.gpus[compared.gpu];
  for (FleetFinding& finding : compared.findings) {
    finding.since = gpu.recorded_at;
    for (const PastRun& run : runs) {
      if (!run.named.contains({gpu.uuid, finding.cause})) break;
      finding.since = run.recorded_at;
    }
  }
}

/// Number of a GPU's runs, in order of time, before the first lasting fall: each later one is below more than half of
/// the earlier ones by more than the quantity is named from. 0 = there is none.
std::size_t runs_before_fall(std::span<const ComparedGpu> runs) {
  std::size_t first = 0;
  for (std::size_t q = 0; q < kFleetQuantities.size(); ++q) {
    if (!runs.back().deviations[q]) continue;
    std::vector<double> best_since(runs.size() + 1, -std::numeric_limits<double>::infinity());
    for (std::size_t i = runs.size(); i-- > 0;) {
      const auto& each = runs[i].deviations[q];
      best_since[i] = each ? std::max(best_since[i + 1], each->value) : best_since[i + 1];
    }
    std::vector<double> before;  // in order
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (before.size() + 1 >= kFewestPeers &&
          before[(before.size() - 1) / 2] - best_since[i] > facts_of(kFleetQuantities[q]).named_from) {
        first = first == 0 ? i : std::min(first, i);
        break;
      }
      if (const auto& each = runs[i].deviations[q])
        before.insert(std::ranges::upper_bound(before, each->value), each->value);
    }
  }
  return first;
}

/// A GPU compared with its own earlier runs by the same build. If there is a lasting fall, it is compared with those
/// before the fall, which may be the fewer. @returns empty if there are too few
std::optional<ComparedGpu> against_own_past(const FleetRows& rows, Numbers own, std::size_t gpu) {
  std::erase_if(own, [&](std::size_t run) { return rows.gpus[run].commit != rows.gpus[gpu].commit; });
  std::ranges::stable_sort(own, {}, [&](std::size_t run) { return rows.gpus[run].recorded_at; });
  own.push_back(gpu);
  if (own.size() < kFewestPeers) return std::nullopt;
  const std::vector<ComparedGpu> all = compare_gpus(rows, own, {}).gpus;
  ComparedGpu now = all.back();
  std::vector<PastRun> runs;
  if (const std::size_t first = runs_before_fall(all); first > 0) {
    const auto fall = own.begin() + static_cast<std::ptrdiff_t>(first);
    const Numbers before(own.begin(), fall);
    const Numbers self = {gpu};
    now = compare_gpus(rows, self, before).gpus[0];
    runs = past_runs(rows, {.judged = {}, .baseline = before, .earlier = Numbers(fall, own.end() - 1)});
  } else {
    for (std::size_t i = all.size() - 1; i-- > 0;)
      runs.push_back({rows.gpus[own[i]].recorded_at, named_in(rows, {&all[i], 1})});
  }
  say_since_when(rows, runs, now);
  return now;
}

/// Adds differences from the GPU's own earlier runs. @returns whether there are enough of them
bool add_changes(const FleetRows& rows, const std::map<std::string, Numbers>& earlier,
                 ComparedGpu& compared) {
  const auto found = earlier.find(rows.gpus[compared.gpu].uuid);
  if (found == earlier.end()) return false;
  std::optional<ComparedGpu> changed = against_own_past(rows, found->second, compared.gpu);
  if (!changed) return false;
  if (!compared.no_verdict.empty()) {
    if (changed->no_verdict.empty()) compared.deviations = changed->deviations;
    compared.no_verdict =
        changed->no_verdict.empty() ? "" : "against its own earlier runs: " + changed->no_verdict;
  }
  for (FleetFinding& finding : changed->findings) {
    const bool known = std::ranges::any_of(
        compared.findings, [&](const FleetFinding& other) { return other.cause == finding.cause; });
    if (known) continue;
    finding.own_past = true;
    compared.findings.push_back(std::move(finding));
  }
  return true;
}

/// Worst first: more than notes, then those without a verdict, then notes, then the rest; within each group the
/// largest distance first.
struct Place {
  int group;
  double nearness;  ///< to its peers

  auto operator<=>(const Place&) const = default;
};

Place place_in_order(const ComparedGpu& gpu) {
  double furthest = 0;  // in multiples of what is named
  for (const FleetFinding& finding : gpu.findings) {
    if (finding.note) continue;
    furthest = finding.named_from ? std::max(furthest, std::abs(finding.size) / *finding.named_from)
                                  : std::numeric_limits<double>::infinity();
  }
  for (std::size_t q = 0; q < kFleetQuantities.size(); ++q) {
    if (const auto& each = gpu.deviations[q])
      furthest = std::max(furthest, std::abs(each->value) / facts_of(kFleetQuantities[q]).named_from);
  }
  const int group = gpu.out_of_line() ? 0 : !gpu.no_verdict.empty() ? 1 : !gpu.findings.empty() ? 2 : 3;
  return {group, -furthest};
}

std::string name_of(const MeasuredGpu& gpu) {
  return fmt::format("{}  {}", gpu.uuid, gpu.host);
}

/// Adds how many there are, and a few of their names; nothing if there is none.
void remark(RankedFleet& ranked, std::string_view one, std::string_view said,
            const std::vector<std::string>& names) {
  constexpr std::size_t kMostNames = 8;
  if (names.empty()) return;
  const auto shown = std::span(names).first(std::min(kMostNames, names.size()));
  ranked.remarks.push_back(fmt::format("{} {}: {}{}", counted(std::ssize(names), one), said,
                                       fmt::join(shown, ", "), shown.size() < names.size() ? ", ..." : ""));
}

/// Remarks on GPUs that every earlier file has and this run lacks.
void remark_missing(const FleetRows& rows, const std::map<std::string, Numbers>& earlier, std::size_t files,
                    RankedFleet& ranked) {
  std::vector<std::string> missing;
  for (const auto& [uuid, runs] : earlier) {
    const bool is_here = std::ranges::any_of(
        ranked.gpus, [&, &of = uuid](const ComparedGpu& each) { return rows.gpus[each.gpu].uuid == of; });
    if (!is_here && runs.size() == files) missing.push_back(name_of(rows.gpus[runs.front()]));
  }
  remark(ranked, "GPU", "in each earlier file and missing now", missing);
}

/// A time that cannot be read is not compared.
void remark_old(const FleetRows& rows, RankedFleet& ranked) try {
  constexpr std::chrono::days kOld(30);
  std::string newest;
  for (const ComparedGpu& each : ranked.gpus) newest = std::max(newest, rows.gpus[each.gpu].recorded_at);
  if (newest.empty()) return;
  const std::string oldest = iso_time(parse_iso_time(newest) - kOld);
  std::vector<std::string> old;
  for (const ComparedGpu& each : ranked.gpus) {
    const MeasuredGpu& gpu = rows.gpus[each.gpu];
    if (!gpu.recorded_at.empty() && gpu.recorded_at < oldest) old.push_back(name_of(gpu));
  }
  remark(ranked, "GPU", fmt::format("recorded more than {} days before the newest", kOld.count()), old);
} catch (const InputError&) {
}

/// Causes in which all GPUs of a host are out of line, if the host has several and there are other hosts too.
std::vector<std::string> remarks_on_hosts(const FleetRows& rows, std::span<const ComparedGpu> gpus) {
  std::map<std::string, std::vector<const ComparedGpu*>> hosts;
  for (const ComparedGpu& each : gpus) hosts[rows.gpus[each.gpu].host].push_back(&each);
  std::vector<std::string> remarks;
  for (const auto& [host, members] : hosts) {
    if (hosts.size() < 2 || members.size() < 2) continue;
    for (const FleetFinding& finding : members[0]->findings) {
      const bool all = std::ranges::all_of(members, [&](const ComparedGpu* each) {
        return std::ranges::any_of(each->findings, [&](const FleetFinding& other) {
          return other.cause == finding.cause && !other.note;
        });
      });
      if (all)
        remarks.push_back(fmt::format("all {} GPUs of node {} are out of line in {}: look at the node",
                                      members.size(), host, finding.cause));
    }
  }
  return remarks;
}

/// Nobody reads more lines than this; JSON has all.
constexpr std::size_t kMostLines = 40;

std::string_view verdict_of(const ComparedGpu& gpu) {
  if (gpu.out_of_line()) return "out of line";
  return gpu.no_verdict.empty() ? "in line" : "no verdict";
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
  return fmt::format("{}: {} on {}, {} cases, {} to {}\n\n", rows.gpus[ranked.gpus[0].gpu].model,
                     counted(std::ssize(ranked.gpus), "GPU"), counted(std::ssize(hosts), "node"),
                     rows.cases.size(), from, to);
}

/// A line of the ranking: a number for each quantity.
template <typename NumberOf>
std::vector<std::string> line_of(std::string name, NumberOf number_of, std::string_view end = "") {
  std::vector<std::string> line = {std::move(name)};
  for (std::size_t q = 0; q < kFleetQuantities.size(); ++q) line.push_back(number_of(q));
  line.emplace_back(end);
  return line;
}

std::string ranking(const FleetRows& rows, const RankedFleet& ranked) {
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2f}", *value + 0.0) : "";
  };
  const auto fact = [](std::string_view FleetQuantityFacts::*of) {
    return [of](std::size_t q) { return std::string(facts_of(kFleetQuantities[q]).*of); };
  };
  std::vector<std::vector<std::string>> lines = {
      line_of("GPU", fact(&FleetQuantityFacts::name)),
      line_of("distance from the peers' median", fact(&FleetQuantityFacts::unit)),
      line_of("is named from", [&](std::size_t q) { return number(ranked.named_from[q]); })};
  const std::size_t shown = std::min(kMostLines, ranked.gpus.size());
  for (const ComparedGpu& gpu : std::span(ranked.gpus).first(shown)) {
    const auto distance = [&](std::size_t q) {
      return gpu.deviations[q] ? number(gpu.deviations[q]->value) : "";
    };
    lines.push_back(line_of(name_of(rows.gpus[gpu.gpu]), distance, verdict_of(gpu)));
  }
  std::string text = "\n" + text_table(lines, "<>>>>>><");
  if (shown < ranked.gpus.size())
    text += fmt::format("... and {} more (--format json has all)\n", ranked.gpus.size() - shown);
  std::vector<std::string_view> not_told;
  for (std::size_t q = 0; q < kFleetQuantities.size(); ++q) {
    if (std::ranges::none_of(ranked.gpus,
                             [&](const ComparedGpu& gpu) { return gpu.deviations[q].has_value(); }))
      not_told.push_back(facts_of(kFleetQuantities[q]).name);
  }
  if (!not_told.empty())
    text += fmt::format("not compared, since no rows tell it: {}\n", fmt::join(not_told, ", "));
  if (std::ranges::all_of(rows.cases, [](const FleetCase& each) { return each.bound == BoundBy::other; }))
    text += "times are not compared: no row says what bounds them\n";
  return text;
}

Json json_of(const FleetFinding& finding) {
  Json object = {{"cause", finding.cause},
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

std::size_t RankedFleet::out_of_line() const {
  return static_cast<std::size_t>(std::ranges::count_if(gpus, &ComparedGpu::out_of_line));
}

std::size_t RankedFleet::no_verdict() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      gpus, [](const ComparedGpu& gpu) { return !gpu.no_verdict.empty() && !gpu.out_of_line(); }));
}

RankedFleet rank_fleet(const FleetRows& rows, const FleetQuestion& question) {
  RankedFleet ranked{compare_gpus(rows, question.judged, question.baseline)};
  remark(ranked, "file", "without a row", rows.without_rows);
  remark_old(rows, ranked);
  if (!question.earlier.empty()) {
    const std::vector<PastRun> runs = past_runs(rows, question);
    std::map<std::string, Numbers> earlier;
    for (const std::size_t gpu : question.earlier) earlier[rows.gpus[gpu].uuid].push_back(gpu);
    std::vector<std::string> without_past;
    for (ComparedGpu& each : ranked.gpus) {
      say_since_when(rows, runs, each);
      if (!add_changes(rows, earlier, each)) without_past.push_back(name_of(rows.gpus[each.gpu]));
    }
    remark(ranked, "GPU", "with fewer than two earlier runs by this build, which --since needs",
           without_past);
    remark_missing(rows, earlier, runs.size(), ranked);
  }
  std::ranges::move(remarks_on_hosts(rows, ranked.gpus), std::back_inserter(ranked.remarks));
  std::ranges::stable_sort(ranked.gpus, {}, place_in_order);
  return ranked;
}

std::string fleet_headline(const RankedFleet& ranked) {
  const std::size_t out = ranked.out_of_line();
  std::string text = fmt::format("{} of {} {} out of line", out, counted(std::ssize(ranked.gpus), "GPU"),
                                 out == 1 ? "is" : "are");
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
    Json object = {{"gpu_uuid", gpu.uuid},
                   {"host", gpu.host},
                   {"gpu", gpu.model},
                   {"recorded_at", gpu.recorded_at},
                   {"simulated", rows.kind.simulated()},
                   {"verdict", verdict_of(each)},
                   {"why_no_verdict", each.no_verdict},
                   {"remarks", ranked.remarks}};
    Json& distances = object["distances"] = Json::object();
    for (const FleetQuantity quantity : kFleetQuantities) {
      const auto& deviation = each.deviations[static_cast<std::size_t>(quantity)];
      Json& value = distances[std::string(facts_of(quantity).name)];
      if (deviation) value = deviation->value;
    }
    Json& findings = object["findings"] = Json::array();
    for (const FleetFinding& finding : each.findings) findings.push_back(json_of(finding));
    text += json_text(object, -1) + "\n";
  }
  return text;
}

}  // namespace occbench
