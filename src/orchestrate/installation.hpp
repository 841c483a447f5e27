#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What lies beside this program: recorded rows, and the Python package that draws.
namespace occbench {

/// The GPU model whose recorded suite the project shows where there is no GPU.
inline constexpr std::string_view kRecordedModel = "nvidia-h200";

/// Folders that may hold `results/` and `scripts/` of the project: the share folder of an installation, those
/// above this program (a bundle, or a build folder in the source tree), those above the current folder, and the
/// source tree that this program was built from.
std::vector<std::filesystem::path> project_roots();

/// The recorded suite that comes with the project, under `results/` of the first of project_roots() with one.
std::optional<std::filesystem::path> recorded_suite();

/// What runs scripts/occbench_tools, the project's Python package, which draws.
struct PythonTools {
  std::string python;             ///< a path, or a name on the PATH
  std::filesystem::path scripts;  ///< the folder that the package is in
};

/// The Python that the user named; else that of the source tree's build folder; else the one on the PATH. It
/// says itself which packages it lacks. Empty where the package is not near this program, which `err` is
/// told. @throws InputError if the Python that the user named cannot be run
std::optional<PythonTools> find_python_tools(std::ostream& err);

/// For processes that this one starts or becomes: modules are looked for in `folder` first, and never in the
/// folder that the command is called in.
void set_python_path(const std::filesystem::path& folder);

}  // namespace occbench
