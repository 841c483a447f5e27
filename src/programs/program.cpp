#include "programs/program.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "diagnose/diagnose.hpp"
#include "files/output.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/text.hpp"
#include "predict/parallel.hpp"
#include "record/columns.hpp"
#include "record/counter_columns.hpp"
#include "record/csv.hpp"
#include "record/kernel_name.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

/// Contexts and streams named in a row; programs make thousands of streams.
constexpr std::size_t kMostNumbers = 8;

template <typename Value>
std::string joined(const std::set<Value>& values, std::size_t most) {
  std::string text;
  std::size_t count = 0;
  for (const Value& value : values) {
    if (count++ == most) return text + "+";
    text += fmt::format("{}{}", text.empty() ? "" : "+", value);
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> parameters_of(const ProgramKernel& kernel) {
  std::vector<std::pair<std::string, std::string>> parameters = {{"grid", to_string(kernel.grid)},
                                                                 {"block", to_string(kernel.block)}};
  if (kernel.cluster.total() > 1) parameters.emplace_back("cluster", to_string(kernel.cluster));
  return parameters;
}

std::string configuration_text(const ProgramKernel& kernel) {
  std::string text = fmt::format("<<<{}, {}", to_string(kernel.grid), to_string(kernel.block));
  if (kernel.dynamic_shared_bytes > 0) text += fmt::format(", {}", kernel.dynamic_shared_bytes);
  if (kernel.cluster.total() > 1) text += fmt::format(", cluster {}", to_string(kernel.cluster));
  return text + (kernel.region.empty() ? ">>>" : fmt::format(">>> in {}", kernel.region));
}

Provenance provenance_of(const ProgramDevice& device) {
  Provenance provenance;
  provenance.schema = kSchema;
  provenance.gpu = device.name;
  provenance.gpu_uuid = device.uuid;
  if (!device.compute_capability.empty())
    provenance.compute_capability = parse_compute_capability(device.compute_capability);
  if (device.sm_count > 0) provenance.sm_count = device.sm_count;
  return provenance;
}

CaseIdentity identity_of(const ProgramKernel& kernel) {
  CaseIdentity identity;
  identity.experiment = kTraceExperiment;
  identity.kernel = demangled_kernel_name(kernel.name);
  if (identity.kernel != kernel.name) identity.variant = kernel.name;
  identity.name = shortened_kernel_name(identity.kernel) + configuration_text(kernel);
  identity.parameters = parameters_of(kernel);
  return identity;
}

void set_theory(CaseRecord& record) {
  try {
    const LaunchOnDevice on = launch_on_device(record);
    const Occupancy occupancy = theoretical_occupancy(on);
    record.theory = theory_of(occupancy, on.launch, on.sm_count);
    if (occupancy.blocks_per_sm == 0)
      add_note(record.note, why_it_cannot_launch(on.limits, on.launch, on.usage));
  } catch (const InputError& unknown) {
    add_note(record.note, fmt::format("no theory: {}", unknown.what()));
  }
}

Times times_of(const ProgramLaunches& seen) {
  Times times;
  times.status = TimeStatus::ok;
  const std::vector<double> known = numbers_of(seen.times_us);
  if (known.empty()) return times;
  const Quartiles quartiles = occbench::quartiles(known);
  times.time_us = quartiles.median;
  if (quartiles.median > 0) times.time_spread_pct = 100 * quartiles.range() / quartiles.median;
  times.repetitions = seen.timed;
  return times;
}

/// If samples are this far above theory, others ran beside (NCCL's, in its own stream: 0.3 to 1.3, H100); alone, up to 0.02.
constexpr double kMostAboveTheory = 0.2;

/// From samples, over all launches with their own.
void set_samples(CaseRecord& record, const ProgramLaunches& seen) {
  const SampledTotals& sampled = seen.sampled;
  if (sampled.active_cycles <= 0 || !record.theory) return;
  const LaunchOnDevice on = launch_on_device(record);
  const double warps_per_sm = on.limits.max_warps_per_sm;
  const auto launches = static_cast<double>(sampled.launches);
  Readings& readings = record.readings;
  const double achieved_pct = 100 * sampled.warp_cycles / (warps_per_sm * sampled.active_cycles);
  if (achieved_pct > record.theory->theoretical_pct + kMostAboveTheory) {
    readings.status = CountersStatus::off;
    add_note(record.note,
             fmt::format("not counted: its samples hold other kernels too; they add up to {:.1f} %",
                         achieved_pct));
    return;
  }
  readings.status = CountersStatus::ok;
  readings.achieved_source = AchievedSource::sampled;
  readings.counters.achieved_pct = achieved_pct;
  if (!seen.sampled_pcts.empty())
    readings.achieved_spread_points = quartiles(numbers_of(seen.sampled_pcts)).range();
  readings.achieved_elapsed_pct =
      100 * sampled.warp_cycles / (warps_per_sm * static_cast<double>(on.sm_count) * sampled.longest_cycles);
  readings.counters.sm_cycles_active_avg =
      sampled.active_cycles / static_cast<double>(on.sm_count) / launches;
  readings.counters.sm_cycles_active_max = sampled.longest_cycles / launches;
  if (sampled.active_ns > 0)
    readings.counters.sm_clock_mhz = 1000 * sampled.longest_cycles / sampled.active_ns;
  if (sampled.samples_of_units == sampled.samples && sampled.active_ns > 0) {
    readings.counters.tensor_use_pct =
        100 * sampled.tensor_cycles * static_cast<double>(on.sm_count) / sampled.active_cycles;
    // A sample at an end also has other memory work.
    readings.counters.dram_busy_pct = std::min(100.0, 100 * sampled.dram_busy_ns / sampled.active_ns);
  }
  add_note(record.note, fmt::format("sampled: {} launches, {} samples", sampled.launches, sampled.samples));
}

void set_readings(CaseRecord& record, const ProgramLaunches& seen) {
  Readings& readings = record.readings;
  readings.status = seen.counters_status;
  if (!record.theory) {
    set_counters(readings, seen.readings, std::nullopt);
  } else {
    const LaunchOnDevice on = launch_on_device(record);
    set_counters(readings, seen.readings, static_cast<double>(on.sm_count) * on.limits.max_warps_per_sm);
  }
  if (readings.counters.achieved_pct) {
    readings.status = CountersStatus::ok;
  } else {
    set_samples(record, seen);
  }
}

void merge_into(ProgramLaunches& into, const ProgramLaunches& other) {
  into.launches += other.launches;
  into.of_graphs += other.of_graphs;
  into.timed += other.timed;
  into.total_us += other.total_us;
  into.times_us.insert(into.times_us.end(), other.times_us.begin(), other.times_us.end());
  for (const auto& [metric, values] : other.readings) {
    std::vector<double>& all = into.readings[metric];
    all.insert(all.end(), values.begin(), values.end());
  }
  into.sampled += other.sampled;
  into.sampled_pcts.insert(into.sampled_pcts.end(), other.sampled_pcts.begin(), other.sampled_pcts.end());
  if (into.counters_status != CountersStatus::ok && other.counters_status) {
    into.counters_status = other.counters_status;
    into.note = other.note;
  }
  into.processes.insert(other.processes.begin(), other.processes.end());
  into.contexts.insert(other.contexts.begin(), other.contexts.end());
  into.streams.insert(other.streams.begin(), other.streams.end());
  into.graph_nodes.insert(other.graph_nodes.begin(), other.graph_nodes.end());
  into.regions.insert(other.regions.begin(), other.regions.end());
}

std::string device_text(const ProgramDevice& device) {
  return device.uuid.empty() ? fmt::format("GPU {}", device.index) : device.uuid.substr(0, 12);
}

double share_saved(const Finding& finding) {
  return finding.time ? finding.time->share : 0;
}

CaseToTell to_tell(const CaseRecord& record) {
  const std::vector<Finding> findings = diagnose(facts_of(record));
  const auto is_behind = [](const Finding& one, const Finding& other) {
    const auto rank = [](const Finding& each) {
      return std::tuple(share_saved(each), each.list == FindingList::losses, each.points);
    };
    return rank(one) < rank(other);
  };
  const auto first = std::ranges::max_element(findings, is_behind);
  if (first == findings.end()) return {&record, std::nullopt, 0};
  const bool is_known =
      std::ranges::all_of(findings, [](const Finding& each) { return !each.time || each.time->is_known; });
  return {&record, *first, share_saved(*first) * record.program.total_time_us.value_or(0), is_known};
}

}  // namespace

std::vector<std::string> program_metrics() {
  std::vector<std::string> metrics = counters_read(CounterRead::always);
  for (const std::string_view name : {"tensor_use_pct", "dram_busy_pct"})
    metrics.emplace_back(std::ranges::find(named_counters(), name, &NamedCounter::name)->counter.metric);
  return metrics;
}

CaseRecord program_case(const ProgramEntry& entry) {
  const auto& [device, kernel, seen] = entry;
  CaseRecord record;
  record.provenance = provenance_of(device);
  record.identity = identity_of(kernel);
  record.launch = Launch{.block_threads = static_cast<int>(kernel.block.total()),
                         .grid_blocks = kernel.grid.total(),
                         .cluster_blocks = static_cast<int>(kernel.cluster.total()),
                         .dynamic_shared_bytes = kernel.dynamic_shared_bytes,
                         .carveout_pct = kernel.carveout_pct};
  record.compiled.emplace().usage = {.registers_per_thread = kernel.registers_per_thread,
                                     .static_shared_bytes = kernel.static_shared_bytes,
                                     .local_bytes_per_thread = kernel.local_bytes_per_thread};
  record.check = Check::none;
  record.program = {.launches = seen.launches,
                    .total_time_us = seen.total_us,
                    .processes = joined(seen.processes, seen.processes.size()),
                    .contexts = joined(seen.contexts, kMostNumbers),
                    .streams = joined(seen.streams, kMostNumbers),
                    .of_graphs = seen.of_graphs,
                    .graph_nodes = joined(seen.graph_nodes, kMostNumbers),
                    .regions = kernel.region.empty() ? joined(seen.regions, kMostNumbers) : kernel.region};
  if (seen.readings.empty() && seen.sampled.launches == 0) record.note = seen.note;
  set_theory(record);
  record.times = times_of(seen);
  set_readings(record, seen);
  return record;
}

std::vector<Sample> program_samples(const CaseRecord& record, const ProgramLaunches& seen) {
  SamplesOfCase samples(record.identity);
  samples.add("time_us", seen.times_us);
  if (seen.readings.empty()) samples.add(find_column("achieved_pct")->counter->metric, seen.sampled_pcts);
  for (const auto& [metric, values] : seen.readings) samples.add(metric, values);
  return samples.all();
}

std::vector<ProgramEntry> merged(std::vector<ProgramEntry> entries) {
  // The same GPU has another number in a process that sees fewer of them.
  std::map<std::pair<std::string, ProgramKernel>, std::size_t> places;
  std::vector<ProgramEntry> result;
  for (ProgramEntry& entry : entries) {
    const std::string gpu =
        entry.device.uuid.empty() ? fmt::format("{}", entry.device.index) : entry.device.uuid;
    const auto [found, is_new] = places.try_emplace({gpu, entry.kernel}, result.size());
    if (is_new) {
      result.push_back(std::move(entry));
    } else {
      merge_into(result[found->second].seen, entry.seen);
    }
  }
  std::ranges::stable_sort(result, std::ranges::greater(),
                           [](const ProgramEntry& entry) { return entry.seen.total_us; });
  return result;
}

std::vector<CaseRecord> program_cases(std::span<const ProgramEntry> entries) {
  std::set<std::string> devices;
  for (const ProgramEntry& entry : entries) devices.insert(device_text(entry.device));
  std::vector<CaseRecord> cases;
  for (const ProgramEntry& entry : entries) {
    std::string& name = cases.emplace_back(program_case(entry)).identity.name;
    if (devices.size() > 1) name += fmt::format(" on {}", device_text(entry.device));
  }
  std::vector<std::pair<std::string*, std::string>> names;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ProgramKernel& kernel = entries[i].kernel;
    names.emplace_back(
        &cases[i].identity.name,
        fmt::format("{} {} {} {} {}", kernel.name, kernel.registers_per_thread, kernel.static_shared_bytes,
                    kernel.local_bytes_per_thread, kernel.carveout_pct.value_or(-1)));
  }
  tell_apart(names);
  return cases;
}

void set_clocks(std::span<CaseRecord> cases, std::span<const ProgramEntry> entries) {
  std::map<std::string, std::vector<double>> counted;
  for (const CaseRecord& record : cases) {
    if (const auto& clock = record.readings.counters.sm_clock_mhz)
      counted[record.provenance.gpu_uuid].push_back(*clock);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CaseRecord& record = cases[i];
    std::optional<double>& clock = record.readings.counters.sm_clock_mhz;
    if (clock) continue;
    if (const auto found = counted.find(record.provenance.gpu_uuid); found != counted.end()) {
      clock = median(found->second);
      add_note(record.note, "sm_clock_mhz is the median of kernels that were counted");
    } else if (const double highest = entries[i].device.highest_clock_mhz; highest > 0) {
      clock = highest;
      add_note(record.note, "sm_clock_mhz is the GPU's highest, not measured");
    }
  }
}

void predict_all(std::span<CaseRecord> cases, const std::optional<DeviceProfile>& profile,
                 const std::function<void()>& predicted) {
  for_each_parallel(cases.size(), [&](std::size_t i) {
    infer_and_predict(cases[i], profile);
    cases[i].explanation = explanation_of(facts_of(cases[i]));
    predicted();
  });
}

std::vector<CaseToTell> by_time_saved(std::span<const CaseRecord> cases) {
  std::vector<CaseToTell> all = mapped(cases, to_tell);
  std::ranges::stable_sort(all, std::ranges::greater{}, [](const CaseToTell& each) {
    return std::pair(each.us, each.record->program.total_time_us.value_or(0));
  });
  return all;
}

void sort_by_time_saved(std::vector<CaseRecord>& cases) {
  cases = mapped(by_time_saved(cases), [](const CaseToTell& each) { return *each.record; });
}

void write_program(const std::filesystem::path& file, std::span<const CaseRecord> cases,
                   std::span<const ProgramEntry> entries, const std::function<void()>& before_replacing) {
  std::string text = csv_header();
  std::string samples = samples_header();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    text += csv_record(row_of(cases[i]));
    for (const Sample& sample : program_samples(cases[i], entries[i].seen)) samples += csv_record(sample);
  }
  OutputFile samples_file(samples_path(file));
  OutputFile rows_file(file);
  samples_file.write(samples);
  rows_file.write(text);
  samples_file.complete();
  rows_file.complete();  // a full disk leaves the earlier rows and samples
  before_replacing();
  samples_file.keep();
  rows_file.keep();
}

}  // namespace occbench
