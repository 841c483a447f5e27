#include "gpu/cuda_library.hpp"

#include <dlfcn.h>
#include <initializer_list>
#include <link.h>

#include <fmt/core.h>

#include "files/input.hpp"

namespace occbench {
namespace {

/// "13" of "libcupti.so.13"
std::string major_of(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

/// "cupti" of "libcupti.so.13"
std::string stem_of(const std::string& name) {
  constexpr std::size_t kLib = 3;
  return name.substr(kLib, name.find('.') - kLib);
}

}  // namespace

fs::path file_of(const void* address) {
  Dl_info where{};
  link_map* of = nullptr;
  if (dladdr1(address, &where, reinterpret_cast<void**>(&of), RTLD_DL_LINKMAP) == 0 || of == nullptr)
    return {};
  std::error_code unknown;
  // The loader has no name for the program itself.
  return fs::canonical(*of->l_name == '\0' ? "/proc/self/exe" : of->l_name, unknown);
}

std::vector<fs::path> cuda_library_files(const std::string& name, const fs::path& of_build) {
  std::vector<fs::path> files;
  std::error_code unreadable;
  const auto add = [&](const fs::path& folder) {
    if (!folder.empty() && fs::exists(folder / name, unreadable)) files.push_back(folder / name);
  };
  const auto add_variable = [&](const char* variable, std::initializer_list<const char*> below) {
    const std::string value = environment_variable(variable);
    if (value.empty()) return;
    for (const char* folder : below) add(fs::path(value) / folder);
  };
  add_variable("OCCBENCH_CUPTI", {""});
  add(of_build);
  const fs::path here = file_of(reinterpret_cast<const void*>(&cuda_library_files)).parent_path();
  add(here);
  files.emplace_back(name);
  for (const char* toolkit : {"CUDA_HOME", "CUDA_PATH"})
    add_variable(toolkit, {"lib64", "extras/CUPTI/lib64", "lib"});
  add("/usr/local/cuda/lib64");
  add("/usr/local/cuda/extras/CUPTI/lib64");
  for (fs::path above = here; above != above.parent_path(); above = above.parent_path()) {
    add(above / "nvidia" / fmt::format("cu{}", major_of(name)) / "lib");
    add(above / "nvidia" / fmt::format("cuda_{}", stem_of(name)) / "lib");
  }
  return files;
}

}  // namespace occbench
