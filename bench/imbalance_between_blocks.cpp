#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "harness/experiment.hpp"
#include "kernels/spin.hpp"

namespace occbench::bench_imbalance_between_blocks {
namespace {

constexpr int kBlockThreads = 256;
/// Cycles of a block if the grid is one wave; with more blocks each has proportionally less.
constexpr double kCycles = 800'000;
/// The share of blocks, last in the grid, that take kHeavy times as long.
constexpr double kLastShare = 0.05;
constexpr double kHeavy = 8;

struct Shape {
  std::string name;
  Distribution distribution;
};

std::vector<Shape> shapes(std::int64_t grid_blocks) {
  const auto last = std::max<std::int64_t>(1, std::llround(kLastShare * static_cast<double>(grid_blocks)));
  return {{"equal", {}},
          {"linear_up", {WorkForm::linear, {0.2, 1.8}}},
          {"linear_down", {WorkForm::linear, {1.8, 0.2}}},
          {"uniform_1", {WorkForm::uniform, {0.5, 1.5}, 1}},
          {"uniform_2", {WorkForm::uniform, {0.5, 1.5}, 2}},
          {"lognormal_1", {WorkForm::lognormal, {0.75}, 1}},
          {"lognormal_2", {WorkForm::lognormal, {0.75}, 2}},
          {"bimodal_1", {WorkForm::bimodal, {0.1, kHeavy}, 1}},
          {"bimodal_2", {WorkForm::bimodal, {0.1, kHeavy}, 2}},
          {"heaviest_last", {WorkForm::last, {static_cast<double>(last), kHeavy}}}};
}

/// If the longest blocks begin first, blocks of later waves even out the load.
std::string cause_of(const std::string& shape, int times) {
  return shape == "equal" || (shape == "linear_down" && times > 1) ? "none" : "uneven_blocks";
}

Suite suite_of(const std::string& shape, int times) {
  const bool ends = times == 1 || times == 16;
  if (shape == "lognormal_1" && ends) return Suite::smoke;
  const bool told =
      shape == "equal" || shape == "uniform_1" || shape == "heaviest_last" || shape == "linear_up";
  return told && ends ? Suite::quick : Suite::full;
}

std::vector<Case> cases(const Planner& on) {
  std::vector<Case> cases;
  const std::int64_t wave = on.wave(kSpin, "plain", {.block_threads = kBlockThreads});
  for (const int times : {1, 2, 4, 16}) {
    for (const Shape& shape : shapes(times * wave)) {
      cases.push_back({.kernel = &kSpin,
                       .variant = "plain",
                       .launch = {.block_threads = kBlockThreads, .grid_blocks = times * wave},
                       .work = Work{.cycles = kCycles / times, .distribution = shape.distribution},
                       .suite = suite_of(shape.name, times),
                       .parameters = {{"shape", shape.name}, {"waves", std::to_string(times)}},
                       .expected_cause = cause_of(shape.name, times)});
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "imbalance_between_blocks",
    "uneven blocks leave SMs idle at the end; the same work in "
    "more, smaller blocks evens it out",
    "achieved-occupancy translation, unbalanced workload across blocks; Nsight "
    "documentation, achieved occupancy",
    cases};

}  // namespace occbench::bench_imbalance_between_blocks
