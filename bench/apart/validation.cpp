#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

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
  /// Evenly by the logarithm.
  double between_in_ratio(double low, double high) {
    return portable_exp(between(portable_log(low), portable_log(high)));
  }
  int whole(int first, int last) {
    return std::min(last, first + static_cast<int>(between(0, last - first + 1)));
  }
  bool one_of(int n) {
    return whole(1, n) == 1;
  }

 private:
  std::uint64_t stream_;
  std::uint64_t next_ = 0;
};

/// What launches are drawn for: predictions of each kind have an error of their own.
struct Kind {
  std::string_view name;
  int launches;
  double least_cycles, most_cycles;
  bool per_warp;
};
constexpr Kind kKinds[] = {
    {"blocks_from_20000_cycles", 240, 20'000, 400'000, false},
    {"warps_from_20000_cycles", 120, 20'000, 400'000, true},
    {"blocks_of_8000_cycles", 120, 8'000, 8'000, false},
    {"blocks_of_1000_to_8000_cycles", 120, 1'000, 8'000, false},
};
/// Another number draws others: on those of this one nothing was ever tuned, and nothing is to be.
constexpr std::uint64_t kSeries = 4;
constexpr int kSmokeLaunches = 3;
constexpr int kLaunchesPerQuickOne = 5;

Distribution draw_uneven(Draws& draws) {
  const auto seed = static_cast<std::uint64_t>(draws.whole(1, 1'000'000));
  switch (draws.whole(1, 4)) {
    case 1:
      return UniformWork{0.5, 1.5, seed};
    case 2:
      return ExponentialWork{8, seed};
    case 3:
      return LinearWork{0.2, 1.8};
    default:
      return BimodalWork{0.125, 4, seed};
  }
}

/// Of half of the launches any number of whole warps, of the others a size that is much used.
int draw_block_threads(Draws& draws, const Limits& limits) {
  constexpr int kUsual[] = {64, 128, 256, 512, 768, 1024};
  if (draws.one_of(2)) return kUsual[draws.whole(0, std::ssize(kUsual) - 1)];
  return limits.threads_per_warp * draws.whole(1, limits.max_threads_per_block / limits.threads_per_warp);
}

Case draw_case(const Planner& on, const Kind& kind, int number) {
  const auto place = static_cast<std::uint64_t>(1'000 * (&kind - kKinds) + number);
  Draws draws(1'000'000 * kSeries + place);
  Launch launch{.block_threads = draw_block_threads(draws, on.limits())};
  // Half of the launches with as many blocks on an SM as shared memory lets in.
  if (draws.one_of(2)) {
    const int blocks = draws.whole(1, on.occupancy(kHold, "plain", launch).blocks_per_sm);
    launch.dynamic_shared_bytes = on.shared_bytes_for(kHold, "plain", launch, blocks).value_or(0);
  }
  const double waves = draws.between_in_ratio(0.3, 8);
  launch.grid_blocks = on.grid(kHold, "plain", launch, draws.one_of(4) ? std::ceil(waves) : waves);
  Work work = Work::equal(std::round(draws.between_in_ratio(kind.least_cycles, kind.most_cycles)));
  if (kind.per_warp || draws.one_of(2)) work.distribution = draw_uneven(draws);
  work.per_warp = kind.per_warp;
  return {.kernel = &kHold,
          .variant = "plain",
          .launch = launch,
          .work = work,
          .suite = number <= kSmokeLaunches             ? Suite::smoke
                   : number % kLaunchesPerQuickOne == 0 ? Suite::quick
                                                        : Suite::full,
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

const Experiment experiment{
    "validation", "what the counter reads of launches drawn by chance is predicted within the errors stated",
    "results/nvidia-h200/block-scheduling.md", cases};

}  // namespace occbench
