#include "predict/inferred_work.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "occupancy/occupancy.hpp"
#include "simulate/simulate.hpp"

namespace occbench {
namespace {

/// Blocks of one simulation, of those that infer and of those that predict.
constexpr std::int64_t kMostSampledBlocks = 1 << 14;
constexpr std::int64_t kMostPredictedBlocks = 1 << 18;

/// Relative to what was observed; counters repeat to about as much.
constexpr double kNearEnough = 1e-3;
constexpr int kMostSteps = 6;

// The limits below were chosen on results/nvidia-h200/full.csv. They classify a launch: its work is equal where
// counters differ by no more than these from equal work. Where they differ by more, the spread of the work
// explains all but these.
/// Of the mean: SMs whose active cycles differ by more have a partial last wave.
constexpr double kTail = 0.1;
/// Of the mean: equal work is refused where SMs differ by so much more than it explains.
constexpr double kUnexplained = 0.05;
constexpr double kUnexplainedPoints = 1;

/// Log-normal factors wider than this are those of a launch that a few blocks dominate.
constexpr double kWidest = 2;
constexpr int kHalvings = 6;

/// A launch with as many blocks as are worth simulating, and what of the whole grid's active cycles these
/// take: on the SM that has fewest, on average and on that with most.
struct Cut {
  Launch launch;
  double shortest = 1;
  double mean = 1;
  double longest = 1;
};

/// Takes whole waves out of a grid of more than `most` blocks; its last wave stays.
Cut cut(const Launch& launch, std::int64_t wave, std::int64_t most) {
  if (wave == 0 || launch.grid_blocks <= std::max(most, wave)) return {launch};
  const std::int64_t waves = launch.grid_blocks / wave;
  const std::int64_t rest = launch.grid_blocks % wave;
  const std::int64_t kept = std::clamp<std::int64_t>(most / wave, 1, waves);
  const std::int64_t blocks = kept * wave + rest;
  const auto part = [](std::int64_t of, std::int64_t whole) {
    return static_cast<double>(of) / static_cast<double>(whole);
  };
  Cut result{launch, part(kept, waves), part(blocks, launch.grid_blocks),
             part(kept + (rest > 0), waves + (rest > 0))};
  result.launch.grid_blocks = blocks;
  return result;
}

class Inference {
 public:
  Inference(const Launch& launch, const Usage& usage, const Limits& limits, const DeviceProfile& profile,
            const ObservedLaunch& observed, const Chance& chance)
      : occupancy_(theoretical_occupancy(limits, launch, usage)),
        sample_(cut(launch, full_wave_blocks(occupancy_, profile.sm_count()), kMostSampledBlocks)),
        usage_(usage),
        limits_(limits),
        profile_(profile),
        observed_(observed),
        seed_(Seeds(chance, profile).of_run(0)) {}

  std::optional<InferredWork> operator()() const {
    if (!observed_.cycles_active_mean) {
      if (!observed_.elapsed_cycles) return std::nullopt;
      return InferredWork{
          matched(0, &Simulation::cycles_active_max, *observed_.elapsed_cycles * sample_.longest).work,
          "time"};
    }
    if (const auto work = equal_with_tail()) return InferredWork{*work, "cycles"};
    if (observed_.resident_blocks) {
      const double share =
          100 * *observed_.resident_blocks * occupancy_.warps_per_block / limits_.max_warps_per_sm;
      return unequal("cycles and resident blocks", [=](const Simulation& simulation) {
        return simulation.achieved_pct - share - kUnexplainedPoints;
      });
    }
    if (observed_.cycles_active_min && observed_.cycles_active_max) {
      const double spread =
          (*observed_.cycles_active_max - *observed_.cycles_active_min) / *observed_.cycles_active_mean;
      return unequal("cycles and spread", [=](const Simulation& simulation) {
        return spread - spread_of(simulation) - kUnexplained;
      });
    }
    return InferredWork{fit(0).work, "cycles"};
  }

 private:
  struct Fit {
    Work work;
    Simulation simulation;
  };

  static double spread_of(const Simulation& simulation) {
    return (simulation.cycles_active_max - simulation.cycles_active_min) / simulation.cycles_active_mean;
  }

  static Work work_of(double width, double cycles) {
    if (width == 0) return Work::equal(cycles);
    return {.cycles = cycles, .distribution = LognormalWork{width, 1}};
  }

  Simulation simulated(const Work& work) const {
    const Tasks tasks(work, sample_.launch.grid_blocks, occupancy_.warps_per_block);
    return simulate(sample_.launch, usage_, limits_, profile_.model, tasks, seed_);
  }

  /// Work with which a simulation's cycles are those that are wanted: they grow almost linearly with it.
  Fit matched(double width, double Simulation::*quantity, double goal) const {
    double cycles = std::clamp(goal / rounds(), 1.0, 1e12);
    double before = 0;  // the step before: cycles of work, and those simulated of them
    double simulated_before = 0;
    Fit fit;
    for (int step = 0; step < kMostSteps; ++step) {
      fit.work = work_of(width, std::round(cycles));
      fit.simulation = simulated(fit.work);
      const double now = fit.simulation.*quantity;
      if (std::abs(goal - now) <= kNearEnough * goal) break;
      const double slope = step > 0 && cycles != before ? (now - simulated_before) / (cycles - before) : 0;
      const double next = slope > 0 ? cycles + (goal - now) / slope : cycles * goal / now;
      before = std::exchange(cycles, std::clamp(next, 1.0, 1e12));
      simulated_before = now;
      if (std::round(cycles) == fit.work.cycles) break;
    }
    return fit;
  }

  Fit fit(double width) const {
    return matched(width, &Simulation::cycles_active_mean, *observed_.cycles_active_mean * sample_.mean);
  }

  /// Equal blocks, if they explain the SM that was active longest and the one that was active for the
  /// shortest time by a partial last wave. How many SMs take part in it is chance, and with it the mean.
  std::optional<Work> equal_with_tail() const {
    if (!observed_.cycles_active_min || !observed_.cycles_active_max) return std::nullopt;
    const Fit longest =
        matched(0, &Simulation::cycles_active_max, *observed_.cycles_active_max * sample_.longest);
    const double shortest = longest.simulation.cycles_active_min / sample_.shortest;
    const bool explained =
        std::abs(shortest - *observed_.cycles_active_min) <= kUnexplained * *observed_.cycles_active_mean;
    return spread_of(longest.simulation) > kTail && explained ? std::optional(longest.work) : std::nullopt;
  }

  /// The narrowest factors with which `unexplained` is no longer positive, 0 = equal work.
  template <typename Unexplained>
  InferredWork unequal(std::string_view source, Unexplained unexplained) const {
    Fit best = fit(0);
    if (unexplained(best.simulation) <= 0) return {best.work, "cycles"};
    double narrow = 0;
    double wide = kWidest;
    for (int halving = 0; halving < kHalvings; ++halving) {
      const double width = std::round(500 * (narrow + wide)) / 1000;
      best = fit(width);
      (unexplained(best.simulation) > 0 ? narrow : wide) = width;
    }
    return {best.work, source};
  }

  /// Blocks that an SM runs one after another in each place, on average over SMs.
  double rounds() const {
    const double places = static_cast<double>(profile_.sm_count()) * std::max(1, occupancy_.blocks_per_sm);
    return std::max(1.0, static_cast<double>(sample_.launch.grid_blocks) / places);
  }

  Occupancy occupancy_;
  Cut sample_;
  const Usage& usage_;
  const Limits& limits_;
  const DeviceProfile& profile_;
  const ObservedLaunch& observed_;
  std::uint64_t seed_;
};

/// `ratio` times the predicted occupancy, at most theory; the difference is put down to one of its losses.
void scale(Prediction& prediction, double ratio, double Losses::*loss) {
  const double before = prediction.predicted_pct;
  for (double Prediction::*const pct :
       {&Prediction::predicted_pct, &Prediction::predicted_low_pct, &Prediction::predicted_high_pct}) {
    prediction.*pct = std::min(prediction.theoretical_pct, prediction.*pct * ratio);
  }
  prediction.losses.*loss += before - prediction.predicted_pct;
}

/// The prediction with what was observed in the place of what was predicted of it: blocks resident, else the
/// active cycles. In a grid of one wave SMs differ by how long their blocks take, and each has its blocks
/// throughout: there the cycles say nothing of how many warps were resident.
void use_observed(Prediction& prediction, const ObservedLaunch& observed, bool has_tail) {
  if (observed.resident_blocks && prediction.resident_blocks > 0) {
    scale(prediction, *observed.resident_blocks / prediction.resident_blocks, &Losses::between_blocks);
    prediction.resident_blocks = *observed.resident_blocks;
  } else if (observed.cycles_active_mean && has_tail) {
    scale(prediction, prediction.cycles_active_mean / *observed.cycles_active_mean, &Losses::tail);
  }
  if (observed.cycles_active_mean) prediction.cycles_active_mean = *observed.cycles_active_mean;
}

}  // namespace

std::optional<InferredWork> infer_work(const Launch& launch, const Usage& usage, const Limits& limits,
                                       const DeviceProfile& profile, const ObservedLaunch& observed,
                                       const Chance& chance) {
  return Inference(launch, usage, limits, profile, observed, chance)();
}

std::optional<ObservedPrediction> predict_observed(const Launch& launch, const Usage& usage,
                                                   const Limits& limits, const DeviceProfile& profile,
                                                   const ObservedLaunch& observed, const Chance& chance) {
  const auto inferred = infer_work(launch, usage, limits, profile, observed, chance);
  if (!inferred) return std::nullopt;
  const Occupancy occupancy = theoretical_occupancy(limits, launch, usage);
  const std::int64_t wave = full_wave_blocks(occupancy, profile.sm_count());
  const Cut part = cut(launch, wave, kMostPredictedBlocks);
  const Tasks tasks(inferred->work, part.launch.grid_blocks, occupancy.warps_per_block);
  ObservedPrediction result{*inferred, predict(part.launch, usage, limits, profile, tasks, chance)};
  Prediction& prediction = result.prediction;
  prediction.cycles_active_min /= part.shortest;
  prediction.cycles_active_mean /= part.mean;
  prediction.cycles_active_max /= part.longest;
  use_observed(prediction, observed, launch.grid_blocks > wave);
  return result;
}

}  // namespace occbench
