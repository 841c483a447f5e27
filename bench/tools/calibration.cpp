#include <string>

#include <fmt/core.h>

#include "harness/experiment.hpp"
#include "kernels/reads.hpp"
#include "kernels/spin.hpp"

namespace occbench::bench_calibration {
namespace {

Case make_case(const Planner& on, int block_threads, double waves, const std::string& shape, const Work& work,
               bool record_warps = false) {
  const Launch launch{.block_threads = block_threads};
  Case chosen{.kernel = &kSpin,
              .variant = "plain",
              .launch = launch,
              .work = work,
              .suite = Suite::smoke,
              .parameters = {{"block_threads", std::to_string(block_threads)},
                             {"waves", fmt::format("{:.2f}", waves)},
                             {"shape", shape},
                             {"cycles", fmt::format("{:.0f}", work.cycles)}},
              .record_warps = record_warps};
  chosen.launch.grid_blocks = on.grid(kSpin, "plain", launch, waves);
  return chosen;
}

/// Eight waves of reads that request several times the memory bandwidth.
Case make_reads(const Planner& on) {
  constexpr int kBytes = 16;
  constexpr int kInFlight = 4;
  constexpr int kL2Times = 16;
  const std::string_view variant = reads_variant(kBytes, kInFlight);
  Launch launch{.block_threads = kReadsBlockThreads};
  launch.grid_blocks = on.grid(kReads, variant, launch, 8);
  const std::int64_t waits = most_waits(on.device(), launch, kBytes, kInFlight, kL2Times);
  return {.kernel = &kReads,
          .variant = variant,
          .launch = launch,
          .work = reads_work(kBytes, kInFlight, waits),
          .suite = Suite::smoke,
          .parameters = {{"shape", "reads"}}};
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  const Distribution uneven{WorkForm::uniform, {0.5, 1.5}};
  cases.push_back(make_case(on, 512, 3, "uniform", {.cycles = 100'000, .distribution = uneven}, true));
  for (const int block_threads : {64, 128, 256, 512, 768, 1024}) {
    for (const double waves : {1.1, 1.5, 2.1, 3.5}) {
      cases.push_back(make_case(on, block_threads, waves, "equal", Work::equal(20'000)));
    }
    for (const double waves : {1.5, 2.5}) {
      cases.push_back(make_case(on, block_threads, waves, "equal", Work::equal(150'000)));
    }
    cases.push_back(make_case(on, block_threads, 1.25, "equal", Work::equal(100'000)));
    cases.push_back(make_case(on, block_threads, 2, "equal", Work::equal(8'000)));
    cases.push_back(make_case(on, block_threads, 1, "equal", Work::equal(20'000)));
    cases.push_back(make_case(on, block_threads, 4, "equal", Work::equal(3'000)));
    cases.push_back(make_case(on, block_threads, 2.1, "uniform", {.cycles = 20'000, .distribution = uneven}));
  }
  cases.push_back(make_case(on, 32, 1, "equal", Work::equal(20'000)));
  cases.push_back(make_case(on, 256, 16, "equal", Work::equal(1'000)));
  cases.push_back(make_reads(on));
  return cases;
}

}  // namespace

extern const Experiment experiment{"calibration", "what the parameters of a device profile are",
                                   "occbench calibrate", cases};

}  // namespace occbench::bench_calibration
