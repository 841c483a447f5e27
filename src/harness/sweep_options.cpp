#include "harness/sweep_options.hpp"

#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

/// "NAME=VALUES". @throws InputError where there is no name or no value
GivenAxis axis_of(std::string_view flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw InputError(fmt::format("{} {}: it is NAME=VALUES", flag, text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

void SweepFlags::declare(CLI::App& app) {
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* meaning) {
    app.add_option(name, values, meaning)->expected(1)->take_all();
  };
  app.add_option("--occ_sweep", family_, "measure configurations of this kernel instead of the experiment");
  list("--occ_axis", axes_, "values of one of its axes, NAME=VALUES; once for each axis");
  app.add_flag("--occ_zip", zip_, "pair the values of the axes instead of combining all with all");
  app.add_option("--occ_source", source_, "a kernel in this file instead, compiled at run time");
  app.add_option("--occ_kernel", from_.kernel, "its name, with template arguments");
  list("--occ_arg", from_.arguments, "an argument of it: float[1<<24], int[64]=iota, int=5; once for each");
  list("--occ_define", defines_, "an axis of definitions, NAME=VALUES");
  list("--occ_include", includes_, "a folder of headers");
  app.add_option("--occ_std", from_.standard, "C++ standard of the source");
  app.add_option("--occ_check", check_, "equal: launches of equal grids must give equal results")
      ->check(CLI::IsMember({"equal"}));
}

std::optional<SweepOptions> SweepFlags::options() const {
  if (family_.empty() && source_.empty()) return std::nullopt;
  SweepOptions sweep{.family = family_,
                     .source = std::nullopt,
                     .axes = {},
                     .combine = zip_ ? Combine::zip : Combine::product};
  for (const std::string& axis : axes_) sweep.axes.push_back(axis_of("--occ_axis", axis));
  if (source_.empty()) return sweep;
  sweep.source = from_;
  sweep.source->file = source_;
  sweep.source->check_equal = !check_.empty();
  sweep.source->include_folders.assign(includes_.begin(), includes_.end());
  for (const std::string& define : defines_) sweep.source->defines.push_back(axis_of("--define", define));
  sweep.axes.insert(sweep.axes.end(), sweep.source->defines.begin(), sweep.source->defines.end());
  return sweep;
}

}  // namespace occbench
