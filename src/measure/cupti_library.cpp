#include "measure/cupti_library.hpp"

#include <dlfcn.h>
#include <filesystem>

#include <fmt/core.h>

#include "gpu/cuda_library.hpp"

namespace occbench {
namespace {

namespace fs = std::filesystem;

constexpr int kMajor = CUDA_VERSION / 1000;

std::string library_name(int major = kMajor) {
  return fmt::format("libcupti.so.{}", major);
}

/// " (that of CUDA 12 is in FILE, and its records differ)" if there is one of another major version; else
/// empty.
std::string another_version() {
  for (const int major : {kMajor - 1, kMajor + 1}) {
    void* const loaded = dlopen(library_name(major).c_str(), RTLD_NOW | RTLD_NOLOAD);
    fs::path file = loaded == nullptr ? fs::path() : file_of(dlsym(loaded, "cuptiSubscribe"));
    for (const fs::path& lies : cuda_library_files(library_name(major))) {
      if (file.empty() && lies.has_parent_path()) file = lies;
    }
    if (!file.empty())
      return fmt::format(" ({} is that of CUDA {}, whose records differ)", file.string(), major);
  }
  return {};
}

/// CUPTI opens libnvperf_host by name, and the loader does not look beside CUPTI. Opening it before makes
/// CUPTI use that one.
void open_library_of_metrics(void* cupti) {
  const fs::path folder = file_of(dlsym(cupti, "cuptiSubscribe")).parent_path();
  dlopen((folder / "libnvperf_host.so").c_str(), RTLD_NOW | RTLD_LOCAL);
}

struct Library {
  void* handle = dlopen(library_name().c_str(), RTLD_NOW | RTLD_NOLOAD);
  std::string why_not;

  Library() {
    for (const fs::path& file : cuda_library_files(library_name(), OCCBENCH_CUPTI_FOLDER)) {
      if (handle == nullptr) handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    if (handle != nullptr) {
      open_library_of_metrics(handle);
      return;
    }
    why_not = fmt::format(
        "{} was not found{}: it is part of CUDA {}'s toolkit and of the wheel nvidia-cuda-cupti; name its "
        "folder in the variable OCCBENCH_CUPTI",
        library_name(), another_version(), kMajor);
  }
};

const Library& library() {
  static const Library* const only = new Library;  // it outlives calls at the end of a process
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
