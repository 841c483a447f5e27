#pragma once

// Launches recorded on an H200 (tests/data/h200_spin/README.md and tests/data/h200_launches/README.md), and
// how far predictions are from what their counters read.

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "occupancy/occupancy.hpp"
#include "predict/device_profile.hpp"
#include "simulate/simulate.hpp"
#include "simulate/work.hpp"

namespace occbench {

struct Recorded {
  int launch_number;
  Launch launch;
  Usage usage;
  std::string kernel;
  Tasks tasks;
  double base_cycles;
  double achieved_pct;
  double cycles_active_mean;

  Recorded doing(const Work& work) const {
    Recorded other = *this;
    other.tasks = Tasks(work, launch.grid_blocks, (launch.block_threads + 31) / 32);
    return other;
  }
};

/// Warps of spin wait for a clock; its files of launches do not say so.
inline constexpr double kPollCyclesPerWarp = 2.5;

inline Work waiting(Work work) {
  work.poll_cycles_per_warp = kPollCyclesPerWarp;
  return work;
}

inline std::ifstream open(const std::string& name) {
  std::ifstream file(OCCBENCH_SOURCE_DIR "/tests/data/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return file;
}

inline Tasks read_tasks(std::istream& factors, const std::string& work, bool per_warp, double base_cycles,
                        std::int64_t grid_blocks, int warps_per_block) {
  if (!work.empty()) return Tasks(waiting(parse_work(work)), grid_blocks, warps_per_block);
  Durations durations{{}, per_warp, "factors.u16", kPollCyclesPerWarp};
  const std::int64_t units = per_warp ? grid_blocks * warps_per_block : grid_blocks;
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const int low = factors.get();
    const int high = factors.get();
    durations.cycles.push_back(std::llround((low + 256 * high) * base_cycles / 8192));
  }
  return Tasks(std::move(durations), grid_blocks, warps_per_block);
}

/// The cells of the next line; empty at the end.
template <std::size_t kCells>
bool read_cells(std::istream& file, std::array<std::string, kCells>& cell) {
  std::string line;
  if (!std::getline(file, line)) return false;
  std::istringstream cells(line);
  for (std::string& each : cell) std::getline(cells, each, ',');
  return true;
}

inline std::vector<Recorded> read_recorded() {
  std::ifstream launches = open("h200_spin/launches.csv");
  std::ifstream factors = open("h200_spin/factors.u16");
  std::vector<Recorded> all;
  std::array<std::string, 10> cell;
  read_cells(launches, cell);
  while (read_cells(launches, cell)) {
    const Launch launch{.block_threads = std::stoi(cell[4]), .grid_blocks = std::stoll(cell[5])};
    const double base_cycles = std::stod(cell[3]);
    all.push_back({std::stoi(cell[0]),
                   launch,
                   {.registers_per_thread = 20},
                   "spin/" + cell[1],
                   read_tasks(factors, cell[2], cell[1] == "perwarp", base_cycles, launch.grid_blocks,
                              (launch.block_threads + 31) / 32),
                   base_cycles,
                   std::stod(cell[7]),
                   std::stod(cell[8])});
  }
  return all;
}

/// A file of tests/data/h200_launches; launches that nothing was tuned on have odd numbers, the others even
/// ones.
inline std::vector<Recorded> read_launches(const std::string& name) {
  std::ifstream launches = open("h200_launches/" + name);
  std::array<std::string, 12> cell;
  read_cells(launches, cell);
  std::vector<Recorded> all;
  while (read_cells(launches, cell)) {
    const Launch launch{.block_threads = std::stoi(cell[1]),
                        .grid_blocks = std::stoll(cell[2]),
                        .cluster_blocks = std::stoi(cell[3]),
                        .dynamic_shared_bytes = std::stoll(cell[4])};
    const Work work = cell[0] == "spin" ? waiting(parse_work(cell[6])) : parse_work(cell[6]);
    all.push_back({std::stoi(cell[11]),
                   launch,
                   {.registers_per_thread = std::stoi(cell[5])},
                   cell[0],
                   Tasks(work, launch.grid_blocks, (launch.block_threads + 31) / 32),
                   work.cycles,
                   std::stod(cell[7]),
                   std::stod(cell[10])});
  }
  return all;
}

/// Streams of blocks whose warps can always issue; their active cycles were not counted.
inline std::vector<Recorded> read_streams() {
  std::ifstream file = open("h200_launches/streams.csv");
  const Limits& limits = limits_of({9, 0});
  std::vector<Recorded> all;
  std::array<std::string, 7> cell;
  read_cells(file, cell);
  while (read_cells(file, cell)) {
    Launch launch{.block_threads = std::stoi(cell[2]), .grid_blocks = std::stoll(cell[3])};
    const int blocks = std::stoi(cell[4]);
    if (blocks * launch.block_threads < limits.max_warps_per_sm * limits.threads_per_warp) {
      const int unit = limits.shared_allocation_unit;
      launch.dynamic_shared_bytes =
          (limits.shared_bytes_per_sm / blocks - limits.reserved_shared_bytes_per_block) / unit * unit;
    }
    const Work work = parse_work("equal:" + cell[5] + ":issue=" + cell[5]);
    all.push_back({0,
                   launch,
                   {.registers_per_thread = 20},
                   "streams",
                   Tasks(work, launch.grid_blocks, launch.block_threads / 32),
                   work.cycles,
                   std::stod(cell[6]),
                   0});
  }
  return all;
}

struct Errors {
  std::vector<double> points;      ///< |predicted - achieved|
  std::vector<double> active_pct;  ///< |predicted / measured - 1| of active cycles
  std::vector<double> theory;      ///< |theoretical - achieved|

  double mean() const {
    return mean_of(points);
  }
  static double mean_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  }
  /// How many times nearer to the counter predictions are than theory, on average.
  double times_nearer_than_theory() const {
    return mean_of(theory) / mean();
  }
  double percentile(double share) {
    std::ranges::sort(points);
    return points[static_cast<std::size_t>(share * static_cast<double>(points.size() - 1) + 0.5)];
  }
  double median_active_pct() {
    std::ranges::sort(active_pct);
    return active_pct[active_pct.size() / 2];
  }
};

/// As a prediction has it: the median of nine runs.
template <std::size_t kSeeds = 9>
Errors errors_of(const std::vector<Recorded>& all, auto&& chosen, const DeviceProfile& profile) {
  Errors errors;
  for (const Recorded& recorded : all) {
    if (!chosen(recorded)) continue;
    std::array<double, kSeeds> achieved;
    std::array<double, kSeeds> active;
    for (std::size_t seed = 0; seed < achieved.size(); ++seed) {
      const Simulation simulation = simulate(recorded.launch, recorded.usage, limits_of({9, 0}),
                                             profile.model, recorded.tasks, seed + 1);
      achieved[seed] = simulation.achieved_pct;
      active[seed] = simulation.cycles_active_mean;
    }
    std::ranges::sort(achieved);
    std::ranges::sort(active);
    const auto error = [&](double each) { return std::abs(each - recorded.achieved_pct); };
    const Occupancy occupancy = theoretical_occupancy(limits_of({9, 0}), recorded.launch, recorded.usage);
    errors.theory.push_back(error(occupancy.theoretical_pct));
    errors.points.push_back(error(achieved[kSeeds / 2]));
    errors.active_pct.push_back(100 * std::abs(active[kSeeds / 2] / recorded.cycles_active_mean - 1));
  }
  return errors;
}

template <std::size_t kSeeds = 9>
Errors errors_of(const std::vector<Recorded>& all, auto&& chosen, const std::string& profile = "h200") {
  return errors_of<kSeeds>(all, chosen, find_profile(profile));
}

/// Launches of read_launches() that nothing was tuned on.
inline bool held_out(const Recorded& recorded) {
  return recorded.launch_number % 2 != 0;
}

/// The launches of read_recorded() that nothing was tuned on, by number.
inline std::set<int> read_held_out() {
  std::ifstream list = open("h200_spin/held_out.txt");
  std::set<int> numbers;
  for (int number = 0; list >> number;) numbers.insert(number);
  return numbers;
}

}  // namespace occbench
