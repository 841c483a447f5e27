#include <string>
#include <utility>

#include <fmt/core.h>

#include "harness/experiment.hpp"
#include "kernels/concurrent_kernels.hpp"
#include "kernels/spin.hpp"
#include "kernels/work_queue.hpp"

namespace occbench::bench_tail_remedies {
namespace {

constexpr int kBlockThreads = 256;
constexpr double kCycles = 200'000;
/// Number of pieces, for remedies that split the work.
constexpr int kPieces = 4;
constexpr int kClusterBlocks = 8;

struct Tail {
  double waves;
  std::string shape;
  Distribution distribution;
};

Suite suite_of(const Tail& tail, bool smoke) {
  if (tail.shape != "equal") return tail.waves == 1.5 ? Suite::quick : Suite::full;
  if (tail.waves == 1.5) return smoke ? Suite::smoke : Suite::quick;
  return Suite::full;
}

Case make_case(const Tail& tail, const std::string& remedy, const Kernel& kernel, const Launch& launch,
               bool smoke) {
  return {.kernel = &kernel,
          .variant = "plain",
          .launch = launch,
          .suite = suite_of(tail, smoke),
          .parameters = {
              {"remedy", remedy}, {"waves", fmt::format("{:.2f}", tail.waves)}, {"shape", tail.shape}}};
}

/// A `spin` case with this launch, each block with its share of the work.
Case make_spin(const Planner& on, const Tail& tail, const std::string& remedy, const Launch& launch,
               double cycles) {
  Case made = make_case(tail, remedy, kSpin, launch, remedy == "plain");
  const std::string of_grid = on.cause_of_grid(kSpin, "plain", launch);
  made.expected_cause = tail.shape == "equal" ? of_grid : "uneven_blocks+tail";
  made.work = Work{.cycles = cycles, .distribution = tail.distribution};
  return made;
}

/// A wave of blocks that stay until the queue of `items` is empty.
Case make_persistent(const Planner& on, const Tail& tail, const std::string& remedy, const Items& items) {
  Launch launch{.block_threads = kBlockThreads};
  launch.grid_blocks = on.wave(kWorkQueue, "plain", launch);
  Case made = make_case(tail, remedy, kWorkQueue, launch, remedy == "persistent");
  made.items = items;
  // With a queue, only one effect remains: some blocks get one item more than others.
  made.expected_cause = "uneven_blocks";
  return made;
}

/// The same blocks: wider, in clusters, or in two launches of half the grid each.
void add_rearranged(std::vector<Case>& cases, const Planner& on, const Tail& tail, std::int64_t blocks) {
  const Launch wider{.block_threads = kPieces * kBlockThreads,
                     .grid_blocks = (blocks + kPieces - 1) / kPieces};
  cases.push_back(make_spin(on, tail, "wider_blocks", wider, kCycles));
  const Launch half{.block_threads = kBlockThreads, .grid_blocks = blocks / 2};
  Case halves = make_case(tail, "two_streams", kConcurrentKernels, half, false);
  halves.items =
      Items{.count = half.grid_blocks, .work = {.cycles = kCycles, .distribution = tail.distribution}};
  cases.push_back(halves);
  if (on.limits().max_cluster_blocks < kClusterBlocks) return;
  const std::int64_t clusters = (blocks + kClusterBlocks - 1) / kClusterBlocks;
  cases.push_back(make_spin(on, tail, "clusters",
                            {.block_threads = kBlockThreads,
                             .grid_blocks = kClusterBlocks * clusters,
                             .cluster_blocks = kClusterBlocks},
                            kCycles));
}

void add_remedies(std::vector<Case>& cases, const Planner& on, const Tail& tail) {
  Launch plain{.block_threads = kBlockThreads};
  plain.grid_blocks = on.grid(kSpin, "plain", plain, tail.waves);
  const std::int64_t blocks = plain.grid_blocks;
  const Work whole{.cycles = kCycles, .distribution = tail.distribution};
  const Work piece{.cycles = kCycles / kPieces, .distribution = tail.distribution};

  cases.push_back(make_spin(on, tail, "plain", plain, kCycles));
  cases.push_back(make_spin(on, tail, "shorter_blocks",
                            {.block_threads = kBlockThreads, .grid_blocks = kPieces * blocks},
                            kCycles / kPieces));
  cases.push_back(make_spin(on, tail, "narrower_blocks",
                            {.block_threads = kBlockThreads / kPieces, .grid_blocks = kPieces * blocks},
                            kCycles));
  cases.push_back(make_persistent(on, tail, "persistent", {.count = blocks, .work = whole}));
  cases.push_back(
      make_persistent(on, tail, "persistent_shorter", {.count = kPieces * blocks, .work = piece}));
  Case pair = make_case(tail, "second_stream", kConcurrentKernels, plain, true);
  pair.items = Items{.count = blocks, .work = whole};
  cases.push_back(pair);
  add_rearranged(cases, on, tail, blocks);
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  for (const double waves : {1.05, 1.25, 1.5, 2.1, 4.3}) {
    add_remedies(cases, on, {waves, "equal", {}});
    add_remedies(cases, on, {waves, "uniform", {WorkForm::uniform, {0.5, 1.5}, 1}});
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "tail_remedies",
    "a partial last wave is filled by more and smaller blocks, by persistent blocks with a work queue, or by "
    "another "
    "kernel in a second stream",
    "achieved-occupancy translation, tail effect; CUDA C++ Best Practices Guide, concurrent kernel execution",
    cases};

}  // namespace occbench::bench_tail_remedies
