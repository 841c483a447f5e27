#include "harness/plan.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include <fmt/ranges.h>

#include "files/input.hpp"
#include "gpu/error.hpp"
#include "gpu/no_runtime_compiler.hpp"
#include "measure/nvml.hpp"
#include "occupancy/occupancy.hpp"
#include "predict/parallel.hpp"
#include "record/case_filter.hpp"
#include "record/provenance.hpp"

namespace occbench {
namespace {

/// For every row of the process, without the time.
Provenance provenance_of(const Device& device, Instruments& instruments) {
  return {
      .schema = kSchema,
      .recorded_at = {},
      .commit = std::string(build_commit()),
      .host = host_name(),
      .gpu = device.name,
      .gpu_uuid = device.uuid,
      .compute_capability = device.compute_capability,
      .sm_count = device.sm_count,
      .memory_bus_bits = device.memory_bus_bits > 0 ? std::optional(device.memory_bus_bits) : std::nullopt,
      .driver = driver_version(),
      .cuda_toolkit = cuda_version_text(CUDART_VERSION),
      .gpu_settings = instruments.gpu_settings()};
}

void cannot_launch(CaseRecord& record, std::string why) {
  record.times.status = TimeStatus::skipped;
  record.note = std::move(why);
}

/// Usage and theory, without a launch.
void add_usage_and_theory(CaseRecord& record, const Variant& variant, const Device& device,
                          Instruments& instruments) {
  try {
    record.compiled = variant.compiled ? *variant.compiled : instruments.inspect(variant);
    const Usage& usage = record.compiled->usage;
    const Occupancy occupancy = theoretical_occupancy(device.limits, *record.launch, usage);
    record.theory = theory_of(occupancy, *record.launch, device.sm_count);
    if (occupancy.blocks_per_sm == 0)
      cannot_launch(record, why_it_cannot_launch(device.limits, *record.launch, usage));
  } catch (const GpuUnavailable& unavailable) {
    cannot_launch(record, unavailable.what());
  } catch (const InputError& refused) {
    cannot_launch(record, refused.what());
  }
}

/// @param provenance  of the run
PlannedCase plan_case(Case chosen, std::string_view experiment_name, const Provenance& provenance,
                      const Device& device, Instruments& instruments) {
  const Variant& variant = chosen.built ? *chosen.built : chosen.kernel->find(chosen.variant);
  CaseRecord known;
  known.provenance = provenance;
  known.identity = {.experiment = std::string(experiment_name),
                    .name = case_name(chosen),
                    .kernel = std::string(chosen.kernel->name),
                    .variant = std::string(chosen.variant),
                    .parameters = chosen.parameters,
                    .work = chosen.work,
                    .work_source = chosen.work ? source_of_given(*chosen.work) : "",
                    .expected_cause = chosen.expected_cause};
  known.note = chosen.note;
  if (variant.function == nullptr && !variant.compiled) {
    known.note = "the runtime launches it: kernel, launch and theory are not known";
  } else {
    if (!chosen.work) add_note(known.note, "not predicted: no work describes its blocks");
    known.launch = chosen.launch;
    add_usage_and_theory(known, variant, device, instruments);
  }
  std::string name = full_name(known.identity);
  return {std::move(chosen), &variant, std::move(known), std::move(name)};
}

/// The case as `--occ_small` runs it: a few short blocks.
Case make_small(Case chosen) {
  constexpr std::int64_t kBlocks = 8;
  constexpr double kCycles = 2'000;
  chosen.small = true;
  chosen.launch.grid_blocks = std::min(chosen.launch.grid_blocks, kBlocks * chosen.launch.cluster_blocks);
  chosen.launch.grid_shape = {};
  const auto shortened = [](const Work& work) { return work.scaled(std::min(1.0, kCycles / work.cycles)); };
  if (chosen.work) chosen.work = shortened(*chosen.work);
  if (chosen.items) {
    chosen.items->count = std::min(chosen.items->count, 2 * kBlocks);
    chosen.items->work = shortened(chosen.items->work);
  }
  return chosen;
}

using Wanted = std::function<bool(const std::string& full_name)>;

/// The cases whose full names are in the file, one per line, and match the filter.
Wanted wanted_cases(const Options& options, const std::string& filter) {
  const auto matches = case_filter(filter);
  if (!options.cases) return matches;
  std::set<std::string> names;
  std::istringstream lines(read_text(*options.cases));
  for (std::string line; std::getline(lines, line);) names.insert(line);
  return [=](const std::string& name) { return names.contains(name) && matches(name); };
}

/// The cases that the experiments declare.
std::vector<PlannedCase> declared_cases(std::span<const Experiment* const> experiments,
                                        const Options& options, const Wanted& wanted,
                                        const Provenance& provenance, const Device& device,
                                        Instruments& instruments) {
  std::vector<PlannedCase> cases;
  for (const Experiment* const of : experiments) {
    for (Case& declared : of->cases(Planner(device))) {
      if (declared.suite > options.suite) continue;
      if (!wanted(fmt::format("{}/{}", of->name, case_name(declared)))) continue;
      if (declared.work) declared.work->poll_cycles_per_warp = declared.kernel->poll_cycles_per_warp;
      if (options.small) declared = make_small(std::move(declared));
      cases.push_back(plan_case(std::move(declared), of->name, provenance, device, instruments));
    }
  }
  return cases;
}

/// The family that a sweep names, and the experiment that has it.
std::pair<Family, const Experiment*> chosen_family(std::span<const Experiment* const> experiments,
                                                   const SweepOptions& sweep) {
  if (sweep.source) return {source_family(*sweep.source), experiments.front()};
  std::vector<std::string> names;
  for (const Experiment* const of : experiments) {
    if (!of->families) continue;
    for (Family& family : of->families()) {
      names.push_back(family.name);
      if (family.name == sweep.family) return {std::move(family), of};
    }
  }
  throw InputError("there is no kernel {} to sweep; the nearest are {}", sweep.family,
                   fmt::join(nearest_names(sweep.family, names, 3), ", "));
}

/// The configurations that meet all constraints.
/// @throws InputError for a constraint that cannot be read or evaluated, or if no configuration meets them
std::vector<Point> chosen_points(std::span<const SweepAxis> axes, const SweepOptions& sweep) {
  std::vector<Point> points = points_of(axes, sweep.axes, sweep.combine);
  const std::size_t all = points.size();
  const auto is_left_out = [&](Point& at) {
    std::string refusal;
    try {
      at.resolve();
    } catch (const InputError& refused) {
      refusal = refused.what();  // Its row says so, unless a constraint leaves it out.
    }
    return std::ranges::any_of(sweep.where, [&](const std::string& constraint) {
      try {
        return evaluate_number(constraint, [&](std::string_view name) { return at.value_of(name); }) == 0;
      } catch (const InputError& refused) {
        if (!refusal.empty()) return false;
        throw InputError("--where {}", refused.what());
      }
    });
  };
  std::erase_if(points, is_left_out);
  if (points.empty())
    throw InputError("--where {}: none of {} configurations meets it; loosen it",
                     fmt::join(sweep.where, " --where "), all);
  return points;
}

/// Compiles on all cores; a failure is reported when the case is made.
void compile_all(const Family& family, std::span<const Point> points, const Device& device) {
  for_each_parallel(points.size(), [&](std::size_t number) {
    try {
      Point at = points[number];
      at.resolve();
      family.configure(at, device);
    } catch (const NoRuntimeCompiler&) {
      throw;
    } catch (const std::exception&) {
    }
  });
}

/// The row of an impossible configuration.
PlannedCase skipped_case(const Family& family, const Point& at, std::string_view experiment,
                         const Provenance& provenance, std::string why) {
  PlannedCase planned;
  planned.known.provenance = provenance;
  planned.known.identity = {.experiment = std::string(experiment),
                            .name = family.name,
                            .kernel = family.name,
                            .variant = {},
                            .parameters = parameters_of(at),
                            .work = std::nullopt};
  for (const auto& [key, value] : planned.known.identity.parameters)
    planned.known.identity.name += fmt::format("/{}={}", key, value);
  planned.known.times.status = TimeStatus::skipped;
  planned.known.note = std::move(why);
  planned.name = full_name(planned.known.identity);
  return planned;
}

/// The cases of a sweep, each with its data before a launch. An impossible configuration is `skipped`, and its note
/// says why.
/// @throws InputError for a kernel that the experiments lack (naming the nearest), for axes as points_of(), if no
/// configuration is possible (with the first reason: a source that does not compile, for example), and if there is no
/// NVRTC to compile with
std::vector<PlannedCase> sweep_cases(std::span<const Experiment* const> experiments,
                                     const SweepOptions& sweep, const Provenance& provenance,
                                     const Device& device, Instruments& instruments) {
  const auto [family, of] = chosen_family(experiments, sweep);
  const auto gives = [&](std::string_view name) {
    return std::ranges::find(sweep.axes, name, &GivenAxis::name) != sweep.axes.end();
  };
  std::vector<std::string_view> of_grid = {"--grid", "--threads", "--waves"};
  std::erase_if(of_grid, [&](std::string_view flag) { return !gives(flag.substr(2)); });
  if (of_grid.size() > 1)
    throw InputError("{} both give the grid: leave one out",
                     fmt::join(of_grid.begin(), of_grid.begin() + 2, " and "));
  std::vector<Point> points = chosen_points(family.axes, sweep);
  if (sweep.source) compile_all(family, points, device);
  std::vector<PlannedCase> cases;
  std::string first_refusal;
  bool any = false;
  for (Point& at : points) {
    const auto skip = [&](const std::string& why) {
      if (first_refusal.empty()) first_refusal = why;
      cases.push_back(skipped_case(family, at, of->name, provenance, why));
    };
    try {
      at.resolve();
      Case chosen = family.configure(at, device);
      chosen.parameters = parameters_of(at);
      if (chosen.work) chosen.work->poll_cycles_per_warp = chosen.kernel->poll_cycles_per_warp;
      cases.push_back(plan_case(std::move(chosen), of->name, provenance, device, instruments));
      any = true;
    } catch (const NoRuntimeCompiler&) {
      throw;
    } catch (const InputError& refused) {
      skip(refused.what());
    } catch (const DoesNotCompile& refused) {
      skip(refused.what());
    }
  }
  if (!any) throw InputError(first_refusal);
  return cases;
}

}  // namespace

void require_axes(std::span<const Experiment* const> experiments, const SweepOptions& sweep) {
  static_cast<void>(chosen_points(chosen_family(experiments, sweep).first.axes, sweep));
}

std::vector<std::pair<std::string, std::string>> parameters_of(const Point& at) {
  std::vector<std::pair<std::string, std::string>> parameters;
  for (const Point::Value& value : at.values()) {
    if (!value.named) continue;
    if (value.kind != AxisKind::registers) {
      parameters.emplace_back(parameter_name(value.axis), value.text);
    } else if (value.text.starts_with('=')) {
      parameters.emplace_back("registers", value.text.substr(1));
    } else {
      parameters.emplace_back("register_cap", value.text);
    }
  }
  return parameters;
}

std::vector<PlannedCase> plan_cases(std::span<const Experiment* const> experiments, const Options& options,
                                    const std::string& filter, const Device& device,
                                    Instruments& instruments) {
  const Wanted wanted = wanted_cases(options, filter);
  const Provenance provenance = provenance_of(device, instruments);
  std::vector<PlannedCase> cases;
  if (options.sweep) {
    cases = sweep_cases(experiments, *options.sweep, provenance, device, instruments);
    std::erase_if(cases, [&](const PlannedCase& planned) { return !wanted(planned.name); });
  } else {
    cases = declared_cases(experiments, options, wanted, provenance, device, instruments);
  }
  if (cases.empty()) {
    throw InputError("--benchmark_filter={} matches no case of this suite; --occ_list shows the cases",
                     filter);
  }
  return cases;
}

}  // namespace occbench
