#include "cli/sweep_program.hpp"

#include <algorithm>
#include <memory>
#include <sstream>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "occupancy/input_error.hpp"
#include "occupancy/nearest.hpp"
#include "orchestrate/child_process.hpp"
#include "record/files.hpp"
#include "record/json.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& asked_for) {
  return asked_for.empty() ? fs::read_symlink("/proc/self/exe").parent_path() : asked_for;
}

/// `sweep`, where it is, and the bench binaries of the folder.
std::vector<fs::path> programs_in(const fs::path& asked_for) {
  const fs::path folder = folder_of(asked_for);
  std::error_code error;
  std::vector<fs::path> programs;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("bench_")) programs.push_back(entry.path());
  }
  std::ranges::sort(programs);
  if (fs::exists(folder / "sweep", error)) programs.insert(programs.begin(), folder / "sweep");
  if (programs.empty()) {
    throw InputError(fmt::format(
        "there is no program that measures in {}: it is part of builds with CUDA (cmake --build --preset "
        "release); --benches says where it is",
        folder.string()));
  }
  return programs;
}

/// The kernels that a program describes, in its answer to --occ_describe.
void add_kernels(const fs::path& program, const std::string& answer, std::vector<SweptKernel>& kernels) {
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('{')) continue;
    const nlohmann::ordered_json described = parse_json(line, program.string());
    if (!described.contains("families")) continue;
    for (const auto& family : described.at("families")) {
      SweptKernel kernel{program, family.at("name"), family.at("description"), {}};
      for (const auto& axis : family.at("axes"))
        kernel.axes.push_back({axis.at("name"), axis.at("meaning"), axis.at("values")});
      kernels.push_back(std::move(kernel));
    }
  }
}

}  // namespace

std::vector<SweptKernel> swept_kernels(const fs::path& folder) {
  const std::vector<fs::path> programs = programs_in(folder);
  const std::vector<std::string> arguments = {"--occ_describe"};
  const TemporaryFolder answers;
  const auto answer_of = [&](std::size_t program) { return answers.path() / std::to_string(program); };
  std::vector<std::unique_ptr<ChildProcess>> processes;
  for (std::size_t i = 0; i < programs.size(); ++i)
    processes.push_back(std::make_unique<ChildProcess>(
        ProgramStart{.program = programs[i], .arguments = arguments, .output = answer_of(i)}));
  std::vector<SweptKernel> kernels;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (processes[i]->wait_or_stop() == Ending{}) add_kernels(programs[i], read_text(answer_of(i)), kernels);
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

std::string axes_help(const SweptKernel& kernel) {
  std::string text = fmt::format("{}: {}\n\nAxes:\n", kernel.name, kernel.description);
  for (const DescribedAxis& axis : kernel.axes) {
    const std::string otherwise = axis.values.empty() ? "" : fmt::format(" (default {})", axis.values);
    text += fmt::format("  {:<26} {}{}\n", fmt::format("--{} VALUES", axis.name), axis.meaning, otherwise);
  }
  return text;
}

fs::path sweep_program(const fs::path& folder) {
  const fs::path program = folder_of(folder) / "sweep";
  std::error_code error;
  if (fs::exists(program, error)) return program;
  throw InputError(fmt::format(
      "there is no {}: it is part of builds with CUDA (cmake --build --preset release); --benches says "
      "where it is",
      program.string()));
}

}  // namespace occbench
