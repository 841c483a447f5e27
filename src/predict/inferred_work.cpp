#include "predict/inferred_work.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "occupancy/input_error.hpp"
#include "occupancy/occupancy.hpp"
#include "occupancy/runtime_answers.hpp"
#include "occupancy/text.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

constexpr std::int64_t kMostInferredBlocks = 1 << 14;

/// Relative to the observed value; times repeat to within about this.
constexpr double kNearEnough = 1e-3;
constexpr int kMostSteps = 6;

/// A launch with as many blocks as are worth simulating, and their share of the whole grid's cycles: on the
/// SM with most, and on average.
struct ShortenedLaunch {
  Launch launch;
  double longest = 1;
  double mean = 1;
};

/// Removes whole waves from a large grid; its last wave stays.
ShortenedLaunch shortened(const Launch& launch, std::int64_t wave) {
  if (wave == 0 || launch.grid_blocks <= std::max(kMostInferredBlocks, wave)) return {launch};
  const std::int64_t waves = launch.grid_blocks / wave;
  const std::int64_t rest = launch.grid_blocks % wave;
  const std::int64_t kept = std::clamp<std::int64_t>(kMostInferredBlocks / wave, 1, waves);
  const auto part = [](std::int64_t of, std::int64_t whole) {
    return static_cast<double>(of) / static_cast<double>(whole);
  };
  ShortenedLaunch result{launch, part(kept + (rest > 0), waves + (rest > 0)),
                         part(kept * wave + rest, launch.grid_blocks)};
  result.launch.grid_blocks = kept * wave + rest;
  return result;
}

/// A launch whose blocks do nothing takes at most this factor longer than the measured one: dispatch costs
/// are typical values, not each GPU's.
constexpr double kMostAboveRead = 1.5;

}  // namespace

std::optional<InferredWork> infer_work(const Asked& asked, const ObservedLaunch& observed) {
  if (!observed.elapsed_cycles && !observed.cycles_active_mean) return std::nullopt;
  const bool from_time = observed.elapsed_cycles.has_value();
  const DeviceProfile& profile = asked.chosen.profile;
  const Occupancy occupancy = theoretical_occupancy(asked.limits, asked.launch, asked.usage);
  const ShortenedLaunch part = shortened(
      asked.launch, full_wave_of_clusters(occupancy, asked.launch.cluster_blocks, profile.sm_count(),
                                          profile.model.topology.sms_per_gpc()));
  const double goal =
      from_time ? *observed.elapsed_cycles * part.longest : *observed.cycles_active_mean * part.mean;
  const std::uint64_t seed = Seeds(asked.chance, profile).of_run(0);
  const auto simulated = [&](double cycles) {
    const Tasks tasks(Work::equal(cycles), part.launch.grid_blocks, occupancy.warps_per_block);
    const Simulation simulation =
        simulate(part.launch, asked.usage, asked.limits, profile.model, tasks, seed);
    return from_time ? simulation.cycles_active_max : simulation.cycles_active_mean;
  };
  // A launch's duration grows almost linearly with that of its blocks.
  const double places = static_cast<double>(profile.sm_count()) * std::max(1, occupancy.blocks_per_sm);
  const double rounds = std::max(1.0, static_cast<double>(part.launch.grid_blocks) / places);
  double cycles = std::round(std::clamp(goal / rounds, 1.0, 1e12));
  double before = 0;
  double simulated_before = 0;
  for (int step = 0; step < kMostSteps; ++step) {
    const double now = simulated(cycles);
    if (std::abs(goal - now) <= kNearEnough * goal) break;
    if (cycles == 1 && now > kMostAboveRead * goal)
      throw InputError(
          "no work can be inferred: blocks that do nothing take {} cycles, and {} were read; check grid, "
          "time and clock",
          grouped(std::llround(now / goal *
                               (from_time ? *observed.elapsed_cycles : *observed.cycles_active_mean))),
          grouped(std::llround(from_time ? *observed.elapsed_cycles : *observed.cycles_active_mean)));
    const double slope = step > 0 && cycles != before ? (now - simulated_before) / (cycles - before) : 0;
    const double next = slope > 0 ? cycles + (goal - now) / slope : cycles * goal / now;
    before = std::exchange(cycles, std::round(std::clamp(next, 1.0, 1e12)));
    simulated_before = now;
    if (cycles == before) break;
  }
  return InferredWork{Work::equal(cycles), from_time ? "time" : "cycles"};
}

void require_lockstep(const Work& work, const DeviceProfile& profile) {
  const double least_issue = profile.model.parameters.always_issuing_share;
  if (work.rates().always_issues(least_issue)) return;
  throw InputError(
      "work '{}': warps stay in lockstep only where they can issue in almost every cycle: by the profile {} "
      "issue must be at least {} and no less than pipe; leave lockstep out where it is less",
      to_string(work), profile.name, least_issue * work.cycles);
}

}  // namespace occbench
