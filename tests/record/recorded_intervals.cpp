#include "recorded_intervals.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include "predict/parallel.hpp"
#include "record/case_record.hpp"
#include "record/csv.hpp"
#include "record/replay.hpp"
#include "recorded_launches.hpp"

namespace occbench {
namespace {

using Files = std::vector<std::string>;
using ChooseProfile = std::function<ChosenProfile(const CaseRecord&)>;

constexpr const char* kPrograms = "results/nvidia-h100-80gb-hbm3/programs/";

const Files kSuites = {"results/nvidia-h200/full.csv", "results/nvidia-h100-80gb-hbm3/full.csv"};
const Files kOtherGpus = {"results/nvidia-h200/another_gpu.csv",  "results/nvidia-h200/two_gpus_alone.csv",
                          "tests/data/fleet/h200_repeats.csv.gz", "tests/data/fleet/h100_gpus.csv.gz",
                          "tests/data/gpus/h200_1.csv.gz",        "tests/data/gpus/h100_1.csv.gz",
                          "tests/data/gpus/h100_3.csv.gz"};
const Files kDecidingPrograms = {"sample", "inference", "triton_kernels", "cupy_kernels"};

const Files kRandomLaunches = {"results/nvidia-h200/validation.csv",
                               "results/nvidia-h100-80gb-hbm3/validation.csv"};
constexpr const char* kHeldOutH200 = "tests/data/gpus/h200_2.csv.gz";
constexpr const char* kHeldOutH100 = "tests/data/gpus/h100_2.csv.gz";
const Files kHeldOutPrograms = {"training", "jax_gradient", "gemm"};

Files files_of_programs(const Files& programs) {
  Files files;
  for (const std::string& program : programs) files.push_back(kPrograms + program + ".csv");
  return files;
}

void append(RecordedRanges& to, const RecordedRanges& more) {
  to.insert(to.end(), more.begin(), more.end());
}

bool is_of_program(const CaseRecord& record) {
  return record.identity.experiment == "trace";
}

/// The cases of a file that have theory and a counter's value, and known work or a time. Of each GPU the first of a name.
std::vector<CaseRecord> counted_cases(const std::string& name) {
  const std::filesystem::path file = std::filesystem::path(OCCBENCH_SOURCE_DIR) / name;
  std::vector<CaseRecord> cases;
  std::set<std::string> seen;
  for (const Row& row : read_rows(file)) {
    CaseRecord record = case_record(row);
    record.file = file;
    const bool counted = record.theory && record.readings.counters.achieved_pct && record.launch;
    const bool can_be_predicted =
        is_of_program(record) ? record.times.time_us.has_value() : record.identity.work.has_value();
    if (!counted || !can_be_predicted) continue;
    if (seen.insert(record.provenance.gpu_uuid + full_name(record.identity)).second)
      cases.push_back(std::move(record));
  }
  return cases;
}

/// What each of `count` numbers gives, on all processors.
RecordedRanges ranges_of(std::size_t count, const std::function<RecordedRange(std::size_t)>& range_of) {
  RecordedRanges found(count);
  for_each_parallel(count, [&](std::size_t i) { found[i] = range_of(i); });
  return found;
}

void simulate_into(RecordedRange& range, const LaunchOnDevice& on, const ChosenProfile& profile,
                   const Tasks& tasks, WorkOrigin origin, std::optional<int> first_gpc) {
  const Occupancy occupancy = theoretical_occupancy(on);
  const Simulations simulations =
      simulate_often({on.launch, on.usage, on.limits, profile, {.first_gpc = first_gpc}}, tasks);
  range.kind = kind_of(on.launch, on.usage, occupancy, on.sm_count, tasks, origin);
  range.block_cycles = tasks.mean_cycles();
  range.most_pct = most_pct(on.launch, on.limits, occupancy, on.sm_count, tasks);
  range.simulations = simulations;
}

RecordedRange range_of(const CaseRecord& record, const ChosenProfile& profile) {
  RecordedRange range{.source = profile.quality == ProfileQuality::calibrated_device
                                    ? Source::suite_with_own_profile
                                    : Source::suite_with_built_in_profile,
                      .gpu = record.provenance.gpu,
                      .uuid = record.provenance.gpu_uuid,
                      .experiment = record.identity.experiment,
                      .counter = *record.readings.counters.achieved_pct,
                      .counter_elapsed = record.readings.achieved_elapsed_pct};
  const LaunchOnDevice on = launch_on_device(record);
  WorkOrigin origin = WorkOrigin::given;
  std::optional<Work> work = record.identity.work;
  if (is_of_program(record)) {
    origin = WorkOrigin::inferred;
    range.experiment = record.file.stem().string();
    work = infer_work({on.launch, on.usage, on.limits, profile}, observed_of(record, profile.profile))->work;
  }
  const Tasks tasks(*work, on.launch.grid_blocks, theoretical_occupancy(on).warps_per_block);
  simulate_into(range, on, profile, tasks, origin, record.first_gpc);
  return range;
}

RecordedRanges ranges_of_rows(const Files& files, const ChooseProfile& choose) {
  std::vector<CaseRecord> cases;
  for (const std::string& file : files) {
    for (CaseRecord& each : counted_cases(file)) cases.push_back(std::move(each));
  }
  return ranges_of(cases.size(), [&](std::size_t i) { return range_of(cases[i], choose(cases[i])); });
}

/// The GPU's own profile, which lies beside the rows.
ChosenProfile own_profile(const CaseRecord& record) {
  return profile_of(record);
}

ChosenProfile built_in_profile(const CaseRecord& record) {
  return choose_profile(identity_of(record.provenance), {});
}

ChosenProfile no_profile(const CaseRecord& record) {
  const GpuIdentity gpu = identity_of(record.provenance);
  return {generic_profile(gpu), ProfileQuality::generic, bandwidth_of(gpu)};
}

/// Launches of tests/data/h200_launches and h200_spin, with the built-in profile.
RecordedRanges ranges_of_launches(bool that_are_held_out) {
  std::vector<std::pair<std::string, Recorded>> launches;
  const std::set<int> held = read_held_out();
  for (Recorded& each : read_recorded()) {
    if (held.contains(each.launch_number) == that_are_held_out)
      launches.emplace_back("h200_spin", std::move(each));
  }
  for (const char* file : {"spin.csv", "tails.csv"}) {
    for (Recorded& each : read_launches(file)) {
      if (held_out(each) == that_are_held_out) launches.emplace_back(file, std::move(each));
    }
  }
  // Rules were chosen by all of these.
  if (!that_are_held_out) {
    for (Recorded& each : read_launches("contention.csv"))
      launches.emplace_back("contention.csv", std::move(each));
    for (Recorded& each : read_streams()) launches.emplace_back("streams.csv", std::move(each));
  }
  const ChosenProfile profile = chosen(find_profile("h200"));
  return ranges_of(launches.size(), [&](std::size_t i) {
    const auto& [file, each] = launches[i];
    RecordedRange range{.source = Source::launches,
                        .gpu = profile.profile.gpu,
                        .uuid = {},
                        .experiment = file,
                        .counter = each.achieved_pct,
                        .counter_elapsed = {}};
    const LaunchOnDevice on{each.launch, each.usage, limits_of({9, 0}), profile.profile.sm_count()};
    simulate_into(range, on, profile, each.tasks, WorkOrigin::given, {});
    return range;
  });
}

enum class Quantity { achieved, elapsed };

/// The first of the kinds that decide margins together. Over elapsed cycles, where it hardly matters which SMs get the last
/// blocks, these are all kinds without contention but even waves, and those bound by issue slots, a pipe or memory.
WorkKind group_of(WorkKind kind, Quantity quantity) {
  if (kind == WorkKind::always_issuing_known) return WorkKind::always_issuing;
  if (quantity == Quantity::achieved) return kind;
  if (kind > WorkKind::even_waves && kind <= WorkKind::uneven_warps) return WorkKind::partial_last_wave;
  return kind == WorkKind::memory_bound ? WorkKind::issue_or_pipe_bound : kind;
}

/// Spills, and what is uneven in work that was inferred, are not simulated and can only lower occupancy: there each
/// side has a margin of its own. Elsewhere the error of another kernel may have either sign, and both sides have the
/// same one.
bool has_own_sides(WorkKind kind) {
  return kind >= WorkKind::local_memory;
}

/// Of n values the one in place ceil(share x (n + 1)), at most the largest: split conformal prediction.
double conformal_quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double place = std::ceil(share * static_cast<double>(values.size() + 1));
  return values[std::min(values.size(), static_cast<std::size_t>(place)) - 1];
}

/// How far counters are outside of their simulations on each side, less the overheads: shares of the middle.
struct Outside {
  std::vector<double> below;
  std::vector<double> above;

  void add(const RunRange& range, double counter, double block_cycles) {
    const double middle = std::max(range.middle, 1e-9);
    const double overhead = kOverheadErrorCycles / std::max(1.0, block_cycles);
    below.push_back((range.low - counter) / middle - overhead);
    above.push_back((counter - range.high) / middle - overhead);
  }

  Margin margin(bool own_sides) const {
    if (own_sides) {
      const double share = 1 - kMissed / 2;
      return {std::max(0.0, conformal_quantile(below, share)),
              std::max(0.0, conformal_quantile(above, share))};
    }
    std::vector<double> either;
    for (std::size_t i = 0; i < below.size(); ++i) either.push_back(std::max(below[i], above[i]));
    const double both = std::max(0.0, conformal_quantile(either, 1 - kMissed));
    return {both, both};
  }
};

FittedMargin fit_group(const RecordedRanges& group, Quantity quantity) {
  std::map<Source, Outside> sources;
  Outside all;
  for (const RecordedRange& each : group) {
    const bool achieved = quantity == Quantity::achieved;
    for (Outside* into : {&sources[each.source], &all})
      into->add(achieved ? each.simulations.achieved : each.simulations.elapsed,
                achieved ? each.counter : *each.counter_elapsed, each.block_cycles);
  }
  std::erase_if(sources, [](const auto& source) { return source.second.below.size() < kEnoughLaunches; });
  const bool own_sides = has_own_sides(group.front().kind);
  if (sources.empty()) return {group.size(), all.margin(own_sides)};
  Margin largest;
  for (const auto& [source, outside] : sources) {
    const Margin margin = outside.margin(own_sides);
    largest = {std::max(largest.below, margin.below), std::max(largest.above, margin.above)};
  }
  return {group.size(), largest};
}

std::map<WorkKind, FittedMargin> fit_groups(const RecordedRanges& launches, Quantity quantity) {
  std::map<WorkKind, RecordedRanges> groups;
  for (const RecordedRange& each : launches) {
    if (quantity == Quantity::achieved || each.counter_elapsed)
      groups[group_of(each.kind, quantity)].push_back(each);
  }
  std::map<WorkKind, FittedMargin> margins;
  for (const auto& [kind, group] : groups) margins[kind] = fit_group(group, quantity);
  return margins;
}

double interval_score(const Interval& interval, double counter) {
  const double outside = std::max({0.0, interval.low - counter, counter - interval.high});
  return interval.width() + 2 / kMissed * outside;
}

/// Points on both sides of predictions that nine in ten launches need.
double constant_points(const RecordedRanges& launches) {
  std::vector<double> points;
  for (const RecordedRange& each : launches)
    points.push_back(std::abs(each.counter - each.simulations.achieved.middle));
  return conformal_quantile(std::move(points), 1 - kMissed);
}

Coverage coverage_of(const RecordedRange& each, const KindMargins& margins, double points) {
  const auto [interval, elapsed] = intervals_of(each.simulations, margins, each.block_cycles, each.most_pct);
  const double middle = each.simulations.achieved.middle;
  const Interval constant{std::max(0.0, middle - points),
                          std::max(middle, std::min(each.most_pct, middle + points))};
  Coverage coverage{.launches = 1,
                    .inside = interval.contains(each.counter) ? 1.0 : 0.0,
                    .width = interval.width(),
                    .score = interval_score(interval, each.counter),
                    .constant_score = interval_score(constant, each.counter)};
  if (each.counter_elapsed) {
    coverage.elapsed_launches = 1;
    coverage.elapsed_inside = elapsed.contains(*each.counter_elapsed) ? 1 : 0;
    coverage.elapsed_width = elapsed.width();
  }
  return coverage;
}

std::map<WorkKind, Coverage> held_out_coverage(const RecordedRanges& launches,
                                               const RecordedRanges& deciding) {
  const Fit fit = fit_margins(deciding);
  const double points = constant_points(deciding);
  std::map<WorkKind, Coverage> kinds;
  for (const RecordedRange& each : launches)
    kinds[each.kind] += coverage_of(each, fit.of(each.kind).value(), points);
  return kinds;
}

using PartOf = std::string RecordedRange::*;

RecordedRanges without(const RecordedRanges& launches, PartOf part, const std::string& left_out) {
  RecordedRanges others;
  std::ranges::copy_if(launches, std::back_inserter(others),
                       [&](const RecordedRange& each) { return each.*part != left_out; });
  return others;
}

/// Launches that agree in `part` decide nothing of one another. A kind of which too few launches are left is decided
/// by those of the other GPU model.
std::map<WorkKind, Coverage> cross_fitted_coverage(const RecordedRanges& launches,
                                                   const RecordedRanges& deciding, PartOf part) {
  std::set<std::string> parts;
  std::map<std::string, Fit> of_other_model;
  for (const RecordedRange& each : launches) {
    parts.insert(each.*part);
    if (!of_other_model.contains(each.gpu))
      of_other_model[each.gpu] = fit_margins(without(deciding, &RecordedRange::gpu, each.gpu));
  }
  std::map<WorkKind, Coverage> kinds;
  for (const std::string& left_out : parts) {
    const RecordedRanges others = without(deciding, part, left_out);
    const Fit fit = fit_margins(others);
    const double points = constant_points(others);
    for (const RecordedRange& each : launches) {
      if (each.*part != left_out) continue;
      std::optional<KindMargins> margins = fit.of(each.kind, kEnoughLaunches);
      if (!margins) margins = of_other_model.at(each.gpu).of(each.kind);
      kinds[each.kind] += coverage_of(each, margins.value(), points);
    }
  }
  return kinds;
}

RecordedRanges those(const RecordedRanges& launches, auto&& chosen) {
  RecordedRanges some;
  std::ranges::copy_if(launches, std::back_inserter(some), chosen);
  return some;
}

}  // namespace

RecordedRanges deciding_launches() {
  RecordedRanges launches = ranges_of_rows(kSuites, own_profile);
  for (const Files& files : {kSuites, kOtherGpus, files_of_programs(kDecidingPrograms)})
    append(launches, ranges_of_rows(files, built_in_profile));
  append(launches, ranges_of_launches(false));
  return launches;
}

std::size_t Fit::launches(WorkKind kind) const {
  const auto found = achieved.find(group_of(kind, Quantity::achieved));
  return found == achieved.end() ? 0 : found->second.launches;
}

std::optional<KindMargins> Fit::of(WorkKind kind, std::size_t enough) const {
  if (launches(kind) < enough) return std::nullopt;
  const Margin margin = achieved.at(group_of(kind, Quantity::achieved)).margin;
  const auto of_elapsed = elapsed.find(group_of(kind, Quantity::elapsed));
  return KindMargins{margin, of_elapsed == elapsed.end() ? margin : of_elapsed->second.margin};
}

Fit fit_margins(const RecordedRanges& launches) {
  return {fit_groups(launches, Quantity::achieved), fit_groups(launches, Quantity::elapsed)};
}

double overhead_error_cycles(const RecordedRanges& launches) {
  std::vector<double> cycles;
  for (const RecordedRange& each : launches) {
    if (each.kind != WorkKind::even_waves) continue;
    const double outside = std::max(
        {0.0, each.simulations.achieved.low - each.counter, each.counter - each.simulations.achieved.high});
    cycles.push_back(outside / std::max(each.simulations.achieved.middle, 1e-9) * each.block_cycles);
  }
  return conformal_quantile(std::move(cycles), 1 - kMissed);
}

Coverage& Coverage::operator+=(const Coverage& other) {
  launches += other.launches;
  inside += other.inside;
  width += other.width;
  score += other.score;
  constant_score += other.constant_score;
  elapsed_launches += other.elapsed_launches;
  elapsed_inside += other.elapsed_inside;
  elapsed_width += other.elapsed_width;
  return *this;
}

Coverage CoverageSet::all() const {
  Coverage sum;
  for (const auto& [kind, coverage] : kinds) sum += coverage;
  return sum;
}

std::vector<CoverageSet> coverage_sets(const RecordedRanges& deciding) {
  const RecordedRanges of_own = those(
      deciding, [](const RecordedRange& each) { return each.source == Source::suite_with_own_profile; });
  const RecordedRanges of_model = those(deciding, [](const RecordedRange& each) {
    return each.source == Source::suite_with_built_in_profile && each.kind < WorkKind::inferred_one_block;
  });
  const auto held_out_rows = [&](const Files& files, const ChooseProfile& choose) {
    return held_out_coverage(ranges_of_rows(files, choose), deciding);
  };
  return {
      {"own", "suites: each experiment left out",
       cross_fitted_coverage(of_own, deciding, &RecordedRange::experiment)},
      {"own", "random launches", held_out_rows(kRandomLaunches, own_profile)},
      {"built-in", "suites: each GPU left out",
       cross_fitted_coverage(of_model, deciding, &RecordedRange::uuid)},
      {"built-in", "held-out H200", held_out_rows({kHeldOutH200}, built_in_profile)},
      {"built-in", "held-out H100", held_out_rows({kHeldOutH100}, built_in_profile)},
      {"built-in", "random launches", held_out_rows(kRandomLaunches, built_in_profile)},
      {"built-in", "held-out launches", held_out_coverage(ranges_of_launches(true), deciding)},
      {"generic", "held-out GPUs", held_out_rows({kHeldOutH200, kHeldOutH100}, no_profile)},
      {"generic", "random launches", held_out_rows(kRandomLaunches, no_profile)},
      {"built-in", "held-out programs", held_out_rows(files_of_programs(kHeldOutPrograms), built_in_profile)},
  };
}

}  // namespace occbench
