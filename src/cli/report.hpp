#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/command.hpp"

namespace occbench {

/// What runs scripts/occbench_tools, the project's Python package, which draws.
struct PythonTools {
  std::string python;             ///< a path, or a name on the PATH
  std::filesystem::path scripts;  ///< the folder that the package is in
};

/// The Python that the user named; else that of the source tree's build folder; else the one on the PATH. It
/// says itself which packages it lacks. Empty where the package is not near this program, which `console` is
/// told. @throws InputError if the Python that the user named cannot be run
std::optional<PythonTools> find_python_tools(Console& console);

/// For processes that this one starts or becomes: modules are looked for in `folder` first, and never in the
/// folder that the command is called in.
void set_python_path(const std::filesystem::path& folder);

}  // namespace occbench
