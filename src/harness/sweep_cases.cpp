#include "harness/sweep_cases.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "gpu/error.hpp"
#include "occupancy/input_error.hpp"
#include "occupancy/nearest.hpp"

namespace occbench {
namespace {

Family chosen_family(const Experiment& of, const SweepOptions& sweep) {
  if (sweep.source) return source_family(*sweep.source);
  std::vector<Family> families;
  if (of.families) families = of.families();
  const auto found = std::ranges::find(families, sweep.family, &Family::name);
  if (found != families.end()) return *found;
  std::vector<std::string> names;
  for (const Family& family : families) names.push_back(family.name);
  throw InputError(fmt::format("there is no kernel {} to sweep; the nearest are {}", sweep.family,
                               fmt::join(nearest_names(sweep.family, names, 3), ", ")));
}

/// The row of a configuration that cannot be.
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

}  // namespace

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

std::vector<PlannedCase> sweep_cases(const Experiment& of, const SweepOptions& sweep,
                                     const Provenance& provenance, const Device& device,
                                     Instruments& instruments) {
  const Family family = chosen_family(of, sweep);
  const auto gives = [&](std::string_view name) {
    return std::ranges::find(sweep.axes, name, &GivenAxis::name) != sweep.axes.end();
  };
  std::vector<std::string_view> of_grid = {"--grid", "--threads", "--waves"};
  std::erase_if(of_grid, [&](std::string_view flag) { return !gives(flag.substr(2)); });
  if (of_grid.size() > 1)
    throw InputError(fmt::format("{} both give the grid: leave one out",
                                 fmt::join(of_grid.begin(), of_grid.begin() + 2, " and ")));
  std::vector<PlannedCase> cases;
  std::string first_refusal;
  bool any = false;
  for (const Point& at : points_of(family.axes, sweep.axes, sweep.combine)) {
    const auto skip = [&](const std::string& why) {
      if (first_refusal.empty()) first_refusal = why;
      cases.push_back(skipped_case(family, at, of.name, provenance, why));
    };
    try {
      Case chosen = family.configure(at, device);
      chosen.parameters = parameters_of(at);
      if (chosen.work) chosen.work->poll_cycles_per_warp = chosen.kernel->poll_cycles_per_warp;
      cases.push_back(plan_case(std::move(chosen), of.name, provenance, device, instruments));
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

}  // namespace occbench
