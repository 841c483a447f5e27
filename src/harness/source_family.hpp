#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "axes/point.hpp"
#include "gpu/argument.hpp"
#include "gpu/family.hpp"

namespace occbench {

/// A kernel of the user's in a file, as the command line describes it.
struct SourceOptions {
  std::filesystem::path file;
  std::vector<std::string> kernels;  ///< with template arguments: "product<32>"; given again: an axis
  std::vector<std::string>
      arguments;  ///< as parse_argument() reads them; {NAME} stands for the value of an axis
  std::vector<std::filesystem::path> include_folders;
  std::string standard = "c++20";
  std::vector<GivenAxis> defines;  ///< "TILE" with its values: an axis each
  bool check_equal = false;        ///< launches of equal grids must leave the same in the buffers
  std::string check_against;  ///< "naive<<<64x64,16x16>>>", "@expected.bin" of the last buffer, or "2=@..."
  double tolerance = 1e-4;    ///< as equal_within()
};

/// The family that the file's kernel is: axes of a launch, registers, work and the defines. Each
/// configuration is compiled at run time.
/// @throws InputError if the file cannot be read
Family source_family(const SourceOptions& options);

/// Whether arguments fit a kernel's parameters, as the compiler wrote its name: a sentence on the first that
/// does not, empty where all do or the name says nothing of parameters (extern "C").
/// @param signature  "product<32>(float const*, float*, int)"
std::string mismatch(const std::string& signature, const std::vector<Argument>& arguments);

}  // namespace occbench
