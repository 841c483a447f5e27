#include "kernels/data_race.hpp"

#include <string>
#include <vector>

#include "harness/experiment.hpp"

namespace occbench::bench_data_race {
namespace {

constexpr int kBlockThreads = 256;

/// One block on 1, 2, 4, ... and all SMs; then one full wave, and eight waves.
std::vector<std::int64_t> grids(const Planner& on, std::string_view variant) {
  const std::int64_t sms = on.device().sm_count;
  const std::int64_t wave = on.wave(kDataRace, variant, {.block_threads = kBlockThreads});
  std::vector<std::int64_t> grids;
  for (std::int64_t blocks = 1; blocks < sms; blocks *= 2) grids.push_back(blocks);
  grids.insert(grids.end(), {sms, wave, 8 * wave});
  return grids;
}

Suite suite_of(std::int64_t blocks, std::int64_t sms, RaceForm form) {
  if (blocks == sms) return form == RaceForm::relaxed ? Suite::quick : Suite::smoke;
  return blocks == 1 ? Suite::quick : Suite::full;
}

std::vector<Case> cases(const Planner& on) {
  const std::int64_t sms = on.device().sm_count;
  std::vector<Case> cases;
  for (const RaceForm form : kRaceForms) {
    for (const RaceAdders adders : kRaceAdders) {
      const std::string_view variant = data_race_variant(form, adders);
      for (const std::int64_t blocks : grids(on, variant)) {
        cases.push_back({.kernel = &kDataRace,
                         .variant = variant,
                         .launch = {.block_threads = kBlockThreads, .grid_blocks = blocks},
                         .suite = suite_of(blocks, sms, form),
                         .parameters = {{"form", std::string(to_string(form))},
                                        {"adders", std::string(to_string(adders))},
                                        {"sms", std::to_string(std::min(blocks, sms))},
                                        {"blocks", std::to_string(blocks)}},
                         .expected_cause = blocks <= sms ? "small_grid" : ""});
      }
    }
  }
  return cases;
}

}  // namespace

extern const Experiment experiment{
    "data_race",
    "threads that add to one value without an atomic lose updates, and how many they "
    "lose differs between launches",
    "atomics and occupancy note; CUDA C++ Programming Guide, atomic functions", cases};

}  // namespace occbench::bench_data_race
