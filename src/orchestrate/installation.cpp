#include "orchestrate/installation.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <system_error>
#include <unistd.h>

#include <fmt/ostream.h>

#include "files/input.hpp"
#include "occupancy/input_error.hpp"

namespace occbench {
namespace {

std::string python_of(const fs::path& root) {
  if (std::string named = environment_variable("OCCBENCH_PYTHON"); !named.empty()) {
    if (::access(named.c_str(), X_OK) != 0) {
      throw InputError("OCCBENCH_PYTHON={}: {}; name a Python with the packages of {}", named,
                       std::strerror(errno), (root / "scripts/occbench_tools/pyproject.toml").string());
    }
    return named;
  }
  const fs::path python = root / "build" / "python" / "bin" / "python";
  return ::access(python.c_str(), X_OK) == 0 ? python.string() : "python3";
}

}  // namespace

std::vector<fs::path> project_roots() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  std::vector<fs::path> roots = {program.parent_path() / "share" / "occbench"};
  const auto add_with_all_above = [&](fs::path folder) {
    for (; folder != folder.parent_path(); folder = folder.parent_path()) roots.push_back(folder);
  };
  add_with_all_above(program);
  // For a program that was built or copied elsewhere.
  std::error_code error;
  add_with_all_above(fs::current_path(error));
  roots.emplace_back(OCCBENCH_SOURCE);
  return roots;
}

std::optional<fs::path> recorded_suite() {
  std::error_code error;
  for (const fs::path& root : project_roots()) {
    fs::path file = root / "results" / kRecordedModel / "full.csv";
    if (fs::exists(file, error)) return file;
  }
  return std::nullopt;
}

std::optional<PythonTools> find_python_tools(std::ostream& err) {
  for (const fs::path& root : project_roots()) {
    if (fs::exists(root / "scripts" / "occbench_tools" / "__main__.py"))
      return PythonTools{python_of(root), root / "scripts"};
  }
  fmt::print(err,
             "occbench: scripts/occbench_tools, which draws the report, is not near this program.\n"
             "Use the occbench of a checkout's build folder, of a bundle, or of an installation.\n");
  return std::nullopt;
}

void set_python_path(const fs::path& folder) {
  const std::string before = environment_variable("PYTHONPATH");
  const std::string after = before.empty() ? "" : ":" + before;
  ::setenv("PYTHONPATH", (folder.string() + after).c_str(), 1);
  ::setenv("PYTHONSAFEPATH", "1", 1);
}

}  // namespace occbench
