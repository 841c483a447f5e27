#include "harness/benchmark.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/ranges.h>

#include "harness/plan.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// A benchmark and the kernel that its cases point to.
struct Benchmark {
  std::string name;
  std::string claim;
  std::function<Launchable(const Point&)> configure;
  Kernel kernel;
};

Case case_of_benchmark(const std::shared_ptr<const Benchmark>& of, const Point& at) {
  const auto what = std::make_shared<const Launchable>(of->configure(at));
  Case chosen{.kernel = &of->kernel, .launch = what->launch, .work = what->work, .suite = Suite::smoke};
  chosen.built = built_variant("compiled", what->function, std::nullopt);
  chosen.variant = chosen.built->name;
  chosen.prepare = [what](const Case& prepared, const Variant& variant, const Device&) {
    return prepare_arguments(prepared, variant, what->arguments, what->check, what->useful);
  };
  return chosen;
}

/// Numbers if all of its values are, else words.
SweepAxis axis_of(const OwnAxis& own) {
  SweepAxis axis{own.name, AxisKind::real, own.meaning, own.values};
  try {
    expand_values(axis, own.values);
  } catch (const InputError&) {
    axis.kind = AxisKind::text;
  }
  return axis;
}

}  // namespace

void throw_no_instance(std::int64_t value, std::initializer_list<int> instances) {
  throw InputError("{}: the kernel is compiled for {}", value, fmt::join(instances, ", "));
}

Experiment benchmark(std::string_view name, std::string_view claim, std::vector<OwnAxis> axes,
                     std::function<Launchable(const Point& at)> configure) {
  const auto made = std::make_shared<Benchmark>();
  made->name = name;
  made->claim = claim;
  made->configure = std::move(configure);
  made->kernel.name = made->name;
  made->kernel.description = made->claim;
  Family family{made->name, made->claim, {}, [made](const Point& at, const Device&) {
                  return case_of_benchmark(made, at);
                }};
  std::ranges::transform(axes, std::back_inserter(family.axes), axis_of);
  return {made->kernel.name, made->kernel.description, "its author",
          [family](const Planner& on) {
            std::vector<Case> cases;
            for (const Point& at : points_of(family.axes, {}, Combine::product)) {
              cases.push_back(family.configure(at, on.device()));
              cases.back().parameters = parameters_of(at);
            }
            return cases;
          },
          [family] { return std::vector<Family>{family}; }};
}

}  // namespace occbench
