#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace occbench {

/// An axis of a kernel, as its program describes it.
struct DescribedAxis {
  std::string name;
  std::string meaning;
  std::string values;  ///< where the user gives none
};

/// A kernel that can be swept, and the program that measures it.
struct SweptKernel {
  std::filesystem::path program;
  std::string name;
  std::string description;
  std::vector<DescribedAxis> axes;
};

/// The kernels of the programs in a folder: those of `sweep` first, then those of the bench binaries of the
/// user's own. Needs no GPU.
/// @throws InputError where there is no such program: this build has no CUDA
std::vector<SweptKernel> swept_kernels(const std::filesystem::path& folder);

/// @throws InputError for a kernel that is not among them, naming the nearest
const SweptKernel& find_kernel(const std::vector<SweptKernel>& kernels, const std::string& name);

/// `sweep` in the folder, which compiles and measures kernels in files. @throws InputError as swept_kernels()
std::filesystem::path sweep_program(const std::filesystem::path& folder);

}  // namespace occbench
