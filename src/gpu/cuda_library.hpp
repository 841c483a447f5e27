#pragma once

#include <filesystem>
#include <string>
#include <vector>

// Libraries of the CUDA toolkit that are opened at run time and never linked.
namespace occbench {

/// Paths to try for a library ("libcupti.so.13"), in this order: in the folder OCCBENCH_CUPTI, in `of_build`,
/// beside this code, by name alone (the loader's path), in CUDA_HOME, CUDA_PATH and /usr/local/cuda, and in
/// NVIDIA's wheels beside or above this code: nvidia/cu13/lib, or for CUDA 12 nvidia/cuda_cupti/lib.
std::vector<std::filesystem::path> cuda_library_files(const std::string& name,
                                                      const std::filesystem::path& of_build = {});

/// The file that contains `address`; empty if the loader does not know.
std::filesystem::path file_of(const void* address);

}  // namespace occbench
