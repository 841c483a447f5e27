#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "harness/experiment.hpp"
#include "kernels/hold.hpp"
#include "schedule/portable_math.hpp"

namespace occbench {
namespace {

/// Random numbers of one launch, one after another.
class Draws {
 public:
  explicit Draws(std::uint64_t stream) : stream_(stream) {}

  double between(double low, double high) {
    return low + (high - low) * unit_interval(random_bits(stream_, next_++));
  }
  double between_in_ratio(double low, double high) {
    return std::exp(between(std::log(low), std::log(high)));
  }
  int whole(int first, int last) {
    return std::min(last, first + static_cast<int>(between(0, last - first + 1)));
  }

 private:
  std::uint64_t stream_;
  std::uint64_t next_ = 0;
};

/// What a launch is drawn for: predictions of each kind have an error of their own.
struct Kind {
  std::string_view name;
  int launches;
  double least_cycles, most_cycles;
  bool per_warp;
};
constexpr Kind kKinds[] = {
    {"blocks", 80, 20'000, 400'000, false},
    {"warps", 40, 20'000, 400'000, true},
    {"8000_cycles", 60, 8'000, 8'000, false},
    {"short", 60, 1'000, 8'000, false},
};

Distribution draw_distribution(Draws& draws, bool uneven) {
  const auto seed = static_cast<std::uint64_t>(draws.whole(1, 1'000'000));
  switch (draws.whole(uneven ? 3 : 0, 6)) {
    case 3:
      return UniformWork{0.5, 1.5, seed};
    case 4:
      return ExponentialWork{8, seed};
    case 5:
      return LinearWork{0.2, 1.8};
    case 6:
      return BimodalWork{0.125, 4, seed};
    default:
      return EqualWork{};
  }
}

/// Any number of whole warps, but every second launch a size that is much used.
int draw_block_threads(Draws& draws, const Limits& limits) {
  const int most = limits.max_threads_per_block / limits.threads_per_warp;
  if (draws.whole(0, 1) == 0) return limits.threads_per_warp * draws.whole(1, most);
  constexpr int kUsual[] = {64, 128, 256, 512, 768, 1024};
  return kUsual[draws.whole(0, static_cast<int>(std::size(kUsual)) - 1)];
}

Case draw_case(const Planner& on, const Kind& kind, int number) {
  const auto stream = static_cast<std::uint64_t>(1000 * (&kind - kKinds) + number);
  Draws draws(stream);
  Launch launch{.block_threads = draw_block_threads(draws, on.limits())};
  if (draws.whole(0, 1) == 0) {
    const int blocks = draws.whole(1, on.occupancy(kHold, "plain", launch).blocks_per_sm);
    launch.dynamic_shared_bytes = on.shared_bytes_for(kHold, "plain", launch, blocks).value_or(0);
  }
  // Every second launch of as many whole waves, or of a part of one.
  double waves = draws.between_in_ratio(0.3, 8);
  if (waves > 1 && draws.whole(0, 1) == 0) waves = std::round(waves);
  launch.grid_blocks = on.grid(kHold, "plain", launch, waves);
  const double cycles = std::round(draws.between_in_ratio(kind.least_cycles, kind.most_cycles));
  const Work work{
      .cycles = cycles, .distribution = draw_distribution(draws, kind.per_warp), .per_warp = kind.per_warp};
  return {.kernel = &kHold,
          .variant = "plain",
          .launch = launch,
          .work = work,
          .parameters = {{"kind", std::string(kind.name)}, {"number", std::to_string(number)}}};
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const Kind& kind : kKinds) {
    for (int number = 1; number <= kind.launches; ++number) cases.push_back(draw_case(on, kind, number));
  }
  return cases;
}

}  // namespace

const Experiment experiment{"validation",
                            "what the counter reads of launches drawn by chance, on which nothing was tuned, "
                            "is predicted within the errors that the documentation states",
                            "results/nvidia-h200/block-scheduling.md", cases};

}  // namespace occbench
