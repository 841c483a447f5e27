#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "axes/point.hpp"
#include "gpu/argument.hpp"
#include "gpu/family.hpp"
#include "gpu/prepared_arguments.hpp"

namespace occbench {

/// A user's kernel in a file, as the command line describes it.
struct SourceOptions {
  std::filesystem::path file;
  std::vector<std::string> kernels;  ///< with template arguments: "product<32>"; given again: an axis
  std::vector<std::string>
      arguments;  ///< as parse_argument() reads them; {NAME} stands for the value of an axis
  std::vector<std::filesystem::path> include_folders;
  std::string standard = "c++20";
  std::vector<GivenAxis> defines;  ///< "TILE" with its values: an axis each
  bool check_equal = false;        ///< as FirstResults
  std::string check_against;  ///< "naive<<<64x64,16x16>>>", "@expected.bin" of the last buffer, or "2=@..."
  double tolerance = 1e-4;    ///< as equal_within()
};

/// `--check equal`: launches with the same number of blocks and the same arguments must leave the same data in the
/// buffers. Which of two different results is wrong is not known. A process remembers only its own launches: a
/// resumed run begins without any.
class FirstResults {
 public:
  /// @param fingerprint  of the buffers after the case's launch
  /// @returns whether the first such case left the same data; if not, the sentence names that case
  ResultsAnswer compare(const std::string& case_name, std::int64_t grid_blocks,
                        const std::vector<Argument>& arguments, std::uint64_t fingerprint);

 private:
  struct First {
    std::string case_name;
    std::int64_t grid_blocks;
    std::vector<Argument> arguments;
    std::uint64_t fingerprint;
  };

  std::vector<First> firsts_;
};

/// The family of the file's kernel: axes of a launch, registers, work and the defines. Each configuration is compiled
/// at run time.
/// @throws InputError if the file cannot be read
Family source_family(const SourceOptions& options);

/// Whether arguments fit a kernel's parameters, as the compiler wrote its name: a sentence on the first that does not
/// fit, empty if all do.
/// @param signature  "product<32>(float const*, float*, int)"
/// @param parameter_bytes  decide if the name has no types: extern "C"
std::string mismatch(const std::string& signature, const std::vector<Argument>& arguments,
                     const std::vector<std::uint32_t>& parameter_bytes = {});

}  // namespace occbench
