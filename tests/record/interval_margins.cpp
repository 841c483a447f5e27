// The margins of 90 % intervals by kind of work, from recorded launches:
//
//   build/cpu/bin/interval_margins > src/predict/interval_margins.csv
//
// and how often counters of launches that decided nothing are inside the intervals:
//
//   build/cpu/bin/interval_margins --coverage > results/interval_coverage.csv
#include <cstdio>
#include <string_view>

#include <fmt/core.h>

#include "occupancy/input_error.hpp"
#include "recorded_intervals.hpp"

namespace occbench {
namespace {

void print_margins() {
  const RecordedRanges launches = deciding_launches();
  const Fit fit = fit_margins(launches);
  fmt::print("kind,launches,below_pct,above_pct,elapsed_below_pct,elapsed_above_pct\n");
  for (int number = 0; number < kWorkKinds; ++number) {
    const auto kind = static_cast<WorkKind>(number);
    const auto [achieved, elapsed] = fit.of(kind).value();
    fmt::print("{},{},{:.2f},{:.2f},{:.2f},{:.2f}\n", to_string(kind), fit.launches(kind),
               100 * achieved.below, 100 * achieved.above, 100 * elapsed.below, 100 * elapsed.above);
  }
  fmt::print(stderr, "kOverheadErrorCycles is {}; by these launches it is {:.0f}\n", kOverheadErrorCycles,
             overhead_error_cycles(launches));
}

void print_line(const CoverageSet& set, std::string_view kind, const Coverage& of) {
  const auto number = [](double sum, std::size_t launches) {
    return launches == 0 ? "" : fmt::format("{:.2f}", sum / static_cast<double>(launches));
  };
  fmt::print("{},{},{},{},{},{},{},{},{},{}\n", set.profile, set.launches_of, kind, of.launches,
             number(100 * of.inside, of.launches), number(of.width, of.launches),
             number(of.score, of.launches), number(of.constant_score, of.launches),
             number(100 * of.elapsed_inside, of.elapsed_launches),
             number(of.elapsed_width, of.elapsed_launches));
}

void print_coverage() {
  fmt::print(
      "profile,launches_of,kind,launches,inside_pct,width_points,score,constant_width_score,"
      "elapsed_inside_pct,elapsed_width_points\n");
  for (const CoverageSet& set : coverage_sets(deciding_launches())) {
    for (const auto& [kind, coverage] : set.kinds) print_line(set, description_of(kind), coverage);
    print_line(set, "all", set.all());
  }
}

}  // namespace
}  // namespace occbench

int main(int argc, char** argv) try {
  const bool of_coverage = argc == 2 && std::string_view(argv[1]) == "--coverage";
  if (argc > 2 || (argc == 2 && !of_coverage)) throw occbench::InputError("the only option is --coverage");
  of_coverage ? occbench::print_coverage() : occbench::print_margins();
} catch (const occbench::InputError& error) {
  fmt::print(stderr, "interval_margins: {}\n", error.what());
  return 64;
}
