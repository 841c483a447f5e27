#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu/argument.hpp"
#include "gpu/kernel.hpp"

namespace occbench {

/// What is in the buffers of a case, on the host: before the launch that is checked, and after it.
class Results {
 public:
  Results(std::vector<std::vector<std::byte>> before, std::vector<std::vector<std::byte>> after)
      : before_(std::move(before)), after_(std::move(after)) {}

  /// Of the argument of this number, from 0, as elements of T.
  template <typename T>
  std::span<const T> before(std::size_t argument) const {
    return elements<T>(before_.at(argument));
  }
  template <typename T>
  std::span<const T> after(std::size_t argument) const {
    return elements<T>(after_.at(argument));
  }

  /// A number that tells buffers of other contents apart.
  std::uint64_t fingerprint() const;

 private:
  template <typename T>
  static std::span<const T> elements(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  std::vector<std::vector<std::byte>> before_;
  std::vector<std::vector<std::byte>> after_;
};

/// Whether the result of a launch is right.
using CheckResults = std::function<bool(const Results&)>;

/// A kernel with its arguments, which it owns while the case is measured. Every launch finds the buffers as
/// the one before left them; the launch that is checked finds them as the case begins.
/// @throws CudaError, CannotRun where the device has too little memory for them
std::unique_ptr<Prepared> prepare_arguments(const Case& chosen, const Variant& variant,
                                            const std::vector<Argument>& arguments, const CheckResults& check,
                                            const Amount& useful);

}  // namespace occbench
