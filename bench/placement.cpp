#include <string>

#include <fmt/core.h>

#include "harness/experiment.hpp"
#include "kernels/spin.hpp"

namespace occbench::bench_placement {
namespace {

constexpr double kCycles = 100'000;

Case make_case(const Planner& on, int block_threads, std::int64_t grid_blocks, const std::string& grid,
               const std::string& shape, const Work& work, Suite suite) {
  const Launch launch{.block_threads = block_threads, .grid_blocks = grid_blocks};
  return {.kernel = &kSpin,
          .variant = "plain",
          .launch = launch,
          .work = work,
          .suite = suite,
          .parameters = {{"block_threads", std::to_string(block_threads)}, {"grid", grid}, {"shape", shape}},
          .record_warps = true,
          .expected_cause = shape == "equal"           ? on.cause_of_grid(kSpin, "plain", launch)
                            : shape == "uneven_blocks" ? "uneven_blocks"
                                                       : "uneven_warps"};
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  const Work equal = Work::equal(kCycles);
  const int sms = on.device().sm_count;
  cases.push_back(make_case(on, 256, sms, "one_block_per_sm", "equal", equal, Suite::quick));
  cases.push_back(make_case(on, 256, sms + 1, "one_block_per_sm_plus_one", "equal", equal, Suite::full));
  for (const int block_threads : {256, 512, 1024}) {
    const Launch launch{.block_threads = block_threads};
    for (const double waves : {0.5, 1.0, 1.5}) {
      const bool quick = block_threads == 512 && waves != 0.5;
      cases.push_back(make_case(on, block_threads, on.grid(kSpin, "plain", launch, waves),
                                fmt::format("{:.2f}_waves", waves), "equal", equal,
                                quick ? Suite::quick : Suite::full));
    }
  }
  const std::int64_t three_waves = on.grid(kSpin, "plain", {.block_threads = 512}, 3);
  const Distribution uneven{WorkForm::uniform, {0.5, 1.5}};
  cases.push_back(make_case(on, 512, three_waves, "3.00_waves", "uneven_blocks",
                            {.cycles = kCycles, .distribution = uneven}, Suite::smoke));
  cases.push_back(make_case(on, 512, three_waves, "3.00_waves", "uneven_warps",
                            {.cycles = kCycles, .distribution = uneven, .per_warp = true}, Suite::quick));
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "placement", "which SM runs a block cannot be asked for, and no order of blocks is promised",
    "CUDA C++ Programming Guide, thread hierarchy: blocks execute in any order; %smid tells after the fact",
    cases};

}  // namespace occbench::bench_placement
