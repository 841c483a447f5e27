// The simulation against hardware counters of recorded launches.
#include "recorded_launches.hpp"

#include <map>

#include "predict/lockstep.hpp"

namespace occbench {
namespace {

class RecordedLaunches : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    all_ = read_recorded();
    held_out_ = read_held_out();
  }

  struct Within {
    double mean, percentile_95;
  };
  /// Errors on what was tuned to and on what was not, and the median error of active cycles.
  static void expect_within(const Within& tuned, const Within& not_tuned, double active_pct, auto&& chosen) {
    for (const bool held_out : {false, true}) {
      const Within& within = held_out ? not_tuned : tuned;
      Errors errors = errors_of(all_, [&](const Recorded& recorded) {
        return chosen(recorded) && held_out_.contains(recorded.launch_number) == held_out;
      });
      const char* const name = held_out ? "held_out" : "tuned";
      ASSERT_GT(errors.points.size(), 0u) << name;
      std::printf(
          "%s: %zu launches, mean error %.3f points (%.3f of the nearest run), 95th percentile %.2f, active "
          "cycles %.2f %%\n",
          name, errors.points.size(), errors.mean(), Errors::mean_of(errors.least), errors.percentile(0.95),
          errors.median_active_pct());
      EXPECT_LE(Errors::mean_of(errors.least), 0.19) << name;
      EXPECT_LE(errors.mean(), within.mean) << name;
      EXPECT_LE(errors.percentile(0.95), within.percentile_95) << name;
      EXPECT_LE(errors.median_active_pct(), active_pct) << name;
    }
  }

  static inline std::vector<Recorded> all_;
  static inline std::set<int> held_out_;
};

// What is reached, without the three rules that the ablation found worth less than 0.05 points: with them, means were up
// to 0.03 lower. What is missing are equal blocks in partial waves, where a few hundred cycles decide which
// SM goes on alone, above all 396 blocks of 1,024 threads (docs/prediction.md).
TEST_F(RecordedLaunches, WorkThatDiffersByBlockIsPredicted) {
  expect_within({0.39, 1.4}, {0.36, 1.15}, 0.23, [](const Recorded& recorded) {
    return !recorded.tasks.differ_within_blocks() && recorded.base_cycles >= 20'000;
  });
}

TEST_F(RecordedLaunches, WorkThatDiffersByWarpIsPredicted) {
  expect_within({0.14, 0.46}, {0.14, 0.41}, 0.4,
                [](const Recorded& recorded) { return recorded.tasks.differ_within_blocks(); });
}

// Which GPC begins is left to chance where nothing else is: uneven blocks or warps that are all resident at
// once and stay so long that overheads do not count. Launches without a tail leave it as it is, so that one
// GPC explains those that followed one another: three grids of each shape and block size.
TEST_F(RecordedLaunches, OneOfTheGpcsThatMayBeginExplainsWhatIsResidentAtOnce) {
  const DeviceProfile profile = find_profile("h200");
  const std::size_t gpcs = profile.model.topology.gpc_sms().size();
  std::map<std::pair<std::string, int>, std::vector<std::vector<double>>> errors_of_series;  // by launch, GPC
  for (const Recorded& recorded : all_) {
    const Occupancy occupancy = theoretical_occupancy(limits_of({9, 0}), recorded.launch, recorded.usage);
    if (recorded.tasks.all_equal() || recorded.base_cycles < 100'000 ||
        recorded.launch.grid_blocks > full_wave_blocks(occupancy, 132)) {
      continue;
    }
    std::vector<double> errors;
    for (std::size_t gpc = 0; gpc < gpcs; ++gpc) {
      const Simulation simulation =
          simulate(recorded.launch, recorded.usage, limits_of({9, 0}), profile.model, recorded.tasks, gpc);
      errors.push_back(std::abs(simulation.achieved_pct - recorded.achieved_pct));
    }
    errors_of_series[{recorded.kernel, recorded.launch.block_threads}].push_back(errors);
  }
  double best_sum = 0;
  double sum = 0;
  for (const auto& [series, launches] : errors_of_series) {
    ASSERT_EQ(launches.size(), 3u) << series.first << ' ' << series.second;
    double of_best_gpc = 100;
    for (std::size_t gpc = 0; gpc < gpcs; ++gpc) {
      of_best_gpc = std::min(of_best_gpc, std::max({launches[0][gpc], launches[1][gpc], launches[2][gpc]}));
    }
    EXPECT_LE(of_best_gpc, 0.15) << series.first << ' ' << series.second;
    for (const std::vector<double>& errors : launches) {
      best_sum += std::ranges::min(errors);
      sum += Errors::mean_of(errors);
    }
  }
  EXPECT_EQ(errors_of_series.size(), 20u);
  std::printf("60 launches, mean error %.3f points, of all GPCs %.3f\n", best_sum / 60, sum / 60);
  EXPECT_LE(best_sum / 60, 0.01);
}

TEST(FreshLaunches, OfOtherSizesRegistersAndSharedMemoryArePredicted) {
  const std::vector<Recorded> all = read_launches("spin.csv");
  const auto expect_mean = [&](const char* name, double mean, auto&& chosen) {
    const Errors errors =
        errors_of(all, [&](const Recorded& recorded) { return held_out(recorded) && chosen(recorded); });
    std::printf("%s: %zu launches, mean error %.3f points\n", name, errors.points.size(), errors.mean());
    EXPECT_LE(errors.mean(), mean) << name;
  };
  const auto clusters = [](const Recorded& recorded) { return recorded.launch.cluster_blocks > 1; };
  const auto equal = [](const Recorded& recorded) { return recorded.tasks.all_equal(); };
  const auto by_warp = [](const Recorded& recorded) { return recorded.tasks.differ_within_blocks(); };
  const auto is_long = [](const Recorded& recorded) { return recorded.base_cycles >= 20'000; };
  expect_mean("blocks differ", 0.27, [&](const Recorded& recorded) {
    return is_long(recorded) && !clusters(recorded) && !equal(recorded) && !by_warp(recorded);
  });
  expect_mean("blocks equal", 0.75, [&](const Recorded& recorded) {
    return is_long(recorded) && !clusters(recorded) && equal(recorded);
  });
  expect_mean("warps differ", 0.11,
              [&](const Recorded& recorded) { return is_long(recorded) && by_warp(recorded); });
  expect_mean("clusters", 1.7, clusters);
  expect_mean("8,000 cycles", 0.95,
              [&](const Recorded& recorded) { return !clusters(recorded) && recorded.base_cycles == 8'000; });
  expect_mean("1,000 to 8,000 cycles", 1.31,
              [&](const Recorded& recorded) { return recorded.base_cycles < 8'000; });
}

TEST(FreshLaunches, WarpsThatContendForIssueSlotsOrBandwidthArePredicted) {
  const std::vector<Recorded> all = read_launches("contention.csv");
  struct Expected {
    const char* kernel;
    double limit, share, mean;
    bool runs_differ = false;  // where warps could issue in every cycle
  };
  for (const Expected& expected :
       {Expected{"fma_chains_1", 2, 0.97, 0.5}, Expected{"fma_chains_2", 2, 1, 0.4},
        Expected{"fma_chains_4", 4, 0.84, 2.35, true}, Expected{"read1", 4, 0.97, 0.91},
        Expected{"read2", 4, 0.96, 0.96}, Expected{"read8", 4, 0.84, 2.3}}) {
    const auto of_kernel = [&](const Recorded& recorded) { return recorded.kernel == expected.kernel; };
    const Errors errors = expected.runs_differ ? errors_of(all, of_kernel) : errors_of<1>(all, of_kernel);
    std::printf("%s: %zu launches, mean error %.3f points, within %.0f: %.3f\n", expected.kernel,
                errors.points.size(), errors.mean(), expected.limit, errors.share_within(expected.limit));
    EXPECT_LE(errors.mean(), expected.mean) << expected.kernel;
    EXPECT_GE(errors.share_within(expected.limit), expected.share) << expected.kernel;
  }
}

// How long they stay in lockstep is found from one reading, of a full wave of 256 threads; the others are
// predicted.
TEST(FreshLaunches, WarpsThatAlwaysIssueArePredictedFromOneReading) {
  std::vector<Recorded> all = read_launches("contention.csv");
  std::erase_if(all, [](const Recorded& recorded) { return recorded.kernel != "fma_chains_4"; });
  Work work = parse_work("equal:22600:issue=20950");  // all 84 do this
  const auto read = std::ranges::find_if(all, [](const Recorded& recorded) {
    return recorded.launch.block_threads == 256 && recorded.launch.grid_blocks == 1056 &&
           recorded.launch.dynamic_shared_bytes == 0;
  });
  ASSERT_NE(read, all.end());
  const DeviceProfile profile = find_profile("h200");
  work = lockstep_as_read(read->launch, read->usage, limits_of({9, 0}), profile, work, read->achieved_pct);
  all.erase(read);
  for (Recorded& recorded : all) recorded = recorded.doing(work);
  const Errors errors = errors_of<1>(all, [](const Recorded&) { return true; });
  std::printf("in lockstep for %.0f cycles: %zu launches, mean error %.3f points, within 4: %.3f\n",
              *work.lockstep_cycles, errors.points.size(), errors.mean(), errors.share_within(4));
  EXPECT_EQ(errors.points.size(), 83u);
  EXPECT_LE(errors.mean(), 2);
  EXPECT_GE(errors.share_within(4), 0.85);
}

// Two waves to twenty of warps that always issue; greedy scheduling was modelled on these launches.
TEST(Streams, OfWarpsThatAlwaysIssueArePredicted) {
  Errors errors = errors_of<1>(read_streams(), [](const Recorded&) { return true; });
  std::printf("streams: %zu launches, mean error %.2f points, 95th percentile %.2f\n", errors.points.size(),
              errors.mean(), errors.percentile(0.95));
  EXPECT_EQ(errors.points.size(), 121u);
  EXPECT_LE(errors.mean(), 2);
}

// Tails of 20 to 132 equal blocks (once of 1,000) after one whole wave, recorded on one unit. The rule for
// SMs whose block slots are all taken was made to how many SMs take those of 64 threads, nothing to what the
// counter read; it acts on those of 32 threads too.
TEST(Tails, AfterAWholeWaveArePredicted) {
  const std::vector<Recorded> all = read_launches("tails.csv");
  ASSERT_EQ(all.size(), 62u);
  const auto expect_mean = [&](const char* name, double mean, bool chosen, const std::string& profile) {
    const Errors errors = errors_of(
        all, [=](const Recorded& recorded) { return held_out(recorded) == chosen; }, profile);
    std::printf("%s: %zu launches, mean error %.2f points\n", name, errors.points.size(), errors.mean());
    EXPECT_LE(errors.mean(), mean) << name;
  };
  expect_mean("32 blocks of 64 threads an SM", 0.81, false, "h200");
  expect_mean("other tails", 2.85, true, "h200");
  const std::string of_this_unit = OCCBENCH_SOURCE_DIR "/tests/data/h200_launches/tails.profile";
  expect_mean("32 blocks of 64 threads an SM, profile of the unit", 1, false, of_this_unit);
  expect_mean("other tails, profile of the unit", 1.55, true, of_this_unit);
}

// When SMs begin, recorded on one unit, and what a fit to the counters of another finds: GPCs alike, the
// second SM of a TPC later, sooner where blocks have fewer than six warps.
TEST(FirstBlocks, OfGpcsBeginAlikeAndOfSecondSmsLater) {
  constexpr double kLater = 98;
  const DeviceProfile profile =
      find_profile(OCCBENCH_SOURCE_DIR "/results/nvidia-h200/h200_recorded.profile");
  const DeviceParameters& parameters = profile.model.parameters;
  EXPECT_GE(parameters.second_sm_delay_cycles, 0.7 * kLater);
  EXPECT_LE(parameters.second_sm_delay_cycles, 1.8 * kLater);  // fits make more of it than was recorded
  EXPECT_LE(parameters.sm_delay_cycles / std::sqrt(12), 45);
  const Topology& topology = profile.model.topology;
  std::vector<int> groups{topology.singleton_sms()};
  groups.insert(groups.end(), topology.gpc_sms().begin(), topology.gpc_sms().end());
  std::ifstream file = open("h200_launches/first_blocks.csv");
  std::array<std::string, 4> cell;
  read_cells(file, cell);
  int lines = 0;
  for (; read_cells(file, cell); ++lines) {
    std::vector<double> starts;
    std::istringstream cells(cell[3]);
    for (double start = 0; cells >> start;) starts.push_back(start);
    ASSERT_EQ(starts.size(), 132u);
    double later = 0;
    for (std::size_t sm = 0; sm < starts.size(); sm += 2) later += (starts[sm + 1] - starts[sm]) / 66;
    EXPECT_NEAR(later, kLater * std::min(1.0, std::stod(cell[0]) / 32 / 6), 30) << cell[0];
    auto sm = starts.begin();
    for (const int sms : groups) {
      EXPECT_NEAR(std::accumulate(sm, sm + sms, 0.0) / sms, 0, 50) << cell[0];
      sm += sms;
    }
  }
  EXPECT_EQ(lines, 9);
}

}  // namespace
}  // namespace occbench
