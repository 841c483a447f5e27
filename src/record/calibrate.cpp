#include "record/calibrate.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "occupancy/warps.hpp"
#include "predict/calibration.hpp"
#include "record/replay.hpp"
#include "record/statistics.hpp"

namespace occbench {
namespace {

/// The traced case's blocks by the trace whose samples' names begin so.
std::vector<TracedBlock> traced_blocks(std::span<const Row> rows, std::span<const Sample> samples,
                                       std::string_view trace) {
  std::vector<TracedBlock> blocks;
  const auto at = [&](std::int64_t index) -> TracedBlock& {
    if (static_cast<std::size_t>(index) >= blocks.size()) blocks.resize(static_cast<std::size_t>(index) + 1);
    return blocks[static_cast<std::size_t>(index)];
  };
  for (const Sample& sample : samples) {
    if (!sample.quantity.starts_with(trace)) continue;
    const std::string_view quantity = std::string_view(sample.quantity).substr(trace.size());
    const auto row = std::ranges::find(rows, sample.case_name, &Row::case_);
    if (row == rows.end() || sample.index < 0 || sample.index >= row->grid_blocks.value_or(0)) continue;
    const double cycles_per_ns = row->sm_clock_mhz.value_or(1000) / 1000;
    if (quantity == "sm") at(sample.index).sm = static_cast<int>(sample.value);
    if (quantity == "start_ns") at(sample.index).start_cycles = sample.value * cycles_per_ns;
    if (quantity == "sm_cycles") at(sample.index).own_cycles = sample.value;
    if (quantity == "end_ns") at(sample.index).end_cycles = sample.value * cycles_per_ns;
  }
  return blocks;
}

struct CountedLaunches {
  std::vector<CalibrationLaunch> that_hold;
  std::vector<double> bytes_per_cycle;  ///< of each that reads
};

CountedLaunches counted_launches(std::span<const Row> rows) {
  CountedLaunches launches;
  for (const Row& row : rows) {
    if (!row.achieved_pct || !row.sm_cycles_active_avg) continue;
    const Launch launch = launch_of(row);
    const Work work = parse_work(row.work);
    if (work.bytes > 0) {
      const auto warps = static_cast<double>(launch.grid_blocks * warps_of_block(launch.block_threads));
      launches.bytes_per_cycle.push_back(work.bytes * warps / *row.sm_cycles_active_avg);
    } else {
      launches.that_hold.push_back(
          {launch, usage_of(row), work, *row.achieved_pct, *row.sm_cycles_active_avg, first_gpc_of(row)});
    }
  }
  return launches;
}

}  // namespace

DeviceProfile calibrate(std::span<const Row> rows, std::span<const Sample> samples, std::string_view name) {
  std::vector<Row> ours;
  std::ranges::copy_if(rows, std::back_inserter(ours),
                       [](const Row& row) { return row.experiment == "calibration"; });
  const CountedLaunches launches = counted_launches(ours);
  if (launches.that_hold.empty()) {
    const auto noted = std::ranges::find_if(ours, [](const Row& row) { return !row.note.empty(); });
    throw InputError(fmt::format("a profile is fitted to hardware counters, and none of {} rows has any{}{}",
                                 ours.size(), noted == ours.end() ? "" : ": ",
                                 noted == ours.end() ? "" : noted->note));
  }
  const Row& first = ours.front();
  for (const Row& row : ours) {
    if (row.gpu != first.gpu || row.sm_count != first.sm_count) {
      throw InputError(
          fmt::format("rows of {} and {}: a profile is of one kind of device", first.gpu, row.gpu));
    }
  }
  std::vector<Row> of_first_unit;
  std::ranges::copy_if(ours, std::back_inserter(of_first_unit),
                       [&](const Row& row) { return row.gpu_uuid == first.gpu_uuid; });
  const ComputeCapability capability = parse_compute_capability(first.compute_capability);
  DeviceProfile profile = generic_profile(capability, static_cast<int>(first.sm_count.value_or(0)));
  profile.name = name;
  profile.gpu = first.gpu;
  if (of_first_unit.size() == ours.size()) profile.gpu_uuid = first.gpu_uuid;
  if (!launches.bytes_per_cycle.empty()) {
    profile.model.parameters.bytes_per_cycle = std::round(median(launches.bytes_per_cycle));
  }
  bool clocks_are_known = find_gpcs(profile.model, traced_blocks(of_first_unit, samples, "trace_"),
                                    traced_blocks(of_first_unit, samples, "trace_again_"));
  if (of_first_unit.size() < ours.size()) {
    clocks_are_known = false;
    std::ranges::fill(profile.model.gpc_clock_ppm, 0);
  }
  return fit_parameters(std::move(profile), limits_of(capability), launches.that_hold, clocks_are_known);
}

}  // namespace occbench
