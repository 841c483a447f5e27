// Contention for issue slots against when warps ended that were recorded on an H200
// (tests/data/h200_launches/README.md).
#include <limits>
#include <map>
#include <tuple>

#include "recorded_launches.hpp"
#include "simulate/contention.hpp"

namespace occbench {
namespace {

/// A line of tests/data/h200_launches/finishing.csv.
struct Finishing {
  std::string body;
  int chains;
  int loop_instructions;
  int warps_per_block;  ///< on a sub-partition
  int warps;            ///< on a sub-partition
  double instructions;  ///< of each warp
  std::vector<double> end_cycles;

  double mean_share() const {
    return std::accumulate(end_cycles.begin(), end_cycles.end(), 0.0) /
           (static_cast<double>(warps) * std::ranges::max(end_cycles));
  }
};

std::vector<Finishing> read_finishing() {
  std::ifstream file = open("h200_launches/finishing.csv");
  std::vector<Finishing> all;
  std::array<std::string, 7> cell;
  read_cells(file, cell);
  while (read_cells(file, cell)) {
    Finishing finishing{cell[0],
                        std::stoi(cell[1]),
                        std::stoi(cell[2]),
                        std::stoi(cell[3]) / 128,
                        std::stoi(cell[4]),
                        std::stod(cell[5]),
                        {}};
    std::istringstream ends(cell[6]);
    for (double end = 0; ends >> end;) finishing.end_cycles.push_back(end);
    all.push_back(finishing);
  }
  return all;
}

/// Contention alone, with what a warp of the same body took alone.
Finishing simulated(const Finishing& recorded, const Finishing& alone, double lockstep_cycles = 0) {
  const bool integer = recorded.body == "integer_multiply_add";
  const double rate = alone.instructions / alone.end_cycles.front();
  // An integer multiply-add keeps its pipe busy for two cycles.
  const Rates rates{.issue = rate, .pipe = integer ? std::min(1.0, 2 * rate) : 0};
  const bool always_issues = rates.always_issues(find_profile("h200").model.parameters.always_issuing_share);
  Contention contention(
      1, IssueContention::rules(rates, always_issues, lockstep_cycles, GreedyGroups(0, Draws(1))),
      MemoryContention(0, 0));
  for (int first = 0; first < recorded.warps; first += recorded.warps_per_block) {
    std::vector<ContendingWarp> warps;
    for (int warp = 0; warp < recorded.warps_per_block; ++warp) {
      warps.push_back({recorded.instructions / rate, first + warp});
    }
    contention.begin(0, 0, first, warps);
  }
  Finishing result = recorded;
  while (contention.next_finish() < std::numeric_limits<double>::infinity()) {
    const Contention::Finished finished = contention.finish_next();
    for (const int warp : finished.warps) {
      result.end_cycles[static_cast<std::size_t>(warp)] = finished.time;
    }
  }
  return result;
}

/// Points of the occupancy of an SM that could hold 16 warps a sub-partition.
double error_of(const Finishing& predicted, const Finishing& recorded) {
  return 100 * std::abs(predicted.mean_share() - recorded.mean_share()) * recorded.warps / 16;
}

void add_errors_of_ends(Errors& errors, const Finishing& predicted, const Finishing& recorded) {
  for (std::size_t warp = 0; warp < recorded.end_cycles.size(); ++warp) {
    errors.points.push_back(100 * std::abs(predicted.end_cycles[warp] / recorded.end_cycles[warp] - 1));
  }
}

/// Of simulations with warps in lockstep for 10,000 cycles to a million, or not at all, that which is
/// nearest.
Finishing nearest(const Finishing& recorded, const Finishing& alone) {
  Finishing best = simulated(recorded, alone);
  for (double cycles = 10'000; cycles < 1e6; cycles *= 1.2) {
    const Finishing tried = simulated(recorded, alone, cycles);
    if (error_of(tried, recorded) < error_of(best, recorded)) best = tried;
  }
  return best;
}

TEST(RecordedWarps, FinishInTheSimulatedOrder) {
  Finishing alone;
  Errors in_turn;
  Errors in_pairs;
  Errors ends_in_turn;
  Errors ends_in_pairs;
  for (const Finishing& recorded : read_finishing()) {
    if (recorded.warps == 1) {
      alone = recorded;
      continue;
    }
    ASSERT_EQ(std::tie(recorded.body, recorded.chains, recorded.loop_instructions),
              std::tie(alone.body, alone.chains, alone.loop_instructions));
    if (recorded.body == "integer_multiply_add" || recorded.chains < 4) {
      const Finishing predicted = simulated(recorded, alone);
      in_turn.points.push_back(error_of(predicted, recorded));
      add_errors_of_ends(ends_in_turn, predicted, recorded);
      continue;
    }
    const Finishing best = nearest(recorded, alone);
    in_pairs.points.push_back(error_of(best, recorded));
    add_errors_of_ends(ends_in_pairs, best, recorded);
  }
  std::printf("in turn: %zu launches, mean error %.2f points, 95th percentile %.2f, of ends %.1f %%\n",
              in_turn.points.size(), in_turn.mean(), in_turn.percentile(0.95), ends_in_turn.mean());
  std::printf("every cycle: %zu launches, mean error %.2f points, 95th percentile %.2f, of ends %.1f %%\n",
              in_pairs.points.size(), in_pairs.mean(), in_pairs.percentile(0.95), ends_in_pairs.mean());
  EXPECT_GT(in_turn.points.size(), 80u);
  EXPECT_LE(in_turn.mean(), 0.6);
  EXPECT_LE(in_turn.percentile(0.95), 2.1);
  EXPECT_LE(ends_in_turn.mean(), 3);
  EXPECT_GT(in_pairs.points.size(), 300u);
  EXPECT_LE(in_pairs.mean(), 0.65);
  EXPECT_LE(in_pairs.percentile(0.95), 2.1);
  EXPECT_LE(ends_in_pairs.mean(), 7);
}

// One launch of a loop of multiply-adds and nothing else reads differently by how its warps begin: at once,
// with other kernels' instructions in the caches, or some cycles apart. A time in lockstep that is fitted to
// each reading says when its warps end. With a load in the loop readings hardly differ.
TEST(RecordedWarps, StayInLockstepForATimeThatDependsOnHowTheyBegin) {
  std::ifstream file = open("h200_launches/lockstep.csv");
  std::array<std::string, 7> cell;
  read_cells(file, cell);
  Errors errors;
  Errors ends;
  std::map<std::vector<std::string>, std::vector<double>> readings;
  while (read_cells(file, cell)) {
    Finishing recorded{"multiply_add",
                       std::stoi(cell[0]),
                       std::stoi(cell[1]),
                       1,
                       std::stoi(cell[3]),
                       std::stod(cell[4]),
                       {}};
    std::istringstream recorded_ends(cell[6]);
    for (double end = 0; recorded_ends >> end;) recorded.end_cycles.push_back(end);
    ASSERT_EQ(recorded.end_cycles.size(), static_cast<std::size_t>(recorded.warps));
    readings[{cell.begin(), cell.begin() + 5}].push_back(100 * recorded.mean_share() * recorded.warps / 16);
    if (cell[2] == "1") continue;
    const Finishing alone{recorded.body,         recorded.chains,        recorded.loop_instructions, 1, 1,
                          recorded.instructions, {recorded.instructions}};
    const Finishing best = nearest(recorded, alone);
    errors.points.push_back(error_of(best, recorded));
    add_errors_of_ends(ends, best, recorded);
  }
  ASSERT_EQ(errors.points.size(), 420u);
  std::printf("420 launches, mean error %.2f points, most %.1f, of ends %.1f %%\n", errors.mean(),
              errors.percentile(1), ends.mean());
  EXPECT_LE(errors.mean(), 0.4);
  EXPECT_LE(errors.percentile(1), 1.8);
  EXPECT_LE(ends.mean(), 7);
  double most = 0;
  double most_with_load = 0;
  for (const auto& [launch, of_launch] : readings) {
    const auto [low, high] = std::ranges::minmax(of_launch);
    double& of_kind = launch[2] == "1" ? most_with_load : most;
    of_kind = std::max(of_kind, high - low);
  }
  EXPECT_GT(most, 14);
  EXPECT_LT(most_with_load, 3);
}

}  // namespace
}  // namespace occbench
