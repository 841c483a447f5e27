#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/ostream.h>

#include "files/lock.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "orchestrate/plan.hpp"
#include "orchestrate/run.hpp"
#include "record/case_filter.hpp"
#include "record/csv.hpp"
#include "record/provenance.hpp"
#include "record/simulated.hpp"
#include "record/stop_signals.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// Several of Slurm's nodes can be one machine; then each has a name of its own.
std::string node_name() {
  const char* node = std::getenv("SLURMD_NODENAME");
  return node != nullptr && *node != '\0' ? node : host_name();
}

std::vector<CaseRecord> chosen_cases(const RunOptions& options) {
  std::vector<CaseRecord> cases = read_case_records(options.rehearse);
  const auto matches = case_filter(options.filter);
  std::erase_if(cases, [&](const CaseRecord& each) { return !matches(full_name(each.identity)); });
  if (cases.empty()) {
    throw InputError(
        fmt::format("{} has no case that --filter '{}' matches", options.rehearse, options.filter));
  }
  if (!options.shard.empty()) {
    const std::set<std::string> names = cases_of_shard(cases, parse_shard(options.shard));
    std::erase_if(cases, [&](const CaseRecord& each) { return !names.contains(full_name(each.identity)); });
  }
  return cases;
}

Provenance provenance_of(Provenance recorded, const RunOptions& options) {
  const bool chosen = options.device != "auto";
  recorded.commit = build_commit();
  recorded.host = node_name();
  recorded.gpu_uuid = fmt::format("simulated-{}-{}", recorded.host, chosen ? std::stoi(options.device) : 0);
  return recorded;
}

/// The recorded prediction in place of what a launch would have measured. The clock is the recorded one.
CaseRecord simulated(const CaseRecord& recorded, const Provenance& provenance) {
  CaseRecord record;
  record.provenance = provenance;
  record.provenance.recorded_at = iso_time(std::chrono::system_clock::now());
  record.identity = recorded.identity;
  record.launch = recorded.launch;
  record.first_gpc = recorded.first_gpc;
  record.compiled = recorded.compiled;
  record.theory = recorded.theory;
  record.prediction = recorded.prediction;
  record.readings.status = CountersStatus::off;
  record.times.status = TimeStatus::simulated;
  record.note = "rehearsed: predicted, not measured";
  if (!record.prediction) return record;
  CounterValues& counters = record.readings.counters;
  record.readings.achieved_source = AchievedSource::simulated;
  record.readings.achieved_elapsed_pct = record.prediction->predicted_elapsed_pct;
  counters.achieved_pct = record.prediction->predicted_pct;
  counters.sm_cycles_active_avg = record.prediction->cycles_active_mean;
  counters.sm_clock_mhz = recorded.readings.counters.sm_clock_mhz;
  if (counters.sm_clock_mhz)
    record.times.time_us = record.prediction->cycles_active_mean / *counters.sm_clock_mhz;
  return record;
}

}  // namespace

ExitStatus rehearse(const RunOptions& options, Console& console) {
  const std::vector<CaseRecord> cases = chosen_cases(options);
  if (options.list) {
    for (const CaseRecord& each : cases) fmt::print(console.out, "{}\n", full_name(each.identity));
    return ExitStatus::done;
  }
  const StopOnSignals stop;
  const fs::path out = output_file(options.out, options.suite);
  const fs::path recorded = options.rehearse;
  require_not_input(out, {&recorded, 1});
  make_folder_of(out);
  const FileLock lock(out);  // before its rows get another name: who writes them would go on there
  if (!options.resume) keep_older_rows(out, console);
  RunFile file(out, options.resume ? RunFile::Mode::resume : RunFile::Mode::create);
  std::set<std::string> finished;
  SimulatedOrMeasured kind;
  kind.add(to_string(TimeStatus::simulated), "this run");
  for (const Row& row : file.finished()) {
    kind.add(row.time_status, out.string());
    finished.insert(full_name(row));
  }
  for (const CaseRecord& each : cases) {
    if (finished.contains(full_name(each.identity))) continue;
    if (stop_asked()) break;
    file.append(row_of(simulated(each, provenance_of(each.provenance, options))), {});
    finished.insert(full_name(each.identity));
  }
  fmt::print(console.out, "{}\n{} of {} cases. Rows: {}\n", kSimulatedLine, finished.size(), cases.size(),
             out.string());
  return finished.size() < cases.size() ? ExitStatus::no_verdict : ExitStatus::done;
}

}  // namespace occbench
