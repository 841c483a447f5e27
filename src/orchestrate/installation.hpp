#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Files beside this program: recorded rows, and the Python package that draws.
namespace occbench {

/// The GPU model whose recorded suite the project shows without a GPU.
inline constexpr std::string_view kRecordedModel = "nvidia-h200";

/// Folders that may hold `results/` and `scripts/` of the project: the share folder of an installation, those
/// above this program (a bundle, or a build folder in the source tree), those above the current folder, and the
/// source tree that this program was built from.
std::vector<std::filesystem::path> project_roots();

/// The recorded suite that comes with the project, under `results/` of the first of project_roots() with one.
std::optional<std::filesystem::path> recorded_suite();

/// Python and scripts/occbench_tools, the project's package that draws.
struct PythonTools {
  std::string python;             ///< a path, or a name on the PATH
  std::filesystem::path scripts;  ///< the folder that the package is in
};

/// The Python that the user named, else that of the source tree's build folder, else the one on the PATH. It reports
/// itself which packages it lacks. Empty, with a message on `err`, if the package is not near this program. @throws
/// InputError if the Python that the user named cannot be run
std::optional<PythonTools> find_python_tools(std::ostream& err);

/// For processes that this one starts or becomes: modules are searched in `folder` first, and never in the current
/// folder of the command.
void set_python_path(const std::filesystem::path& folder);

}  // namespace occbench
