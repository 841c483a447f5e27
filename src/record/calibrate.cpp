#include "record/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "occupancy/input_error.hpp"
#include "occupancy/statistics.hpp"
#include "occupancy/warps.hpp"
#include "record/replay.hpp"

namespace occbench {
namespace {

const std::string& name_of(const CaseRecord& record) {
  return record.identity.name;
}

/// Blocks of the launch whose sample names begin with `launch`.
std::vector<RecordedBlock> recorded_blocks(std::span<const CaseRecord> cases, std::span<const Sample> samples,
                                           std::string_view launch) {
  std::vector<RecordedBlock> blocks;
  const auto at = [&](std::int64_t index) -> RecordedBlock& {
    if (static_cast<std::size_t>(index) >= blocks.size()) blocks.resize(static_cast<std::size_t>(index) + 1);
    return blocks[static_cast<std::size_t>(index)];
  };
  for (const Sample& sample : samples) {
    if (!sample.quantity.starts_with(launch)) continue;
    const std::string_view quantity = std::string_view(sample.quantity).substr(launch.size());
    const auto of = std::ranges::find(cases, sample.case_name, name_of);
    if (of == cases.end() || !of->launch) continue;
    if (sample.index < 0 || sample.index >= of->launch->grid_blocks) continue;
    const double cycles_per_ns = of->readings.counters.sm_clock_mhz.value_or(1000) / 1000;
    if (quantity == "sm") at(sample.index).sm = static_cast<int>(sample.value);
    if (quantity == "start_ns") at(sample.index).start_cycles = sample.value * cycles_per_ns;
    if (quantity == "sm_cycles") at(sample.index).own_cycles = sample.value;
    if (quantity == "end_ns") at(sample.index).end_cycles = sample.value * cycles_per_ns;
  }
  return blocks;
}

struct CountedLaunches {
  std::optional<LaunchOnDevice> first;
  std::vector<CalibrationLaunch> independent;
  std::vector<double> bytes_per_cycle;  ///< of each launch that reads
};

CountedLaunches counted_launches(std::span<const CaseRecord> cases) {
  CountedLaunches launches;
  for (const CaseRecord& each : cases) {
    const CounterValues& counters = each.readings.counters;
    if (!counters.achieved_pct || !counters.sm_cycles_active_avg) continue;
    const LaunchOnDevice on = in_place(each, [&] { return launch_on_device(each); });
    if (!launches.first) launches.first = on;
    if (!each.identity.work) throw InputError("{} has no work", full_name(each.identity));
    const Work& work = *each.identity.work;
    if (work.bytes > 0) {
      const auto warps = static_cast<double>(on.launch.grid_blocks * warps_of_block(on.launch.block_threads));
      launches.bytes_per_cycle.push_back(work.bytes * warps / *counters.sm_cycles_active_avg);
    } else {
      launches.independent.push_back({on.launch, on.usage, work, *counters.achieved_pct,
                                      *counters.sm_cycles_active_avg, each.first_gpc});
    }
  }
  return launches;
}

}  // namespace

Calibration read_calibration(std::span<const CaseRecord> cases, std::span<const Sample> samples,
                             std::string_view name) {
  std::vector<CaseRecord> ours;
  std::ranges::copy_if(cases, std::back_inserter(ours),
                       [](const CaseRecord& each) { return each.identity.experiment == "calibration"; });
  CountedLaunches launches = counted_launches(ours);
  if (launches.independent.empty()) {
    const auto noted = std::ranges::find_if(ours, [](const CaseRecord& each) { return !each.note.empty(); });
    throw InputError("a profile is fitted to hardware counters, and none of {} rows has any{}{}", ours.size(),
                     noted == ours.end() ? "" : ": ", noted == ours.end() ? "" : noted->note);
  }
  const Provenance& first = ours.front().provenance;
  for (const CaseRecord& each : ours) {
    if (each.provenance.gpu != first.gpu || each.provenance.sm_count != first.sm_count) {
      throw InputError("rows of {} and {}: a profile is of one kind of device", first.gpu,
                       each.provenance.gpu);
    }
  }
  std::vector<CaseRecord> of_first_unit;
  std::ranges::copy_if(ours, std::back_inserter(of_first_unit),
                       [&](const CaseRecord& each) { return each.provenance.gpu_uuid == first.gpu_uuid; });
  const LaunchOnDevice& on = launches.first.value();
  DeviceProfile profile = generic_profile(identity_of(first));
  const bool of_one_gpu = of_first_unit.size() == ours.size();
  profile.gpu = first.gpu;
  if (of_one_gpu) profile.gpu_uuid = first.gpu_uuid;
  profile.memory_bus_bits = first.memory_bus_bits.value_or(0);
  profile.name = name.empty() ? name_of_profile(profile.gpu, profile.gpu_uuid) : name;
  if (!launches.bytes_per_cycle.empty()) {
    profile.model.parameters.bytes_per_cycle = std::round(median(launches.bytes_per_cycle));
  }
  bool clocks_are_known = find_gpcs(profile.model, recorded_blocks(of_first_unit, samples, "trace_"),
                                    recorded_blocks(of_first_unit, samples, "trace_again_"));
  if (!of_one_gpu) {
    clocks_are_known = false;
    std::ranges::fill(profile.model.gpc_clock_ppm, 0);
  }
  // Known clocks vary less from launch to launch than unmeasured clocks may differ.
  if (clocks_are_known) profile.model.parameters.gpc_clock_spread_ppm /= 4;
  return {std::move(profile), on.limits, std::move(launches.independent), clocks_are_known};
}

DeviceProfile calibrate(std::span<const CaseRecord> cases, std::span<const Sample> samples,
                        std::string_view name) {
  Calibration calibration = read_calibration(cases, samples, name);
  return fit_parameters(std::move(calibration.profile), calibration.limits, calibration.launches,
                        calibration.clocks_are_known);
}

}  // namespace occbench
