#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/argument.hpp"
#include "gpu/kernel.hpp"

namespace occbench {

/// Contents of a case's buffers, on the host: before and after the checked launch.
class Results {
 public:
  Results(std::vector<std::vector<std::byte>> before, std::vector<std::vector<std::byte>> after)
      : before_(std::move(before)), after_(std::move(after)) {}

  /// Elements of argument `argument` (from 0) as T.
  template <typename T>
  std::span<const T> before(std::size_t argument) const {
    return elements<T>(before_.at(argument));
  }
  template <typename T>
  std::span<const T> after(std::size_t argument) const {
    return elements<T>(after_.at(argument));
  }

  /// Their bytes.
  const std::vector<std::byte>& bytes_before(std::size_t argument) const {
    return before_.at(argument);
  }
  const std::vector<std::byte>& bytes_after(std::size_t argument) const {
    return after_.at(argument);
  }

  /// A hash of the contents after the launch.
  std::uint64_t fingerprint() const;

 private:
  template <typename T>
  static std::span<const T> elements(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  std::vector<std::vector<std::byte>> before_;
  std::vector<std::vector<std::byte>> after_;
};

/// Whether the result of a launch is right; if not, a sentence may go to the row's note.
struct ResultsAnswer {
  ResultsAnswer(bool right, std::string sentence = {}) : is_right(right), why_wrong(std::move(sentence)) {}

  bool is_right;
  std::string why_wrong;
};

/// A function that returns a bool is one too.
using CheckResults = std::function<ResultsAnswer(const Results&)>;

class ArgumentBuffers;

/// A kernel with its arguments while the case is measured. Every launch starts with the buffers as the
/// previous launch left them; the first and the checked launch start with the initial contents.
/// @param compared  arguments that `check` reads; empty: all
/// @param kept  buffers of the previous case: reused if the arguments are the same, and set for the next case
/// @throws CudaError, CannotRun if the device has too little memory for them
std::unique_ptr<Prepared> prepare_arguments(const Case& chosen, const Variant& variant,
                                            const std::vector<Argument>& arguments, const CheckResults& check,
                                            const Amount& useful, std::vector<bool> compared = {},
                                            std::shared_ptr<ArgumentBuffers>* kept = nullptr);

/// Contents of the buffers before and after one launch. @throws as prepare_arguments()
Results results_of(const void* function, const Launch& launch, const std::vector<Argument>& arguments);

/// The raw bytes of a file. @throws InputError if it cannot be read or does not have `size` bytes
std::vector<std::byte> bytes_of_file(const std::filesystem::path& file, std::size_t size);

/// Whether elements match the expected ones: whole numbers exactly, floats within tolerance x max(1,
/// |expected|); NaN equals only NaN.
/// @pre as many bytes
bool equal_within(ElementType type, std::span<const std::byte> found, std::span<const std::byte> expected,
                  double tolerance);

}  // namespace occbench
