#include "orchestrate/swept_kernels.hpp"

#include <algorithm>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "orchestrate/child_process.hpp"
#include "orchestrate/plan.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

/// The kernels that a program describes in a line of its answer to --occ_describe.
void add_kernels(const fs::path& program, std::string_view line, std::vector<SweptKernel>& kernels) {
  if (!line.starts_with('{')) return;
  const nlohmann::ordered_json described = parse_json(line, program.string());
  if (!described.contains("families")) return;
  for (const auto& family : described.at("families")) {
    SweptKernel kernel{program, family.at("name"), family.at("description"), {}};
    for (const auto& axis : family.at("axes"))
      kernel.axes.push_back({axis.at("name"), axis.at("meaning"), axis.at("values")});
    kernels.push_back(std::move(kernel));
  }
}

}  // namespace

fs::path sweep_program(const fs::path& folder) {
  const fs::path program = programs_folder(folder) / "sweep";
  std::error_code error;
  if (fs::exists(program, error)) return program;
  throw InputError(fmt::format(
      "there is no {}: it is part of builds with CUDA (cmake --build --preset release); --benches says "
      "where it is",
      program.string()));
}

std::vector<SweptKernel> swept_kernels(const fs::path& folder) {
  std::vector<fs::path> programs = bench_programs(folder);
  std::error_code error;
  const fs::path sweep = programs_folder(folder) / "sweep";
  if (fs::exists(sweep, error) || programs.empty()) programs.insert(programs.begin(), sweep_program(folder));
  std::vector<SweptKernel> kernels;
  for (const fs::path& program : programs) {
    run_and_read({.program = program, .arguments = {"--occ_describe"}},
                 [&](std::string_view line) { add_kernels(program, line, kernels); });
  }
  return kernels;
}

const SweptKernel& find_kernel(const std::vector<SweptKernel>& kernels, const std::string& name) {
  const auto found = std::ranges::find(kernels, name, &SweptKernel::name);
  if (found != kernels.end()) return *found;
  std::vector<std::string> names;
  for (const SweptKernel& kernel : kernels) names.push_back(kernel.name);
  throw InputError(fmt::format("there is no kernel {} to sweep; the nearest are {}", name,
                               fmt::join(nearest_names(name, names, 3), ", ")));
}

}  // namespace occbench
