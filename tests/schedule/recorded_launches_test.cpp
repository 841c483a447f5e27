// The simulator against hardware counters: launches recorded on an H200 (tests/data/h200_hold/README.md).
#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "occupancy/occupancy.hpp"
#include "schedule/simulate.hpp"

namespace occbench {
namespace {

struct Recorded {
  int launch_number;
  Launch launch;
  Tasks tasks;
  double base_cycles;
  double achieved_pct;
  double cycles_active_mean;
};

std::ifstream open(const std::string& name) {
  std::ifstream file(OCCBENCH_SOURCE_DIR "/tests/data/h200_hold/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return file;
}

Tasks read_tasks(std::istream& factors, const std::string& work, bool per_warp, double base_cycles,
                 std::int64_t grid_blocks, int warps_per_block) {
  if (!work.empty()) return Tasks(parse_work(work), grid_blocks, warps_per_block);
  Durations durations{{}, per_warp};
  const std::int64_t units = per_warp ? grid_blocks * warps_per_block : grid_blocks;
  for (std::int64_t unit = 0; unit < units; ++unit) {
    const int low = factors.get();
    const int high = factors.get();
    durations.cycles.push_back(std::llround((low + 256 * high) * base_cycles / 8192));
  }
  return Tasks(std::move(durations), grid_blocks, warps_per_block);
}

std::vector<Recorded> read_recorded() {
  std::ifstream launches = open("launches.csv");
  std::ifstream factors = open("factors.u16");
  std::vector<Recorded> all;
  std::string line;
  std::getline(launches, line);
  while (std::getline(launches, line)) {
    std::array<std::string, 10> cell;
    std::istringstream cells(line);
    for (std::string& each : cell) std::getline(cells, each, ',');
    const Launch launch{.block_threads = std::stoi(cell[4]), .grid_blocks = std::stoll(cell[5])};
    const double base_cycles = std::stod(cell[3]);
    all.push_back({std::stoi(cell[0]), launch,
                   read_tasks(factors, cell[2], cell[1] == "perwarp", base_cycles, launch.grid_blocks,
                              (launch.block_threads + 31) / 32),
                   base_cycles, std::stod(cell[7]), std::stod(cell[8])});
  }
  return all;
}

struct Errors {
  std::vector<double> points;      ///< |predicted - achieved|
  std::vector<double> active_pct;  ///< |predicted / measured - 1| of active cycles

  double mean() const {
    return std::accumulate(points.begin(), points.end(), 0.0) / static_cast<double>(points.size());
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

Errors errors_of(const std::vector<Recorded>& all, auto&& chosen) {
  const DeviceProfile profile = find_profile("h200");
  Errors errors;
  for (const Recorded& recorded : all) {
    if (!chosen(recorded)) continue;
    std::array<double, 5> achieved;
    std::array<double, 5> active;
    for (std::size_t seed = 0; seed < achieved.size(); ++seed) {
      const Simulation simulation = simulate(recorded.launch, {.registers_per_thread = 20}, limits_of({9, 0}),
                                             132, profile, recorded.tasks, seed + 1);
      achieved[seed] = simulation.achieved_pct;
      active[seed] = simulation.cycles_active_mean;
    }
    std::ranges::sort(achieved);
    std::ranges::sort(active);
    errors.points.push_back(std::abs(achieved[2] - recorded.achieved_pct));
    errors.active_pct.push_back(100 * std::abs(active[2] / recorded.cycles_active_mean - 1));
  }
  return errors;
}

class RecordedLaunches : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    all_ = read_recorded();
    std::ifstream list = open("held_out.txt");
    for (int number = 0; list >> number;) held_out_.insert(number);
  }

  /// Mean error, 95th percentile and median error of active cycles, on what was tuned to and on what was not.
  static void expect_within(double mean, double percentile_95, double active_pct, auto&& chosen) {
    for (const bool untouched : {false, true}) {
      Errors errors = errors_of(all_, [&](const Recorded& recorded) {
        return chosen(recorded) && held_out_.contains(recorded.launch_number) == untouched;
      });
      const char* const name = untouched ? "untouched" : "tuned";
      ASSERT_GT(errors.points.size(), 0u) << name;
      std::printf("%s: %zu launches, mean error %.3f points, 95th percentile %.2f, active cycles %.2f %%\n",
                  name, errors.points.size(), errors.mean(), errors.percentile(0.95),
                  errors.median_active_pct());
      EXPECT_LE(errors.mean(), mean) << name;
      EXPECT_LE(errors.percentile(0.95), percentile_95) << name;
      EXPECT_LE(errors.median_active_pct(), active_pct) << name;
    }
  }

  static inline std::vector<Recorded> all_;
  static inline std::set<int> held_out_;
};

// What is reached; the aim is a mean of 0.35 points and a 95th percentile of 1.2. What is missing are equal
// blocks in partial waves, where a few hundred cycles decide which SM goes on alone.
TEST_F(RecordedLaunches, WorkThatDiffersByBlockIsPredicted) {
  expect_within(0.75, 2.2, 1, [](const Recorded& recorded) {
    return !recorded.tasks.differ_within_blocks() && recorded.base_cycles >= 20'000;
  });
}

TEST_F(RecordedLaunches, WorkThatDiffersByWarpIsPredicted) {
  expect_within(0.45, 1.8, 1, [](const Recorded& recorded) { return recorded.tasks.differ_within_blocks(); });
}

}  // namespace
}  // namespace occbench
