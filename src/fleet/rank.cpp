#include "fleet/rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

namespace occbench {
namespace {

using Numbers = std::vector<std::size_t>;

/// GPU and cause of what was found in a run.
using Named = std::set<std::pair<std::string, std::string>>;

Named named_in(const FleetRows& rows, std::span<const ComparedGpu> compared) {
  Named named;
  for (const ComparedGpu& each : compared) {
    for (const FleetFinding& finding : each.findings) named.emplace(rows.gpus[each.gpu].uuid, finding.cause);
  }
  return named;
}

/// A run of the fleet in the past and what was found in it.
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

/// What differs from the GPU's own earlier runs.
void add_changes(const FleetRows& rows, const std::map<std::string, Numbers>& earlier,
                 ComparedGpu& compared) {
  const auto found = earlier.find(rows.gpus[compared.gpu].uuid);
  if (found == earlier.end() || found->second.size() + 1 < kFewestPeers) return;
  const Numbers self = {compared.gpu};
  std::vector<ComparedGpu> changed = compare_gpus(rows, self, found->second).gpus;
  if (changed[0].no_verdict.empty()) {
    if (!compared.no_verdict.empty()) compared.deviations = changed[0].deviations;
    compared.no_verdict.clear();
  }
  for (FleetFinding& finding : changed[0].findings) {
    const bool known = std::ranges::any_of(
        compared.findings, [&](const FleetFinding& other) { return other.cause == finding.cause; });
    if (known) continue;
    finding.own_past = true;
    finding.since = rows.gpus[compared.gpu].recorded_at;
    compared.findings.push_back(std::move(finding));
  }
}

/// Worst first: more than notes, then those without a verdict, then notes, then the rest; of each the furthest out.
struct Place {
  int group;
  double nearness;  ///< to its peers

  auto operator<=>(const Place&) const = default;
};

Place place_of(const ComparedGpu& gpu) {
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

/// Causes that all GPUs of a host have, where there are several and other hosts too.
std::vector<std::string> remarks_on_hosts(const FleetRows& rows, std::span<const ComparedGpu> gpus) {
  std::map<std::string, std::vector<const ComparedGpu*>> hosts;
  for (const ComparedGpu& each : gpus) hosts[rows.gpus[each.gpu].host].push_back(&each);
  std::vector<std::string> remarks;
  for (const auto& [host, members] : hosts) {
    if (hosts.size() < 2 || members.size() < 2) continue;
    for (const FleetFinding& finding : members[0]->findings) {
      const bool all = std::ranges::all_of(members, [&](const ComparedGpu* each) {
        return std::ranges::any_of(each->findings,
                                   [&](const FleetFinding& other) { return other.cause == finding.cause; });
      });
      if (all)
        remarks.push_back(fmt::format("all {} GPUs of node {} are out of line in {}: look at the node",
                                      members.size(), host, finding.cause));
    }
  }
  return remarks;
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
  RankedFleet ranked;
  ComparedFleet compared = compare_gpus(rows, question.judged, question.baseline);
  ranked.gpus = std::move(compared.gpus);
  ranked.named_from = compared.named_from;
  if (!question.earlier.empty()) {
    const std::vector<PastRun> runs = past_runs(rows, question);
    std::map<std::string, Numbers> earlier;
    for (const std::size_t gpu : question.earlier) earlier[rows.gpus[gpu].uuid].push_back(gpu);
    for (ComparedGpu& each : ranked.gpus) {
      say_since_when(rows, runs, each);
      add_changes(rows, earlier, each);
    }
  }
  ranked.remarks = remarks_on_hosts(rows, ranked.gpus);
  std::ranges::stable_sort(ranked.gpus, {}, place_of);
  return ranked;
}

}  // namespace occbench
