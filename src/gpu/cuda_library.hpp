#pragma once

#include <filesystem>
#include <string>
#include <vector>

// Libraries of the CUDA toolkit that are opened at run time and never linked.
namespace occbench {

/// What to open a library by ("libcupti.so.13"), the first choice first: its files in the folder OCCBENCH_CUPTI, in
/// `of_build`, beside this code, then its name alone for the loader's path, then in CUDA_HOME, CUDA_PATH and /usr/local/cuda,
/// and where NVIDIA's wheels lie beside or above this code: nvidia/cu13/lib, and of CUDA 12 nvidia/cuda_cupti/lib.
std::vector<std::filesystem::path> cuda_library_files(const std::string& name,
                                                      const std::filesystem::path& of_build = {});

/// The file that holds `address`; empty where the loader does not say.
std::filesystem::path file_of(const void* address);

}  // namespace occbench
