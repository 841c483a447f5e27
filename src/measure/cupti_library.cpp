#include "measure/cupti_library.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace occbench {
namespace {

namespace fs = std::filesystem;

constexpr int kMajor = CUDA_VERSION / 1000;

std::string library_name() {
  return fmt::format("libcupti.so.{}", kMajor);
}

/// The file that holds `address`; empty where the loader does not say.
fs::path file_of(void* address) {
  Dl_info where{};
  link_map* of = nullptr;
  if (dladdr1(address, &where, reinterpret_cast<void**>(&of), RTLD_DL_LINKMAP) == 0 || of == nullptr)
    return {};
  std::error_code unknown;
  // The loader has no name for the program itself.
  return fs::canonical(*of->l_name == '\0' ? "/proc/self/exe" : of->l_name, unknown);
}

/// An empty folder stands for the loader's own path.
std::vector<fs::path> folders_to_look_in() {
  std::vector<fs::path> folders;
  const auto add_variable = [&](const char* name, std::initializer_list<const char*> below) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return;
    for (const char* folder : below) folders.push_back(fs::path(value) / folder);
  };
  add_variable("OCCBENCH_CUPTI", {""});
  folders.emplace_back(OCCBENCH_CUPTI_FOLDER);
  const fs::path here = file_of(reinterpret_cast<void*>(&library_name)).parent_path();
  folders.push_back(here);
  folders.emplace_back();
  for (const char* toolkit : {"CUDA_HOME", "CUDA_PATH"})
    add_variable(toolkit, {"lib64", "extras/CUPTI/lib64", "lib"});
  folders.emplace_back("/usr/local/cuda/lib64");
  folders.emplace_back("/usr/local/cuda/extras/CUPTI/lib64");
  for (fs::path above = here; above != above.parent_path(); above = above.parent_path())
    folders.push_back(above / "nvidia" / fmt::format("cu{}", kMajor) / "lib");
  return folders;
}

/// CUPTI opens libnvperf_host by its name alone, for which the loader does not look beside CUPTI: one that is open
/// already is taken.
void open_library_of_metrics(void* cupti) {
  const fs::path folder = file_of(dlsym(cupti, "cuptiSubscribe")).parent_path();
  dlopen((folder / "libnvperf_host.so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

struct Library {
  void* handle = dlopen(library_name().c_str(), RTLD_NOW | RTLD_NOLOAD);
  std::string why_not;

  Library() {
    std::error_code unreadable;
    for (const fs::path& folder : folders_to_look_in()) {
      if (handle != nullptr) break;
      const fs::path file = folder / library_name();
      if (folder.empty() || fs::exists(file, unreadable))
        handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (handle != nullptr) {
      open_library_of_metrics(handle);
      return;
    }
    std::string other;
    for (const int major : {kMajor - 1, kMajor + 1}) {
      if (dlopen(fmt::format("libcupti.so.{}", major).c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr)
        other = fmt::format(" (the process has that of CUDA {}, whose records differ)", major);
    }
    why_not = fmt::format(
        "{} was not found{}: it is part of CUDA {}'s toolkit and of the wheel nvidia-cuda-cupti; name its "
        "folder in the "
        "variable OCCBENCH_CUPTI",
        library_name(), other, kMajor);
  }
};

const Library& library() {
  static const Library* const only = new Library;  // it outlives whatever still calls at the end of a process
  return *only;
}

}  // namespace

void* cupti_function(const char* name) {
  return library().handle == nullptr ? nullptr : dlsym(library().handle, name);
}

const std::string& why_no_cupti() {
  return library().why_not;
}

}  // namespace occbench
